"""Anthropic's Messages: what the events around the blocks become, and how a stream ends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from feeding import CUT, ENDED, outcome
from messages import END, PING, body, ending, opened, sse, start, stop, streamed, text
from penstock.events import BlockCompleted, BlockStarted, ChoiceFinished, ErrorReported, ResponseNoted, UsageReported
from wire import frame

if TYPE_CHECKING:
    from feeding import Engine, Run

IDENTITY = [ResponseNoted("id", '"msg_1"'), ResponseNoted("model", '"m"'), ResponseNoted("role", '"assistant"')]
ERROR = {"type": "overloaded_error", "message": "Overloaded"}


def test_a_message_says_who_it_is_and_why_it_ends(read_messages: Run) -> None:
    result = read_messages(PING, opened(), PING, ending("end_turn"), END)
    assert result.events == [*IDENTITY, ChoiceFinished(0, "stop", "end_turn"), ENDED]
    assert result.quirks == {}


REASONS = [
    ("end_turn", "stop"),
    ("stop_sequence", "stop"),
    ("max_tokens", "length"),
    ("model_context_window_exceeded", "length"),
    ("tool_use", "tool_calls"),
    ("refusal", "content_filter"),
    ("pause_turn", "pause"),
    ("compaction", "compaction"),
]


@pytest.mark.parametrize(("native", "reason"), REASONS)
def test_stop_reasons_are_told_in_one_vocabulary(read_messages: Run, native: str, reason: str) -> None:
    state = read_messages(opened(), ending(native), END).state
    assert (state.finish_reason, state.native_finish_reason) == (reason, native)


def test_what_comes_with_the_stop_is_noted(read_messages: Run) -> None:
    details = {"type": "refusal", "category": "cyber"}
    last = ending("refusal", stop_sequence="###", stop_details=details, container={"id": "c"})
    state = read_messages(opened(service_tier="batch"), {**last, "context_management": {"edits": []}}, END).state
    assert state.extras == {
        "service_tier": "batch",
        "stop_sequence": "###",
        "stop_details": details,
        "container": {"id": "c"},
        "context_management": {"edits": []},
    }


def test_usage_is_cumulative_and_null_takes_nothing_back(read_messages: Run) -> None:
    first = {"input_tokens": 10, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 200, "output_tokens": 1}
    last = {"input_tokens": None, "output_tokens": 42, "output_tokens_details": {"thinking_tokens": 30}}
    result = read_messages(opened(usage=first), ending(usage=last), END)
    merged = {**first, "output_tokens": 42, "output_tokens_details": {"thinking_tokens": 30}}
    assert [json.loads(event.json) for event in result.events if isinstance(event, UsageReported)] == [first, merged]
    usage = result.state.usage
    assert usage is not None
    assert (usage.input_tokens, usage.cache_write_tokens, usage.cache_read_tokens) == (213, 3, 200)
    assert (usage.output_tokens, usage.reasoning_tokens, usage.raw) == (42, 30, merged)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 5, "output_tokens": 1}, (5, None, None)),
        ({"cache_read_input_tokens": 7, "output_tokens": 1}, (None, 7, None)),
        ({"input_tokens": 5, "cache_creation_input_tokens": 2}, (7, None, 2)),
    ],
)
def test_counts_that_were_not_given_are_not_made_up(read_messages: Run, usage: Any, expected: Any) -> None:
    counts = read_messages(opened(usage=usage), ending(), END).state.usage
    assert counts is not None
    assert (counts.input_tokens, counts.cache_read_tokens, counts.cache_write_tokens) == expected


def test_an_error_breaks_the_stream_off(read_messages: Run) -> None:
    events = (opened(), start("text", text=""), text("Hel"), {"type": "error", "error": ERROR, "request_id": "r"})
    result = read_messages(*events)
    assert [json.loads(event.json) for event in result.events if isinstance(event, ErrorReported)] == [ERROR]
    assert result.state.error == ERROR
    assert result.state.extras == {"request_id": "r"}
    assert (result.state.interrupted, result.state.blocks[0].is_complete) == (True, False)


def test_an_error_may_be_the_whole_body(core: Engine) -> None:
    data = json.dumps({"type": "error", "error": ERROR}).encode()
    state = outcome(core, [data]).state
    assert (state.error, state.interrupted) == (ERROR, True)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"event: error\ndata: upstream is gone\n\n", "upstream is gone"),
        (b'event: error\ndata: {"error": {"message": "gone"}}\n\n', {"message": "gone"}),
        (b'event: error\ndata: {"message": "gone"}\n\n', {"message": "gone"}),
        (b'error: {"message": "gone"}\n\n', {"message": "gone"}),
        (b'data: {"error": {"message": "gone"}}\n\n', {"message": "gone"}),
    ],
)
def test_errors_are_heard_however_they_are_framed(core: Engine, data: bytes, error: Any) -> None:
    assert outcome(core, [sse([opened()]) + data], source="anthropic_messages").state.error == error


def test_a_stream_without_its_end_is_interrupted(read_messages: Run) -> None:
    result = read_messages(opened(), start("text", text=""), text("Hel"))
    assert result.events[-1] == CUT
    assert not result.state.blocks[0].is_complete


def test_nothing_counts_after_the_end(read_messages: Run) -> None:
    result = read_messages(*streamed(), start("text", text="late"), END)
    assert result.state.blocks == []
    assert result.quirks == {}


@pytest.mark.parametrize("name", ["", "data"])
def test_a_terminator_of_another_format_ends_nothing(core: Engine, name: str) -> None:
    data = sse(streamed(start("text", text="a"), stop())) + frame("[DONE]", name)
    assert outcome(core, [data]).quirks == {}
    data = sse([opened(), start("text", text="a"), stop()]) + frame("[DONE]", name)
    assert outcome(core, [data]).state.interrupted


def test_blocks_that_the_end_finds_open_complete_one_by_one(core: Engine) -> None:
    engine = core.StreamProcessor(emit="chunks", source="anthropic_messages")
    events = [opened(), start("text", text="a"), {**start("text", text="b"), "index": 1}, ending(), END]
    completed = [engine.state.just_completed.content for _ in engine.feed(sse(events)) if engine.state.just_completed]
    assert completed == ["a", "b"]


def test_an_event_of_another_type_is_a_note_of_the_response(read_messages: Run) -> None:
    odd = {"type": "weather", "index": 3, "delta": {"type": "w", "text": "x"}, "wind": [1, {"a": 2}]}
    assert read_messages(opened(), odd, ending(), END).state.extras == {"weather": odd}


def test_an_event_without_a_type_is_what_its_name_says(core: Engine) -> None:
    untyped = [{k: v for k, v in event.items() if k != "type"} for event in streamed(start("text", text="a"), stop())]
    names = [event["type"] for event in streamed(start("text", text="a"), stop())]
    data = b"".join(frame(json.dumps(event), name) for event, name in zip(untyped, names, strict=True))
    result = outcome(core, [data], source="anthropic_messages")
    assert result.events[3:5] == [BlockStarted(0, "content", "content"), *result.events[4:5]]
    assert result.events[-3:] == [BlockCompleted(0), ChoiceFinished(0, "stop", "end_turn"), ENDED]
    assert result.quirks == {}


def test_events_derived_by_the_sdk_are_not_counted_twice(read_messages: Run) -> None:
    derived = (
        {"type": "text", "text": "Hi", "snapshot": "Hi"},
        {"type": "thinking", "thinking": "Hm", "snapshot": "Hm"},
        {"type": "signature", "signature": "s"},
        {"type": "citation", "citation": {}, "snapshot": []},
        {"type": "input_json", "partial_json": "{", "snapshot": {}},
        {"type": "compaction", "content": "c"},
    )
    block = {"type": "text", "text": "Hi"}
    stopped = {**stop(), "content_block": block}
    over = {**END, "message": body(block)}
    helped = read_messages(opened(), start("text", text=""), text("Hi"), *derived, stopped, ending(), over)
    assert helped.events == read_messages(*streamed(start("text", text=""), text("Hi"), stop())).events


def test_a_body_has_usage_and_a_reason(read_messages: Run) -> None:
    usage = {"input_tokens": 1, "output_tokens": 2}
    result = read_messages(body(reason="max_tokens", usage=usage, stop_sequence=None, container={"id": "c"}))
    assert result.events == [
        *IDENTITY,
        ResponseNoted("container", '{"id":"c"}'),
        UsageReported('{"input_tokens":1,"output_tokens":2}'),
        ChoiceFinished(0, "length", "max_tokens"),
        ENDED,
    ]


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_body_that_comes_as_bytes_is_recognised(core: Engine, size: int) -> None:
    message = body({"type": "text", "text": "Hello"}, usage={"output_tokens": 2})
    data = json.dumps(message).encode()
    reads = [data[at : at + size] for at in range(0, len(data), size)]
    assert outcome(core, reads).events == outcome(core, [message]).events
    assert outcome(core, reads).state.blocks[0].content == "Hello"


def test_the_format_is_told_from_the_first_event(core: Engine) -> None:
    for first in (opened(), PING, body(), {"type": "error", "error": ERROR}):
        for item in (first, json.dumps(first), sse([first])):
            engine = core.StreamProcessor(emit="nothing", source="auto")
            engine.feed(item)
            assert engine.source == "anthropic_messages"


def test_a_named_source_is_not_overridden(core: Engine) -> None:
    engine = core.StreamProcessor(emit="nothing", source="openai_chat")
    engine.feed(sse(streamed(start("text", text="a"), stop())))
    assert engine.source == "openai_chat"
    assert engine.state.blocks == []
