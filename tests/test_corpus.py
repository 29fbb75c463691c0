"""Every recorded chat stream: both engines report the same, in every split and form, and nothing in it is lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import oracle
from feeding import Engine, canonical, feed, run
from models import said
from recorded import Recording, of_others
from replay import replayed, shown
from splits import SeededRandom, bytewise, whole
from wire import frame

if TYPE_CHECKING:
    from penstock.blocks import StreamBlock, StreamState
    from splits import Split

SSE = of_others("openai_chat/*.sse", "synthetic/openai-chat--*.sse")
LINES = of_others("openai_chat/*.jsonl", "synthetic/openai-chat--*.jsonl")

every_recording = pytest.mark.parametrize("recording", [*SSE, *LINES], ids=str)
every_sse_recording = pytest.mark.parametrize("recording", SSE, ids=str)


def items(recording: Recording, split: Split = whole) -> list[Any]:
    return split(recording.data) if recording.is_sse else list(recording.lines)


def chunks_of(recording: Recording) -> list[str]:
    return oracle.chunks_of_sse(recording.data) if recording.is_sse else recording.lines


def splits_of(recording: Recording) -> list[Split]:
    splits: list[Split] = [bytewise, SeededRandom(1, 1 << 10), SeededRandom(2, 40)]
    return [*splits, recording.as_received] if recording.as_received else splits


@every_recording
def test_both_engines_report_the_same_events(core: Engine, reference: Engine, recording: Recording) -> None:
    assert canonical(run(core, items(recording))) == canonical(run(reference, items(recording)))


@every_recording
def test_both_engines_give_the_same_chunks_and_end_in_the_same_state(
    core: Engine, reference: Engine, recording: Recording
) -> None:
    given: list[Any] = []
    for engine in (core, reference):
        processor = engine.StreamProcessor(emit="chunks")
        chunks = [chunk for item in items(recording) for chunk in processor.feed(item)]
        given.append(([said(chunk) for chunk in (*chunks, *processor.finish())], processor.state))
    assert given[0] == given[1]


@every_sse_recording
def test_a_recording_gives_the_same_events_however_its_bytes_are_cut(engine: Engine, recording: Recording) -> None:
    expected = run(engine, items(recording))
    for split in splits_of(recording):
        assert run(engine, items(recording, split)) == expected, str(split)


@every_recording
def test_bytes_text_and_dicts_give_the_same_events(engine: Engine, recording: Recording) -> None:
    texts = [text for text in chunks_of(recording) if is_json(text)]
    as_bytes = canonical(run(engine, [b"".join(map(frame, texts))]))
    assert canonical(run(engine, texts)) == as_bytes
    assert canonical(run(engine, map(json.loads, texts))) == as_bytes


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


@every_recording
def test_the_state_shows_what_the_events_say(engine: Engine, recording: Recording) -> None:
    events, processor = feed(engine, items(recording))
    assert shown(processor.state.blocks) == replayed(events)


@every_recording
def test_nothing_in_a_recording_is_lost(engine: Engine, recording: Recording) -> None:
    reading = oracle.read(chunks_of(recording))
    _, processor = feed(engine, items(recording))
    state: StreamState = processor.state
    assert state.finish_reasons.keys() == {at for at, each in reading.answers.items() if each.finish_reason}
    assert (state.usage and state.usage.raw) == reading.usage
    assert state.error == (reading.errors[-1] if reading.errors else None)
    assert state.quirks.get("malformed_chunk", 0) == reading.unreadable
    for number, answer in reading.answers.items():
        blocks = [block for block in state.blocks if block.choice == number]
        assert joined(blocks, "content") == answer.text
        assert joined(blocks, "thinking") == answer.thinking
        assert joined(blocks, "refusal") == answer.refusal
        assert joined(blocks, "thinking", "signature") == answer.signatures
        assert_calls_are_those_of(answer, blocks)


def joined(blocks: list[StreamBlock], block_type: str, attribute: str = "content") -> str:
    return "".join(getattr(block, attribute) for block in blocks if block.type == block_type)


def assert_calls_are_those_of(answer: oracle.Answer, blocks: list[Any]) -> None:
    calls = [block for block in blocks if block.type == "tool_call"]
    assert [(call.name, call.arguments) for call in calls] == [(call.name, call.arguments) for call in answer.calls]
    given = [(ours.id, theirs.id) for ours, theirs in zip(calls, answer.calls, strict=True) if theirs.id]
    assert all(ours == theirs for ours, theirs in given)
    assert [call.index for call in calls] == list(range(len(calls)))


@every_recording
def test_a_recording_is_interrupted_unless_it_finishes_or_ends_itself(engine: Engine, recording: Recording) -> None:
    answers = oracle.read(chunks_of(recording)).answers.values()
    is_finished = bool(answers) and all(answer.finish_reason for answer in answers)
    is_terminated = recording.is_sse and b"\ndata: [DONE]" in recording.data
    _, processor = feed(engine, items(recording))
    expected = not (is_finished or (is_terminated and processor.state.error is None))
    assert processor.state.interrupted == expected
