"""How OpenAI Responses end, what a policy sees of them on the way, and how they are told from other formats."""

from __future__ import annotations

import json
from typing import Any

import pytest

from feeding import feed
from responses import (
    CORE,
    Event,
    added,
    arguments_delta,
    at,
    completed,
    created,
    done,
    event,
    function_call,
    message,
    output_text,
    read,
    response,
    sse,
    text_delta,
)
from watching import completions, watch
from wire import frame

TEXT = [added(message()), text_delta("a"), done(message(output_text("a")))]
CALL = [added(function_call()), arguments_delta("{}"), done(function_call("{}"))]


def incomplete(reason: str | None) -> Event:
    details = {"reason": reason} if reason else None
    return event("incomplete", response=response(status="incomplete", incomplete_details=details))


@pytest.mark.parametrize(
    ("events", "reason", "native"),
    [
        ([*TEXT, completed()], "stop", "completed"),
        ([*CALL, completed()], "tool_calls", "completed"),
        ([*TEXT, incomplete("max_output_tokens")], "length", "max_output_tokens"),
        ([*TEXT, incomplete("content_filter")], "content_filter", "content_filter"),
        ([*TEXT, incomplete("boredom")], "boredom", "boredom"),
        ([*TEXT, incomplete(None)], "incomplete", "incomplete"),
    ],
)
def test_the_finish_reason_is_in_the_one_vocabulary(events: list[Event], reason: str, native: str) -> None:
    state = read(created(), *events).state
    assert (state.finish_reason, state.native_finish_reason) == (reason, native)
    assert not state.interrupted


def test_a_failed_response_has_an_error_and_no_finish_reason() -> None:
    error = {"code": "server_error", "message": "no"}
    state = read(created(), *TEXT, event("failed", response=response(error=error, status="failed"))).state
    assert (state.error, state.finish_reason, state.interrupted) == (error, None, True)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"code": "c", "message": "m", "param": None}, {"code": "c", "message": "m"}),
        ({"error": {"type": "t", "message": "m"}}, {"type": "t", "message": "m"}),
    ],
)
def test_an_error_event_ends_the_stream(fields: dict[str, Any], said: dict[str, Any]) -> None:
    state = read(created(), *TEXT, {"type": "error", **fields}, completed()).state
    assert (state.error, state.finish_reason, state.interrupted) == (said, None, True)


def test_a_stream_without_a_last_event_is_interrupted() -> None:
    assert read(created(), *TEXT).state.interrupted


def test_a_terminator_behind_the_last_event_does_no_harm() -> None:
    events, processor = feed(CORE, [sse(created(), *TEXT, completed()) + frame("[DONE]")])
    assert processor.state.finish_reason == "stop"
    assert processor.state.quirks == {}
    assert len(events) > 0


def test_usage_is_in_the_one_convention() -> None:
    raw = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 15,
    }
    usage = read(created(), completed(usage=raw)).state.usage
    assert usage is not None
    assert (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
    ) == (10, 5, 4, None, 3)
    assert usage.raw == raw


def test_what_repeats_the_request_is_not_noted() -> None:
    echo = {"tools": [1], "instructions": "x", "text": {"format": {}}, "temperature": 1, "metadata": {"a": 1}}
    state = read(created(), completed(**echo, service_tier="flex", error=None, novelty=1)).state
    assert state.extras == {"created": 7, "service_tier": "flex", "novelty": 1}
    assert (state.id, state.model, state.role) == ("resp_1", "m", "")


# Frames.


def test_an_event_named_otherwise_than_its_type_is_counted_and_its_type_counts() -> None:
    data = frame(json.dumps(created()), "response.created") + frame(json.dumps(TEXT[1]), "response.refusal.delta")
    _, processor = feed(CORE, [data])
    assert processor.state.quirks == {"event_type_mismatch": 1}
    assert processor.state.blocks[0].type == "content"


def test_an_event_without_a_type_is_known_by_its_name() -> None:
    data = sse(created()) + frame('{"output_index":0,"delta":"a"}', "response.output_text.delta")
    assert feed(CORE, [data])[1].state.blocks[0].content == "a"


def test_an_error_field_is_an_error() -> None:
    state = feed(CORE, [sse(created()) + b"error: overloaded\n\n"])[1].state
    assert (state.error, state.interrupted) == ("overloaded", True)


# Bodies.

BODY = response(
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "g"},
    message(output_text("a", annotations=[{"n": 1}]), {"type": "refusal", "refusal": "no"}),
    function_call("{}"),
    {"type": "compaction", "id": "c"},
    status="completed",
    usage={"input_tokens": 1},
    text={"format": {"type": "text"}},
)


def test_a_body_gives_whole_blocks() -> None:
    outcome = read(BODY)
    assert outcome.quirks == {}
    assert [block.id for block in outcome.state.blocks] == [
        "thinking",
        "thinking_1",
        "content",
        "refusal",
        "call_1",
        "compaction",
    ]
    assert all(block.is_complete for block in outcome.state.blocks)
    assert outcome.state.finish_reason == "tool_calls"
    assert outcome.state.id == "resp_1"
    assert outcome.state.blocks[2].extras["annotations"] == [{"n": 1}]
    assert outcome.state.usage is not None


@pytest.mark.parametrize("body", [BODY, json.dumps(BODY), json.dumps(BODY).encode()], ids=["dict", "json", "bytes"])
def test_a_body_completes_its_blocks_one_by_one(body: Any) -> None:
    seen = watch(CORE, [body])
    assert completions(seen) == ["thinking", "thinking_1", "content", "refusal", "call_1", "compaction"]
    output = BODY["output"]
    assert [each.chunk["output"] for each in seen] == [
        [output[0]],
        [output[0]],
        [output[1]],
        [output[1]],
        [output[2]],
        [output[3]],
    ]
    assert "choices" not in seen[0].chunk


@pytest.mark.parametrize(
    ("fields", "reason", "interrupted"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length", False),
        ({"status": "failed", "error": {"code": "x"}}, None, True),
        ({"status": "cancelled"}, None, True),
        ({}, "stop", False),
    ],
    ids=["incomplete", "failed", "cancelled", "none"],
)
def test_a_body_ends_as_its_status_says(fields: dict[str, Any], reason: str | None, *, interrupted: bool) -> None:
    state = read(response(message(output_text("a")), **fields)).state
    assert (state.finish_reason, state.interrupted) == (reason, interrupted)


# What a policy sees.


def test_the_state_is_that_behind_each_event() -> None:
    events = [created(), *TEXT[:2], at("output_text.done", content_index=0, text="a"), TEXT[2], *CALL, completed()]
    calls = [{**each, "output_index": 1} for each in CALL]
    seen = watch(CORE, [*events[:5], *calls, completed()])
    assert [(each.completed, each.current, each.finish_reason) for each in seen] == [
        (None, None, None),
        (None, None, None),
        (None, "content", None),
        ("content", None, None),
        (None, None, None),
        (None, "call_1", None),
        (None, "call_1", None),
        ("call_1", None, None),
        (None, None, "tool_calls"),
    ]
    assert [each.chunk for each in seen[:5]] == events[:5]
    assert seen[7].arguments == "{}"


def test_an_event_that_completes_several_blocks_is_seen_once_for_each() -> None:
    end = done(message(output_text("a"), output_text("b")))
    seen = watch(CORE, [created(), added(message()), text_delta("a"), text_delta("b", part=1), end])
    assert completions(seen) == ["content", "content_1"]
    assert [each.chunk for each in seen[-2:]] == [end, end]


def test_blocks_that_were_not_closed_complete_one_by_one() -> None:
    seen = watch(CORE, [created(), added(message()), text_delta("a"), added(function_call(), 1), completed()])
    assert completions(seen) == ["content", "call_1"]


def test_an_event_that_is_refused_is_not_seen() -> None:
    seen = watch(CORE, [created(), arguments_delta("{}"), completed()], source="openai_responses")
    assert [each.chunk["type"] for each in seen] == ["response.created", "response.completed"]


# Detection.


@pytest.mark.parametrize("first", [created(), BODY, {"type": "error", "message": "m"}], ids=["event", "body", "error"])
def test_responses_are_told_by_their_first_event(first: dict[str, Any]) -> None:
    for item in (first, json.dumps(first), frame(json.dumps(first), first.get("type", ""))):
        processor = CORE.StreamProcessor(emit="nothing")
        processor.feed(item)
        assert processor.source == "openai_responses"


def test_a_named_format_is_not_overridden() -> None:
    processor = CORE.StreamProcessor(emit="nothing", source="openai_chat")
    processor.feed(created())
    assert processor.source == "openai_chat"


@pytest.mark.parametrize("body", [{"deleted": True}, {}, {"object": "chat.completion", "choices": []}], ids=str)
def test_an_object_that_is_no_response_is_not_a_finished_one(body: dict[str, Any]) -> None:
    _, processor = feed(CORE, [json.dumps(body).encode()], source="openai_responses")
    assert processor.state.finish_reason is None
    assert processor.state.interrupted
