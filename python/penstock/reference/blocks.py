"""What the engine keeps of a block, and where the public block reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.blocks import (
    ContentStreamBlock,
    RefusalStreamBlock,
    StreamBlock,
    ThinkingStreamBlock,
    ToolCallStreamBlock,
    ToolResultStreamBlock,
    UnknownStreamBlock,
)
from penstock.reference.values import is_whole_json

if TYPE_CHECKING:
    from penstock.events import BlockType
    from penstock.reference.decode import RawDelta

__all__ = ["Clock", "LiveBlock"]

_PUBLIC: dict[BlockType, type[StreamBlock]] = {
    "content": ContentStreamBlock,
    "thinking": ThinkingStreamBlock,
    "refusal": RefusalStreamBlock,
    "tool_call": ToolCallStreamBlock,
    "tool_result": ToolResultStreamBlock,
    "unknown": UnknownStreamBlock,
}


class Clock:
    """Counts the chunks, so that a block knows what the last one added to it."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0


class LiveBlock:
    """A block as it grows: its text in pieces, which are joined when somebody looks.

    Attributes:
        wire_id: The id that the wire gave a tool call, which need not be the block's.
        is_legacy: Whether a tool call came as `function_call`.
        is_whole: Whether an unknown block has its one value, and more of its kind is another block.
        size: The bytes of a tool call's arguments.
    """

    __slots__ = (
        "_added",
        "_added_at",
        "_clock",
        "_main",
        "_texts",
        "extras",
        "is_legacy",
        "is_whole",
        "kind",
        "number",
        "public",
        "raw",
        "size",
        "type",
        "wire_id",
    )

    def __init__(self, number: int, block_type: BlockType, kind: str, clock: Clock, **known: Any) -> None:
        self.number = number
        self.type: BlockType = block_type
        self.kind = kind
        self.wire_id = ""
        self.is_legacy = False
        self.is_whole = False
        self.size = 0
        self.raw: list[Any] = []
        self.extras: dict[str, list[Any]] = {}
        self._texts: dict[str, list[str]] = {}
        self._main = "arguments" if block_type == "tool_call" else "content"
        self._clock = clock
        self._added = ""
        self._added_at = 0
        if kind:
            known["kind"] = kind
        self.public = _PUBLIC[block_type]._from_source(self, **known)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]

    def grow(self, name: str, text: str) -> None:
        """Appends to one of the block's texts."""
        pieces = self._texts.get(name)
        if pieces is None:
            pieces = self._texts[name] = []
        pieces.append(text)
        if name == self._main:
            now = self._clock.now
            self._added = self._added + text if self._added_at == now else text
            self._added_at = now

    def goes_on_with(self, delta: RawDelta) -> bool:
        """Whether a value that is kept raw belongs to this block."""
        return self.type == "unknown" and self.kind == delta.kind and not self.is_whole and not delta.is_whole

    def value(self, name: str) -> Any:
        """A field of the public block, as it is now."""
        if name == "extras":
            return {name: list(values) for name, values in self.extras.items()}
        if name == "raw":
            return list(self.raw)
        pieces = self._texts.get(name)
        if pieces is None:
            return ""
        if len(pieces) > 1:
            pieces[:] = ["".join(pieces)]
        return pieces[0]

    def delta(self) -> str:
        """What the last chunk added to the text or the arguments."""
        return self._added if self._added_at == self._clock.now else ""

    def is_whole_json(self) -> bool:
        """Whether a tool call's arguments are one JSON value."""
        return is_whole_json(self.value("arguments"))
