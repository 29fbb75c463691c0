"""Blocks rebuilt from events alone: what the state shows must be what the events said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from penstock.blocks import StreamBlock, ToolCallStreamBlock, ToolResultStreamBlock, UnknownStreamBlock
from penstock.events import BlockCompleted, BlockGrew, BlockNoted, BlockReopened, BlockStarted, Event

if TYPE_CHECKING:
    from collections.abc import Iterable

Shape = dict[str, Any]


def replayed(events: Iterable[Event]) -> list[Shape]:
    """The blocks that the events describe."""
    blocks: list[Shape] = []
    for event in events:
        match event:
            case BlockStarted():
                assert event.block == len(blocks), "blocks are numbered in the order of their start"
                blocks.append(_started(event))
            case BlockGrew(block, "raw", value):
                blocks[block]["raw"].append(json.loads(value))
            case BlockGrew(block, part, text):
                blocks[block][part] = blocks[block].get(part, "") + text
            case BlockNoted(block, name, value):
                blocks[block]["extras"].setdefault(name, []).append(json.loads(value))
            case BlockCompleted(block):
                assert not blocks[block]["is_complete"], "a block completes once until it is reopened"
                blocks[block]["is_complete"] = True
            case BlockReopened(block):
                assert blocks[block]["is_complete"], "only a complete block is reopened"
                blocks[block]["is_complete"] = False
            case _:
                pass
    return blocks


def _started(event: BlockStarted) -> Shape:
    shape: Shape = {"type": event.type, "id": event.id, "choice": event.choice, "is_complete": False, "extras": {}}
    if event.type == "tool_call":
        return shape | {"name": event.name, "arguments": ""}
    if event.type == "unknown":
        return shape | {"kind": event.name, "raw": []}
    if event.type == "tool_result":
        return shape | {"kind": event.name, "text": "", "raw": []}
    signed = {"signature": "", "data": ""} if event.type == "thinking" else {}
    return shape | {"text": ""} | signed


def shown(blocks: Iterable[StreamBlock]) -> list[Shape]:
    """The blocks that a state shows, in the same shape."""
    return [_shown(block) for block in blocks]


def _shown(block: Any) -> Shape:
    shape: Shape = {
        "type": block.type,
        "id": block.id,
        "choice": block.choice,
        "is_complete": block.is_complete,
        "extras": block.extras,
    }
    if isinstance(block, ToolCallStreamBlock):
        return shape | {"name": block.name, "arguments": block.arguments}
    if isinstance(block, UnknownStreamBlock):
        return shape | {"kind": block.kind, "raw": block.raw}
    if isinstance(block, ToolResultStreamBlock):
        return shape | {"kind": block.kind, "text": block.content, "raw": block.raw}
    signed = {"signature": block.signature, "data": block.data} if block.type == "thinking" else {}
    return shape | {"text": block.content} | signed
