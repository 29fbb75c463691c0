"""What a reader of blocks gets: chunks with their meaning, and the start and the completion of each block."""

from __future__ import annotations

import json
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, TypeAlias, cast

from penstock.errors import StreamClosed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator

__all__ = [
    "BlockComplete",
    "BlockEvent",
    "BlockStart",
    "ChunkMeta",
    "ChunkType",
    "Events",
    "Item",
    "MembraneBlock",
    "ReadItems",
    "ToolCallPart",
    "read_input",
]

ChunkType: TypeAlias = Literal["text", "thinking", "tool_call", "tool_result", "unknown"]
ToolCallPart: TypeAlias = Literal["name", "id", "input"]


class _Brief:
    """Shows itself without the fields that say nothing.

    The core makes such objects past their constructor and sets only what is not the default: so these classes have no slots.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __repr__(self) -> str:
        said = ((each.name, getattr(self, each.name), each.default) for each in fields(self) if each.init)
        shown = ", ".join(
            f"{name}={value!r}" for name, value, default in said if default is MISSING or value != default
        )
        return f"{type(self).__name__}({shown})"


@dataclass(frozen=True, repr=False)
class ChunkMeta(_Brief):
    """What a chunk is.

    Attributes:
        type: The type of the block that it belongs to.
        visible: Whether it is meant for the user to see or hear: text and refusals are.
        block_index: The number of the block.
        depth: How deep in tools it is: 0 for text and thinking, 1 inside a call or a result.
        tool_call_part: Which part of a call it is of; None for other blocks.
        tool_id: The id of the call; of a result, the call that it is for.
        tool_name: The name of the tool, as far as it is known.
        choice: Which of the answers side by side (`n` > 1) it belongs to.
    """

    type: ChunkType
    visible: bool
    block_index: int
    depth: int = 0
    tool_call_part: ToolCallPart | None = None
    tool_id: str | None = None
    tool_name: str | None = None
    choice: int = 0


@dataclass(frozen=True, repr=False)
class MembraneBlock(_Brief):
    """A block as its events show it: at the start its type alone, at the completion everything.

    Attributes:
        type: `text`, `thinking`, `tool_call`, `tool_result`, or `unknown` for something that is kept as it came.
        content: The whole text of a text, thinking or result block.
        tool_id: The id of the call; of a result, the call that it is for.
        tool_name: The name of the tool.
        input: The arguments of a call, parsed. None if they are not one whole JSON object: half an object is never completed by guessing.
        raw_input: The arguments as text where `input` is None: JSON that is not whole or no object, or the free text of a custom tool.
        kind: What sort of block it is, where it is not the ordinary one: `refusal` for text; `custom`, `builtin` or `server` for a call;
            the wire's own word for a result or an unknown block, such as `image`.
        parts: What a result or an unknown block has besides text, as it came.
        is_error: Whether a result tells of a failure.
        flags: What makes a block from tags suspicious, in the words of docs/tags.md: `tag_in_value` if a call has tags in its values,
            `stray` if it has text elsewhere, `unclosed_tag` if nothing closed it, `tag_in_thinking` if thinking has a call in it,
            `written_by_model` if no tool but the model wrote a result.
        choice: Which of the answers side by side (`n` > 1) it belongs to.
    """

    type: ChunkType
    content: str | None = None
    tool_id: str | None = None
    tool_name: str | None = None
    input: dict[str, Any] | None = None
    raw_input: str | None = None
    kind: str | None = None
    parts: list[Any] | None = None
    is_error: bool = False
    flags: tuple[str, ...] = ()
    choice: int = 0


@dataclass(frozen=True, repr=False)
class BlockStart(_Brief):
    """A block starts. Its chunks follow."""

    event: Literal["block_start"] = field(default="block_start", init=False)
    index: int
    block: MembraneBlock


@dataclass(frozen=True, repr=False)
class BlockComplete(_Brief):
    """A block is whole. None of its chunks follow."""

    event: Literal["block_complete"] = field(default="block_complete", init=False)
    index: int
    block: MembraneBlock


BlockEvent: TypeAlias = BlockStart | BlockComplete
Item: TypeAlias = tuple[str, ChunkMeta] | BlockStart | BlockComplete


@dataclass(frozen=True, slots=True)
class ReadItems:
    """What a piece of text gave.

    Attributes:
        items: Chunks and block events, in their order.
    """

    items: list[Item]

    @property
    def content(self) -> list[tuple[str, ChunkMeta]]:
        """The chunks alone."""
        return [item for item in self.items if isinstance(item, tuple)]

    @property
    def block_events(self) -> list[BlockEvent]:
        """The block events alone."""
        return [item for item in self.items if not isinstance(item, tuple)]


class Events:
    """The items of one stream, for `async for` or for `for`. They are given once.

    Raises:
        StreamClosed: A loop begins when they have been given, or the stream was left.
    """

    def __init__(self, items: Generator[Item], arriving: AsyncGenerator[Item]) -> None:
        self._items = items
        self._arriving = arriving

    def __iter__(self) -> Iterator[Item]:
        self._check_open()
        return self._items

    def __aiter__(self) -> AsyncIterator[Item]:
        self._check_open()
        return self._arriving

    def _check_open(self) -> None:
        # What has run to its end has no frame any more; without a word it would give nothing.
        if getattr(self._items, "gi_frame", None) is None or getattr(self._arriving, "ag_frame", None) is None:
            msg = "the items of this stream have been given: call events() with the source of another"
            raise StreamClosed(msg)

    async def aclose(self) -> None:
        """Leaves the stream and closes its source."""
        await self._arriving.aclose()


def read_input(arguments: str) -> dict[str, Any] | None:
    """The arguments of a call that is complete; None if they are anything but one whole JSON object."""
    if not arguments:
        # A tool that takes nothing is called with nothing.
        return {}
    try:
        value: object = _DECODER.decode(arguments)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _refuse_constant(name: str) -> NoReturn:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


# Made once: `json.loads` makes one for each call that has options.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
