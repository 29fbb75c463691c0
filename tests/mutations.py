"""The legal streams of each format, as bytes and as events, and ways to break them."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest

import legal_chat
import legal_messages
import legal_responses
import penstock
from wire import frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock import Report

Event = dict[str, Any]

MODULES = {
    "anthropic_messages": legal_messages,
    "openai_chat": legal_chat,
    "openai_responses": legal_responses,
}
STREAMS = {form: module.STREAMS for form, module in MODULES.items()}

every_stream = pytest.mark.parametrize(
    ("form", "name"),
    [pytest.param(form, name, id=f"{form}-{name}") for form, streams in STREAMS.items() for name in streams],
)


def ends_in_error(form: str, name: str) -> bool:
    """Whether that stream ends with an error."""
    return name in MODULES[form].ERRORS


def is_done_due(form: str, events: list[Event]) -> bool:
    """Whether `[DONE]` ends the stream."""
    return form == "openai_chat" and not any("error" in event for event in events)


def sse(form: str, events: list[Event]) -> bytes:
    """The events as server-sent events."""
    named = form != "openai_chat"
    framed = [frame(json.dumps(event), event["type"] if named else "") for event in events]
    return b"".join([*framed, frame("[DONE]")] if is_done_due(form, events) else framed)


def rules(report: Report) -> set[str]:
    """The numbers of the rules that are broken."""
    return {finding.rule for finding in report}


def broken(form: str, name: str, change: Callable[[list[Event]], object]) -> set[str]:
    """The rules that a stream breaks after a change, which are the same for its events and for its bytes."""
    # Through JSON, so that no two events share an object.
    events = json.loads(json.dumps(STREAMS[form][name]))
    change(events)
    assert events != STREAMS[form][name], "the change changes nothing"
    found = rules(penstock.check(events, form))
    assert rules(penstock.check(sse(form, events), form)) == found
    return found


def put(*path: Any, to: Any) -> Callable[[list[Event]], None]:
    """A change of one value: the position of the event, then the names down to the value."""

    def change(events: list[Any]) -> None:
        place: Any = events
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to

    return change


def take_out(*path: Any) -> Callable[[list[Event]], None]:
    """A change that takes an event out, or a field of one."""

    def change(events: list[Any]) -> None:
        place: Any = events
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return change


def insert(position: int, event: Any) -> Callable[[list[Event]], None]:
    """A change that puts an event, or a copy of the one at a position, in front of another."""

    def change(events: list[Event]) -> None:
        events.insert(position, deepcopy(events[event]) if isinstance(event, int) else event)

    return change


def swap(first: int, second: int) -> Callable[[list[Event]], None]:
    """A change of the order of two events."""

    def change(events: list[Event]) -> None:
        events[first], events[second] = events[second], events[first]

    return change


def together(*changes: Callable[[list[Event]], object]) -> Callable[[list[Event]], None]:
    """Several changes, one after the other."""

    def change(events: list[Event]) -> None:
        for each in changes:
            each(events)

    return change
