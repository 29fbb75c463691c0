"""Messages, refusals and reasoning of OpenAI Responses."""

from __future__ import annotations

import pytest

from feeding import ENDED
from penstock.blocks import ContentStreamBlock, RefusalStreamBlock, ThinkingStreamBlock, UnknownStreamBlock
from penstock.events import (
    BlockCompleted,
    BlockGrew,
    BlockNoted,
    BlockStarted,
    ChoiceFinished,
    ResponseNoted,
    UsageReported,
)
from responses import added, at, completed, created, done, message, only, output_text, read, text_delta, whole

MESSAGE = message(status="in_progress")
ANNOTATION = {"type": "url_citation", "url": "u"}


def part_added(part: dict[str, object], index: int = 0) -> dict[str, object]:
    return at("content_part.added", content_index=index, part=part)


def part_done(part: dict[str, object], index: int = 0) -> dict[str, object]:
    return at("content_part.done", content_index=index, part=part)


def text_done(text: str, index: int = 0) -> dict[str, object]:
    return at("output_text.done", content_index=index, text=text)


def test_a_message_by_the_book_gives_exactly_these_events() -> None:
    usage = {"input_tokens": 3, "output_tokens": 2}
    outcome = read(
        created(),
        added(MESSAGE),
        part_added(output_text("")),
        text_delta("He"),
        text_delta("llo"),
        text_done("Hello"),
        part_done(output_text("Hello")),
        done(message(output_text("Hello"))),
        completed(message(output_text("Hello")), usage=usage, service_tier="default"),
    )
    assert outcome.quirks == {}
    assert outcome.events == [
        ResponseNoted("id", '"resp_1"'),
        ResponseNoted("model", '"m"'),
        ResponseNoted("created", "7"),
        ResponseNoted("role", '"assistant"'),
        BlockStarted(0, "content", "content"),
        BlockNoted(0, "item_id", '"msg_1"'),
        BlockGrew(0, "text", "He"),
        BlockGrew(0, "text", "llo"),
        BlockCompleted(0),
        ResponseNoted("service_tier", '"default"'),
        UsageReported('{"input_tokens":3,"output_tokens":2}'),
        ChoiceFinished(0, "stop", "completed"),
        ENDED,
    ]


def test_a_part_without_events_of_its_own_begins_with_its_text_and_ends_with_it() -> None:
    outcome = read(created(), added(MESSAGE), text_delta("Hi"), text_done("Hi"))
    assert outcome.events[4:-1] == [
        BlockStarted(0, "content", "content"),
        BlockNoted(0, "item_id", '"msg_1"'),
        BlockGrew(0, "text", "Hi"),
        BlockCompleted(0),
    ]


def test_a_part_ends_with_its_item_at_the_latest() -> None:
    assert only(added(MESSAGE), text_delta("Hi"), done(message(output_text("Hi")))).content == "Hi"


@pytest.mark.parametrize(
    "late", [text_done("Hi"), part_done(output_text("Hi")), done(message(output_text("Hi")))], ids=lambda e: e["type"]
)
def test_text_that_comes_only_at_the_end_is_taken(late: dict[str, object]) -> None:
    assert only(added(MESSAGE), late).content == "Hi"


def test_each_part_of_a_message_is_a_block() -> None:
    parts = [output_text("a"), {"type": "refusal", "refusal": "no"}, output_text("c")]
    blocks = whole(
        added(MESSAGE),
        text_delta("a", part=0),
        at("refusal.delta", content_index=1, delta="no"),
        text_delta("c", part=2),
        done(message(*parts)),
    )
    assert [(type(block), block.id, block.content) for block in blocks] == [
        (ContentStreamBlock, "content", "a"),
        (RefusalStreamBlock, "refusal", "no"),
        (ContentStreamBlock, "content_1", "c"),
    ]


def test_a_refusal_by_the_book() -> None:
    refusal = {"type": "refusal", "refusal": "I can't."}
    block = only(
        added(MESSAGE),
        part_added({"type": "refusal", "refusal": ""}),
        at("refusal.delta", content_index=0, delta="I can't."),
        at("refusal.done", content_index=0, refusal="I can't."),
        part_done(refusal),
        done(message(refusal)),
    )
    assert isinstance(block, RefusalStreamBlock)
    assert block.content == "I can't."


def test_a_part_of_an_unknown_type_is_kept_raw() -> None:
    part = {"type": "hologram", "beam": [1]}
    block = only(added(MESSAGE), part_added({"type": "hologram"}), part_done(part), done(message(part)))
    assert isinstance(block, UnknownStreamBlock)
    assert (block.kind, block.raw) == ("hologram", [part])


@pytest.mark.parametrize("name", ["output_text.annotation.added", "output_text_annotation.added"])
def test_an_annotation_is_noted_once_though_it_is_repeated(name: str) -> None:
    part = output_text("Hi", annotations=[ANNOTATION])
    annotated = at(name, content_index=0, annotation_index=0, annotation=ANNOTATION)
    block = only(added(MESSAGE), text_delta("Hi"), annotated, part_done(part), done(message(part)))
    assert block.extras["annotations"] == [ANNOTATION]


def test_annotations_that_only_the_end_has_are_noted() -> None:
    part = output_text("Hi", annotations=[ANNOTATION, {"type": "other"}])
    block = only(added(MESSAGE), text_delta("Hi"), done(message(part)))
    assert block.extras["annotations"] == [ANNOTATION, {"type": "other"}]


def test_logprobs_are_noted_token_by_token_and_once() -> None:
    one, two = {"token": "H"}, {"token": "i"}
    part = output_text("Hi", logprobs=[one, two])
    streamed = only(
        added(MESSAGE), text_delta("H", logprobs=[one]), text_delta("i", logprobs=[two]), done(message(part))
    )
    assert streamed.extras["logprobs"] == [one, two]
    assert only(added(MESSAGE), text_delta("Hi"), done(message(part))).extras["logprobs"] == [one, two]


def test_what_a_message_has_besides_text_is_noted_on_its_blocks() -> None:
    item = message(output_text("Hi"), phase="final", status="incomplete", strange=None, metadata={"a": 1})
    block = only(added(message(phase="final", status="in_progress")), text_delta("Hi"), done(item))
    assert block.extras == {"item_id": ["msg_1"], "phase": ["final"], "status": ["incomplete"], "metadata": [{"a": 1}]}


def test_padding_is_dropped() -> None:
    assert only(added(MESSAGE), text_delta("Hi", obfuscation="xxxx"), text_done("Hi")).extras == {"item_id": ["msg_1"]}


def test_items_may_interleave() -> None:
    blocks = whole(
        added(message()),
        added(message(id="msg_2"), 1),
        text_delta("a", 0),
        text_delta("x", 1),
        text_delta("b", 0),
        done(message(output_text("ab")), 0),
        done(message(output_text("x"), id="msg_2"), 1),
    )
    assert [block.content for block in blocks] == ["ab", "x"]


# Reasoning.

REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}


def summary(*texts: str) -> list[dict[str, str]]:
    return [{"type": "summary_text", "text": text} for text in texts]


def summary_part(text: str, index: int) -> list[dict[str, object]]:
    at_part = {"summary_index": index}
    return [
        at("reasoning_summary_part.added", part={"type": "summary_text", "text": ""}, **at_part),
        at("reasoning_summary_text.delta", delta=text, **at_part),
        at("reasoning_summary_text.done", text=text, **at_part),
        at("reasoning_summary_part.done", part={"type": "summary_text", "text": text}, **at_part),
    ]


def test_each_part_of_a_summary_is_a_thinking_block() -> None:
    item = {**REASONING, "summary": summary("one", "two")}
    blocks = whole(added(REASONING), *summary_part("one", 0), *summary_part("two", 1), done(item))
    assert [(block.id, block.content) for block in blocks] == [("thinking", "one"), ("thinking_1", "two")]
    assert all(isinstance(block, ThinkingStreamBlock) for block in blocks)


def test_reasoning_text_is_a_thinking_block() -> None:
    part = {"type": "reasoning_text", "text": "hm"}
    block = only(
        added(REASONING),
        part_added({"type": "reasoning_text", "text": ""}),
        at("reasoning_text.delta", content_index=0, delta="hm"),
        at("reasoning_text.done", content_index=0, text="hm"),
        part_done(part),
        done({**REASONING, "content": [part]}),
    )
    assert (block.id, block.content) == ("thinking", "hm")


def test_encrypted_reasoning_is_a_block_of_its_own_behind_the_parts() -> None:
    item = {**REASONING, "summary": summary("one"), "encrypted_content": "gAAA"}
    blocks = whole(added({**REASONING, "encrypted_content": "g"}), *summary_part("one", 0), done(item))
    assert [(block.content, block.data) for block in blocks] == [("one", ""), ("", "gAAA")]
    assert all(block.extras["item_id"] == ["rs_1"] for block in blocks)


def test_encrypted_reasoning_that_only_the_beginning_has_is_taken_at_the_end() -> None:
    assert only(added({**REASONING, "encrypted_content": "gAAA"}), done(REASONING)).data == "gAAA"


def test_a_reasoning_item_with_nothing_in_it_is_an_empty_block_that_keeps_its_id() -> None:
    block = only(added(REASONING), done(REASONING))
    assert (block.content, block.data, block.extras) == ("", "", {"item_id": ["rs_1"]})


def test_reasoning_that_was_never_streamed_is_taken_from_its_item() -> None:
    item = {**REASONING, "summary": summary("one"), "content": [{"type": "reasoning_text", "text": "two"}]}
    assert [block.content for block in whole(done(item))] == ["one", "two"]
