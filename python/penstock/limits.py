"""What one stream may cost; the defaults and their reasons are in the core's `limits.rs`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields

__all__ = ["Limits", "checked_count"]


def checked_count(name: str, count: object) -> int:
    """The argument, if so many things can be counted.

    Raises:
        ValueError: It is no such number.
    """
    # True is a number to Python alone.
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        msg = f"{name} must be a whole number above 0, not {count!r}"
        raise ValueError(msg)
    if count > sys.maxsize:
        msg = f"{name} must be at most {sys.maxsize}, not {count}"
        raise ValueError(msg)
    return count


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
            checked_count(each.name, getattr(self, each.name))
