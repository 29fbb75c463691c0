"""Events of Anthropic's Messages, written as briefly as a test wants them, and the ways to feed them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from feeding import Way
from splits import SPLITS, Split
from wire import frame

if TYPE_CHECKING:
    from collections.abc import Iterable

Event = dict[str, Any]

ENVELOPE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}


def opened(**fields: Any) -> Event:
    """`message_start`, of an empty message."""
    return {"type": "message_start", "message": {**ENVELOPE, "content": [], "stop_reason": None, **fields}}


def start(kind: str, index: int = 0, **fields: Any) -> Event:
    """`content_block_start`."""
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}}


def delta(kind: str, index: int = 0, **fields: Any) -> Event:
    """`content_block_delta`."""
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def text(words: str, index: int = 0) -> Event:
    """More text."""
    return delta("text_delta", index, text=words)


def partial(json_text: str, index: int = 0) -> Event:
    """More arguments."""
    return delta("input_json_delta", index, partial_json=json_text)


def stop(index: int = 0) -> Event:
    """`content_block_stop`."""
    return {"type": "content_block_stop", "index": index}


def ending(reason: str | None = "end_turn", usage: Any = None, **fields: Any) -> Event:
    """`message_delta`, with usage only where it is given."""
    event = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None, **fields}}
    return event if usage is None else {**event, "usage": usage}


END: Event = {"type": "message_stop"}
PING: Event = {"type": "ping"}


def body(*content: Event, reason: str | None = "end_turn", **fields: Any) -> Event:
    """A message that was not streamed."""
    return {**ENVELOPE, "content": list(content), "stop_reason": reason, **fields}


def streamed(*blocks: Event) -> list[Event]:
    """A whole stream around the events of its blocks."""
    return [opened(), *blocks, ending(), END]


def sse(events: Iterable[Event]) -> bytes:
    """Events as the vendor frames them: named by their type."""
    return b"".join(frame(json.dumps(event), event.get("type", "")) for event in events)


def _as_bytes(split: Split) -> Way:
    return Way(f"bytes-{split}", lambda events: split(sse(events)))


WAYS = (*map(_as_bytes, SPLITS), Way("dicts", list), Way("json", lambda events: [json.dumps(each) for each in events]))
