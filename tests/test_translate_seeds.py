"""Three streams of chat chunks, as Messages, event for event: text, a tool call, and both."""

from __future__ import annotations

from typing import Any

import pytest

from translating import CHAT, MESSAGES, legally
from wire import DONE, sse

ID, MODEL = "msg_abc", "claude-sonnet-4-20250514"
START = {
    "type": "message_start",
    "message": {
        "id": ID,
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": MODEL,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    },
}
STOP = {"type": "message_stop"}


def chunk(finish_reason: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"delta": delta, "finish_reason": finish_reason}]}


def arguments(text: str, **head: Any) -> dict[str, Any]:
    name = {"name": head.pop("name")} if "name" in head else {}
    return chunk(tool_calls=[{"index": 0, **head, "function": {**name, "arguments": text}}])


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text_delta(text: str) -> dict[str, Any]:
    return {"type": "text_delta", "text": text}


def json_delta(text: str) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": text}


def ended(reason: str) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    # The chunks have no counts, and none are made up.
    return [{"type": "message_delta", "delta": delta, "usage": {"output_tokens": 0}}, STOP]


TOOL = {"type": "tool_use", "id": "toolu_abc", "name": "read_file", "input": {}}
TEXT = {"type": "text", "text": ""}
CALL = {"id": "call_abc", "type": "function", "name": "read_file"}

STREAMS = {
    "text": (
        [chunk(role="assistant"), *(chunk(content=word) for word in ("Hello", " there", "!")), chunk("stop")],
        [*block(0, TEXT, *map(text_delta, ("Hello", " there", "!"))), *ended("end_turn")],
    ),
    "tool call": (
        [
            arguments("", **CALL),
            *map(arguments, ('{"file', '_path":"', "test.txt", '"}')),
            chunk("tool_calls"),
        ],
        [*block(0, TOOL, *map(json_delta, ('{"file', '_path":"', "test.txt", '"}'))), *ended("tool_use")],
    ),
    "text and tool call": (
        [chunk(role="assistant", content="Let me read that file."), arguments("{}", **CALL), chunk("tool_calls")],
        [
            *block(0, TEXT, text_delta("Let me read that file.")),
            *block(1, TOOL, json_delta("{}")),
            *ended("tool_use"),
        ],
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_of_chunks_gives_these_events_and_no_others(name: str) -> None:
    chunks, expected = STREAMS[name]
    result = legally([sse(*chunks, DONE)], CHAT, MESSAGES, message_id=ID, model=MODEL)
    assert result.events == [START, *expected]
    assert result.translator.losses == {}


def test_without_a_terminator_the_finish_is_the_end_as_well() -> None:
    chunks, expected = STREAMS["text and tool call"]
    result = legally([sse(*chunks)], CHAT, MESSAGES, message_id=ID, model=MODEL)
    assert result.events == [START, *expected]
