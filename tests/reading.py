"""Readers on either engine, and what they give in a form that can be compared."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import penstock
from penstock import BlockComplete, BlockStart, ChunkMeta, MembraneBlock, reference

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.items import Item


class CoreReader(penstock.BlockReader):
    """The reader as users get it."""


class ReferenceReader(penstock.BlockReader):
    """The same reader on the engine in plain Python."""

    def _new_engine(self, source: Any, *, first_index: int) -> Any:
        return reference.BlockReader(
            source=source, strict=self._strict, limits=self._limits, tags=self._tags, first_index=first_index
        )


READERS: dict[str, type[penstock.BlockReader]] = {"core": CoreReader, "reference": ReferenceReader}


@dataclass
class Heard:
    """Two callbacks that write down what they are called with."""

    items: list[Any] = field(default_factory=list)

    def on_chunk(self, text: str, meta: ChunkMeta) -> None:
        self.items.append((text, meta))

    def on_block(self, event: Any) -> None:
        self.items.append(event)


def hear(reader: type[penstock.BlockReader], items: Iterable[Any], **options: Any) -> list[Item]:
    """What the callbacks are called with for one stream; what the calls return is the same."""
    heard = Heard()
    reading = reader(heard.on_chunk, heard.on_block, **options)
    returned = [item for each in items for item in reading.feed(each)]
    returned += reading.flush().items
    assert returned == heard.items
    return heard.items


def merged(items: Iterable[Item]) -> list[Item]:
    """Items in which neighbouring chunks of the same part are one."""
    result: list[Item] = []
    for item in items:
        last = result[-1] if result else None
        if isinstance(item, tuple) and isinstance(last, tuple) and last[1] == item[1]:
            result[-1] = (last[0] + item[0], item[1])
        else:
            result.append(item)
    return result


def chunks(items: Iterable[Item]) -> list[tuple[str, ChunkMeta]]:
    """The chunks alone."""
    return [item for item in items if isinstance(item, tuple)]


def completed(items: Iterable[Item]) -> list[MembraneBlock]:
    """The blocks that completed, in that order."""
    return [item.block for item in items if isinstance(item, BlockComplete)]


def visible(items: Iterable[Item]) -> str:
    """What a speech app would say."""
    return "".join(text for text, meta in chunks(items) if meta.visible)


def check(items: Iterable[Item], *, is_cut: bool = False) -> None:
    """What holds for the items of every stream: starts and completions pair, chunks lie between and add up to the content."""
    opened: set[int] = set()
    said: dict[tuple[int, str | None], str] = {}
    next_index = 0
    for item in items:
        if isinstance(item, BlockStart):
            assert item.index not in opened
            assert item.index <= next_index, "numbers are given in the order of the starts"
            assert item.block == MembraneBlock(item.block.type)
            next_index = max(next_index, item.index + 1)
            opened.add(item.index)
        elif isinstance(item, BlockComplete):
            opened.remove(item.index)
            check_block(item, said)
        else:
            text, meta = item
            assert text
            assert meta.block_index in opened
            assert meta.visible == (meta.type == "text")
            place = (meta.block_index, meta.tool_call_part)
            said[place] = said.get(place, "") + text
    assert is_cut or not opened


def check_block(event: BlockComplete, said: dict[tuple[int, str | None], str]) -> None:
    block = event.block
    if block.type == "tool_call":
        assert said.get((event.index, "name")) == block.tool_name
        assert said.get((event.index, "id")) == block.tool_id
        spoken = said.get((event.index, "input"), "")
        assert block.raw_input is None or block.raw_input == spoken
        assert (block.input is None) == (block.raw_input is not None)
    elif block.type != "unknown":
        assert said.get((event.index, None), "") == block.content


def start(index: int, kind: Any) -> BlockStart:
    """`block_start`, as it must be."""
    return BlockStart(index, MembraneBlock(kind))


def text_block(index: int, *texts: str, kind: Any = "text", visible: bool = True) -> list[Item]:
    """All that a text or thinking block gives."""
    meta = ChunkMeta(type=kind, visible=visible, block_index=index)
    block = MembraneBlock(kind, "".join(texts))
    return [start(index, kind), *((text, meta) for text in texts), BlockComplete(index, block)]


def call_block(index: int, name: str, tool_id: str, value: Any, *pieces: str) -> list[Item]:
    """All that a call gives: name, id, input."""
    meta = ChunkMeta("tool_call", visible=False, block_index=index, depth=1, tool_id=tool_id, tool_name=name)
    parts: list[tuple[str, Any]] = [(name, "name"), (tool_id, "id"), *((piece, "input") for piece in pieces)]
    said = [(text, replace(meta, tool_call_part=part)) for text, part in parts]
    block = MembraneBlock("tool_call", tool_id=tool_id, tool_name=name, input=value)
    return [start(index, "tool_call"), *said, BlockComplete(index, block)]


def result_block(index: int, tool_id: str, content: str) -> list[Item]:
    """All that a result of the host gives."""
    meta = ChunkMeta("tool_result", visible=False, block_index=index, depth=1, tool_id=tool_id)
    block = MembraneBlock("tool_result", content, tool_id)
    return [start(index, "tool_result"), (content, meta), BlockComplete(index, block)]
