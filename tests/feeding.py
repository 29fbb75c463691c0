"""Feeds streams to an engine, and brings what it reports into a form that can be compared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.events import (
    BlockGrew,
    BlockNoted,
    ErrorReported,
    Event,
    QuirkSeen,
    ResponseNoted,
    StreamEnded,
    UsageReported,
)
from splits import SPLITS, Split
from wire import Chunk, sse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.blocks import StreamState

ENDED = StreamEnded(interrupted=False)
CUT = StreamEnded(interrupted=True)


@dataclass(frozen=True)
class Engine:
    """One implementation: its name and its two classes."""

    name: str
    StreamProcessor: type[Any]
    SseFramer: type[Any]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Way:
    """One way in which the same chunks come in."""

    name: str
    items: Callable[[list[Chunk]], list[Any]]

    def __str__(self) -> str:
        return self.name


def _as_bytes(split: Split) -> Way:
    return Way(f"bytes-{split}", lambda chunks: split(sse(*chunks)))


WAYS = (*map(_as_bytes, SPLITS), Way("dicts", list), Way("json", lambda chunks: [json.dumps(each) for each in chunks]))


@dataclass
class Outcome:
    """What a stream gave: its events without the quirks, the quirks, and the state at the end."""

    events: list[Event]
    quirks: dict[str, int]
    state: StreamState
    problems: list[Any]


Run: TypeAlias = Callable[..., Outcome]


def run(engine: Engine, items: Iterable[Any], **options: Any) -> list[Event]:
    """All events of a stream."""
    return feed(engine, items, **options)[0]


def feed(engine: Engine, items: Iterable[Any], **options: Any) -> tuple[list[Event], Any]:
    """All events of a stream, and the processor that read it."""
    processor = engine.StreamProcessor(emit="events", **options)
    events = [event for item in items for event in processor.feed(item)]
    return [*events, *processor.finish()], processor


def outcome(engine: Engine, items: Iterable[Any], **options: Any) -> Outcome:
    """Events, quirks and state of a stream; the quirks of the events are those of the state."""
    events, processor = feed(engine, items, **options)
    quirks = dict(Counter(event.name for event in events if isinstance(event, QuirkSeen)))
    assert dict(processor.state.quirks) == quirks
    others = canonical(event for event in events if not isinstance(event, QuirkSeen))
    return Outcome(others, quirks, processor.state, processor.take_problems())


def canonical(events: Iterable[Event]) -> list[Event]:
    """Events whose JSON is spelt in one way, so that it is compared by its value."""
    return [_canonical(event) for event in events]


def _canonical(event: Event) -> Event:
    match event:
        case BlockGrew(part="raw", text=value):
            return replace(event, text=_respelt(value))
        case BlockNoted(json=value) | ResponseNoted(json=value) | UsageReported(json=value) | ErrorReported(json=value):
            return replace(event, json=_respelt(value))
        case _:
            return event


def _respelt(value: str) -> str:
    return json.dumps(json.loads(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def merged(events: Iterable[Event]) -> list[Event]:
    """Events in which neighbours that grow the same part of the same block are one."""
    result: list[Event] = []
    for event in events:
        last = result[-1] if result else None
        if isinstance(event, BlockGrew) and isinstance(last, BlockGrew) and _is_same_part(event, last):
            result[-1] = BlockGrew(event.block, event.part, last.text + event.text)
        else:
            result.append(event)
    return result


def _is_same_part(one: BlockGrew, other: BlockGrew) -> bool:
    return one.block == other.block and one.part == other.part != "raw"
