"""Whether a stream is legal: the grammar of each wire format, with a number for each rule. The rules are in docs/grammar.md."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, cast

from penstock.grammar import anthropic_messages, framing, openai_chat, openai_responses, responses_body
from penstock.grammar.finding import Ended, Finding, Report
from penstock.grammar.framing import CheckedStream
from penstock.grammar.rules import PERMISSIONS, PROMISES, RULES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.grammar.finding import Checker
    from penstock.protocols import Protocol, Source

__all__ = [
    "FORMATS",
    "PERMISSIONS",
    "PROMISES",
    "RULES",
    "CheckedStream",
    "Ended",
    "Finding",
    "Report",
    "check",
    "check_body",
]

_STREAMS: dict[Protocol, type[Checker]] = {
    "openai_chat": openai_chat.StreamChecker,
    "anthropic_messages": anthropic_messages.StreamChecker,
    "openai_responses": openai_responses.StreamChecker,
}
_BODIES: dict[Protocol, type[Checker]] = {
    "openai_chat": openai_chat.BodyChecker,
    "anthropic_messages": anthropic_messages.BodyChecker,
    "openai_responses": responses_body.BodyChecker,
}
# What can be named as the format.
FORMATS = ("auto", *_STREAMS)


def check(stream: CheckedStream, format: Source = "auto") -> Report:  # noqa: A002 (the word that users have for it)
    """Checks a stream by the grammar of its format.

    Args:
        stream: Bytes of server-sent events, an iterable of reads of them, or an iterable of events: dicts, or pairs of an
            event's name and a dict. Dicts have no names and no `[DONE]`, so nothing is said about those.
        format: The wire format, or `auto` to tell it from the first event.

    Returns:
        The findings, in order: an empty list if the stream is legal. `ended` says how it ended.

    Raises:
        TypeError: The stream is none of these.
        ValueError: The format is not known, or the first event does not tell it.

    Example:
        >>> import penstock
        >>> for finding in penstock.check([{"type": "ping"}], "anthropic_messages"):
        ...     print(finding)
        event 0: A12: the stream ends with neither its last event nor an error
    """
    events = framing.events_of(stream)
    if format == "auto":
        format, events = _told(events)  # noqa: A001
    return _report(_STREAMS, format, events)


def check_body(body: Mapping[str, Any] | bytes | str, format: Source = "auto") -> Report:  # noqa: A002
    """Checks an answer that was not streamed: its required fields, its blocks, and how it ended.

    Args:
        body: The answer as a dict, or as JSON.
        format: The wire format, or `auto` to tell it from the body.

    Returns:
        The findings, all at event 0. A body that is an error is legal, and `ended` says so.

    Raises:
        ValueError: The format is not known, or the body does not tell it.

    Example:
        >>> import penstock
        >>> penstock.check_body({"type": "error", "error": {"type": "api_error", "message": "later"}}).ended
        'error'
    """
    event = framing.body_of(body)
    if format == "auto":
        format = _format_of(event, "the body")  # noqa: A001
    return _report(_BODIES, format, iter([event]))


def _report(checkers: Mapping[Protocol, type[Checker]], format: str, events: Iterator[framing.Event]) -> Report:  # noqa: A002
    if format not in checkers:
        msg = f"the format must be one of {', '.join(checkers)} or auto, not {format!r}"
        raise ValueError(msg)
    protocol = cast("Protocol", format)
    checker = checkers[protocol]()
    checker.run(events)
    return Report(checker.findings, format=protocol, ended=checker.ended)


def _told(events: Iterator[framing.Event]) -> tuple[Protocol, Iterator[framing.Event]]:
    """The format that the first event tells, and all events."""
    first = next(events, None)
    if first is None:
        msg = "the format cannot be told from a stream without events"
        raise ValueError(msg)
    return _format_of(first, "the first event"), itertools.chain([first], events)


def _format_of(event: framing.Event, whence: str) -> Protocol:
    match event.data:
        case None if event.is_done:
            return "openai_chat"
        case {"type": "error", "message": _} | {"object": "response"}:
            return "openai_responses"
        case {"type": str(kind)} if kind.startswith("response."):
            return "openai_responses"
        case {"type": str()}:
            return "anthropic_messages"
        case {"choices": _} | {"error": _}:
            return "openai_chat"
        case _:
            msg = f"the format cannot be told from {whence}"
            raise ValueError(msg)
