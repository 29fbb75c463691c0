"""OpenAI Responses that contradict themselves: what was streamed counts, and strict mode ends the stream."""

from __future__ import annotations

from typing import Any

import pytest

from feeding import run
from penstock.errors import ProtocolError
from responses import (
    CORE,
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
    text_delta,
)

STREAMED = [created(), added(function_call()), arguments_delta('["ls"]')]
RM = '["rm"]'
LS = '["ls"]'
CUSTOM = {"type": "custom_tool_call", "id": "ct_1", "call_id": "call_1", "name": "sh", "input": ""}
SHELL = {"type": "shell_call", "id": "sh_1", "call_id": "call_1", "action": {"commands": []}}


def strictly(*events: dict[str, Any]) -> str:
    """The kind of the error that a stream ends in."""
    with pytest.raises(ProtocolError) as caught:
        run(CORE, events, strict=True, source="openai_responses")
    return caught.value.kind


CONTRADICTIONS = {
    "R-01 completed has other arguments": [*STREAMED, done(function_call(LS)), completed(function_call(RM))],
    "R-01 completed has another name": [*STREAMED, done(function_call(LS)), completed(function_call(LS, name="rm"))],
    "R-01 arguments.done has others": [
        *STREAMED,
        at("function_call_arguments.done", arguments=RM),
        done(function_call(LS)),
        completed(),
    ],
    "R-01 arguments.done has another name": [
        *STREAMED,
        at("function_call_arguments.done", arguments=LS, name="rm"),
        done(function_call(LS)),
        completed(),
    ],
    "R-02 item.done has other arguments": [*STREAMED, done(function_call(RM)), completed()],
    "R-02 item.done has another name": [*STREAMED, done(function_call(LS, name="rm")), completed()],
    "R-02 item.done has another call_id": [*STREAMED, done(function_call(LS, call_id="call_2")), completed()],
    "R-02 item.added had others": [
        created(),
        added(function_call(RM)),
        arguments_delta(LS),
        done(function_call(LS)),
        completed(),
    ],
    "R-03 a call only in completed": [
        *STREAMED,
        done(function_call(LS)),
        completed(function_call(LS), function_call(RM, call=2)),
    ],
    "R-07 the id of another item": [
        *STREAMED,
        added(message(), 1),
        at("output_text.delta", 1, item_id="fc_1", content_index=0, delta="a"),
        done(message(output_text("a")), 1),
        done(function_call(LS)),
        completed(),
    ],
}


@pytest.mark.parametrize("events", CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_what_was_streamed_of_a_call_counts(events: list[dict[str, Any]]) -> None:
    outcome = read(*events)
    assert outcome.quirks == {"contradiction": 1}
    calls = [block for block in outcome.state.blocks if block.type == "tool_call"]
    assert [(block.id, block.name, block.arguments) for block in calls] == [("call_1", "ls", LS)]
    assert all(block.is_complete for block in outcome.state.blocks)
    assert strictly(*events) == "contradiction"


def test_a_call_that_only_the_end_of_its_item_has_is_taken_and_counted() -> None:
    events = [created(), done(function_call(LS)), completed(function_call(LS))]
    outcome = read(*events)
    assert outcome.quirks == {"contradiction": 1}
    assert [block.arguments for block in outcome.state.blocks] == [LS]
    assert strictly(*events) == "contradiction"


def test_nothing_is_read_behind_the_last_event() -> None:
    outcome = read(created(), completed(), added(function_call(RM)), done(function_call(RM)))
    assert outcome.state.blocks == []
    assert outcome.quirks == {}


def test_completed_without_output_contradicts_nothing() -> None:
    assert read(*STREAMED, done(function_call(LS)), completed()).quirks == {}


def test_gaps_in_the_output_index_contradict_nothing() -> None:
    item = function_call(LS)
    assert (
        read(created(), added(function_call(), 3), arguments_delta(LS, 3), done(item, 3), completed(item)).quirks == {}
    )


@pytest.mark.parametrize(
    "late", [at("output_text.done", content_index=0, text="b"), done(message(output_text("b")))], ids=["text", "item"]
)
def test_text_that_its_end_gives_differently_is_counted(late: dict[str, Any]) -> None:
    outcome = read(created(), added(message()), text_delta("a"), late, completed())
    assert outcome.quirks["contradiction"] == 1
    assert outcome.state.blocks[0].content == "a"


def test_text_that_completed_gives_differently_is_counted() -> None:
    item = message(output_text("a"))
    outcome = read(created(), added(message()), text_delta("a"), done(item), completed(message(output_text("b"))))
    assert outcome.quirks == {"contradiction": 1}


@pytest.mark.parametrize("end", [{**CUSTOM, "input": "rm"}, completed({**CUSTOM, "input": "rm"})])
def test_the_input_of_a_custom_call_is_compared_too(end: dict[str, Any]) -> None:
    ends = [end] if end["type"] != "custom_tool_call" else [done(end), completed()]
    start = [created(), added(CUSTOM), at("custom_tool_call_input.delta", delta="ls")]
    streamed = start if len(ends) == 2 else [*start, done({**CUSTOM, "input": "ls"})]
    outcome = read(*streamed, *ends)
    assert outcome.quirks == {"contradiction": 1}
    assert outcome.state.blocks[0].arguments == "ls"


def test_a_command_that_its_item_gives_differently_is_counted() -> None:
    outcome = read(
        created(),
        added(SHELL),
        at("shell_call_command.done", command_index=0, command="ls"),
        done({**SHELL, "action": {"commands": ["rm"]}}),
        completed(),
    )
    assert outcome.quirks == {"contradiction": 1}


def test_a_builtin_call_that_completed_gives_differently_is_counted() -> None:
    ls, rm = ({**SHELL, "action": {"commands": [command]}} for command in ("ls", "rm"))
    assert read(created(), added(SHELL), done(ls), completed(rm)).quirks == {"contradiction": 1}
    respelt = {**SHELL, "action": {"x": 1, "commands": ["ls"]}}
    turned = {**SHELL, "action": {"commands": ["ls"], "x": 1}}
    assert read(created(), added(SHELL), done(respelt), completed(turned)).quirks == {}


def test_an_item_whose_type_changes_stays_what_it_was() -> None:
    outcome = read(created(), added(function_call()), done({"type": "compaction"}), completed())
    assert outcome.quirks == {"contradiction": 1}
    assert [block.type for block in outcome.state.blocks] == ["tool_call"]


# Order.


def test_arguments_of_a_call_that_never_began_are_refused() -> None:
    outcome = read(created(), arguments_delta(RM), completed())
    assert outcome.quirks == {"orphan_delta": 1}
    assert outcome.state.blocks == []


def test_an_event_that_names_no_item_is_refused() -> None:
    assert read(created(), event("output_text.delta", delta="a"), completed()).quirks == {"orphan_delta": 1}


def test_an_event_without_an_output_index_is_known_by_its_id() -> None:
    outcome = read(created(), added(message()), event("output_text.delta", item_id="msg_1", delta="a"), completed())
    assert outcome.state.blocks[0].content == "a"


def test_text_behind_the_end_of_its_part_is_refused() -> None:
    end = at("content_part.done", content_index=0, part=output_text("a"))
    outcome = read(created(), added(message()), text_delta("a"), end, text_delta("b"), completed())
    assert outcome.quirks == {"delta_after_close": 1}
    assert outcome.state.blocks[0].content == "a"


def test_text_for_a_refusal_is_refused() -> None:
    begin = at("content_part.added", content_index=0, part={"type": "refusal", "refusal": ""})
    outcome = read(created(), added(message()), begin, text_delta("a"))
    assert outcome.quirks["misplaced_delta"] == 1
    assert outcome.state.blocks[0].content == ""


def test_an_item_that_begins_twice_is_counted() -> None:
    item = function_call(LS)
    assert read(created(), added(item), added(item), done(item), completed()).quirks == {"slot_reused": 1}
    assert read(created(), added(item), done(item), done(item), completed()).quirks == {"slot_reused": 1}


def test_blocks_that_were_not_closed_are_closed_by_the_end() -> None:
    outcome = read(created(), added(message()), text_delta("a"), added(function_call(), 1), completed())
    assert outcome.quirks == {"unclosed_block": 2}
    assert all(block.is_complete for block in outcome.state.blocks)


# Malformed.


@pytest.mark.parametrize(
    "data",
    [
        '{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","name":"ls","name":"rm"}}',
        '{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","n\\u0061me":"a","name":"b"}}',
        '{"type":"response.output_text.delta","output_index":-1,"delta":"a"}',
        '{"type":"response.output_text.delta","output_index":0,"delta":"\\ud800"}',
        '{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":"text"}}',
        '{"type":"response.output_item.done","output_index":0,"item":' + '{"a":' * 100 + "1" + "}" * 100 + "}",
        '{"type":"response.output_text.delta","output_index":0,"delta":NaN}',
    ],
    ids=["J-01", "J-02", "negative", "J-03", "content", "J-06", "J-04"],
)
def test_an_event_that_cannot_be_read_is_skipped_whole(data: str) -> None:
    processor = CORE.StreamProcessor(emit="events", source="openai_responses")
    assert [each.name for each in processor.feed(data)] == ["malformed_chunk"]
    assert processor.state.blocks == []


def test_a_failure_in_place_of_an_answer_is_an_error() -> None:
    outcome = read({"error": {"message": "no", "code": 401}})
    assert outcome.state.error == {"message": "no", "code": 401}
    assert outcome.state.interrupted


def test_a_call_before_a_failure_is_not_whole() -> None:
    outcome = read(*STREAMED, event("failed", response=response(error={"code": "x"}, status="failed")))
    assert not outcome.state.blocks[0].is_complete
    assert outcome.state.interrupted
