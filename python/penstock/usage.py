"""Token counts in one convention, whichever the wire uses."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any, cast

__all__ = ["Usage"]


class _Raw:
    """The counts as they came: the core hands them over as JSON, and few look at them."""

    def __get__(self, usage: Usage | None, owner: type) -> Any:
        if usage is None:
            # This is what @dataclass takes for the field's default, and it refuses a dict there.
            return self
        own = usage.__dict__
        if "raw" not in own:
            own["raw"] = json.loads(own.pop("_json"))
        return own["raw"]

    def __set__(self, usage: Usage, value: Any) -> None:
        usage.__dict__["raw"] = {} if value is self else value


@dataclass
class Usage:
    """What an answer cost, in tokens.

    A count that the wire did not give is None: nothing is estimated.

    Attributes:
        input_tokens: All that the model read, from the cache or not.
        output_tokens: All that the model wrote, its reasoning included.
        cache_read_tokens: The part of the input that came from the cache.
        cache_write_tokens: The part of the input that was written to the cache.
        reasoning_tokens: The part of the output that was reasoning.
        raw: The counts as they came.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    raw: dict[str, Any] = cast("dict[str, Any]", _Raw())  # noqa: RUF009 (it keeps nothing itself)

    def __getstate__(self) -> dict[str, Any]:
        """The fields as values, for copies and pickles."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_openai_chat(cls, raw: dict[str, Any]) -> Usage:
        """Reads a chat completion's `usage`, whose input count includes cached tokens."""
        return cls(
            input_tokens=_count(raw, "prompt_tokens"),
            output_tokens=_count(raw, "completion_tokens"),
            cache_read_tokens=_count(raw, "prompt_tokens_details", "cached_tokens"),
            cache_write_tokens=_count(raw, "prompt_tokens_details", "cache_write_tokens"),
            reasoning_tokens=_count(raw, "completion_tokens_details", "reasoning_tokens"),
            raw=raw,
        )


def _count(raw: Any, *path: str) -> int | None:
    """The number at a path; None if there is none, or something else."""
    for name in path:
        raw = cast("dict[str, Any]", raw).get(name) if isinstance(raw, dict) else None
    # A bool is an int to Python, but not to JSON; no count is below zero, or too long for 64 bits.
    return raw if type(raw) is int and 0 <= raw < 1 << 64 else None
