"""A stream that is cut, at every byte: never complete, never with an unfinished call that looks whole, always with one legal error."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import penstock
from legal import assert_legal
from recorded import own
from translating import CHAT, FORMATS, PAIRS, read_by_sdk, state_of, written

EVERY = 41
"""The official SDKs are slow: they read each of these."""


@cache
def recording(source: str) -> bytes:
    """Reasoning, text and calls in a format."""
    return written([own("thinking_text_tool_call.sse").data], CHAT, source).data


@cache
def calls_of(source: str) -> list[tuple[str, str]]:
    return whole_calls(state_of([recording(source)], source))


def whole_calls(state: Any) -> list[tuple[str, str]]:
    calls = [block for block in state.blocks if block.type == "tool_call" and block.is_complete]
    return [(block.name, block.arguments) for block in calls]


def is_whole(cut: int, source: str) -> bool:
    """Whether nothing is missing but the end of the last event, or what need not be there."""
    state = state_of([recording(source)[:cut]], source)
    return not state.interrupted


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_cut_is_one_error_and_no_call_that_is_not_whole(source: str, target: str) -> None:
    data = recording(source)
    for cut in range(len(data)):
        result = written([data[:cut]], source, target)
        if result.translator.failure is None:
            assert is_whole(cut, source)
            continue
        assert assert_legal(result.data, target).ended == "error", cut
        seen = whole_calls(result.state)
        assert seen == calls_of(source)[: len(seen)], cut
        if cut % EVERY == 0:
            assert target == "openai_responses" or read_by_sdk(result.data, target) is None


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_cut_that_is_closed_is_legal_and_has_no_call_that_is_not_whole(source: str, target: str) -> None:
    data = recording(source)
    for cut in range(len(data)):
        result = written([data[:cut]], source, target, on_interrupt="close")
        assert assert_legal(result.data, target).ended == "finished", cut
        calls = [block for block in result.blocks if block.type == "tool_call"]
        seen = [(block.name, block.arguments) for block in calls]
        assert seen == calls_of(source)[: len(seen)], cut
        assert all(block.is_complete for block in calls), cut
        if cut % EVERY == 0:
            read_by_sdk(result.data, target)


@pytest.mark.parametrize("target", FORMATS)
def test_a_call_of_a_cut_stream_is_not_among_what_the_sdk_gives(target: Any) -> None:
    data = recording(CHAT)
    end = data.index(b"tool_calls") + data[data.index(b"tool_calls") :].index(b"\n\n") + 2
    closed = written([data[:end]], CHAT, target, on_interrupt="close")
    seen = read_by_sdk(closed.data, target)
    assert "tool_use" not in [part.type for part in getattr(seen, "content", ())]
    assert "function_call" not in [getattr(item, "type", "") for item in getattr(seen, "output", ())]
    assert not any(choice.message.tool_calls for choice in getattr(seen, "choices", ()))
    assert penstock.check(closed.data, target).ended == "finished"
