"""The tables of docs/translation.md are true: each row is fed a minimal stream."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import messages
import responses
from penstock import ContentStreamBlock
from translated_rows import MARK, ROWS
from translating import CHAT, FORMATS, MESSAGES, RESPONSES, legally
from wire import DONE, call, chunk, delta, finish, sse, text

PAGE = (Path(__file__).parent.parent / "docs" / "translation.md").read_text(encoding="utf-8")
NAMES = {CHAT: "chat", MESSAGES: "Messages", RESPONSES: "Responses"}


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading."""
    section = re.split(r"\n##+ ", PAGE.split(f"# {heading}\n", 1)[1], maxsplit=1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def words(cell: str) -> list[str]:
    """What stands in backticks and is a name."""
    return re.findall(r"`([a-z_.]+)`", cell)


PAIRS = [(source, target) for source in FORMATS for target in FORMATS]
FATES = [
    pytest.param(source, target, *row, id=f"{NAMES[source]}-{NAMES[target]}-{row[0]}")
    for source, target in PAIRS
    for row in rows(f"{NAMES[source]} to {NAMES[target]}")
]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_each_pair_has_a_row_for_everything_that_its_source_says(source: str, target: str) -> None:
    assert [row[0] for row in rows(f"{NAMES[source]} to {NAMES[target]}")] == list(ROWS[source])


@pytest.mark.parametrize(("source", "target", "what", "fate", "becomes", "loss"), FATES)
def test_what_comes_has_the_fate_that_its_row_says(
    source: str, target: str, what: str, fate: str, becomes: str, loss: str
) -> None:
    result = legally(ROWS[source][what], source, target)
    translator = result.translator
    assert translator.losses == dict.fromkeys(words(loss), 1)
    assert (translator.failure is not None) == (fate == "refused")
    if fate != "refused":
        assert (MARK in result.data.decode()) == (fate in ("kept", "changed"))
    assert [word for word in words(becomes) if word not in result.data.decode()] == []
    assert (becomes.startswith("nothing"), becomes == "an error") == (fate == "dropped", fate == "refused")


# What is text in its source, and what is said to become text.
SHOWN = {"text", "`output_text`"}


@pytest.mark.parametrize(("source", "target", "what", "fate", "becomes", "loss"), FATES)
def test_t_01_only_text_becomes_text(source: str, target: str, what: str, fate: str, becomes: str, loss: str) -> None:
    result = legally(ROWS[source][what], source, target)
    text = "".join(
        block.content for block in result.blocks if isinstance(block, ContentStreamBlock) and block.choice == 0
    )
    assert (MARK in text) == (what in SHOWN or "refusal_as_text" in loss), (fate, becomes)


# Stop reasons

CALL = [call("{}", index=0, id="call_1", name="ls")]
REASONS: dict[str, tuple[str, list[Any]]] = {
    "`stop`": (CHAT, [text("a"), finish("stop")]),
    "`stop`, and a tool of the client's is called": (
        RESPONSES,
        [responses.created(), responses.done(responses.function_call("{}")), responses.completed()],
    ),
    "`tool_calls`": (CHAT, [*CALL, finish("tool_calls")]),
    "`tool_calls`, but no call could be written": (CHAT, [text("a"), finish("tool_calls")]),
    "`stop`, and there is a refusal": (CHAT, [delta(refusal="no"), finish("stop")]),
    "`length`": (CHAT, [text("a"), finish("length")]),
    "`content_filter`": (CHAT, [text("a"), finish("content_filter")]),
    "`pause`": (MESSAGES, [messages.opened(), messages.ending("pause_turn"), messages.END]),
    "any other": (CHAT, [text("a"), finish("weather")]),
    "none": (CHAT, [sse(text("a"), DONE)]),
}


def ends_of(target: str, events: list[dict[str, Any]]) -> list[str]:
    """How a stream says that it ended."""
    match target, events[-1]:
        case _, {"error": _} | {"type": "response.failed"}:
            return []
        case "openai_chat", _:
            return [events[-1]["choices"][0]["finish_reason"]]
        case "anthropic_messages", _:
            return [events[-2]["delta"]["stop_reason"]]
        case _, {"response": {"incomplete_details": {"reason": reason}}}:
            return [events[-1]["response"]["status"], reason]
        case _:
            return [events[-1]["response"]["status"]]


@pytest.mark.parametrize(("row", "target"), [(row, target) for row in rows("Stop reasons") for target in FORMATS])
def test_a_stop_reason_is_what_its_row_says(row: list[str], target: str) -> None:
    source, items = REASONS[row[0]]
    expected = words(row[1 + FORMATS.index(target)])
    result = legally(items, source, target)
    assert ends_of(target, result.events) == expected
    assert (result.translator.failure is not None) == (expected == [])


# Usage

USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "prompt_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 7},
    "completion_tokens_details": {"reasoning_tokens": 5},
}
COUNTED = {
    "input": 100,
    "read from the cache": 30,
    "written to the cache": 7,
    "output, with reasoning": 20,
    "reasoning": 5,
}


def usage_of(target: str, events: list[dict[str, Any]]) -> dict[str, Any]:
    match target:
        case "openai_chat":
            assert events[-1]["choices"] == []
            return events[-1]["usage"]
        case "anthropic_messages":
            return events[-2]["usage"]
        case _:
            return events[-1]["response"]["usage"]


@pytest.mark.parametrize("target", FORMATS)
def test_usage_stands_where_its_row_says_in_the_target_s_own_convention(target: str) -> None:
    items = [text("a"), finish(), chunk(usage=USAGE)]
    usage = usage_of(target, legally(items, CHAT, target).events)
    for row in rows("Usage"):
        if row[0] in COUNTED:
            count: Any = usage
            for name in words(row[1 + FORMATS.index(target)])[0].split("."):
                count = count[name]
            is_fresh = row[0] == "input" and target == MESSAGES
            assert count == COUNTED[row[0]] - (37 if is_fresh else 0), row[0]
