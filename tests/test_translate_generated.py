"""Blocks that nobody thought of: written in each format, translated into each other, and read back."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from legal import assert_legal
from splits import SeededRandom
from translating import CHAT, FORMATS, said, state_of, written
from wire import DONE, call, delta, finish, sse, text

# Half of a surrogate pair cannot be sent.
WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
NAMES = st.from_regex(r"\A[a-z_]{1,8}\Z")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | WORDS, lambda inner: st.lists(inner, max_size=3)
)
ARGUMENTS = st.dictionaries(NAMES, VALUES, max_size=3)


@st.composite
def cut(draw: Any, whole: str) -> list[str]:
    """A text in pieces."""
    places = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=3)))
    return [whole[start:end] for start, end in zip([0, *places], [*places, len(whole)], strict=True)]


@st.composite
def streams(draw: Any) -> list[dict[str, Any]]:
    """Chunks of reasoning, text, refusals and calls, some of which come in turns."""
    chunks: list[dict[str, Any]] = []
    number = 0
    for sort in draw(st.lists(st.sampled_from(["thinking", "text", "refusal", "call", "turns", "signed"]), max_size=6)):
        if sort in ("call", "turns"):
            count = 1 if sort == "call" else 2
            pieces = [draw(_call(number + offset)) for offset in range(count)]
            number += count
            chunks += [each for turn in _in_turns(pieces) for each in turn]
        else:
            chunks += [_grow(sort, piece) for piece in draw(cut(draw(WORDS)))]
            chunks += [_signature(draw(WORDS))] if sort == "signed" else []
    return [*chunks, finish("tool_calls" if number else "stop")]


def _grow(sort: str, words: str) -> dict[str, Any]:
    match sort:
        case "text":
            return text(words)
        case "refusal":
            return delta(refusal=words)
        case _:
            return delta(reasoning_content=words)


def _signature(words: str) -> dict[str, Any]:
    return delta(reasoning_details=[{"type": "reasoning.text", "signature": words}])


@st.composite
def _call(draw: Any, index: int) -> list[dict[str, Any]]:
    first, *more = draw(cut(json.dumps(draw(ARGUMENTS), ensure_ascii=draw(st.booleans()))))
    head = call(first, index=index, id=f"call_{index}", name=draw(NAMES))
    return [head, *(call(piece, index=index) for piece in more)]


def _in_turns(calls: list[list[dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    longest = max(map(len, calls))
    return [[each[turn] for each in calls if turn < len(each)] for turn in range(longest)]


many = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@many
@given(streams(), st.integers(0, 2**32))
def test_any_blocks_are_the_same_in_every_format_and_from_there_in_every_other(chunks: Any, seed: int) -> None:
    data = sse(*chunks, DONE)
    for there in FORMATS:
        first = written(SeededRandom(seed)(data), CHAT, there)
        assert assert_legal(first.data, there).ended == "finished"
        for target in FORMATS:
            result = written([first.data], there, target)
            assert assert_legal(result.data, target).ended == "finished"
            expected = said(state_of([first.data], there), target, is_native=False)
            assert said(result.state, target, is_native=False) == expected
            assert written([result.data], target, target).data == result.data


@many
@given(streams(), st.data())
def test_any_blocks_cut_anywhere_end_legally_and_show_no_call_that_is_not_whole(
    chunks: Any, data: st.DataObject
) -> None:
    whole = sse(*chunks, DONE)
    cut_at = data.draw(st.integers(0, len(whole)))
    calls = {(block.name, block.arguments) for block in state_of([whole], CHAT).blocks if block.type == "tool_call"}
    for target in FORMATS:
        for option in ("error", "close"):
            result = written([whole[:cut_at]], CHAT, target, on_interrupt=option)
            ended = assert_legal(result.data, target).ended
            assert ended == ("finished" if option == "close" or result.translator.failure is None else "error")
            seen = [block for block in result.blocks if block.type == "tool_call" and block.is_complete]
            assert {(block.name, block.arguments or "{}") for block in seen} <= calls
