"""The engine under the public classes: made from checked arguments, and asked what went wrong."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal, cast

from penstock import _core
from penstock.errors import StreamInterrupted, UpstreamError
from penstock.limits import Limits

if TYPE_CHECKING:
    from penstock.blocks import StreamState
    from penstock.protocols import Protocol, Source
    from penstock.vocabulary import Tags

__all__ = [
    "check_arguments",
    "check_end",
    "check_limits",
    "check_readable",
    "check_text",
    "check_type",
    "log",
    "new_engine",
    "report_problems",
]

log = logging.getLogger("penstock")

# What was meant, mostly, by a stream that does not begin with a chunk.
_HINT = ' (text alone needs source="text", and server-sent events are fed as bytes)'


def new_engine(
    emit: Literal["chunks", "nothing"], *, source: Source, strict: bool, limits: Limits | None, tags: Tags | None
) -> _core.StreamProcessor:
    """An engine for one stream.

    Raises:
        TypeError: An argument is of another type than it must be.
        ValueError: `source` names no wire format, or `tags` no vocabulary.
    """
    check_arguments(source=source, strict=strict, limits=limits)
    return _core.StreamProcessor(source=source, emit=emit, strict=strict, limits=limits, tags=tags)


def check_arguments(*, source: object, strict: object, limits: object) -> None:
    """What every engine asks of its arguments.

    Raises:
        TypeError: An argument is of another type than it must be.
    """
    check_type("source", source, str, 'the name of a wire format or "auto"')
    check_type("strict", strict, bool, "True or False")
    check_limits(limits)


def check_limits(limits: object) -> None:
    """Whether they are limits, or none.

    Raises:
        TypeError: They are something else.
    """
    if limits is not None:
        check_type("limits", limits, Limits, "penstock.Limits or None")


def check_readable(item: Any) -> None:
    """Whether an item is a read or a chunk, whatever it says.

    Raises:
        TypeError: It is neither.
    """
    # The core decides at once what it takes, and reads it when it is asked for a chunk. Bytes, which it always takes, it would copy.
    if not isinstance(item, bytes):
        _core.StreamProcessor(emit="chunks").feed(item)


def check_text(text: object) -> None:
    """Whether it is text.

    Raises:
        TypeError: It is something else.
    """
    if not isinstance(text, str):
        msg = f"expected text, not {type(text).__name__}"
        raise TypeError(msg)


def check_type(name: str, value: object, kind: type, expected: str) -> None:
    """Says in one line what an argument must be, if it is something else.

    Raises:
        TypeError: It is.
    """
    # True is a number to Python alone.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        msg = f"{name} must be {expected}, not {type(value).__name__}"
        raise TypeError(msg)


def report_problems(engine: _core.StreamProcessor | _core.BlockReader | _core.Translator) -> None:
    """Logs each malformed chunk that was skipped since the last call: where and why, never what was in it."""
    for problem in engine.take_problems():
        is_first_of_unknown = problem.offset == 0 and engine.source is None
        log.warning("skipped a malformed chunk: %s%s", problem, _HINT if is_first_of_unknown else "")


def check_end(state: StreamState, source: Protocol | None, *, strict: bool) -> None:
    """Says what a stream that is over lacks. Who is not strict has the state for it, but need not look.

    Raises:
        UpstreamError: In strict mode, the upstream reported an error.
        StreamInterrupted: In strict mode, the stream ended without a finish.
    """
    if state.error is not None:
        if strict:
            raise UpstreamError(cast("object", state.error))
        log.warning("the upstream reported an error, which is in the state")
    elif state.interrupted:
        msg = "the stream ended without a finish"
        if strict:
            raise StreamInterrupted(msg)
        log.warning("%s, read as %s", msg, source or "no format that could be told")
