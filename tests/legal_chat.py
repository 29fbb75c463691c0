"""Legal streams of OpenAI chat, each with something that the others do not have."""

from __future__ import annotations

from typing import Any

from wire import Chunk, choice, part

ENVELOPE = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 7, "model": "m"}


def chunk(*choices: dict[str, Any], **fields: Any) -> Chunk:
    """A chunk with all that is required."""
    return {**ENVELOPE, "choices": list(choices), **fields}


def said(index: int = 0, /, **delta: Any) -> Chunk:
    """A chunk with one choice that is not finished."""
    return chunk(choice(delta, index, finish_reason=None))


def first(index: int = 0, /, **delta: Any) -> Chunk:
    """The first chunk of a choice."""
    return said(index, role="assistant", **delta)


def finished(reason: str = "stop", index: int = 0) -> Chunk:
    """The last chunk of a choice."""
    return chunk(choice({}, index, finish_reason=reason))


def call(index: int = 0) -> list[Chunk]:
    """A call with arguments in two pieces."""
    return [
        said(tool_calls=[part("", index=index, id=f"call_{index}", type="function", name="tide")]),
        said(tool_calls=[part('{"port": ', index=index)]),
        said(tool_calls=[part('"Brest"}', index=index)]),
    ]


USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 4,
    "total_tokens": 13,
    "prompt_tokens_details": {"cached_tokens": 3},
}
COUNTED = chunk(usage=USAGE)
FAILED: Chunk = {"error": {"message": "later", "type": "server_error", "param": None, "code": None}}
CUSTOM = {"index": 0, "id": "call_0", "type": "custom", "custom": {"name": "sql", "input": ""}}

STREAMS: dict[str, list[Chunk]] = {
    "text": [first(content=""), said(content="High "), said(content="tide"), finished()],
    "text_in_one": [first(content="High tide"), finished("length")],
    "usage": [first(content=""), said(content="High tide"), finished(), COUNTED],
    "tool": [first(content="Let me see."), *call(), finished("tool_calls")],
    "parallel_tools": [first(content=None), *call(0), *call(1), finished("tool_calls"), COUNTED],
    "whole_calls": [
        first(
            tool_calls=[part("{}", index=index, id=f"call_{index}", type="function", name="now") for index in range(2)]
        ),
        finished("stop"),
    ],
    "custom_tool": [
        first(tool_calls=[CUSTOM]),
        said(tool_calls=[{"index": 0, "custom": {"input": "select 1"}}]),
        finished("tool_calls"),
    ],
    "function_call": [
        first(function_call={"name": "tide", "arguments": ""}),
        said(function_call={"arguments": "{}"}),
        finished("function_call"),
    ],
    "refusal": [first(refusal=""), said(refusal="No."), finished("content_filter")],
    "reasoning": [first(reasoning_content="When?"), said(content="At six."), finished()],
    "two_choices": [
        first(0, content=""),
        first(1, content=""),
        said(1, content="At six."),
        said(0, content="At seven."),
        finished(index=1),
        finished(index=0),
        COUNTED,
    ],
    "filter_first": [chunk(prompt_filter_results=[]), first(content="High tide"), finished()],
    "error": [first(content="High "), FAILED],
    "error_first": [FAILED],
}

ERRORS = frozenset({"error", "error_first"})
