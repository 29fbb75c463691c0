"""Text without a wire format: every read is text, and the end of the input is the finish."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import wire
from feeding import ENDED, merged, outcome, run
from penstock.events import BlockCompleted, BlockGrew, BlockStarted, ChoiceFinished
from splits import SPLITS, Split, two_way_cuts
from tagged import shapes
from watching import watch

if TYPE_CHECKING:
    from feeding import Engine

TEXT = 'Grüße 🎉 data: {"choices": []}\n\n[DONE]\nend'

WHOLE = [
    BlockStarted(0, "content", "content"),
    BlockGrew(0, "text", TEXT),
    BlockCompleted(0),
    ChoiceFinished(0, "stop", ""),
    ENDED,
]


@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_bytes_of_text_are_one_block_wherever_they_are_cut(engine: Engine, split: Split) -> None:
    assert merged(run(engine, split(TEXT.encode()), source="text")) == WHOLE


@pytest.mark.parametrize("tags", [[], ()])
def test_text_alone_has_the_tags_of_claude_unless_others_are_named(engine: Engine, tags: Any) -> None:
    text = "<thinking>hm</thinking><think>so</think>"
    assert shapes(outcome(engine, [text], source="text")) == [("thinking", "hm"), ("text", "<think>so</think>")]
    others = shapes(outcome(engine, [text], source="text", tags="think"))
    assert others == [("text", "<thinking>hm</thinking>"), ("thinking", "so")]
    assert shapes(outcome(engine, [text], source="text", tags=tags)) == [("text", text)]


@pytest.mark.parametrize("tags", [None, [], ()])
def test_text_in_a_wire_format_has_no_tags_unless_some_are_named(engine: Engine, tags: Any) -> None:
    text = "<thinking>hm</thinking>"
    assert shapes(outcome(engine, [wire.text(text), wire.finish()], tags=tags)) == [("text", text)]


def test_every_cut_of_the_bytes_gives_the_same(engine: Engine) -> None:
    for reads in two_way_cuts(TEXT.encode()):
        assert merged(run(engine, reads, source="text")) == WHOLE


def test_strings_are_text_whatever_they_look_like(engine: Engine) -> None:
    assert merged(run(engine, [TEXT[:9], "", TEXT[9:]], source="text")) == WHOLE
    assert run(engine, ["[DONE]"], source="text")[1] == BlockGrew(0, "text", "[DONE]")


def test_no_text_at_all_is_a_whole_answer(engine: Engine) -> None:
    assert run(engine, [], source="text") == [ChoiceFinished(0, "stop", ""), ENDED]


def test_bytes_that_are_no_utf8_are_left_out_and_counted(engine: Engine) -> None:
    result = outcome(engine, [b"a\xffb", "é".encode()[:1]], source="text")
    assert result.state.blocks[0].content == "ab"
    assert result.quirks == {"malformed_chunk": 2}
    assert [(problem.kind, problem.offset) for problem in result.problems] == [("invalid_utf8", 1), ("invalid_utf8", 3)]


def test_a_policy_gets_the_text_and_an_empty_text_for_the_finish(engine: Engine) -> None:
    seen = watch(engine, ["one ", "two"], source="text")
    assert [(each.chunk, each.completed) for each in seen] == [("one ", None), ("two", None), ("", "content")]


def test_an_object_is_not_text(engine: Engine) -> None:
    result = outcome(engine, [{"choices": []}, "text"], source="text")
    assert (result.quirks, result.state.blocks[0].content) == ({"malformed_chunk": 1}, "text")
