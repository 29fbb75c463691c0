"""Any wire format in, any wire format out."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, get_args

from penstock import _core, sources
from penstock.engine import check_limits, check_type, log, report_problems
from penstock.options import TranslatorOptions, check_options
from penstock.timeouts import ItemsInTime, checked_seconds

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.limits import Limits
    from penstock.protocols import Protocol, Source, Target
    from penstock.sources import Incoming
    from penstock.vocabulary import Tags

__all__ = ["FailureKind", "OnInterrupt", "TextAfterCalls", "Translator", "translate"]

OnInterrupt: TypeAlias = Literal["error", "close"]
TextAfterCalls: TypeAlias = Literal["in_order", "before_calls"]
FailureKind: TypeAlias = Literal[
    "api_error",
    "invalid_request_error",
    "authentication_error",
    "billing_error",
    "permission_error",
    "not_found_error",
    "rate_limit_error",
    "timeout_error",
    "overloaded_error",
]


def _checked_time(created: int | None) -> int:
    if created is None:
        return int(time.time())
    check_type("created", created, int, "a whole number of seconds or None")
    if created < 0:
        msg = f"created must be 0 or more, not {created}"
        raise ValueError(msg)
    return created


class Translator:
    r"""Reads one stream in one wire format and writes it in another.

    Blocks are written one after the other, whatever turns they came in: the first open call streams live, the others wait until it is
    whole. Every stream that comes out is legal, and one that was cut never looks whole. docs/translation.md has the rules.

    Args:
        source: The wire format to read, or `auto` to tell it from the first event.
        target: The wire format to write. It may be the same: then the stream is written anew, in the one canonical way.
        strict: End the stream with an error at the first deviation, instead of putting it right or skipping the chunk.
        limits: What the stream may cost.
        tags: The vocabulary of the tags in its text: a name, a `TagVocabulary`, or a list of them. Without one, the text of a wire format
            is text, and text alone has the tags of Claude; an empty list looks for none. A call in tags leaves as a native one.
        coalesce: Whether deltas of one block that came in one read may share an event. Nothing is ever delayed for it.
        on_interrupt: How a stream that was cut ends. `error`: with the target's own error, and nothing after it. `close`: as if the
            answer had reached its limit, for clients that take no error; calls are then written only when they are whole.
        text_after_calls: Where text goes that comes behind a call. `in_order`: where it came. `before_calls`: before the calls, for clients
            whose next request would be refused otherwise; calls then wait for the finish.
        model: The model to name; the source's if this is None.
        message_id: The id of the answer where the source gives none; one is made if this is None.
        created: The time of the answer where the source gives none, in seconds; now if this is None.

    Example:
        >>> from penstock import Translator
        >>> translator = Translator(source="openai_chat", target="anthropic_messages")
        >>> out = translator.feed(b'data: {"id": "1", "choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\n')
        >>> out += translator.finish()
        >>> out.splitlines()[0]
        b'event: message_start'
    """

    def __init__(  # noqa: PLR0913 (options by name)
        self,
        *,
        source: Source = "auto",
        target: Target,
        strict: bool = False,
        limits: Limits | None = None,
        tags: Tags | None = None,
        coalesce: bool = True,
        on_interrupt: OnInterrupt = "error",
        text_after_calls: TextAfterCalls = "in_order",
        model: str | None = None,
        message_id: str | None = None,
        created: int | None = None,
    ) -> None:
        self._core = new_core(
            source=source,
            target=target,
            strict=strict,
            limits=limits,
            tags=tags,
            coalesce=coalesce,
            on_interrupt=on_interrupt,
            text_after_calls=text_after_calls,
            model=model,
            message_id=message_id,
            created=created,
        )

    @property
    def source(self) -> Protocol | None:
        """The wire format that is read, as it was named or told from the first event; None while it could be any."""
        return self._core.source

    @property
    def target(self) -> Target:
        """The wire format that is written."""
        return self._core.target

    @property
    def is_over(self) -> bool:
        """Whether the answer has been written to its end, or to its error: nothing that is fed now changes anything."""
        return self._core.is_over

    @property
    def took_event(self) -> bool:
        """Whether what was fed last has brought an event: a comment has not, nor a part of an event. For whoever has an idle limit."""
        return self._core.took_event

    @property
    def failure(self) -> tuple[FailureKind, str] | None:
        """The kind and the message of the error that the stream was ended with; None if there is none."""
        return self._core.failure

    @property
    def losses(self) -> dict[str, int]:
        """What the target has no words for and was left out, by name, and how often. The names are those of docs/translation.md."""
        return self._core.losses

    @property
    def ids(self) -> dict[str, str]:
        """The ids of the calls: from those that were written to those that came."""
        return self._core.ids

    def feed(self, item: Any) -> bytes:
        """Takes a read of bytes, or a chunk as JSON text, dict or object; gives what can be written by now.

        Raises:
            LimitExceeded: The stream reached one of its limits. `finish` gives the error event for the client.
            ProtocolError: In strict mode, likewise.
            StreamClosed: The input was said to be over.
        """
        try:
            return self._core.feed(item)
        finally:
            report_problems(self._core)

    def finish(self) -> bytes:
        """The input is over; gives the rest. A stream that was cut ends with the target's error."""
        try:
            return self._core.finish()
        finally:
            report_problems(self._core)

    def interrupt(self, error: object, *, kind: FailureKind = "api_error") -> bytes:
        """The input cannot go on: gives the end that says so.

        Args:
            error: What to say to the client: a text, or an exception, of which nothing but its being a time-out is told.
            kind: What the client may act on.
        """
        if kind not in get_args(FailureKind):
            msg = f"kind must be one of {', '.join(get_args(FailureKind))}, not {kind!r}"
            raise ValueError(msg)
        if isinstance(error, TimeoutError):
            return self._core.interrupt("the upstream took too long", "timeout_error")
        if isinstance(error, BaseException):
            return self._core.interrupt("the connection to the upstream failed", kind)
        return self._core.interrupt(str(error), kind)

    def ping(self) -> bytes:
        """A sign of life in the target's own form: an event where it has one, else a comment."""
        return self._core.ping()


def new_core(
    *,
    source: Source,
    target: Target,
    strict: bool = False,
    limits: Limits | None = None,
    coalesce: bool = True,
    message_id: str | None = None,
    model: str | None = None,
    created: int | None = None,
    **options: Any,
) -> _core.Translator:
    """The core's translator, made from checked arguments.

    Raises:
        TypeError: An argument is of another type than it must be, or there is none of its name.
        ValueError: An option has no such choice.
    """
    check_type("source", source, str, 'the name of a wire format or "auto"')
    check_type("target", target, str, "the name of a wire format")
    for name in options.keys() & {"on_interrupt", "text_after_calls"}:
        check_type(name, options[name], str, "a string")
    for name, flag in (("strict", strict), ("coalesce", coalesce)):
        check_type(name, flag, bool, "True or False")
    check_limits(limits)
    for name, text in (("model", model), ("message_id", message_id)):
        if text is not None:
            check_type(name, text, str, "a string or None")
    return _core.Translator(
        source=source,
        target=target,
        strict=strict,
        limits=limits,
        coalesce=coalesce,
        model=model,
        id=os.urandom(12).hex() if message_id is None else message_id,
        created=_checked_time(created),
        **options,
    )


async def translate(
    incoming: Incoming,
    *,
    source: Source = "auto",
    target: Target,
    chunk_timeout: float | None = 30.0,
    total_timeout: float | None = 600.0,
    **options: Unpack[TranslatorOptions],
) -> AsyncGenerator[bytes]:
    """Translates a stream as it comes.

    Whatever goes wrong, the client gets a legal stream: an error of the source, a time-out and a limit are told by the target's own
    error, and logged. The source is closed at the end, however that comes.

    Args:
        incoming: Reads or chunks, from an async iterable, a plain iterable, or an `asyncio.Queue` that is ended by None or shut down.
        source: The wire format to read, or `auto` to tell it from the first event.
        target: The wire format to write.
        chunk_timeout: How long to wait for the next event, in seconds; None for ever. A comment is none.
        total_timeout: How long the whole stream may take, in seconds; None for ever.
        **options: As for `Translator`.

    Yields:
        Bytes of the target's stream, never empty.
    """
    check_options("translate", options, TranslatorOptions)
    translator = Translator(source=source, target=target, **options)
    chunk, total = checked_seconds("chunk_timeout", chunk_timeout), checked_seconds("total_timeout", total_timeout)
    async with sources.opened(incoming) as items:
        timed = ItemsInTime(items, chunk=chunk, total=total)
        try:
            async for item in timed:
                if out := translator.feed(item):
                    yield out
                elif not translator.took_event:
                    timed.keep_waiting()
                if translator.is_over:
                    return
            rest = translator.finish()
        except Exception as error:  # noqa: BLE001 - whatever it is, the client is told that the answer was cut.
            log.warning("a stream was ended with an error: %s", type(error).__name__)
            rest = translator.interrupt(error)
        if rest:
            yield rest
