"""Anthropic's Messages that break the rules: lenient mode counts and goes on, strict mode ends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from feeding import outcome
from messages import END, delta, ending, opened, partial, sse, start, stop, streamed, text
from penstock import ProtocolError
from wire import frame

if TYPE_CHECKING:
    from feeding import Engine, Run

Events = list[dict[str, Any]]

TOOL = start("tool_use", id="tu", name="ls", input={})
FULL = start("tool_use", id="tu", name="ls", input={"p": "/"})
TEXT = start("text", text="")
THINKING = start("thinking", thinking="", signature="one")

BROKEN: dict[str, tuple[str, Events]] = {
    "input in the start and in deltas": ("contradiction", streamed(FULL, partial('{"p":"/etc"}'), stop())),
    "a number used twice": ("slot_reused", streamed(TEXT, TEXT, stop())),
    "a number used twice, after its stop": ("slot_reused", streamed(TEXT, stop(), TEXT)),
    "a number left out": ("slot_skipped", streamed(start("text", 5, text=""), stop(5))),
    "content in the start": ("misplaced_delta", [opened(content=[TOOL["content_block"]]), ending(), END]),
    "a reason in the start": ("misplaced_delta", [opened(stop_reason="end_turn"), ending(), END]),
    "a delta after the stop": ("delta_after_close", streamed(TEXT, stop(), text("late"))),
    "a delta without a start": ("orphan_delta", streamed(text("x", 3))),
    "a stop without a start": ("orphan_delta", streamed(stop(3))),
    "a second message": ("repeated_start", [opened(), opened(id="msg_2"), ending(), END]),
    "text after the finish": ("late_text", [opened(), ending(), TEXT, END]),
    "a call after the finish": ("late_tool_call", [opened(), ending(), FULL, END]),
    "a second finish": ("repeated_finish", [opened(), ending(), ending(), END]),
    "a block that is not stopped": ("unclosed_block", streamed(TEXT, text("a"))),
    "arguments for text": ("misplaced_delta", streamed(TEXT, partial("{}"), stop())),
    "text for a call": ("misplaced_delta", streamed(TOOL, text("x"), stop())),
    "text for thinking": ("misplaced_delta", streamed(THINKING, text("x"), stop())),
    "thinking for text": ("misplaced_delta", streamed(TEXT, delta("thinking_delta", thinking="x"), stop())),
    "a signature for text": ("misplaced_delta", streamed(TEXT, delta("signature_delta", signature="x"), stop())),
    "a citation for a call": ("misplaced_delta", streamed(TOOL, delta("citations_delta", citation={}), stop())),
    "a second signature": ("contradiction", streamed(THINKING, delta("signature_delta", signature="two"), stop())),
    "an id used twice": (
        "id_reused",
        streamed(TOOL, stop(), start("tool_use", 1, id="tu", name="rm", input={}), stop(1)),
    ),
    "a call without an id": ("id_missing", streamed(start("tool_use", name="ls", input={}), stop())),
}

each_break = pytest.mark.parametrize(("quirk", "events"), BROKEN.values(), ids=BROKEN.keys())


@each_break
def test_a_broken_rule_is_counted(read_messages: Run, quirk: str, events: Events) -> None:
    result = read_messages(*events)
    assert result.quirks == {quirk: 1}
    assert result.problems == []


@each_break
def test_strict_mode_ends_at_a_broken_rule(read_messages: Run, quirk: str, events: Events) -> None:
    with pytest.raises(ProtocolError) as caught:
        read_messages(*events, strict=True)
    assert caught.value.kind == quirk


MALFORMED: dict[str, dict[str, Any]] = {
    "a negative number": text("x", -1),
    "no number": {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x"}},
    "no delta": {"type": "content_block_delta", "index": 0},
    "text that is none": delta("text_delta", text=3),
    "no block": {"type": "content_block_start", "index": 1},
    "a name that is none": start("tool_use", 1, id="tu", name=["ls"], input={}),
    "no message": {"type": "message_start"},
    "no type": {"index": 0},
}


@pytest.mark.parametrize("event", MALFORMED.values(), ids=MALFORMED.keys())
def test_an_event_of_another_shape_is_skipped_and_reported(read_messages: Run, event: dict[str, Any]) -> None:
    result = read_messages(*streamed(TEXT, event, stop()))
    assert result.quirks == {"malformed_chunk": 1}
    assert [problem.kind for problem in result.problems] == ["wrong_shape"]


def test_a_call_whose_name_is_given_twice_is_refused(core: Engine) -> None:
    block = r'{"type":"tool_use","id":"tu","name":"ls","n\u0061me":"rm","input":{}}'
    data = frame(f'{{"type":"content_block_start","index":0,"content_block":{block}}}')
    result = outcome(core, [sse([opened()]) + data], source="anthropic_messages")
    assert (result.state.blocks, result.quirks) == ([], {"malformed_chunk": 1})


def test_arguments_that_contradict_the_start_are_left_out(read_messages: Run) -> None:
    (call,) = read_messages(*streamed(FULL, partial('{"p":"/etc"}'), stop())).state.blocks
    assert call.arguments in {'{"p": "/"}', '{"p":"/"}'}


def test_a_signature_stays_what_it_was(read_messages: Run) -> None:
    again = (delta("signature_delta", signature="one"), delta("signature_delta", signature=""))
    result = read_messages(*streamed(THINKING, *again, stop()))
    assert (result.state.blocks[0].signature, result.quirks) == ("one", {})


def test_two_calls_under_one_number_are_not_mixed(read_messages: Run) -> None:
    other = start("tool_use", id="tu2", name="rm", input={})
    result = read_messages(*streamed(TOOL, partial('{"p":'), other, partial('"/"}'), stop()))
    (call,) = result.state.blocks
    assert (call.name, call.arguments, call.arguments_complete) == ("ls", '{"p":', False)
    assert result.quirks == {"slot_reused": 2}


def test_content_in_the_start_is_not_lost(read_messages: Run) -> None:
    (call,) = read_messages(opened(content=[FULL["content_block"]]), ending("tool_use"), END).state.blocks
    assert (call.id, call.name, call.is_complete) == ("tu", "ls", True)


def test_a_name_that_is_not_the_type_is_counted_and_the_type_counts(core: Engine) -> None:
    events = [opened(), start("text", text="a"), stop(), ending(), END]
    data = b"".join(frame(json.dumps(event), "message_stop") for event in events)
    result = outcome(core, [data])
    assert (result.quirks, result.state.blocks[0].content) == ({"event_type_mismatch": 4}, "a")
