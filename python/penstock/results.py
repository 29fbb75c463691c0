"""The result of a tool that the host has run, as the items that a reader gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, cast

from penstock.items import BlockComplete, BlockStart, ChunkMeta, Item, MembraneBlock

__all__ = ["Result"]


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gave back: its text, and its parts where it has any."""

    tool_id: str
    tool_name: str | None
    text: str
    parts: list[Any] | None
    is_error: bool

    @classmethod
    def of(cls, tool_id: object, content: object, *, tool_name: object, is_error: object) -> Self:
        """A result from what the user gave.

        Raises:
            TypeError: An argument is of another type than it must be.
        """
        if not isinstance(tool_id, str):
            msg = f"tool_id must be text, not {type(tool_id).__name__}"
            raise TypeError(msg)
        if not isinstance(tool_name, str | None):
            msg = f"tool_name must be text or None, not {type(tool_name).__name__}"
            raise TypeError(msg)
        if not isinstance(is_error, bool):
            msg = f"is_error must be True or False, not {type(is_error).__name__}"
            raise TypeError(msg)
        if isinstance(content, str):
            return cls(tool_id, tool_name, content, None, is_error)
        if not isinstance(content, list | tuple):
            msg = f"content must be text or a list of parts, not {type(content).__name__}"
            raise TypeError(msg)
        parts: list[Any] = list(cast("list[Any]", content))
        return cls(tool_id, tool_name, "".join(map(_shown, parts)), parts, is_error)

    def items(self, index: int) -> list[Item]:
        """The result as a block of that number: its start, its text in one chunk, its completion."""
        meta = ChunkMeta(
            "tool_result", visible=False, block_index=index, depth=1, tool_id=self.tool_id, tool_name=self.tool_name
        )
        block = MembraneBlock(
            "tool_result", self.text, self.tool_id, self.tool_name, parts=self.parts, is_error=self.is_error
        )
        chunks: list[Item] = [(self.text, meta)] if self.text else []
        return [BlockStart(index, MembraneBlock("tool_result")), *chunks, BlockComplete(index, block)]


def _shown(part: object) -> str:
    """The text of a part, or a short word in its place: an image is not for a log."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        msg = f"a part of content must be text or a dict, not {type(part).__name__}"
        raise TypeError(msg)
    match cast("Mapping[str, Any]", part):
        case {"text": str(text)}:
            return text
        case {"type": str(kind), "source": {"media_type": str(media_type)}}:
            return f"[{kind}: {media_type}]"
        case {"type": str(kind)}:
            return f"[{kind}]"
        case _:
            return "[part]"
