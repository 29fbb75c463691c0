"""The life of blocks: the rules of the block machine, as bytes, dicts and JSON text."""

from __future__ import annotations

from typing import Any

import pytest

from feeding import CUT, ENDED, Run
from penstock.events import (
    BlockCompleted,
    BlockGrew,
    BlockNoted,
    BlockReopened,
    BlockStarted,
    ChoiceFinished,
    UsageReported,
)
from wire import call, calls, choice, chunk, delta, finish, part, text

SIGNED = {"thinking_blocks": [{"type": "thinking", "signature": "s"}]}
REDACTED = {"thinking_blocks": [{"type": "redacted_thinking", "data": "d"}]}


# 1 to 3. Blocks and transitions


def test_text_grows_the_current_text_block(run: Run) -> None:
    said = run(text("Hel"), text("lo"), finish())
    assert said.events == [
        BlockStarted(0, "content", "content"),
        BlockGrew(0, "text", "Hel"),
        BlockGrew(0, "text", "lo"),
        BlockCompleted(0),
        ChoiceFinished(0, "stop", "stop"),
        ENDED,
    ]


def test_a_delta_for_another_block_completes_the_current_one(run: Run) -> None:
    said = run(delta(reasoning="Hm"), text("Hi"), delta(refusal="No"), call("{}", index=0, id="c", name="f"))
    assert said.events == [
        BlockStarted(0, "thinking", "thinking"),
        BlockGrew(0, "text", "Hm"),
        BlockCompleted(0),
        BlockStarted(1, "content", "content"),
        BlockGrew(1, "text", "Hi"),
        BlockCompleted(1),
        BlockStarted(2, "refusal", "refusal"),
        BlockGrew(2, "text", "No"),
        BlockCompleted(2),
        BlockStarted(3, "tool_call", "c", "f"),
        BlockGrew(3, "arguments", "{}"),
        CUT,
    ]


def test_a_delta_of_one_choice_leaves_the_block_of_another_open(run: Run) -> None:
    said = run(text("a"), text("b", 1), text("c"), finish(), text("d", 1), finish("length", 1))
    assert said.events == [
        BlockStarted(0, "content", "content"),
        BlockGrew(0, "text", "a"),
        BlockStarted(1, "content", "content_1", choice=1),
        BlockGrew(1, "text", "b"),
        BlockGrew(0, "text", "c"),
        BlockCompleted(0),
        ChoiceFinished(0, "stop", "stop"),
        BlockGrew(1, "text", "d"),
        BlockCompleted(1),
        ChoiceFinished(1, "length", "length"),
        ENDED,
    ]
    assert said.state.finish_reason == "stop"
    assert said.state.finish_reasons == {0: "stop", 1: "length"}


def test_the_finish_reason_of_the_stream_is_that_of_choice_0_whichever_comes_first(run: Run) -> None:
    said = run(text("a"), text("b", 1), finish("length", 1), finish("stop", 0))
    assert (said.state.finish_reason, said.state.native_finish_reason) == ("stop", "stop")


def test_text_before_between_and_after_calls_is_three_blocks(run: Run) -> None:
    said = run(
        text("a"),
        call("{}", index=0, id="c", name="f"),
        text("b"),
        call("{}", index=1, id="d", name="f"),
        text("e"),
    )
    assert [(block.id, block.is_complete) for block in said.state.blocks] == [
        ("content", True),
        ("c", True),
        ("content_1", True),
        ("d", True),
        ("content_2", False),
    ]


def test_ids_are_numbered_by_kind_over_the_whole_stream(run: Run) -> None:
    said = run(
        delta(reasoning="1"),
        text("1"),
        delta(refusal="1"),
        delta(1, reasoning="2"),
        text("2", 1),
        delta(1, refusal="2"),
        delta(images=[{}, {}]),
        text([{"type": "video"}, {"type": "video"}]),
    )
    assert [block.id for block in said.state.blocks] == [
        "thinking",
        "content",
        "refusal",
        "thinking_1",
        "content_1",
        "refusal_1",
        "image",
        "image_1",
        "video",
        "video_1",
    ]


def test_thinking_after_text_is_a_new_block(run: Run) -> None:
    said = run(delta(reasoning="1"), text("a"), delta(reasoning="2"))
    assert [block.id for block in said.state.blocks] == ["thinking", "content", "thinking_1"]


# 7. Reopening


def test_more_for_a_complete_call_reopens_it_and_it_completes_again_with_everything(run: Run) -> None:
    said = run(
        calls(part("{", index=0, id="c", name="f"), part("[", index=1, id="d", name="g")),
        call("}", index=0),
        call("]", index=1),
        finish("tool_calls"),
    )
    assert said.events == [
        BlockStarted(0, "tool_call", "c", "f"),
        BlockGrew(0, "arguments", "{"),
        BlockCompleted(0),
        BlockStarted(1, "tool_call", "d", "g"),
        BlockGrew(1, "arguments", "["),
        BlockCompleted(1),
        BlockReopened(0),
        BlockGrew(0, "arguments", "}"),
        BlockCompleted(0),
        BlockReopened(1),
        BlockGrew(1, "arguments", "]"),
        BlockCompleted(1),
        ChoiceFinished(0, "tool_calls", "tool_calls"),
        ENDED,
    ]
    assert [block.arguments for block in said.state.blocks] == ["{}", "[]"]


def test_a_call_is_reopened_after_text_and_the_text_completes(run: Run) -> None:
    said = run(call("{", index=0, id="c", name="f"), text("a"), call("}", index=0), text("b"))
    assert said.events == [
        BlockStarted(0, "tool_call", "c", "f"),
        BlockGrew(0, "arguments", "{"),
        BlockCompleted(0),
        BlockStarted(1, "content", "content"),
        BlockGrew(1, "text", "a"),
        BlockCompleted(1),
        BlockReopened(0),
        BlockGrew(0, "arguments", "}"),
        BlockCompleted(0),
        BlockStarted(2, "content", "content_1"),
        BlockGrew(2, "text", "b"),
        CUT,
    ]


# 8 and 9. The finish, and what comes late

FINISHED = [
    BlockStarted(0, "content", "content"),
    BlockGrew(0, "text", "a"),
    BlockCompleted(0),
    ChoiceFinished(0, "stop", "stop"),
]


def test_the_first_finish_counts_and_a_later_one_is_counted(run: Run) -> None:
    said = run(text("a"), finish(), finish("length"))
    assert said.events == [*FINISHED, ENDED]
    assert said.quirks == {"repeated_finish": 1}
    assert said.state.finish_reason == "stop"


def test_text_beside_the_finish_is_not_late(run: Run) -> None:
    said = run(chunk(choice({"content": "a"}, finish_reason="stop")))
    assert said.events == [*FINISHED, ENDED]
    assert said.quirks == {}


LATE_TEXT: dict[str, dict[str, Any]] = {
    "text": {"content": "b"},
    "parts": {"content": [{"type": "text", "text": "b"}]},
    "thinking": {"reasoning": "b"},
    "refusal": {"refusal": "b"},
    "audio": {"audio": {"data": "b"}},
    "image": {"images": [{"url": "b"}]},
}


@pytest.mark.parametrize("fields", LATE_TEXT.values(), ids=LATE_TEXT)
def test_content_after_the_finish_is_dropped_and_counted(run: Run, fields: dict[str, Any]) -> None:
    said = run(text("a"), finish(), delta(**fields))
    assert said.events == [*FINISHED, ENDED]
    assert said.quirks == {"late_text": 1}


def test_a_tool_call_after_the_finish_is_refused_and_counted(run: Run) -> None:
    said = run(text("a"), finish(), call("{}", index=0, id="c", name="f"), delta(function_call={"name": "g"}))
    assert said.events == [*FINISHED, ENDED]
    assert said.quirks == {"late_tool_call": 2}


def test_arguments_after_the_finish_do_not_reach_their_call(run: Run) -> None:
    said = run(call("{}", index=0, id="c", name="f"), finish("tool_calls"), call(" && rm", index=0))
    assert said.state.blocks[0].arguments == "{}"
    assert said.state.blocks[0].is_complete
    assert said.quirks == {"late_tool_call": 1}


def test_empty_strings_extras_and_usage_after_the_finish_are_not_late(run: Run) -> None:
    said = run(text("a"), finish(), delta(content="", channel="x"), {"choices": [], "usage": {"prompt_tokens": 1}})
    assert said.events == [*FINISHED, BlockNoted(0, "channel", '"x"'), UsageReported('{"prompt_tokens":1}'), ENDED]
    assert said.quirks == {}


def test_the_finish_of_one_choice_makes_nothing_late_in_another(run: Run) -> None:
    said = run(text("a"), finish(), text("b", 1), finish(index=1))
    assert [block.content for block in said.state.blocks] == ["a", "b"]
    assert said.quirks == {}


# 10. Signatures and encrypted data


@pytest.mark.parametrize(("fields", "part_name", "value"), [(SIGNED, "signature", "s"), (REDACTED, "data", "d")])
def test_a_signature_belongs_to_the_open_thinking_block(
    run: Run, fields: dict[str, Any], part_name: str, value: str
) -> None:
    said = run(delta(reasoning="Hm"), delta(**fields))
    assert said.events == [
        BlockStarted(0, "thinking", "thinking"),
        BlockGrew(0, "text", "Hm"),
        BlockGrew(0, part_name, value),
        CUT,
    ]


def test_thinking_behind_a_signature_starts_a_new_block(run: Run) -> None:
    said = run(delta(reasoning="Hm"), delta(**SIGNED), delta(reasoning="!"), delta(**SIGNED))
    assert said.events == [
        BlockStarted(0, "thinking", "thinking"),
        BlockGrew(0, "text", "Hm"),
        BlockGrew(0, "signature", "s"),
        BlockCompleted(0),
        BlockStarted(1, "thinking", "thinking_1"),
        BlockGrew(1, "text", "!"),
        BlockGrew(1, "signature", "s"),
        CUT,
    ]


def test_a_second_piece_of_data_starts_a_new_block(run: Run) -> None:
    said = run(delta(**REDACTED), delta(**REDACTED))
    assert said.events == [
        BlockStarted(0, "thinking", "thinking"),
        BlockGrew(0, "data", "d"),
        BlockCompleted(0),
        BlockStarted(1, "thinking", "thinking_1"),
        BlockGrew(1, "data", "d"),
        CUT,
    ]


@pytest.mark.parametrize(("fields", "part_name", "value"), [(SIGNED, "signature", "s"), (REDACTED, "data", "d")])
@pytest.mark.parametrize("between", [text("a"), call("{}", index=0, id="c", name="f")], ids=["text", "call"])
def test_a_late_signature_goes_to_the_newest_thinking_block_and_does_not_reopen_it(
    run: Run, fields: dict[str, Any], part_name: str, value: str, between: dict[str, Any]
) -> None:
    said = run(delta(reasoning="Hm"), between, delta(**fields))
    assert said.events[:3] == [
        BlockStarted(0, "thinking", "thinking"),
        BlockGrew(0, "text", "Hm"),
        BlockCompleted(0),
    ]
    assert said.events[5:] == [BlockGrew(0, part_name, value), CUT]


@pytest.mark.parametrize(("fields", "part_name", "value"), [(SIGNED, "signature", "s"), (REDACTED, "data", "d")])
def test_a_signature_without_a_thinking_block_starts_one(
    run: Run, fields: dict[str, Any], part_name: str, value: str
) -> None:
    said = run(text("a"), delta(**fields))
    assert said.events == [
        BlockStarted(0, "content", "content"),
        BlockGrew(0, "text", "a"),
        BlockCompleted(0),
        BlockStarted(1, "thinking", "thinking"),
        BlockGrew(1, part_name, value),
        CUT,
    ]


@pytest.mark.parametrize(("fields", "part_name", "value"), [(SIGNED, "signature", "s"), (REDACTED, "data", "d")])
def test_a_signature_while_a_call_is_open_and_nothing_was_thought_is_noted_on_the_call(
    run: Run, fields: dict[str, Any], part_name: str, value: str
) -> None:
    said = run(call("{", index=0, id="c", name="f"), delta(**fields), call("}", index=0))
    assert said.events == [
        BlockStarted(0, "tool_call", "c", "f"),
        BlockGrew(0, "arguments", "{"),
        BlockNoted(0, part_name, f'"{value}"'),
        BlockGrew(0, "arguments", "}"),
        CUT,
    ]


def test_the_thinking_of_another_choice_gets_no_foreign_signature(run: Run) -> None:
    said = run(delta(0, reasoning="Hm"), text("a", 1), delta(1, **SIGNED))
    assert [block.id for block in said.state.blocks] == ["thinking", "content", "thinking_1"]
    assert [block.signature for block in (said.state.blocks[0], said.state.blocks[2])] == ["", "s"]
