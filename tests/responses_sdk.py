"""What the official SDK makes of the bytes of a Responses stream: its events, its accumulated snapshot, its final response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import httpx
from openai import NOT_GIVEN, OpenAI
from openai._streaming import Stream
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import ResponseStreamEvent

if TYPE_CHECKING:
    from openai.types.responses import Response

TERMINAL = ("response.completed", "response.incomplete", "response.failed", "error")


@dataclass
class Reading:
    """A stream as the SDK reads it."""

    events: list[Any]
    """The events up to the last one that counts."""
    snapshot: Any
    """What its accumulator made of the deltas."""
    final: Response | None
    """The response of the last event."""


def events_of(data: bytes) -> list[Any]:
    """The SDK's objects for the events of a stream."""
    with OpenAI(api_key="none") as client:
        answer = httpx.Response(200, content=data, request=httpx.Request("POST", "https://localhost"))
        stream = Stream(cast_to=cast("Any", ResponseStreamEvent), response=answer, client=client)
        events: list[Any] = []
        for event in stream:
            events.append(event)
            if event.type in TERMINAL:
                break
        return events


def read(data: bytes) -> Reading:
    """All that the SDK knows of a stream.

    Raises:
        Exception: Whatever the SDK raises where a stream is not as it wants it.
    """
    events = events_of(data)
    state = ResponseStreamState(input_tools=NOT_GIVEN, text_format=NOT_GIVEN)
    for event in events:
        state.handle_event(event)
    snapshot = state._ResponseStreamState__current_snapshot  # type: ignore[attr-defined]
    return Reading(events, snapshot, getattr(events[-1], "response", None))
