"""A user's code around a reader, which pyright must find nothing in."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

from penstock import BlockComplete, BlockEvent, BlockReader, BlockStart, ChunkMeta, MembraneBlock, StreamState

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


SAID: list[object] = []


def speak(text: str, meta: ChunkMeta) -> None:
    if meta.visible and meta.type == "text":
        SAID.append(text)


async def show(event: BlockEvent) -> None:
    match event:
        case BlockStart(index=index, block=block):
            SAID.append((index, block.type))
        case BlockComplete(index=index, block=MembraneBlock(type="tool_call", tool_name=name, input=value)):
            assert_type(name, str | None)
            if value is not None:
                SAID.append((index, name, sorted(value)))
        case BlockComplete():
            SAID.append(event.block.content)


async def read(stream: AsyncIterator[bytes]) -> str | None:
    reader = BlockReader(speak, show, source="anthropic_messages")
    await reader.read(stream)
    await reader.tool_result_async("call_1", [{"type": "text", "text": "22 degrees"}], tool_name="weather")
    assert_type(reader.state, StreamState)
    return reader.state.finish_reason


async def iterate(stream: AsyncIterator[dict[str, object]]) -> list[str]:
    said: list[str] = []
    async for item in BlockReader().events(stream):
        if isinstance(item, tuple):
            text, meta = item
            assert_type(meta, ChunkMeta)
            said.append(text)
        elif item.event == "block_complete":
            said.append(item.block.content or "")
    return said


def parse(text: str) -> list[str]:
    reader = BlockReader()
    read = [reader.process_chunk(text), reader.flush()]
    return [chunk for each in read for chunk, meta in each.content if meta.visible]
