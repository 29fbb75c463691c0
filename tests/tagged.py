"""Reads text with tags, and brings what came of it into the shortest form that says everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from feeding import Outcome, merged, outcome
from penstock.blocks import StreamBlock, ToolCallStreamBlock

if TYPE_CHECKING:
    from collections.abc import Iterable

    from feeding import Engine

# The type of a block, and its text; of a call, its name and arguments.
Shape: TypeAlias = tuple[str, ...]

CLAUDE = "claude-xml"


def read(engine: Engine, pieces: str | bytes | Iterable[Any], tags: Any = CLAUDE, **options: Any) -> Outcome:
    """What a text gives, with what neighbours add up to as one."""
    items = [pieces] if isinstance(pieces, (str, bytes)) else pieces
    result = outcome(engine, items, **{"source": "text", "tags": tags, **options})
    result.events = merged(result.events)
    return result


def shape(block: StreamBlock | Any) -> Shape:
    """A block in short."""
    if isinstance(block, ToolCallStreamBlock):
        return "tool_call", block.name, block.arguments
    return {"content": "text"}.get(block.type, block.type), block.content


def shapes(result: Outcome) -> list[Shape]:
    """The blocks in short, all of them complete."""
    assert all(block.is_complete for block in result.state.blocks)
    return [shape(block) for block in result.state.blocks]


def invoke(name: str, **parameters: str) -> str:
    """A call as Claude writes it."""
    inside = "".join(f'<parameter name="{key}">{value}</parameter>' for key, value in parameters.items())
    return f'<invoke name="{name}">{inside}</invoke>'


def calls(*invokes: str) -> str:
    """Calls in their section."""
    return f"<function_calls>{''.join(invokes)}</function_calls>"
