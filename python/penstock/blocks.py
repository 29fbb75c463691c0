"""The blocks of an answer and the state of its stream, as dataclasses.

The engine that reads a stream keeps the text of each block; it becomes Python text when somebody looks.
A block made by hand, copied or unpickled has its text itself. Both are the same classes.
"""

from __future__ import annotations

import json
from dataclasses import KW_ONLY, dataclass, field, fields
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, Self, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.events import BlockType
    from penstock.usage import Usage

__all__ = [
    "ContentStreamBlock",
    "RefusalStreamBlock",
    "StreamBlock",
    "StreamState",
    "ThinkingStreamBlock",
    "ToolCallStreamBlock",
    "ToolResultStreamBlock",
    "UnknownStreamBlock",
]

T = TypeVar("T")

CallKind: TypeAlias = Literal["function", "custom", "builtin", "server"]


class Source(Protocol):
    """Where an engine keeps what a block has."""

    def value(self, name: str, /) -> Any:
        """The block's field `name`, as it is now."""
        ...

    def delta(self) -> str:
        """What the last chunk added to the block's text or arguments."""
        ...

    def is_whole_json(self) -> bool:
        """Whether the arguments so far are one whole JSON value."""
        ...


class _Live(Generic[T]):
    """A dataclass field that is read from the block's source until it is set."""

    _name: str

    def __init__(self, make_default: Callable[[], T]) -> None:
        self._make_default = make_default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, block: StreamBlock | None, owner: type) -> Any:
        if block is None:
            # This is what @dataclass takes for the field's default, and it refuses a list or a dict there.
            return "" if self._make_default is str else self
        own = block.__dict__
        if self._name in own:
            return own[self._name]
        return own["_source"].value(self._name)

    def __set__(self, block: StreamBlock, value: Any) -> None:
        block.__dict__[self._name] = self._make_default() if value is self else value


def _live(make_default: Callable[[], T]) -> T:
    return cast("T", _Live(make_default))


@dataclass
class StreamBlock:
    """Base class of the blocks of an answer.

    Attributes:
        id: The tool call's id; `content`, `content_1` … for text, and likewise for the other kinds.
        is_complete: Whether the stream has gone on to another block or has finished.
        choice: Which of the answers side by side (`n` > 1) the block belongs to.
        extras: What came with the block and has no field of its own, by name: logprobs, annotations …
            While the stream runs, each look gives a copy.
    """

    type: ClassVar[BlockType]

    id: str
    is_complete: bool = False
    _: KW_ONLY
    choice: int = 0
    extras: dict[str, list[Any]] = _live(dict[str, list[Any]])

    @classmethod
    def _from_source(cls, source: Source, **known: Any) -> Self:
        """A block whose other fields are read from `source` whenever somebody looks."""
        block = cls.__new__(cls)
        block.__dict__.update(known, is_complete=False, _source=source)
        return block

    @property
    def delta(self) -> str:
        """What the last chunk added to this block's text or arguments.

        Look at this, not at the whole, on each chunk: the whole is copied each time that it has grown.
        """
        source: Source | None = self.__dict__.get("_source")
        return "" if source is None else source.delta()

    def __getstate__(self) -> dict[str, Any]:
        """The fields as values: a copy or a pickle of a block does not grow with its stream."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass
class ContentStreamBlock(StreamBlock):
    """Text that the user is meant to see."""

    type: ClassVar[BlockType] = "content"

    content: str = _live(str)


@dataclass
class ThinkingStreamBlock(StreamBlock):
    """The model's reasoning.

    Attributes:
        content: The reasoning, or its summary.
        signature: The provider's signature over it.
        data: Encrypted or redacted reasoning, which only the provider can read.
    """

    type: ClassVar[BlockType] = "thinking"

    content: str = _live(str)
    signature: str = _live(str)
    data: str = _live(str)


@dataclass
class RefusalStreamBlock(StreamBlock):
    """The model's refusal to answer."""

    type: ClassVar[BlockType] = "refusal"

    content: str = _live(str)


@dataclass
class ToolCallStreamBlock(StreamBlock):
    """A call of a tool.

    Attributes:
        name: The tool's name.
        arguments: The raw string as it came, never parsed; for a custom tool, its free-form input.
        index: The call's number among the calls of its choice: 0, 1, 2 …
        kind: `function` for a tool that takes JSON, `custom` for one that takes free text, `builtin` for a tool of the provider's own
            that the client runs (a computer, a shell, a patch), `server` for a call that the provider has run itself.
    """

    type: ClassVar[BlockType] = "tool_call"

    name: str = _live(str)
    arguments: str = _live(str)
    index: int = 0
    _: KW_ONLY
    kind: CallKind = "function"

    @property
    def arguments_complete(self) -> bool:
        """Whether the arguments are whole: one JSON value, or nothing at all once the block is complete.

        The free-form input of a custom tool is whole when its block is complete.
        """
        if self.kind == "custom":
            return self.is_complete
        if "arguments" not in self.__dict__:
            # Asked on each chunk, this must not make a string of the whole each time.
            source: Source = self.__dict__["_source"]
            return source.is_whole_json() or (self.is_complete and not self.arguments)
        if not self.arguments:
            return self.is_complete
        try:
            json.loads(self.arguments, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            # What is nested too deeply to be read is not whole for whoever reads it next.
            return False
        return True


def _refuse_constant(name: str) -> Any:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


@dataclass
class ToolResultStreamBlock(StreamBlock):
    """What a tool gave back.

    Attributes:
        content: The result as text.
        tool_call_id: The call that it is for.
        kind: What the wire calls it, such as `web_search_tool_result`.
        raw: The JSON values that came for it, where it is more than text.
    """

    type: ClassVar[BlockType] = "tool_result"

    content: str = _live(str)
    tool_call_id: str = ""
    _: KW_ONLY
    kind: str = ""
    raw: list[Any] = _live(list[Any])


@dataclass
class UnknownStreamBlock(StreamBlock):
    """Something that penstock has no class for, kept as it came.

    Attributes:
        kind: What the wire calls it, such as `audio` or `image`.
        raw: The JSON values that came for it, in order.
    """

    type: ClassVar[BlockType] = "unknown"

    kind: str = ""
    raw: list[Any] = _live(list[Any])


@dataclass
class StreamState:
    """What is known of a stream so far. A policy gets it with each chunk.

    Attributes:
        blocks: All blocks, in the order in which they started.
        current_block: The block that the stream is writing.
        just_completed: The block that this chunk completed. There is never more than one.
        finish_reason: `stop`, `tool_calls`, `length`, `content_filter`, or the wire's own word if it is none of these.
        native_finish_reason: The wire's own word.
        finish_reasons: The finish reason of each choice, for `n` > 1.
        usage: Token counts, once they have come.
        error: What the upstream said when it reported an error inside the stream.
        interrupted: Whether the stream ended without a finish.
        id: The response's id.
        model: The model's name.
        role: The role the answer is given in.
        extras: What came with the response and has no field here, by name; the last value counts.
        quirks: How often which deviation was put right or left out, by name.
    """

    blocks: list[StreamBlock] = field(default_factory=list[StreamBlock])
    current_block: StreamBlock | None = None
    just_completed: StreamBlock | None = None
    finish_reason: str | None = None
    native_finish_reason: str | None = None
    finish_reasons: dict[int, str] = field(default_factory=dict[int, str])
    usage: Usage | None = None
    error: Any = None
    interrupted: bool = False
    id: str = ""
    model: str = ""
    role: str = ""
    extras: dict[str, Any] = field(default_factory=dict[str, Any])
    quirks: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def objects(self) -> dict[str, StreamBlock]:
        """The blocks by their id. Where a provider gives two calls the same id, the later one is found as `id_1`, and so on."""
        objects: dict[str, StreamBlock] = {}
        for block in self.blocks:
            names = (f"{block.id}_{number}" if number else block.id for number in count())
            objects[next(name for name in names if name not in objects)] = block
        return objects
