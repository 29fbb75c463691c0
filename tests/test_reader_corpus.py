"""Every recorded stream of every format: the callbacks pair, add up, and are the same however the stream comes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from messages import body
from penstock import BlockReader, ToolCallStreamBlock
from reading import READERS, CoreReader, Heard, check, chunks, completed, merged
from recorded import Recording, of_others
from splits import SeededRandom, bytewise, whole

if TYPE_CHECKING:
    from penstock.blocks import StreamState
    from penstock.items import Item
    from splits import Split

CHAT = of_others("openai_chat/*", "synthetic/openai-chat--*")
ALL = [
    *CHAT,
    *of_others("anthropic_messages/*", "openai_responses/*", "synthetic/anthropic-*", "synthetic/openai-resp*"),
]

every_recording = pytest.mark.parametrize(
    "recording", [each for each in ALL if "absent" not in str(each)] or ALL[:1], ids=str
)


def read(
    recording: Recording, split: Split = whole, reader: type[BlockReader] = CoreReader
) -> tuple[list[Item], StreamState]:
    heard = Heard()
    reading = reader(heard.on_chunk, heard.on_block)
    for item in split(recording.data) if recording.is_sse else recording.lines:
        reading.feed(item)
    reading.flush()
    return heard.items, reading.state


@every_recording
def test_starts_and_completions_pair_and_chunks_add_up(recording: Recording) -> None:
    items, state = read(recording)
    check(items, is_cut=state.interrupted)
    assert len({block.block_index for _, block in chunks(items)}) <= len(state.blocks)


@every_recording
def test_what_is_visible_is_the_text_of_the_answer(recording: Recording) -> None:
    items, state = read(recording)
    said: dict[int, str] = {}
    for text, meta in chunks(items):
        if meta.visible:
            said[meta.block_index] = said.get(meta.block_index, "") + text
    texts = [block.content for block in state.blocks if block.type in ("content", "refusal")]
    assert [said[index] for index in sorted(said)] == [text for text in texts if text]


@every_recording
def test_a_call_that_is_complete_shows_its_input_or_its_text(recording: Recording) -> None:
    items, state = read(recording)
    calls = {block.tool_id: block for block in completed(items) if block.type == "tool_call"}
    for call in state.blocks:
        if isinstance(call, ToolCallStreamBlock) and call.is_complete and state.objects[call.id] is call:
            shown = calls[call.id]
            assert shown.tool_name == (call.name or None)
            assert shown.raw_input in (None, call.arguments)
            assert (shown.input is not None) <= call.arguments_complete


@every_recording
def test_the_callbacks_do_not_depend_on_how_the_bytes_are_cut(recording: Recording) -> None:
    if not recording.is_sse:
        pytest.skip("one chunk per line: there is nothing to cut")
    expected, _ = read(recording)
    for split in (bytewise, SeededRandom(5, 1 << 9)):
        assert read(recording, split)[0] == expected, str(split)


@pytest.mark.parametrize("recording", CHAT, ids=str)
def test_both_engines_call_the_same(recording: Recording) -> None:
    core, reference = (read(recording, reader=reader)[0] for reader in READERS.values())
    assert core == reference


def essence(items: list[Item]) -> list[Any]:
    """Merged items, in which the input of a call is its value: JSON can be spelt in several ways."""
    return [
        (json.loads(item[0]), item[1]) if isinstance(item, tuple) and item[1].tool_call_part == "input" else item
        for item in merged(items)
    ]


def content_of(items: list[Item]) -> list[dict[str, Any]] | None:
    """The blocks as the content of a message that was not streamed; None if a message cannot say them in this order."""
    content: list[dict[str, Any]] = []
    indexes = [item.index for item in items if not isinstance(item, tuple)]
    if indexes != sorted(indexes) or len(indexes) != 2 * len(set(indexes)):
        return None
    for block in completed(items):
        if block.kind is not None or block.choice or block.raw_input is not None:
            return None
        match block.type:
            case "text":
                content.append({"type": "text", "text": block.content})
            case "thinking":
                content.append({"type": "thinking", "thinking": block.content, "signature": "s"})
            case "tool_call":
                content.append({"type": "tool_use", "id": block.tool_id, "name": block.tool_name, "input": block.input})
            case _:
                return None
    return content


@every_recording
def test_an_answer_that_was_not_streamed_calls_the_same(recording: Recording) -> None:
    items, state = read(recording)
    content = content_of(items)
    if content is None or state.interrupted:
        pytest.skip("a message has no words for this stream")
    heard = Heard()
    reading = BlockReader(heard.on_chunk, heard.on_block)
    reading.feed(body(*content))
    reading.flush()
    if any(block.type == "tool_call" and not block.input for block in completed(items)):
        # A tool that takes nothing is called with "" or "{}".
        assert completed(heard.items) == completed(items)
    else:
        assert essence(heard.items) == essence(items)
