"""What a chat chunk says: the rules of docs/formats/openai_chat.md, as bytes, dicts and JSON text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from feeding import CUT, ENDED, Run
from penstock.blocks import ToolCallStreamBlock, UnknownStreamBlock
from penstock.events import (
    BlockCompleted,
    BlockGrew,
    BlockNoted,
    BlockStarted,
    ChoiceFinished,
    ResponseNoted,
)
from wire import call, calls, choice, chunk, delta, finish, part, text

if TYPE_CHECKING:
    from penstock.events import Event

HELLO = [BlockStarted(0, "content", "content"), BlockGrew(0, "text", "Hello")]
CALL = [BlockStarted(0, "tool_call", "c", "f"), BlockGrew(0, "arguments", "{}")]


def subject(event: Event) -> tuple[str, str]:
    word = event.type if isinstance(event, BlockStarted) else getattr(event, "name", "")
    return (type(event).__name__, word)


def test_a_chunk_says_its_deltas_in_one_order_whatever_the_order_of_its_fields(run: Run) -> None:
    fields = {
        "custom_field": 1,
        "function_call": {"name": "h", "arguments": "{}"},
        "tool_calls": [part("{}", index=0, id="c", name="f")],
        "images": [{"url": "i"}],
        "audio": {"data": "a"},
        "refusal": "No",
        "content": "Yes",
        "reasoning": "Hm",
        "role": "assistant",
    }
    said = run(
        {"error": {"message": "e"}, "usage": {"a": 1}, "choices": [choice(fields, finish_reason="stop")], "id": "x"}
    )
    growth = (BlockGrew, BlockCompleted)
    assert [subject(event) for event in said.events if not isinstance(event, growth)] == [
        ("ResponseNoted", "id"),
        ("ResponseNoted", "role"),
        ("BlockStarted", "thinking"),
        ("BlockStarted", "content"),
        ("BlockStarted", "refusal"),
        ("BlockStarted", "unknown"),
        ("BlockStarted", "unknown"),
        ("BlockStarted", "tool_call"),
        ("BlockStarted", "tool_call"),
        ("BlockNoted", "custom_field"),
        ("ChoiceFinished", ""),
        ("UsageReported", ""),
        ("ErrorReported", ""),
        ("StreamEnded", ""),
    ]


def test_choices_are_read_in_the_order_of_the_array(run: Run) -> None:
    said = run(chunk(choice({"content": "b"}, 1), choice({"content": "a"}, 0)))
    assert said.events == [
        BlockStarted(0, "content", "content", choice=1),
        BlockGrew(0, "text", "b"),
        BlockStarted(1, "content", "content_1"),
        BlockGrew(1, "text", "a"),
        CUT,
    ]


# 1. The envelope


def test_the_first_value_of_an_identity_that_is_not_a_placeholder_counts(run: Run) -> None:
    opening = {"id": "", "model": "", "created": 0, "choices": []}
    first = chunk(choice({"role": "assistant"}), id="a", model="m", created=1)
    later = chunk(choice({"role": "tool"}), id="b", model="n", created=2)
    said = run(opening, first, later)
    assert said.events == [
        ResponseNoted("id", '"a"'),
        ResponseNoted("model", '"m"'),
        ResponseNoted("created", "1"),
        ResponseNoted("role", '"assistant"'),
        CUT,
    ]
    assert (said.state.id, said.state.model, said.state.role) == ("a", "m", "assistant")


def test_another_field_at_top_level_is_noted_and_its_last_value_counts(run: Run) -> None:
    said = run(chunk(service_tier="auto", system_fingerprint=None), chunk(service_tier="default", provider={"a": [1]}))
    assert said.events == [
        ResponseNoted("service_tier", '"auto"'),
        ResponseNoted("service_tier", '"default"'),
        ResponseNoted("provider", '{"a":[1]}'),
        CUT,
    ]
    assert said.state.extras == {"service_tier": "default", "provider": {"a": [1]}}


def test_object_and_padding_are_not_noted_wherever_they_stand(run: Run) -> None:
    padded = choice({"content": "Hello", "obfuscation": "xx"}, obfuscation="yy")
    said = run(chunk(padded, object="chat.completion.chunk", obfuscation="zz"))
    assert said.events == [*HELLO, CUT]
    assert said.state.extras == {}


@pytest.mark.parametrize("empty", [{}, {"choices": []}, {"choices": None}, chunk(choice()), chunk({"index": 0})])
def test_a_chunk_that_says_nothing_gives_nothing(run: Run, empty: dict[str, Any]) -> None:
    said = run(empty, text("Hello"), empty)
    assert said.events == [*HELLO, CUT]
    assert said.quirks == {}


# 2. Text


def test_content_as_parts_is_text_thinking_refusal_and_unknown_blocks(run: Run) -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "H"}, {"type": "text", "text": "m"}]},
        {"type": "thinking", "thinking": "…"},
        {"type": "text", "text": "Hel"},
        {"type": "text", "text": "lo"},
        {"type": "refusal", "refusal": "No"},
        {"type": "reference", "reference_ids": [1]},
    ]
    said = run(text(parts))
    assert said.events == [
        BlockStarted(0, "thinking", "thinking"),
        BlockGrew(0, "text", "Hm"),
        BlockGrew(0, "text", "…"),
        BlockCompleted(0),
        BlockStarted(1, "content", "content"),
        BlockGrew(1, "text", "Hel"),
        BlockGrew(1, "text", "lo"),
        BlockCompleted(1),
        BlockStarted(2, "refusal", "refusal"),
        BlockGrew(2, "text", "No"),
        BlockCompleted(2),
        BlockStarted(3, "unknown", "reference", "reference"),
        BlockGrew(3, "raw", '{"reference_ids":[1],"type":"reference"}'),
        CUT,
    ]


def test_a_refusal_is_a_block_of_its_own_sort(run: Run) -> None:
    said = run(delta(refusal="I "), delta(refusal="can't"), finish())
    assert said.events == [
        BlockStarted(0, "refusal", "refusal"),
        BlockGrew(0, "text", "I "),
        BlockGrew(0, "text", "can't"),
        BlockCompleted(0),
        ChoiceFinished(0, "stop", "stop"),
        ENDED,
    ]


# 3. Thinking

THOUGHT = [BlockStarted(0, "thinking", "thinking"), BlockGrew(0, "text", "Hm")]

SPELLINGS: dict[str, dict[str, Any]] = {
    "thinking_blocks": {"thinking_blocks": [{"type": "thinking", "thinking": "Hm"}]},
    "reasoning_text": {"reasoning_details": [{"type": "reasoning.text", "text": "Hm"}]},
    "reasoning_summary": {"reasoning_details": [{"type": "reasoning.summary", "summary": "Hm"}]},
    "reasoning_content": {"reasoning_content": "Hm"},
    "reasoning": {"reasoning": "Hm"},
}


@pytest.mark.parametrize("fields", SPELLINGS.values(), ids=SPELLINGS)
def test_every_spelling_of_reasoning_is_thinking(run: Run, fields: dict[str, Any]) -> None:
    assert run(delta(**fields)).events == [*THOUGHT, CUT]


def test_reasoning_in_several_fields_is_taken_once_from_the_first_that_has_text(run: Run) -> None:
    blocks = {"thinking_blocks": [{"type": "thinking", "thinking": "Hm"}]}
    details = {"reasoning_details": [{"type": "reasoning.text", "text": "2"}]}
    plain = {"reasoning_content": "3", "reasoning": "4"}
    assert run(delta(**blocks, **details, **plain)).events == [*THOUGHT, CUT]
    assert run(delta(thinking_blocks=[], reasoning_content="Hm", reasoning="4")).events == [*THOUGHT, CUT]
    assert run(delta(reasoning_content="", reasoning="Hm", reasoning_details=[])).events == [*THOUGHT, CUT]
    assert run(delta(reasoning_details=[{"type": "reasoning.text", "text": "Hm"}], **plain)).events == [*THOUGHT, CUT]


def test_signature_and_data_of_thinking_blocks_are_kept(run: Run) -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
    ]
    said = run(delta(thinking_blocks=blocks))
    assert said.events == [*THOUGHT, BlockGrew(0, "signature", "s"), BlockGrew(0, "data", "d"), CUT]
    assert (said.state.blocks[0].signature, said.state.blocks[0].data) == ("s", "d")


def test_signature_and_data_are_taken_from_the_details_where_the_text_is_plain(run: Run) -> None:
    details = [
        {"type": "reasoning.text", "text": "", "signature": "s"},
        {"type": "reasoning.encrypted", "data": "d"},
    ]
    said = run(delta(reasoning="Hm", reasoning_details=details))
    assert said.events == [*THOUGHT, BlockGrew(0, "signature", "s"), BlockGrew(0, "data", "d"), CUT]


def test_signature_and_data_are_each_taken_once_and_come_behind_the_text(run: Run) -> None:
    blocks = [{"type": "thinking", "signature": "s"}, {"type": "redacted_thinking", "data": "d"}]
    details = [
        {"type": "reasoning.encrypted", "data": "2"},
        {"type": "reasoning.text", "text": "Hm", "signature": "2"},
    ]
    said = run(delta(thinking_blocks=blocks, reasoning_details=details))
    assert said.events == [*THOUGHT, BlockGrew(0, "signature", "s"), BlockGrew(0, "data", "d"), CUT]


def test_another_type_of_detail_is_an_extra(run: Run) -> None:
    detail = {"type": "reasoning.odd", "text": "x", "index": 0}
    said = run(delta(reasoning="Hm", reasoning_details=[detail]))
    assert said.events == [
        *THOUGHT,
        BlockNoted(0, "reasoning_details", '{"index":0,"text":"x","type":"reasoning.odd"}'),
        CUT,
    ]


def test_a_detail_of_another_type_is_noted_where_extras_are_and_not_where_thinking_is(run: Run) -> None:
    said = run(delta(content="Hello", reasoning_details=[{"type": "reasoning.odd"}]))
    assert said.events == [*HELLO, BlockNoted(0, "reasoning_details", '{"type":"reasoning.odd"}'), CUT]


# 4. Tool calls


def test_a_function_call_in_pieces_grows_its_arguments(run: Run) -> None:
    said = run(call("", index=0, id="c", name="f", type="function"), call('{"a"', index=0), call(":1}", index=0))
    assert said.events == [
        BlockStarted(0, "tool_call", "c", "f"),
        BlockGrew(0, "arguments", '{"a"'),
        BlockGrew(0, "arguments", ":1}"),
        CUT,
    ]
    block = said.state.blocks[0]
    assert isinstance(block, ToolCallStreamBlock)
    assert (block.name, block.arguments, block.kind, block.extras) == ("f", '{"a":1}', "function", {})


def test_a_custom_tool_has_its_input_for_arguments(run: Run) -> None:
    said = run(
        calls({"index": 0, "id": "c", "type": "custom", "custom": {"name": "f", "input": "free "}}),
        calls({"index": 0, "custom": {"input": "text"}}),
    )
    assert said.events == [
        BlockStarted(0, "tool_call", "c", "f"),
        BlockGrew(0, "arguments", "free "),
        BlockGrew(0, "arguments", "text"),
        CUT,
    ]
    block = said.state.blocks[0]
    assert isinstance(block, ToolCallStreamBlock)
    assert block.kind == "custom"


def test_the_legacy_function_call_is_a_tool_call_and_no_quirk(run: Run) -> None:
    said = run(
        delta(function_call={"name": "f", "arguments": ""}),
        delta(function_call={"arguments": "{}"}),
        finish("function_call"),
    )
    assert said.events == [
        BlockStarted(0, "tool_call", "tc_0", "f"),
        BlockGrew(0, "arguments", "{}"),
        BlockCompleted(0),
        ChoiceFinished(0, "tool_calls", "function_call"),
        ENDED,
    ]
    assert said.quirks == {}


def test_arguments_that_are_an_object_are_serialised_and_counted(run: Run) -> None:
    said = run(call({"a": [1, "ä"]}, index=0, id="c", name="f"))
    assert said.quirks == {"arguments_as_object": 1}
    assert said.state.blocks[0].arguments.replace(" ", "") == '{"a":[1,"ä"]}'


# 5. Empty text


@pytest.mark.parametrize("fields", [{"content": ""}, {"refusal": ""}, {"reasoning": ""}, {"content": None}])
def test_an_empty_string_starts_no_block_and_completes_none(run: Run, fields: dict[str, Any]) -> None:
    said = run(delta(**fields), call("{}", index=0, id="c", name="f"), delta(**fields))
    assert said.events == [*CALL, CUT]


# 6. Extras


def test_an_extra_beside_text_is_noted_on_its_block(run: Run) -> None:
    beside = chunk(choice({"content": "Hello", "token_id": 5}, logprobs={"content": []}, matched_stop=2))
    said = run(beside)
    assert said.events[:2] == HELLO
    assert said.state.blocks[0].extras == {"token_id": [5], "logprobs": [{"content": []}], "matched_stop": [2]}
    assert said.state.extras == {}


def test_every_logprobs_is_noted_even_if_it_repeats(run: Run) -> None:
    beside = chunk(choice({"content": "Hello"}, logprobs={"content": []}))
    said = run(beside, chunk(choice({}, logprobs={"content": []})))
    note = BlockNoted(0, "logprobs", '{"content":[]}')
    assert said.events == [*HELLO, note, note, CUT]


def test_an_extra_before_any_block_is_noted_on_the_response(run: Run) -> None:
    said = run(delta(channel="final"), text("Hello"))
    assert said.events == [ResponseNoted("channel", '"final"'), *HELLO, CUT]
    assert said.state.extras == {"channel": "final"}


def test_an_extra_goes_to_the_newest_block_of_its_own_choice(run: Run) -> None:
    said = run(text("Hello"), text("b", 1), delta(0, channel="final"), delta(1, channel="other"))
    assert said.events[-3:] == [BlockNoted(0, "channel", '"final"'), BlockNoted(1, "channel", '"other"'), CUT]


def test_an_extra_of_a_tool_call_is_noted_on_that_call(run: Run) -> None:
    said = run(calls(part("{}", index=0, id="c", name="f", extra={"a": 1}), part("{}", index=1, id="d", name="f")))
    assert said.state.blocks[0].extras == {"extra": [{"a": 1}]}
    assert said.state.blocks[1].extras == {}


def test_annotations_are_noted_one_by_one(run: Run) -> None:
    said = run(delta(content="Hello", annotations=[{"n": 1}, {"n": 2}]))
    notes = [BlockNoted(0, "annotations", '{"n":1}'), BlockNoted(0, "annotations", '{"n":2}')]
    assert said.events == [*HELLO, *notes, CUT]


def test_a_message_beside_the_delta_repeats_the_text_and_is_dropped(run: Run) -> None:
    said = run(chunk(choice({"content": "Hello"}, message={"content": "Hello"}, text="Hello")))
    assert said.events == [*HELLO, CUT]
    assert said.state.blocks[0].extras == {}


def test_a_note_that_repeats_the_last_one_of_its_name_on_its_block_is_not_noted_again(run: Run) -> None:
    notes = ["a", "a", "b", "a"]
    said = run(text("Hello"), *(delta(channel=note) for note in notes), call("{}", index=0, id="c", name="f"))
    assert [event for event in said.events if isinstance(event, BlockNoted)] == [
        BlockNoted(0, "channel", '"a"'),
        BlockNoted(0, "channel", '"b"'),
        BlockNoted(0, "channel", '"a"'),
    ]
    assert said.state.blocks[0].extras == {"channel": ["a", "b", "a"]}


def test_a_new_block_gets_a_note_that_the_last_block_had(run: Run) -> None:
    said = run(delta(content="Hello", channel="a"), delta(refusal="No", channel="a"))
    assert [block.extras for block in said.state.blocks] == [{"channel": ["a"]}] * 2


def test_the_notes_of_a_tool_call_and_annotations_are_noted_even_if_they_repeat(run: Run) -> None:
    said = run(delta(content="Hello", annotations=[{"n": 1}, {"n": 1}]))
    assert said.state.blocks[0].extras == {"annotations": [{"n": 1}, {"n": 1}]}
    said = run(*[call("1", index=0, id="c", name="f", note=1)] * 2)
    assert said.state.blocks[0].extras == {"note": [1, 1]}


# 7. Audio and images


def test_audio_grows_one_unknown_block(run: Run) -> None:
    said = run(delta(audio={"id": "a"}), delta(audio={"data": "AA=="}), text("Hello"), delta(audio={"data": "BB=="}))
    assert said.events == [
        BlockStarted(0, "unknown", "audio", "audio"),
        BlockGrew(0, "raw", '{"id":"a"}'),
        BlockGrew(0, "raw", '{"data":"AA=="}'),
        BlockCompleted(0),
        BlockStarted(1, "content", "content"),
        BlockGrew(1, "text", "Hello"),
        BlockCompleted(1),
        BlockStarted(2, "unknown", "audio_1", "audio"),
        BlockGrew(2, "raw", '{"data":"BB=="}'),
        CUT,
    ]
    assert isinstance(said.state.blocks[0], UnknownStreamBlock)
    assert said.state.blocks[0].raw == [{"id": "a"}, {"data": "AA=="}]


def test_each_image_is_a_block_of_its_own(run: Run) -> None:
    said = run(delta(images=[{"n": 1}, {"n": 2}]))
    assert said.events == [
        BlockStarted(0, "unknown", "image", "image"),
        BlockGrew(0, "raw", '{"n":1}'),
        BlockCompleted(0),
        BlockStarted(1, "unknown", "image_1", "image"),
        BlockGrew(1, "raw", '{"n":2}'),
        CUT,
    ]


# 10. Choices


def test_a_choice_without_an_index_has_its_position_in_the_array(run: Run) -> None:
    said = run({"choices": [{"delta": {"content": "a"}}, {"index": None, "delta": {"content": "b"}}]})
    assert [(block.choice, block.content) for block in said.state.blocks] == [(0, "a"), (1, "b")]
