"""A server-sent event, as the framers of both engines give it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SseEvent"]


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event of a `text/event-stream`.

    Attributes:
        type: Its `event` field; `message` where it has none.
        data: Its `data` lines, joined by line feeds.
        id: The last `id` that the stream has given so far.
    """

    type: str
    data: str
    id: str = ""
