"""Events to what the reader of blocks hears: the start of each block, its chunks, its completion.

The rules are those of the core's `reader.rs`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from penstock import events as ev
from penstock.blocks import ToolCallStreamBlock
from penstock.errors import StreamClosed
from penstock.items import (
    BlockComplete,
    BlockStart,
    ChunkMeta,
    ChunkType,
    Item,
    MembraneBlock,
    ToolCallPart,
    read_input,
)
from penstock.reference.session import StreamProcessor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.blocks import StreamBlock, StreamState
    from penstock.errors import ProtocolError
    from penstock.limits import Limits
    from penstock.vocabulary import Tags

__all__ = ["BlockReader"]

_TYPES: dict[ev.BlockType, ChunkType] = {
    "content": "text",
    "refusal": "text",
    "thinking": "thinking",
    "tool_call": "tool_call",
    "tool_result": "tool_result",
    "unknown": "unknown",
}

# Notes of tags that make a block doubtful.
_DOUBTS = frozenset({"stray", "tag_in_thinking", "tag_in_value", "unclosed_tag", "written_by_model"})

# A block of each type as its start shows it: it says nothing else.
_STARTS = {each: MembraneBlock(each) for each in _TYPES.values()}


class _Reading:
    """A block of the stream as the events have told it so far, and what the reader knows it as.

    Attributes:
        kind: Which sort of call it is, or the wire's name for a result or an unknown block.
        pieces: Its text or arguments since it started under its number.
        metas: What its chunks are, by part; each is made once.
    """

    __slots__ = (
        "block", "flags", "index", "is_error", "is_open", "is_severed", "kind", "metas", "name", "pieces", "raw", "type", "unsaid_id"
    )  # fmt: skip

    def __init__(self, index: int, block: ev.BlockStarted, kind: str) -> None:
        self.index = index
        self.block = block
        self.type: ChunkType = _TYPES[block.type]
        self.kind = kind
        self.name = block.name if self.type == "tool_call" else ""
        self.pieces: list[str] = []
        self.raw: list[str] = []
        self.is_error = False
        self.flags: set[str] = set()
        self.is_open = True
        self.is_severed = False
        self.unsaid_id = block.id if self.type == "tool_call" else ""
        self.metas: dict[ToolCallPart | None, ChunkMeta] = {}

    @property
    def tool_id(self) -> str | None:
        """The id of the call that the block is, or is the result of."""
        return (self.block.id if self.type == "tool_call" else self.block.tool_call_id) or None

    def meta(self, part: ToolCallPart | None) -> ChunkMeta:
        """What a chunk of that part is."""
        meta = self.metas.get(part)
        if meta is None:
            meta = self.metas[part] = self._new_meta(part)
        return meta

    def _new_meta(self, part: ToolCallPart | None) -> ChunkMeta:
        return ChunkMeta(
            type=self.type,
            visible=self.type == "text",
            block_index=self.index,
            depth=1 if self.type in ("tool_call", "tool_result") else 0,
            tool_call_part=part,
            tool_id=self.tool_id,
            tool_name=self.name or None,
            choice=self.block.choice,
        )

    def whole(self) -> MembraneBlock:
        """The block as its completion shows it."""
        text = "".join(self.pieces)
        if self.type == "tool_call":
            return self._whole_call(text)
        return MembraneBlock(
            type=self.type,
            content=None if self.type == "unknown" else text,
            tool_id=self.tool_id,
            kind=self.kind or None,
            parts=[json.loads(each) for each in self.raw] or None,
            is_error=self.is_error,
            flags=tuple(sorted(self.flags)),
            choice=self.block.choice,
        )

    def _whole_call(self, arguments: str) -> MembraneBlock:
        value = None if self.kind == "custom" else read_input(arguments)
        return MembraneBlock(
            type="tool_call",
            tool_id=self.tool_id,
            tool_name=self.name or None,
            input=value,
            raw_input=arguments if value is None else None,
            kind=self.kind or None,
            flags=tuple(sorted(self.flags)),
            choice=self.block.choice,
        )


def _kind_of(event: ev.BlockStarted, block: StreamBlock) -> str:
    """Which sort of block it is, where it is not the ordinary one."""
    if isinstance(block, ToolCallStreamBlock):
        return "" if block.kind == "function" else block.kind
    if event.type == "refusal":
        return "refusal"
    return "" if event.name == "tool_result" else event.name


class BlockReader:
    """Reads one stream into chunks and block events; the interface is that of the core's class."""

    def __init__(
        self,
        *,
        source: Literal["auto", "openai_chat", "text"] = "auto",
        strict: bool = False,
        limits: Limits | None = None,
        tags: Tags | None = None,
        first_index: int = 0,
    ) -> None:
        self.source = "openai_chat" if source == "auto" else source
        self._processor = StreamProcessor(emit="events", source=self.source, strict=strict, limits=limits, tags=tags)
        # A stream before this one had a block for each of its calls, at least.
        self._processor.count_tag_calls_from(first_index)
        self._readings: list[_Reading] = []
        self._is_closed = False
        self.next_index = first_index

    @property
    def state(self) -> StreamState:
        """What is known of the stream so far."""
        return self._processor.state

    @property
    def ending(self) -> StreamState:
        """The same: here its blocks are made in any case."""
        return self.state

    @property
    def quirks(self) -> dict[str, int]:
        """How often which deviation was seen."""
        return self._processor.state.quirks

    @property
    def took_event(self) -> bool:
        """Whether the last item brought an event."""
        return self._processor.took_event

    def feed(self, item: Any) -> list[Item]:
        """Takes a read of bytes, a chunk as JSON text, or a chunk as an object; gives what is ready."""
        if self._is_closed:
            msg = "the stream is over"
            raise StreamClosed(msg)
        return self._items(self._processor.feed(item))

    def finish(self) -> list[Item]:
        """The input is over."""
        return self._items(self._processor.finish())

    def close(self) -> None:
        """The stream is given up: nothing more can be fed, and nothing completes."""
        self._is_closed = True
        self._readings.clear()

    def interpose(self) -> tuple[list[BlockComplete], int]:
        """The host puts a block of its own here: what that completes, and the number of the block."""
        completed: list[BlockComplete] = []
        for reading in self._readings:
            if reading.is_open and reading.type in ("text", "thinking"):
                reading.is_open = False
                reading.is_severed = True
                completed.append(BlockComplete(reading.index, reading.whole()))
        self.next_index += 1
        return completed, self.next_index - 1

    def take_ready(self) -> list[Item]:
        """What was ready when the last call raised."""
        return self.finish()

    def take_problems(self) -> list[ProtocolError]:
        """The malformed chunks that were skipped since the last call."""
        return self._processor.take_problems()

    def _items(self, events: Iterable[ev.Event]) -> list[Item]:
        items: list[Item] = []
        for event in events:
            match event:
                case ev.BlockGrew():
                    if event.text:
                        self._grow(event, items)
                case ev.BlockStarted():
                    self._start(event, items)
                case ev.BlockCompleted():
                    self._complete(self._readings[event.block], items)
                case ev.BlockReopened():
                    self._reopen(self._readings[event.block], items)
                case ev.BlockNoted(name="is_error", json="true"):
                    self._readings[event.block].is_error = True
                case ev.BlockNoted(json="true") if event.name in _DOUBTS:
                    self._readings[event.block].flags.add(event.name)
                case ev.StreamEnded():
                    self._readings.clear()
                case _:
                    pass
        return items

    def _start(self, event: ev.BlockStarted, items: list[Item]) -> None:
        reading = _Reading(self.next_index, event, _kind_of(event, self.state.blocks[event.block]))
        self.next_index += 1
        self._readings.append(reading)
        items.append(BlockStart(reading.index, _STARTS[reading.type]))
        if reading.type == "tool_call" and event.name:
            items.append((event.name, reading.meta("name")))
            self._say_id(reading, items)

    def _grow(self, event: ev.BlockGrew, items: list[Item]) -> None:
        reading = self._readings[event.block]
        match event.part:
            case "text":
                if reading.is_severed:
                    self._resume(reading, items)
                reading.pieces.append(event.text)
                items.append((event.text, reading.meta(None)))
            case "arguments":
                self._say_id(reading, items)
                reading.pieces.append(event.text)
                items.append((event.text, reading.meta("input")))
            case "name":
                # The name has grown, and each meta says it.
                reading.name += event.text
                reading.metas.clear()
                items.append((event.text, reading.meta("name")))
                self._say_id(reading, items)
            case "raw":
                reading.raw.append(event.text)
            case "signature" | "data":
                # Only the provider can read these.
                pass

    def _resume(self, reading: _Reading, items: list[Item]) -> None:
        """Text that the host has parted goes on as a block of its own."""
        reading.is_open, reading.is_severed = True, False
        reading.index = self.next_index
        self.next_index += 1
        reading.pieces.clear()
        reading.metas.clear()
        items.append(BlockStart(reading.index, _STARTS[reading.type]))

    def _say_id(self, reading: _Reading, items: list[Item]) -> None:
        if reading.unsaid_id:
            items.append((reading.unsaid_id, reading.meta("id")))
            reading.unsaid_id = ""

    def _reopen(self, reading: _Reading, items: list[Item]) -> None:
        if not reading.is_open:
            reading.is_open, reading.is_severed = True, False
            items.append(BlockStart(reading.index, _STARTS[reading.type]))

    def _complete(self, reading: _Reading, items: list[Item]) -> None:
        self._say_id(reading, items)
        if reading.is_open:
            items.append(BlockComplete(reading.index, reading.whole()))
        reading.is_open = reading.is_severed = False
