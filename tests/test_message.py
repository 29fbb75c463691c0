"""Plain aggregation: a stream as one message, and the aggregator that is fed chunk by chunk."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from feeding import WAYS, Way
from models import MODELS
from oracle import chunks_of_sse
from penstock import Message, StreamChunkAggregator, aggregate, aggregate_async
from processing import stream
from recorded import own
from wire import DONE, call, choice, chunk, delta, finish, sse, text

if TYPE_CHECKING:
    from collections.abc import Callable

ANSWER = [
    delta(role="assistant", reasoning="hm"),
    text("I look "),
    text("it up."),
    call("", index=0, id="a", name="tide"),
    call('{"port": "Oban"}', index=0),
    call("{}", index=1, id="b", name="moon"),
    finish("tool_calls"),
    {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5}},
]
CALLS = [
    {"id": "a", "type": "function", "function": {"name": "tide", "arguments": '{"port": "Oban"}'}},
    {"id": "b", "type": "function", "function": {"name": "moon", "arguments": "{}"}},
]
FORMS = (
    *WAYS,
    *(Way(name, lambda chunks, form=form: [form(each) for each in chunks]) for name, form in MODELS.items()),
)


def check(message: Message) -> None:
    assert (message.role, message.content, message.thinking) == ("assistant", "I look it up.", "hm")
    assert message.tool_calls == CALLS
    assert message.finish_reason == "tool_calls"
    assert [block.id for block in message.blocks] == ["thinking", "content", "a", "b"]
    assert not message.state.interrupted


@pytest.mark.parametrize("form", FORMS, ids=str)
async def test_a_stream_is_one_message_whichever_way_it_comes(form: Way) -> None:
    chunks = ANSWER[:-1]
    check(aggregate(form.items(chunks)))
    check(await aggregate_async(stream(form.items(chunks))))


def test_the_usage_that_follows_the_finish_is_in_the_message() -> None:
    usage = aggregate(ANSWER).usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens) == (7, 5, None)
    assert aggregate(ANSWER[:-1]).usage is None


def test_a_message_is_a_dataclass_that_compares_and_does_not_print_its_state() -> None:
    assert aggregate(ANSWER) == aggregate([sse(*ANSWER, DONE)])
    assert "state=" not in repr(aggregate(ANSWER))


def test_text_before_and_after_a_call_is_all_of_the_content() -> None:
    message = aggregate([text("x"), call("{}", index=0, id="a", name="f"), text("y"), finish()])
    assert message.content == "xy"
    assert [block.id for block in message.blocks] == ["content", "a", "content_1"]


def test_a_call_of_a_custom_tool_has_its_own_shape() -> None:
    custom = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    message = aggregate([delta(tool_calls=[custom]), finish("tool_calls")])
    assert message.tool_calls == [{"id": "a", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}]


def test_of_several_choices_the_message_is_the_first() -> None:
    message = aggregate([chunk(choice({"content": "x"}), choice({"content": "y"}, 1)), finish(), finish("length", 1)])
    assert (message.content, message.finish_reason) == ("x", "stop")
    assert [block.content for block in message.state.blocks] == ["x", "y"]


def test_a_message_of_nothing_is_empty_and_interrupted() -> None:
    message = aggregate([])
    assert (message.role, message.content, message.tool_calls, message.finish_reason) == ("assistant", "", [], None)
    assert message.state.interrupted


def captured(chunks: list[Any]) -> StreamChunkAggregator:
    aggregator = StreamChunkAggregator()
    for each in chunks:
        aggregator.capture_chunk(each)
    return aggregator


def test_the_aggregator_has_what_was_captured_so_far() -> None:
    aggregator = StreamChunkAggregator()
    assert (aggregator.role, aggregator.finish_reason) == (None, None)
    assert (aggregator.get_accumulated_content(), aggregator.get_tool_calls()) == ("", [])
    seen: list[Any] = []
    for each in ANSWER:
        assert aggregator.capture_chunk(each) is None
        arguments = [called["function"]["arguments"] for called in aggregator.get_tool_calls()]
        seen.append((aggregator.get_accumulated_content(), arguments, aggregator.finish_reason))
    assert seen == [
        ("", [], None),
        ("I look ", [], None),
        ("I look it up.", [], None),
        ("I look it up.", [""], None),
        ("I look it up.", ['{"port": "Oban"}'], None),
        ("I look it up.", ['{"port": "Oban"}', "{}"], None),
        ("I look it up.", ['{"port": "Oban"}', "{}"], "tool_calls"),
        ("I look it up.", ['{"port": "Oban"}', "{}"], "tool_calls"),
    ]
    assert (aggregator.role, aggregator.get_tool_calls()) == ("assistant", CALLS)


@pytest.mark.parametrize("form", [*MODELS.values(), json.dumps], ids=[*MODELS, "json"])
def test_the_aggregator_takes_objects_and_json(form: Callable[[Any], Any]) -> None:
    aggregator = captured([form(each) for each in ANSWER[:-1]])
    assert (aggregator.get_accumulated_content(), aggregator.get_tool_calls()) == ("I look it up.", CALLS)


def test_what_a_caller_does_to_the_tool_calls_changes_nothing() -> None:
    aggregator = captured(ANSWER)
    aggregator.get_tool_calls()[0]["function"]["name"] = "other"
    assert aggregator.get_tool_calls() == CALLS


RECORDINGS = {
    "text_only.sse": ([], "stop"),
    "tool_calls_sequential.sse": (["tide_table", "tide_table", "moon_phase"], "tool_calls"),
    "text_then_tool_calls.json": (["tide_table", "moon_phase", "tide_table"], "tool_calls"),
    "long_text_then_tool_calls.json": (["tide_table", "tide_table"], "tool_calls"),
}


@pytest.mark.parametrize(("name", "expected"), RECORDINGS.items(), ids=RECORDINGS)
def test_the_aggregator_and_the_message_agree_on_every_pattern(name: str, expected: tuple[list[str], str]) -> None:
    recording = own(name)
    chunks = list(map(json.loads, chunks_of_sse(recording.data))) if recording.is_sse else json.loads(recording.data)
    aggregator, message = captured(chunks), aggregate(chunks)
    assert ([called["function"]["name"] for called in message.tool_calls], message.finish_reason) == expected
    assert aggregator.get_tool_calls() == message.tool_calls
    assert aggregator.get_accumulated_content() == message.content
    assert (aggregator.role, aggregator.finish_reason) == (message.role, message.finish_reason)
