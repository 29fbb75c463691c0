"""The project's own streams: an answer in text, one with reasoning, one with tool calls, as many chunks as are asked for."""

from __future__ import annotations

import json
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Deltas as models cut them: a word and its space, a part of a word, punctuation; one letter that is not ASCII, one escape.
TOKENS = (
    "The",
    " sluice",
    " opens",
    " at",
    " dawn",
    ",",
    " before",
    " the",
    " mill",
    " pond",
    " is",
    " brim",
    "ming",
    ".\n",
    " Caf",
    "é",
)
ARGUMENT_TOKENS = (
    '{"',
    "gate",
    '":"',
    "north",
    '","',
    "height",
    '":',
    "12",
    ',"',
    "reason",
    '":"',
    "flood",
    " warning",
    '"}',
)
_ENVELOPE = {
    "id": "chatcmpl-9f1c2d3e4a5b6c7d8e9f",
    "object": "chat.completion.chunk",
    "created": 1750000000,
    "model": "mill-large-2025-06-01",
    "service_tier": "default",
    "system_fingerprint": "fp_0a1b2c3d4e",
}
_USAGE = {"prompt_tokens": 210, "completion_tokens": 640, "total_tokens": 850}


def text(chunks: int) -> list[bytes]:
    """One block of text."""
    return _stream({"content": token} for token in _tokens(chunks))


def reasoning(chunks: int) -> list[bytes]:
    """Reasoning for two thirds, then text."""
    thought = chunks * 2 // 3
    deltas = [{"reasoning_content": token} for token in _tokens(thought)]
    return _stream([*deltas, *({"content": token} for token in _tokens(chunks - thought))])


def tool_calls(chunks: int) -> list[bytes]:
    """A little text, then calls of a tool one after the other, fifteen chunks each."""
    deltas: list[dict[str, Any]] = [{"content": token} for token in _tokens(chunks % 15)]
    for index in range(chunks // 15):
        deltas += _call(index)
    return _stream(deltas, finish_reason="tool_calls")


def pieces(texts: Iterable[str]) -> list[bytes]:
    """One block of text, cut like this."""
    return _stream({"content": text} for text in texts)


def single_characters(chunks: int) -> list[bytes]:
    """One block of text, one character in each chunk."""
    return _stream({"content": character} for character in islice(cycle("still water "), chunks))


def single_character_arguments(chunks: int) -> list[bytes]:
    """One tool call, one character of its arguments in each chunk."""
    head = {"index": 0, "id": "call_0", "type": "function", "function": {"name": "open_gate", "arguments": ""}}
    arguments = f'{{"why":"{"x" * (chunks - 10)}"}}'
    pieces = ({"tool_calls": [{"index": 0, "function": {"arguments": character}}]} for character in arguments)
    return _stream([{"tool_calls": [head]}, *pieces], finish_reason="tool_calls")


def _tokens(count: int) -> Iterator[str]:
    return islice(cycle(TOKENS), count)


def _call(index: int) -> Iterator[dict[str, Any]]:
    function = {"name": "open_gate", "arguments": ""}
    yield {"tool_calls": [{"index": index, "id": f"call_{index}", "type": "function", "function": function}]}
    for token in ARGUMENT_TOKENS:
        yield {"tool_calls": [{"index": index, "function": {"arguments": token}}]}


def _stream(deltas: Iterable[dict[str, Any]], finish_reason: str = "stop") -> list[bytes]:
    """The events of a stream: role, deltas, finish, usage, and the terminator."""
    chunks = [_chunk({"role": "assistant", "content": ""}), *map(_chunk, deltas), _chunk({}, finish_reason)]
    usage = _ENVELOPE | {"choices": [], "usage": _USAGE}
    return [*map(_event, [*chunks, usage]), b"data: [DONE]\n\n"]


def _chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return _ENVELOPE | {"choices": [choice], "usage": None}


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: %s\n\n" % json.dumps(chunk, separators=(",", ":"), ensure_ascii=False).encode()
