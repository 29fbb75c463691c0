"""Chat chunks and their framing, written as briefly as a test wants them."""

from __future__ import annotations

import json
from typing import Any

Chunk = dict[str, Any]


def choice(delta: dict[str, Any] | None = None, index: int = 0, **fields: Any) -> dict[str, Any]:
    """One element of `choices`."""
    return {"index": index, "delta": {} if delta is None else delta, **fields}


def chunk(*choices: dict[str, Any], **envelope: Any) -> Chunk:
    """A chunk with nothing in its envelope but what is given."""
    return {**envelope, "choices": list(choices)}


def delta(index: int = 0, **fields: Any) -> Chunk:
    """A chunk with one choice that has these fields in its delta."""
    return chunk(choice(fields, index))


def text(content: Any, index: int = 0) -> Chunk:
    """A chunk with `content`."""
    return delta(index, content=content)


def finish(reason: str = "stop", index: int = 0) -> Chunk:
    """A chunk with a finish reason and an empty delta."""
    return chunk(choice({}, index, finish_reason=reason))


def part(arguments: Any = None, **fields: Any) -> dict[str, Any]:
    """One element of `tool_calls`: `index`, `id` and `name` stand only where they are given."""
    function = {} if "name" not in fields else {"name": fields.pop("name")}
    if arguments is not None:
        function["arguments"] = arguments
    return {**fields, "function": function}


def call(arguments: Any = None, *, choice: int = 0, **fields: Any) -> Chunk:
    """A chunk with one element of `tool_calls`."""
    return calls(part(arguments, **fields), index=choice)


def calls(*parts: dict[str, Any], index: int = 0) -> Chunk:
    """A chunk with several elements of `tool_calls`."""
    return delta(index, tool_calls=list(parts))


def frame(data: str, event: str = "", end: str = "\n") -> bytes:
    """One server-sent event with `data` on one line."""
    name = f"event: {event}{end}" if event else ""
    return f"{name}data: {data}{end}{end}".encode()


def sse(*chunks: Chunk | str) -> bytes:
    """Chunks as server-sent events; a string is the data as it is, such as `[DONE]`."""
    return b"".join(frame(each if isinstance(each, str) else json.dumps(each)) for each in chunks)


DONE = "[DONE]"
