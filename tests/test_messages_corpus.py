"""Every recorded stream of Anthropic's Messages: the same events in every split and form, and the blocks that the official SDK finds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import anthropic_sdk as sdk
import oracle
from feeding import Engine, canonical, feed, run
from penstock.events import BlockGrew
from recorded import Recording, of_others
from replay import replayed, shown
from splits import SeededRandom, bytewise, whole
from wire import frame

if TYPE_CHECKING:
    from penstock.blocks import StreamState
    from splits import Split

SSE = of_others("anthropic_messages/*.sse", "synthetic/anthropic-messages--*.sse")
LINES = of_others("anthropic_messages/*.jsonl", "synthetic/anthropic-messages--*.jsonl")

every_recording = pytest.mark.parametrize("recording", [*SSE, *LINES], ids=str)
every_sse_recording = pytest.mark.parametrize("recording", SSE, ids=str)

# Where penstock's blocks are not those of the SDK, and why. No stream that a provider sent is among them.
DIFFERENCES = {
    "anthropic-messages--anthropic-claude-3-7-sonnet-tool-call-01.sse": "The arguments are cut by max_tokens: the SDK "
    "repairs them to a smaller object, penstock keeps the text, and `arguments_complete` is false.",
    "anthropic-messages--anthropic-claude-3-haiku-interleaved-thinking-01.jsonl": "Two messages in one stream: the SDK "
    "writes the deltas of the second into the blocks of the first, penstock refuses the second.",
}
# Where the SDK's own objects say something else than the wire.
OF_OBJECTS = {
    **DIFFERENCES,
    "anthropic-messages--anthropic-claude-fable-5-text-01.jsonl": "The SDK renames `from`, a word of Python, to `from_`.",
}
# Where the usage has more than that of the SDK, which drops those fields of a message_delta's usage that it has no name for.
OF_USAGE = {
    "anthropic-messages--anthropic-glm-5.2-empty-01.sse": {"prompt_tokens_details"},
    "openrouter-claude-haiku-4.5-length-01.sse": {"cache_creation", "cost", "cost_details", "is_byok"},
}


def items(recording: Recording, split: Split = whole) -> list[Any]:
    return split(recording.data) if recording.is_sse else list(recording.lines)


def state_of(engine: Engine, fed: list[Any]) -> StreamState:
    _, processor = feed(engine, fed)
    assert processor.source == "anthropic_messages"
    return processor.state


@every_sse_recording
def test_a_recording_gives_the_same_events_however_its_bytes_are_cut(core: Engine, recording: Recording) -> None:
    expected = run(core, items(recording))
    splits: list[Split] = [bytewise, SeededRandom(1, 1 << 10), SeededRandom(2, 40)]
    for split in [*splits, recording.as_received] if recording.as_received else splits:
        assert run(core, items(recording, split)) == expected, str(split)


@every_recording
def test_bytes_text_and_dicts_give_the_same_events(core: Engine, recording: Recording) -> None:
    texts = oracle.chunks_of_sse(recording.data) if recording.is_sse else recording.lines
    texts = [text for text in texts if text != "[DONE]"]
    as_bytes = canonical(run(core, [b"".join(map(frame, texts))]))
    assert canonical(run(core, texts)) == as_bytes
    assert by_value(run(core, map(json.loads, texts))) == by_value(as_bytes)


def by_value(events: list[Any]) -> list[Any]:
    """Arguments that came as an object have no source text: they are compared by their value."""
    return [whole_arguments(event) or event for event in canonical(events)]


def whole_arguments(event: Any) -> Any:
    if not (isinstance(event, BlockGrew) and event.part == "arguments" and event.text.startswith("{")):
        return None
    try:
        return json.loads(event.text)
    except json.JSONDecodeError:
        return None


@every_recording
def test_the_state_shows_what_the_events_say(core: Engine, recording: Recording) -> None:
    events, processor = feed(core, items(recording))
    assert shown(processor.state.blocks) == replayed(events)


@every_recording
def test_a_recording_is_read_to_its_end_without_problems(core: Engine, recording: Recording) -> None:
    _, processor = feed(core, items(recording))
    state = processor.state
    assert (processor.take_problems(), state.interrupted, state.error) == ([], False, None)
    assert all(block.is_complete for block in state.blocks)
    if recording.path.parent.name == "anthropic_messages":
        assert state.quirks.keys() <= {"unterminated_event"}


def accumulated(recording: Recording, but: dict[str, str]) -> tuple[list[Any], list[Any], Any]:
    if str(recording) in but:
        pytest.skip(but[str(recording)])
    return sdk.read(sdk.as_sse(recording))


@every_recording
def test_the_blocks_are_those_that_the_sdk_accumulates(core: Engine, recording: Recording) -> None:
    _, _, message = accumulated(recording, DIFFERENCES)
    state = state_of(core, items(recording))
    assert sdk.content_shown(state.blocks) == sdk.content_of(message)
    assert (state.id, state.role) == (message.id, message.role)
    assert state.native_finish_reason == message.stop_reason
    assert state.extras.get("stop_sequence") == message.stop_sequence


@every_recording
def test_the_usage_is_that_which_the_sdk_accumulates(core: Engine, recording: Recording) -> None:
    _, _, message = sdk.read(sdk.as_sse(recording))
    usage = state_of(core, items(recording)).usage
    assert usage is not None
    counts = sdk.without_nulls(message.usage.to_dict())
    raw = sdk.without_nulls(usage.raw)
    assert {name: raw[name] for name in counts} == counts
    assert raw.keys() - counts.keys() == OF_USAGE.get(str(recording), set())
    cached = counts.get("cache_creation_input_tokens", 0) + counts.get("cache_read_input_tokens", 0)
    assert (usage.input_tokens, usage.output_tokens) == (counts["input_tokens"] + cached, counts["output_tokens"])


@every_recording
def test_the_unstreamed_body_gives_the_same_blocks(core: Engine, recording: Recording) -> None:
    _, _, message = accumulated(recording, DIFFERENCES)
    streamed = state_of(core, items(recording))
    for body in (message.to_dict(), message.to_json(), message.to_json().encode()):
        state = state_of(core, [body])
        assert sdk.content_shown(state.blocks) == sdk.content_shown(streamed.blocks)
        assert (state.finish_reason, state.id) == (streamed.finish_reason, streamed.id)
        assert (state.quirks, state.interrupted) == ({}, False)


@every_recording
def test_the_objects_of_the_sdk_give_the_same_blocks(core: Engine, recording: Recording) -> None:
    raw, helped, message = accumulated(recording, OF_OBJECTS)
    streamed = state_of(core, items(recording))
    for fed in (raw, helped, [message]):
        state = state_of(core, fed)
        assert sdk.content_shown(state.blocks) == sdk.content_shown(streamed.blocks)
        assert state.finish_reason == streamed.finish_reason


@pytest.mark.parametrize("recording", of_others(*(f"synthetic/{name}" for name in DIFFERENCES)), ids=str)
def test_every_difference_that_is_listed_is_one(core: Engine, recording: Recording) -> None:
    _, _, message = sdk.read(sdk.as_sse(recording))
    assert sdk.content_shown(state_of(core, items(recording)).blocks) != sdk.content_of(message)
