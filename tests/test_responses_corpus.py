"""Every recorded stream of OpenAI Responses: the same in every split and form, and what the official SDK makes of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from openai import APIError

import responses_sdk
from feeding import canonical, feed, run
from penstock.blocks import ToolCallStreamBlock
from recorded import Recording, of_others
from replay import replayed, shown
from responses import CORE, compact
from splits import SeededRandom, bytewise, whole
from wire import frame

if TYPE_CHECKING:
    from penstock.blocks import StreamState
    from splits import Split

REAL = of_others("openai_responses/*")
MADE = of_others("synthetic/openai-responses--*")

# The SDK's models complain when they write down what a provider added to the vendor's format.
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")

every_recording = pytest.mark.parametrize("recording", [*REAL, *MADE], ids=str)

TRUNCATED = "openai-gpt-5.3-codex-text-01.jsonl"
FAILED = "openai-gpt-5-nano-error-01.jsonl"

# Where penstock and the SDK differ on a whole recording, and why.
DIFFERENCES = {
    TRUNCATED: "an item and deltas are missing in the recording: the SDK finds no item at an index and raises, penstock keeps what came",
    FAILED: "the SDK raises at the error event and has no response",
}

# Where the SDK's accumulator lacks arguments, and why.
WITHOUT_DELTAS = {
    "lmstudio-glm-4.7-flash-logprobs-01.jsonl": "they came in arguments.done without any delta; the accumulator adds up deltas alone",
}

# Notes that the last event gives otherwise than those before, and why.
REPEATED_OTHERWISE = {
    "copilot-gpt-5.3-codex-reasoning-01.sse": ("item_id", "ids differ on every event"),
    "openrouter-gpt-oss-20b-reasoning-01.sse": ("item_id", "the last event has ids of its own"),
    "openai-gpt-5.4-logprobs-01.sse": ("logprobs", "the last event rounds them"),
    **{
        f"openai-gpt-5.3-codex-web-search-0{number}.sse": (
            "internal_chat_message_metadata_passthrough",
            "it grows between the beginning of an item and its end: a stream has both",
        )
        for number in (1, 2, 3)
    },
}


def data_of(recording: Recording) -> bytes:
    if recording.is_sse:
        return recording.data
    return b"".join(frame(line, json.loads(line)["type"]) for line in recording.lines)


def texts_of(recording: Recording) -> list[str]:
    """The data of each event."""
    if not recording.is_sse:
        return recording.lines
    lines = recording.data.decode().replace("\r\n", "\n").split("\n")
    return [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]


def events_of(recording: Recording) -> list[dict[str, Any]]:
    return [json.loads(text) for text in texts_of(recording) if text != "[DONE]"]


def state_of(*items: Any) -> StreamState:
    return feed(CORE, items)[1].state


# In every split and form.


@every_recording
def test_a_recording_gives_the_same_events_however_its_bytes_are_cut(recording: Recording) -> None:
    data = data_of(recording)
    expected = run(CORE, whole(data))
    splits: list[Split] = [bytewise, SeededRandom(1, 1 << 10), SeededRandom(2, 40)]
    if recording.as_received and recording.is_sse:
        splits.append(recording.as_received)
    for split in splits:
        assert run(CORE, split(data)) == expected, str(split)


@every_recording
def test_bytes_text_and_dicts_give_the_same_events(recording: Recording) -> None:
    compacted = [compact(each) for each in events_of(recording)]
    as_bytes = canonical(run(CORE, [b"".join(map(frame, compacted))]))
    assert canonical(run(CORE, compacted)) == as_bytes
    assert canonical(run(CORE, map(json.loads, compacted))) == as_bytes


@every_recording
def test_the_format_is_found_and_nothing_is_malformed(recording: Recording) -> None:
    _, processor = feed(CORE, [data_of(recording)])
    assert processor.source == "openai_responses"
    assert processor.take_problems() == []


@every_recording
def test_only_recordings_that_were_cut_contradict_themselves(recording: Recording) -> None:
    is_cut = str(recording) in (TRUNCATED, "openai-responses--openai-gpt-5.2-shell-01.jsonl")
    assert set(state_of(data_of(recording)).quirks) == ({"contradiction"} if is_cut else set())


@every_recording
def test_a_policy_sees_each_event_and_each_completion_once(recording: Recording) -> None:
    processor = CORE.StreamProcessor(emit="chunks")
    completed: list[str] = []
    for event in events_of(recording):
        for chunk in processor.feed(event):
            assert chunk is event
            if processor.state.just_completed:
                completed.append(processor.state.just_completed.id)
    assert list(processor.finish()) == []
    assert sorted(completed) == sorted(block.id for block in processor.state.blocks)


@every_recording
def test_the_state_shows_what_the_events_say(recording: Recording) -> None:
    events, processor = feed(CORE, [data_of(recording)])
    assert shown(processor.state.blocks) == replayed(events)


# As the SDK reads it.


def without_nulls(value: Any) -> Any:
    """A value without the fields that a model has and the wire did not give. What is encrypted is so anew in each event."""
    if isinstance(value, dict):
        given = {name: without_nulls(each) for name, each in value.items() if each is not None}
        return given | ({"encrypted_content": "…"} if "encrypted_content" in given else {})
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def plain(text: str) -> Any:
    """JSON by its value, anything else as it is."""
    try:
        return without_nulls(json.loads(text))
    except json.JSONDecodeError:
        return text


def essence(block: Any) -> tuple[Any, ...]:
    """What a block has of the wire's own."""
    if isinstance(block, ToolCallStreamBlock):
        return (block.kind, block.id, block.name, plain(block.arguments))
    match block.type:
        case "thinking":
            return ("thinking", block.content, bool(block.data))
        case "content" | "refusal":
            return (block.type, block.content)
        case _:
            return (block.kind, without_nulls(block.raw[-1]))


CALLS = {"function_call": ("function", "arguments"), "custom_tool_call": ("custom", "input")}
SERVER = {
    "mcp_call": "arguments",
    "web_search_call": "action",
    "file_search_call": "queries",
    "code_interpreter_call": "code",
    "image_generation_call": "",
}
BUILTIN = {"shell_call": "action", "apply_patch_call": "operation"}


def expected_of(item: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The essence of the blocks that an item becomes."""
    kind = item["type"]
    if kind == "message":
        return [(TEXTS[part["type"]], part.get("text", part.get("refusal"))) for part in item["content"]]
    if kind == "reasoning":
        parts = [("thinking", part["text"], False) for part in [*item["summary"], *(item.get("content") or [])]]
        is_sealed = bool(item.get("encrypted_content"))
        return [*parts, ("thinking", "", is_sealed)] if is_sealed or not parts else parts
    if kind in CALLS:
        name, field = CALLS[kind]
        return [(name, item["call_id"], item["name"], plain(item[field]))]
    if kind in SERVER:
        name = item["name"] if kind == "mcp_call" else kind
        arguments = item.get("arguments") or item.get(SERVER[kind]) or ""
        return [("server", item.get("call_id") or item["id"], name, plain_argument(arguments))]
    if kind in BUILTIN:
        return [("builtin", item["call_id"], kind, without_nulls(item[BUILTIN[kind]]))]
    return [(kind, without_nulls(item))]


TEXTS = {"output_text": "content", "refusal": "refusal"}


def plain_argument(value: Any) -> Any:
    return plain(value) if isinstance(value, str) else without_nulls(value)


every_comparable = pytest.mark.parametrize(
    "recording", [each for each in REAL if str(each) not in DIFFERENCES], ids=str
)


@every_comparable
def test_the_blocks_are_the_items_of_the_sdks_final_response(recording: Recording) -> None:
    reading = responses_sdk.read(data_of(recording))
    assert reading.final is not None
    output = [item.to_dict(mode="json") for item in reading.final.output]
    if not output:
        pytest.skip("the last event of this recording repeats nothing")
    blocks = state_of(data_of(recording)).blocks
    assert [essence(block) for block in blocks] == [each for item in output for each in expected_of(item)]


@every_comparable
def test_text_and_arguments_are_what_the_sdk_accumulates(recording: Recording) -> None:
    reading = responses_sdk.read(data_of(recording))
    blocks = state_of(data_of(recording)).blocks
    items = reading.snapshot.output
    texts = [part.text for item in items if item.type == "message" for part in item.content if part.type != "refusal"]
    assert [block.content for block in blocks if block.type == "content"] == texts
    calls = [(item.call_id, item.name, item.arguments) for item in items if item.type == "function_call"]
    functions = [block for block in blocks if essence(block)[0] == "function"]
    assert [(call.id, call.name) for call in functions] == [(call_id, name) for call_id, name, _ in calls]
    is_same = [call.arguments for call in functions] == [arguments for _, _, arguments in calls]
    assert is_same == (str(recording) not in WITHOUT_DELTAS)


@pytest.mark.parametrize(("name", "raised"), [(TRUNCATED, IndexError), (FAILED, APIError)])
def test_the_listed_differences_are_there(name: str, raised: type[Exception]) -> None:
    found = [each for each in REAL if isinstance(each, Recording) and str(each) == name]
    if not found:
        pytest.skip("no recordings")
    with pytest.raises(raised):
        responses_sdk.read(data_of(found[0]))
    state = state_of(data_of(found[0]))
    assert bool(state.blocks) == (name == TRUNCATED)
    assert bool(state.error) == (name == FAILED)


# Streamed, whole, and as objects.


def known(state: StreamState, *but: str) -> list[Any]:
    """All that a state has of its blocks but what only a stream has, nulls aside."""
    skipped = ("partial_image", *but)
    extras = [{name: each for name, each in block.extras.items() if name not in skipped} for block in state.blocks]
    return [(b.id, essence(b), b.is_complete, without_nulls(e)) for b, e in zip(state.blocks, extras, strict=True)]


@every_comparable
def test_a_stream_its_body_and_its_objects_give_the_same_blocks(recording: Recording) -> None:
    streamed = state_of(data_of(recording))
    reading = responses_sdk.read(data_of(recording))
    as_objects = state_of(*reading.events)
    assert known(as_objects) == known(streamed)
    assert as_objects.finish_reason == streamed.finish_reason
    body = next(each["response"] for each in events_of(recording) if each["type"] in responses_sdk.TERMINAL)
    if not body["output"]:
        return
    otherwise, _ = REPEATED_OTHERWISE.get(str(recording), ("", ""))
    for form in (body, json.dumps(body), json.dumps(body).encode(), reading.final):
        whole_state = state_of(form)
        assert known(whole_state, otherwise) == known(streamed, otherwise)
        assert whole_state.finish_reason == streamed.finish_reason
        assert whole_state.model == streamed.model
        assert (whole_state.id == streamed.id) == (str(recording) != "copilot-gpt-5.3-codex-reasoning-01.sse")
