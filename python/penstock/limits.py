"""What one stream may cost; the defaults and their reasons are in the core's `limits.rs`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import cast

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """The most that one stream may have of anything. Reaching a limit raises `LimitExceeded`.

    Attributes:
        frame_bytes: One server-sent event.
        argument_bytes: The arguments of one tool call.
        blocks: All blocks of a stream.
        calls: The tool calls among them.
        held_bytes: What waits to be written by a translator or a gate.
        choices: Answers side by side (the request's `n`).
        deltas: The pieces that blocks grow by, over the whole stream. Text without a wire format is not counted.
        tag_bytes: What is held of a text because it may become a tag. Reaching it raises nothing: what is longer is text.
    """

    frame_bytes: int = 8 << 20
    argument_bytes: int = 1 << 20
    blocks: int = 1024
    calls: int = 128
    held_bytes: int = 8 << 20
    choices: int = 8
    deltas: int = 1 << 20
    tag_bytes: int = 256

    def __post_init__(self) -> None:
        for each in fields(self):
            value = cast("object", getattr(self, each.name))
            if not isinstance(value, int) or value < 1:
                msg = f"{each.name} must be a whole number above 0, not {value!r}"
                raise ValueError(msg)
