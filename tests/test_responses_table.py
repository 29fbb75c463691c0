"""The tables of docs/formats/openai_responses.md, row by row."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from openai.types.responses import ResponseOutputItem, ResponseStreamEvent

from feeding import run
from penstock.events import (
    BlockCompleted,
    BlockGrew,
    BlockNoted,
    BlockStarted,
    ChoiceFinished,
    ErrorReported,
    ResponseNoted,
    UsageReported,
)
from responses import CORE, added, at, created, done, message, response

PAGE = Path(__file__).parent.parent / "docs" / "formats" / "openai_responses.md"


def rows(header: str) -> list[list[str]]:
    """The cells of the table whose head begins so."""
    table = PAGE.read_text().split(f"| {header} |", 1)[1].split("\n\n", 1)[0]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.splitlines()[2:]]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]*)`", cell)


EVENTS = {quoted(name)[0]: becomes for name, becomes in rows("event")}
ITEMS = {
    quoted(cells[0])[0]: (cells[1], cells[3] if len(cells) > 3 else "") for cells in rows("item") if "`" in cells[0]
}
PARTS = {quoted(cells[0])[0]: quoted(cells[1])[0] for cells in rows("part") if "`" in cells[0]}


def literal(model: Any) -> str:
    return get_args(model.model_fields["type"].annotation)[0]


def test_the_table_has_every_event_of_the_sdk() -> None:
    assert set(EVENTS) >= {literal(each) for each in get_args(get_args(ResponseStreamEvent)[0])}
    assert len(EVENTS) == 58


def test_the_table_has_every_item_of_the_sdk() -> None:
    assert {literal(each) for each in get_args(get_args(ResponseOutputItem)[0])} <= set(ITEMS)


# Events: what comes before one, and what it says itself.

MESSAGE = [added(message())]
REASONING = [added({"type": "reasoning", "id": "r", "summary": []})]
PART = {"type": "output_text", "text": ""}
SUMMARY = {"type": "summary_text", "text": ""}


def call(kind: str) -> list[dict[str, Any]]:
    return [added({"type": kind, "id": "x", "call_id": "c", "name": "n"})]


def situation(name: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The events before a minimal one of that type, and its fields."""
    step = name.removeprefix("response.")
    fields = {"delta": "a", "text": "a", "refusal": "a", "arguments": "a", "input": "a", "code": "a", "command": "a"}
    if step.startswith(("reasoning_summary_part", "content_part")):
        before, part, begin = (REASONING, SUMMARY, "reasoning_summary_part.added")
        if step.startswith("content"):
            before, part, begin = (MESSAGE, PART, "content_part.added")
        return ([*before, at(begin, part=part)] if step.endswith("done") else before), {"part": part}
    if step.startswith("output_item"):
        item = {"type": "function_call", "id": "x", "call_id": "c", "name": "n"}
        return ([added(item)] if step.endswith("done") else []), {"item": item}
    if step == "output_text.annotation.added":
        return [*MESSAGE, at("output_text.delta", delta="a")], {"annotation": {}}
    if step.startswith(("output_text", "refusal")):
        return MESSAGE, fields
    if step.startswith("reasoning"):
        return REASONING, fields
    kind = re.sub(r"_(arguments|input|code|command)$", "", step.split(".")[0])
    return (call(kind) if kind.endswith(("_call", "_tools")) else []), fields


ENDS = {"usage": {"input_tokens": 1}, "incomplete_details": {"reason": "content_filter"}, "error": {"code": "x"}}


def said_by(name: str) -> list[Any]:
    """What an event of that type adds to those before it."""
    if name == "error":
        before, event = [], {"type": name, "message": "m"}
    elif name.split(".")[1] in ("created", "queued", "in_progress", "completed", "incomplete", "failed"):
        before, event = [], {"type": name, "response": response(service_tier="t", **ENDS)}
    else:
        before, fields = situation(name)
        event = {"type": name, "output_index": 0, **fields}
    start = [] if name in ("response.created", "response.queued", "response.in_progress") else [created()]
    every = run(CORE, [*start, *before, event], source="openai_responses")
    return every[len(run(CORE, [*start, *before], source="openai_responses")) - 1 : -1]


def expected(becomes: str) -> tuple[Any, ...]:
    """The sorts of events that the table promises."""
    match becomes.split(":", maxsplit=1)[0].split(";", maxsplit=1)[0]:
        case "the response's id, model and `created`" | "as `response.created`":
            return (ResponseNoted,)
        case "usage":
            return (ResponseNoted, UsageReported, ChoiceFinished)
        case "an error":
            return (ResponseNoted, UsageReported, ErrorReported)
        case "nothing":
            return ()
        case text if text.startswith("the start of"):
            return (BlockStarted, BlockNoted)
        case text if text.startswith("the end of"):
            return (BlockCompleted,)
        case text if text.startswith("a note"):
            return (BlockNoted,)
        case _:
            return (BlockStarted, BlockNoted, BlockGrew, BlockCompleted)


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_becomes_what_the_table_says(name: str) -> None:
    said = said_by(name)
    becomes = EVENTS[name]
    allowed = expected(becomes)
    assert {type(each) for each in said} <= set(allowed), said
    assert bool(said) == bool(allowed), said
    match becomes.split(" ")[0]:
        case "arguments" | "text" | "compared":
            part = "arguments" if "arguments" in becomes else "text"
            assert [(each.part, each.text) for each in said if isinstance(each, BlockGrew)] == [(part, "a")]
        case "usage;":
            assert any(isinstance(each, ChoiceFinished) and f"`{each.reason}`" in becomes for each in said)
        case "an":
            assert any(isinstance(each, ErrorReported) for each in said)
        case "a" if becomes.startswith("a note"):
            assert [each.name for each in said] == quoted(becomes)[:1]
        case _:
            pass


@pytest.mark.parametrize("kind", ITEMS)
def test_an_item_becomes_what_the_table_says(kind: str) -> None:
    becomes, content = ITEMS[kind]
    given = {"id": "x", "call_id": "c", "name": "n", "role": "assistant", "content": [PART]}
    fields = {name: "v" for name in quoted(content) if name not in ("encrypted_content", "data")}
    item = {"type": kind, **given, **{name: fields[name] for name in fields}}
    if content.startswith("JSON"):
        item[quoted(content)[0]] = {"k": 1}
    events = run(CORE, [created(), done(item)], source="openai_responses")
    blocks = [each for each in events if isinstance(each, BlockStarted)]
    if kind in ("message", "reasoning"):
        assert [each.type for each in blocks] == ["content"]
        return
    assert [each.type for each in blocks] == quoted(becomes)[:1]
    grown = {each.part: each.text for each in events if isinstance(each, BlockGrew)}
    if content.startswith("JSON"):
        assert json.loads(grown["arguments"]) == {"k": 1}
    elif "if it is text" in content:
        assert grown["text"] == "v"
    elif content and becomes.startswith("`tool_call"):
        assert grown == {"arguments": "v"}
    if content.endswith("the item"):
        assert json.loads(grown["raw"]) == item


@pytest.mark.parametrize("kind", ITEMS)
def test_a_call_is_of_the_kind_that_the_table_says(kind: str) -> None:
    becomes, _ = ITEMS[kind]
    processor = CORE.StreamProcessor(emit="nothing", source="openai_responses")
    processor.feed(done({"type": kind, "id": "x", "call_id": "c", "name": "n"}))
    kinds = [block.kind for block in processor.state.blocks if block.type == "tool_call"]
    assert kinds == ([quoted(becomes)[1]] if "kind" in becomes else [])


@pytest.mark.parametrize("kind", PARTS)
def test_a_part_becomes_what_the_table_says(kind: str) -> None:
    part = {"type": kind, "text": "a", "refusal": "a"}
    events = run(CORE, [created(), *MESSAGE, at("content_part.done", part=part)], source="openai_responses")
    assert [each.type for each in events if isinstance(each, BlockStarted)] == [PARTS[kind]]
