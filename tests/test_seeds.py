"""The patterns that the processor was designed for: what completes, and at which chunk the policy sees it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from feeding import WAYS, Way
from models import as_litellm, said
from oracle import chunks_of_sse
from recorded import Recording, of_others, own
from watching import watch

if TYPE_CHECKING:
    from feeding import Engine
    from wire import Chunk

FORMS = (*WAYS, Way("litellm", lambda chunks: [as_litellm(each) for each in chunks]))

every_form = pytest.mark.parametrize("form", FORMS, ids=str)


@dataclass(frozen=True)
class Pattern:
    """What the policy sees: by the number of the chunk, counted from 1, the id of the block that it completed."""

    recording: str
    completed: dict[int, str]
    blocks: list[tuple[str, str]]
    finish_reason: str


SAILOR = "Let me think about what a sailor needs: first the tides, then the wind."

PATTERNS = {
    "1_text_only": Pattern(
        "text_only.sse",
        {15: "content"},
        [("content", "The three largest lakes of Estonia are Peipus, Võrtsjärv and Narva.")],
        "stop",
    ),
    "2_tool_calls_only": Pattern(
        "tool_calls_sequential.sse",
        {6: "call_tide_0", 11: "call_tide_1", 16: "call_moon_2"},
        [
            ("call_tide_0", 'tide_table({"port":"Oban"})'),
            ("call_tide_1", 'tide_table({"port":"Mallaig"})'),
            ("call_moon_2", 'moon_phase({"day":"today"})'),
        ],
        "tool_calls",
    ),
    "3_text_then_tool_calls": Pattern(
        "text_then_tool_calls.json",
        {3: "content", 7: "toolu_h1", 10: "toolu_h2", 14: "toolu_h3"},
        [
            ("content", "I'll look up the tides for Oban and Mallaig."),
            ("toolu_h1", 'tide_table({"port": "Oban"})'),
            ("toolu_h2", "moon_phase({})"),
            ("toolu_h3", 'tide_table({"port": "Mallaig"})'),
        ],
        "tool_calls",
    ),
    "4_long_text_then_tool_calls": Pattern(
        "long_text_then_tool_calls.json",
        {22: "content", 27: "toolu_h5", 31: "toolu_h6"},
        [
            ("content", f"{SAILOR}\n\nBoth ports matter, so I ask for each."),
            ("toolu_h5", 'tide_table({"port": "Oban"})'),
            ("toolu_h6", 'tide_table({"port": "Mallaig"})'),
        ],
        "tool_calls",
    ),
}

every_pattern = pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)


def chunks_of(recording: Recording) -> list[Chunk]:
    if recording.is_sse:
        return [json.loads(each) for each in chunks_of_sse(recording.data)]
    return json.loads(recording.data)


def summary(block: Any) -> tuple[str, str]:
    return (block.id, block.content if block.type == "content" else f"{block.name}({block.arguments})")


@every_pattern
@every_form
def test_each_block_completes_at_the_chunk_that_the_pattern_says(engine: Engine, pattern: Pattern, form: Way) -> None:
    seen = watch(engine, form.items(chunks_of(own(pattern.recording))))
    assert {number: each.completed for number, each in enumerate(seen, 1) if each.completed} == pattern.completed


@every_pattern
@every_form
def test_the_blocks_are_whole_and_in_order_at_the_end(engine: Engine, pattern: Pattern, form: Way) -> None:
    processor = engine.StreamProcessor(emit="nothing")
    for item in form.items(chunks_of(own(pattern.recording))):
        processor.feed(item)
    processor.finish()
    state = processor.state
    assert [summary(block) for block in state.blocks] == pattern.blocks
    assert all(block.is_complete for block in state.blocks)
    assert (state.finish_reason, state.interrupted, state.quirks) == (pattern.finish_reason, False, {})
    assert [block.index for block in state.blocks if block.type == "tool_call"] == list(
        range(sum(block.type == "tool_call" for block in state.blocks))
    )


@every_form
def test_the_empty_content_of_tool_chunks_never_reaches_the_policy(engine: Engine, form: Way) -> None:
    seen = watch(engine, form.items(chunks_of(own("text_then_tool_calls.json"))))
    contents = [said(each.chunk)["choices"][0]["delta"].get("content") for each in seen]
    assert contents == ["I'll look up the tides", " for Oban and Mallaig.", *[None] * 12]


@every_form
def test_usage_after_the_finish_reaches_the_policy_and_the_state(engine: Engine, form: Way) -> None:
    chunks = chunks_of(own("tool_calls_sequential.sse"))
    seen = watch(engine, form.items(chunks))
    assert len(seen) == len(chunks) == 17
    assert said(seen[-1].chunk)["usage"]["prompt_tokens"] == 74
    assert seen[-1].finish_reason == "tool_calls"


# The recordings that the patterns were read from: at which chunks, counted from 1, blocks complete.
COMPLETED_AT = {
    "anthropic_extended_thinking_chunks.json": [99, 106, 112],
    "anthropic_multiple_tools_chunks.json": [3, 8, 13, 17, 22],
    "anthropic_testing_anthropic_tool_call_streaming.json": [4, 9],
    "gpt_multiple_tools_chunks.json": [7, 13, 19, 25],
    "gpt_test_1_simple_text_response.json": [6],
    "gpt_test_2_single_tool_call.json": [8],
    "gpt_test_3_multiple_tool_calls.json": [8, 15],
    "no_tools_used_chunks.json": [69],
}

every_recording = pytest.mark.parametrize("recording", of_others("litellm_chat/*.json"), ids=str)


def ids_in_order(chunks: list[Chunk]) -> list[str]:
    deltas = [each["choices"][0]["delta"] for each in chunks if each["choices"]]
    ids = [part["id"] for delta in deltas for part in delta.get("tool_calls") or [] if part.get("id")]
    return ["content", *ids] if any(delta.get("content") for delta in deltas) else ids


@every_recording
@every_form
def test_a_recording_completes_its_blocks_where_it_is_known_to(engine: Engine, recording: Recording, form: Way) -> None:
    chunks = chunks_of(recording)
    seen = watch(engine, form.items(chunks))
    assert len(seen) == len(chunks)
    completed = {number: each.completed for number, each in enumerate(seen, 1) if each.completed}
    assert completed == dict(zip(COMPLETED_AT[str(recording)], ids_in_order(chunks), strict=True))


@every_recording
@every_form
def test_a_recording_gives_blocks_with_all_their_text(engine: Engine, recording: Recording, form: Way) -> None:
    chunks = chunks_of(recording)
    processor = engine.StreamProcessor(emit="nothing")
    for item in form.items(chunks):
        processor.feed(item)
    processor.finish()
    deltas = [each["choices"][0]["delta"] for each in chunks if each["choices"]]
    arguments = "".join(part["function"]["arguments"] for each in deltas for part in each.get("tool_calls") or [])
    found = processor.state.blocks
    assert "".join(block.content for block in found if block.type == "content") == "".join(
        each.get("content") or "" for each in deltas
    )
    assert "".join(block.arguments for block in found if block.type == "tool_call") == arguments
    assert [block.id for block in found] == ids_in_order(chunks)
    assert processor.state.quirks == {}
    assert not processor.state.interrupted
