"""Every recorded stream of the three formats, in each of the three: legal, read by the official SDKs, and the same when read again."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import penstock
from recorded import Recording, of_others
from splits import SPLITS, SeededRandom
from translating import CHAT, FORMATS, MESSAGES, RESPONSES, Written, items_of, legally, said, state_of, written

CASES = [
    pytest.param(each, source, id=f"{source}-{each}") if isinstance(each, Recording) else pytest.param(None, source)
    for source in FORMATS
    for each in of_others(f"{source}/*.sse", f"{source}/*.jsonl")
]
every_recording = pytest.mark.parametrize(("recording", "source"), CASES)
every_target = pytest.mark.parametrize("target", FORMATS)

COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


@cache
def translated(recording: Recording, source: str, target: str) -> Written:
    return legally(items_of(recording), source, target)


@cache
def source_of(recording: Recording, source: str) -> Any:
    return state_of(items_of(recording), source)


def counts(usage: Any) -> list[int]:
    """Token counts. Where a format requires a count that nobody gave, it is zero."""
    return [getattr(usage, name, None) or 0 for name in COUNTS]


def is_for_the_client(block: Any) -> bool:
    return block.type == "tool_call" and block.kind in ("function", "custom")


def finish_expected(state: Any, source: str, target: str) -> str:
    """The finish reason that docs/translation.md gives for a target."""
    reason = state.finish_reason
    has_calls = any(map(is_for_the_client, state.blocks))
    has_refusal = any(block.type == "refusal" for block in state.blocks)
    match reason:
        case "stop" | "tool_calls" if has_calls:
            return reason if (source, target) == (CHAT, CHAT) else "tool_calls"
        case "stop" | "tool_calls" if has_refusal and target == MESSAGES:
            return "content_filter"
        case "tool_calls":
            return "tool_calls" if (source, target) == (RESPONSES, RESPONSES) else "stop"
        case "pause" if target != MESSAGES:
            return "stop"
        case _:
            return reason


@every_target
@every_recording
def test_a_recording_is_legal_in_each_format_and_says_the_same(recording: Recording, source: str, target: str) -> None:
    result = translated(recording, source, target)
    before, after = source_of(recording, source), result.state
    if result.translator.failure is not None:
        assert after.error is not None
        return
    assert said(after, target, is_native=source == target) == said(before, target, is_native=source == target)
    assert counts(after.usage) == counts(before.usage)
    assert after.finish_reason == finish_expected(before, source, target)
    assert not after.quirks


@every_target
@every_recording
def test_what_was_written_is_written_again_byte_for_byte(recording: Recording, source: str, target: str) -> None:
    result = translated(recording, source, target)
    assert written([result.data], target, target).data == result.data


@every_target
@every_recording
def test_the_body_is_legal_and_stays_the_same(recording: Recording, source: str, target: Any) -> None:
    made: Any = {"message_id": "x", "created": 7}
    body = penstock.collect_sync(items_of(recording), source=source, target=target, **made)  # type: ignore[arg-type]
    report = penstock.check_body(body, target)
    assert not report, report
    assert (report.ended == "error") == (translated(recording, source, target).translator.failure is not None)
    assert penstock.translate_body(body, source=target, target=target, **made) == body


@every_target
@every_recording
def test_reads_do_not_change_what_is_written(recording: Recording, source: str, target: str) -> None:
    if not recording.is_sse:
        pytest.skip("the recording has no framing that could be cut")
    # A byte at a time is for the shorter ones.
    splits = [SeededRandom(20260217, 4096), recording.as_received, *(SPLITS if len(recording.data) < 5_000 else ())]
    for split in filter(None, splits):
        reads = split(recording.data)
        assert written(reads, source, target).data == translated(recording, source, target).data, str(split)
        shared = written(reads, source, target, coalesce=True)
        assert shared.state.blocks == translated(recording, source, target).blocks, str(split)


TRIPS = [(CHAT, MESSAGES), (CHAT, RESPONSES), (MESSAGES, RESPONSES)]
TRIP_CASES = [
    pytest.param(*case.values, by, id=f"{case.id}-by-{by}")
    for case in CASES
    for start, by in TRIPS
    if case.values[1] == start
]


@pytest.mark.parametrize(("recording", "source", "by"), TRIP_CASES)
def test_there_and_back_again_keeps_the_blocks(recording: Recording, source: str, by: str) -> None:
    there = translated(recording, source, by)
    if there.translator.failure is not None:
        pytest.skip("the stream ends with an error")
    back = legally([there.data], by, source)
    before = said(source_of(recording, source), by, is_native=False)
    assert said(back.state, by, is_native=False) == before
