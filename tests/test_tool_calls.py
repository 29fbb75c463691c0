"""Which tool call a delta means: each row of the table of index and id, then ids, ordinals and names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from feeding import CUT, ENDED, Run
from penstock.blocks import ToolCallStreamBlock
from penstock.events import BlockCompleted, BlockGrew, BlockReopened, BlockStarted, ChoiceFinished, Event
from wire import Chunk, call, calls, delta, finish, part, text

FIRST = [BlockStarted(0, "tool_call", "a", "f"), BlockGrew(0, "arguments", "{")]


@dataclass(frozen=True)
class Row:
    """A row of the table: a first call, a delta, and what the delta does."""

    first: Chunk
    then: Chunk
    events: list[Event]
    quirks: dict[str, int] = field(default_factory=dict[str, int])


def new(call_id: str, name: str = "g") -> list[Event]:
    """A second call that starts and grows."""
    return [BlockCompleted(0), BlockStarted(1, "tool_call", call_id, name), BlockGrew(1, "arguments", "}")]


def same(block: int = 0) -> list[Event]:
    """The first call grows."""
    return [BlockGrew(block, "arguments", "}")]


INDEXED = call("{", index=0, id="a", name="f")
UNNAMED = call("{", index=0, name="f")
NO_INDEX = call("{", id="a", name="f")
BARE = call("{", name="f")
LEGACY = delta(function_call={"name": "f", "arguments": "{"})
MADE = [BlockStarted(0, "tool_call", "tc_0", "f"), BlockGrew(0, "arguments", "{")]
WHOLE = [BlockStarted(0, "tool_call", "tc_0", "f"), BlockGrew(0, "arguments", "{}")]
MISSING = {"index_missing": 1}
BOTH_MISSING = {"index_missing": 1, "id_missing": 1}
ALL_MISSING_TWICE = {"index_missing": 2, "id_missing": 2}

TABLE = {
    "new_index_new_id": Row(INDEXED, call("}", index=1, id="b", name="g"), FIRST + new("b")),
    "new_index_same_id": Row(INDEXED, call("}", index=1, id="a", name="g"), FIRST + new("a"), {"id_reused": 1}),
    "new_index_no_id": Row(INDEXED, call("}", index=1, name="g"), FIRST + new("tc_1"), {"id_missing": 1}),
    "new_index_empty_id": Row(INDEXED, call("}", index=1, id="", name="g"), FIRST + new("tc_1"), {"id_missing": 1}),
    "known_index_no_id": Row(INDEXED, call("}", index=0), FIRST + same()),
    "known_index_null_id": Row(INDEXED, call("}", index=0, id=None), FIRST + same()),
    "known_index_empty_id": Row(INDEXED, call("}", index=0, id=""), FIRST + same()),
    "known_index_its_id": Row(INDEXED, call("}", index=0, id="a"), FIRST + same()),
    "known_index_first_id": Row(UNNAMED, call("}", index=0, id="a"), MADE + same(), {"id_missing": 1}),
    "known_index_other_id": Row(INDEXED, call("}", index=0, id="b", name="g"), FIRST + new("b")),
    "no_index_known_id": Row(NO_INDEX, call("}", id="a"), FIRST + same(), MISSING),
    "no_index_id_of_indexed": Row(INDEXED, call("}", id="a"), FIRST + same()),
    "null_index_known_id": Row(NO_INDEX, call("}", index=None, id="a"), FIRST + same(), MISSING),
    "no_index_new_id": Row(NO_INDEX, call("}", id="b", name="g"), FIRST + new("b"), {"index_missing": 2}),
    "neither": Row(INDEXED, call("}"), FIRST + same()),
    "neither_after_bare": Row(BARE, call("}"), MADE + same(), BOTH_MISSING),
    "neither_with_name_and_open_arguments": Row(BARE, call("}", name="f"), MADE + same(), BOTH_MISSING),
    "neither_with_name_and_whole_arguments": Row(
        call("{}", name="f"), call("}", name="g"), WHOLE + new("tc_1"), ALL_MISSING_TWICE
    ),
    "neither_without_name_and_whole_arguments": Row(call("{}", name="f"), call("}"), WHOLE + same(), BOTH_MISSING),
    "legacy_continues": Row(LEGACY, delta(function_call={"arguments": "}"}), MADE + same()),
    "legacy_after_a_call": Row(INDEXED, delta(function_call={"name": "g", "arguments": "}"}), FIRST + new("tc_1")),
    "neither_after_legacy": Row(LEGACY, call("}", name="g"), MADE + new("tc_1"), BOTH_MISSING),
}


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_index_and_id_decide_which_call_a_delta_means(run: Run, row: Row) -> None:
    said = run(row.first, row.then)
    assert said.events == [*row.events, CUT]
    assert said.quirks == row.quirks


# A chunk has room for one function_call.
IN_ONE_CHUNK = {name: row for name, row in TABLE.items() if "legacy" not in name}


@pytest.mark.parametrize("row", IN_ONE_CHUNK.values(), ids=IN_ONE_CHUNK)
def test_the_same_holds_for_two_deltas_in_one_chunk(run: Run, row: Row) -> None:
    first, then = (each["choices"][0]["delta"]["tool_calls"] for each in (row.first, row.then))
    said = run(calls(*first, *then))
    assert said.events == [*row.events, CUT]


def test_the_first_call_without_index_and_id_is_a_new_call(run: Run) -> None:
    said = run(text("x"), call("{}", name="f"))
    assert said.events[2:] == [
        BlockCompleted(0),
        BlockStarted(1, "tool_call", "tc_0", "f"),
        BlockGrew(1, "arguments", "{}"),
        CUT,
    ]


def test_a_reused_index_belongs_to_the_newest_call_that_took_it(run: Run) -> None:
    said = run(
        call("{", index=0, id="a", name="f"),
        call("[", index=0, id="b", name="g"),
        call("]", index=0),
        finish("tool_calls"),
    )
    assert said.events == [
        *FIRST,
        BlockCompleted(0),
        BlockStarted(1, "tool_call", "b", "g"),
        BlockGrew(1, "arguments", "["),
        BlockGrew(1, "arguments", "]"),
        BlockCompleted(1),
        ChoiceFinished(0, "tool_calls", "tool_calls"),
        ENDED,
    ]


def test_an_id_without_index_means_the_newest_call_of_that_id(run: Run) -> None:
    said = run(
        call("1", index=0, id="a", name="f"),
        call("2", index=1, id="a", name="f"),
        call("3", index=2, id="b", name="f"),
        call("4", id="a"),
    )
    assert said.events[-4:] == [BlockCompleted(2), BlockReopened(1), BlockGrew(1, "arguments", "4"), CUT]


def test_calls_of_several_choices_do_not_meet(run: Run) -> None:
    said = run(
        call("1", index=0, id="a", name="f"),
        call("2", index=0, id="b", name="g", choice=1),
        call("1", index=0),
        call("2", index=0, choice=1),
        call("2", choice=1),
    )
    found = [(block.choice, block.id, block.index, block.arguments) for block in said.state.blocks]
    assert found == [(0, "a", 0, "11"), (1, "b", 0, "222")]


# Made ids and ordinals


@pytest.mark.parametrize(
    ("chunks", "ids"),
    [
        ([call("{}", index=3, name="f")], ["tc_3"]),
        ([call("{}", index=0, id="tc_1", name="f"), call("{}", index=1, name="f")], ["tc_1", "tc_1_1"]),
        ([call("{}", index=7, name="f"), call("{}", index=7, name="f", choice=1)], ["tc_7", "tc_7_1"]),
        ([call("{}", index=0, name="f", choice=index) for index in range(3)], ["tc_0", "tc_0_1", "tc_0_2"]),
        ([call("{}", name="f"), call("{}", name="f"), call("{}", name="f")], ["tc_0", "tc_1", "tc_2"]),
        ([call("{}", index=0, id="a", name="f"), delta(function_call={"name": "f"})], ["a", "tc_1"]),
    ],
)
def test_a_call_without_an_id_gets_one_that_no_other_has(run: Run, chunks: list[Chunk], ids: list[str]) -> None:
    assert [block.id for block in run(*chunks).state.blocks] == ids


def test_the_index_of_a_block_is_its_ordinal_whatever_the_wire_says(run: Run) -> None:
    said = run(
        calls(
            part("{}", index=5, id="a", name="f"), part("{}", index=5, id="b", name="f"), part("{}", id="c", name="f")
        ),
        call("{}", index=9, id="d", name="f", choice=1),
    )
    assert [(block.id, block.index) for block in said.state.blocks] == [("a", 0), ("b", 1), ("c", 2), ("d", 0)]


# Names


def named(run: Run, *chunks: Chunk) -> tuple[str, dict[str, int]]:
    said = run(*chunks)
    (block,) = said.state.blocks
    assert isinstance(block, ToolCallStreamBlock)
    return block.name, said.quirks


def test_a_name_in_pieces_is_put_together(run: Run) -> None:
    said = run(call("", index=0, id="a", name="get_"), call("{", index=0, name="weather"))
    assert said.events == [
        BlockStarted(0, "tool_call", "a", "get_"),
        BlockGrew(0, "name", "weather"),
        BlockGrew(0, "arguments", "{"),
        CUT,
    ]
    assert said.quirks == {"name_in_pieces": 1}


def test_a_name_that_comes_after_the_start_is_no_piece(run: Run) -> None:
    said = run(call(index=0, id="a"), call(index=0, name="f"), call("{", index=0))
    assert said.events == [
        BlockStarted(0, "tool_call", "a"),
        BlockGrew(0, "name", "f"),
        BlockGrew(0, "arguments", "{"),
        CUT,
    ]
    assert said.quirks == {}


@pytest.mark.parametrize("again", ["f", "", None])
def test_a_name_that_repeats_is_ignored_before_and_after_arguments(run: Run, again: Any) -> None:
    chunks = [call("", index=0, id="a", name="f"), call("{", index=0, name=again), call("}", index=0, name=again)]
    assert named(run, *chunks) == ("f", {})


def test_another_name_after_arguments_is_dropped_and_counted(run: Run) -> None:
    chunks = [call("{}", index=0, id="a", name="ls"), call("", index=0, name="rm")]
    assert named(run, *chunks) == ("ls", {"name_changed": 1})


def test_arguments_and_another_name_in_one_delta_keep_the_arguments(run: Run) -> None:
    said = run(call("{", index=0, id="a", name="f"), call("}", index=0, name="g"))
    assert said.events == [*FIRST, *same(), CUT]
    assert said.quirks == {"name_changed": 1}


def test_a_first_name_after_arguments_is_taken(run: Run) -> None:
    said = run(call("{", index=0, id="a"), call("}", index=0, name="f"))
    assert said.events == [
        BlockStarted(0, "tool_call", "a"),
        BlockGrew(0, "arguments", "{"),
        BlockGrew(0, "name", "f"),
        BlockGrew(0, "arguments", "}"),
        CUT,
    ]
    assert said.quirks == {}
