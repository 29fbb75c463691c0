"""What happened to the blocks of a stream: the vocabulary in which both engines report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = [
    "BlockCompleted",
    "BlockGrew",
    "BlockNoted",
    "BlockReopened",
    "BlockStarted",
    "BlockType",
    "ChoiceFinished",
    "ErrorReported",
    "Event",
    "Part",
    "QuirkSeen",
    "ResponseNoted",
    "StreamEnded",
    "UsageReported",
]

BlockType: TypeAlias = Literal["content", "thinking", "tool_call", "tool_result", "refusal", "unknown"]
Part: TypeAlias = Literal["text", "name", "arguments", "signature", "data", "raw"]


@dataclass(frozen=True, slots=True)
class BlockStarted:
    """A block began. `name` is a tool's name, or the wire's name for a result or an unknown block."""

    block: int
    type: BlockType
    id: str
    name: str = ""
    choice: int = 0
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class BlockGrew:
    """A part of a block got longer by `text` (for `raw`, one more JSON value)."""

    block: int
    part: Part
    text: str


@dataclass(frozen=True, slots=True)
class BlockNoted:
    """A block was given something that is kept as it came: logprobs, annotations, fields nobody knows."""

    block: int
    name: str
    json: str


@dataclass(frozen=True, slots=True)
class BlockReopened:
    """More came for a block that was complete."""

    block: int


@dataclass(frozen=True, slots=True)
class BlockCompleted:
    """A block has all that the stream had for it so far."""

    block: int


@dataclass(frozen=True, slots=True)
class ResponseNoted:
    """The answer as a whole was given a value: id, model, created, role, or a field that is kept as it came."""

    name: str
    json: str


@dataclass(frozen=True, slots=True)
class ChoiceFinished:
    """A choice has its finish reason: in penstock's vocabulary, and in the wire's own word."""

    choice: int
    reason: str
    native: str


@dataclass(frozen=True, slots=True)
class UsageReported:
    """Token counts arrived; `json` is the object as it came."""

    json: str


@dataclass(frozen=True, slots=True)
class ErrorReported:
    """The upstream reported an error inside the stream; `json` is what it said."""

    json: str


@dataclass(frozen=True, slots=True)
class QuirkSeen:
    """A known deviation was put right or left out."""

    name: str


@dataclass(frozen=True, slots=True)
class StreamEnded:
    """The input is over: with a finish or a terminator, or cut."""

    interrupted: bool


Event: TypeAlias = (
    BlockStarted
    | BlockGrew
    | BlockNoted
    | BlockReopened
    | BlockCompleted
    | ResponseNoted
    | ChoiceFinished
    | UsageReported
    | ErrorReported
    | QuirkSeen
    | StreamEnded
)
