"""The tables in docs/formats/anthropic_messages.md are true: each row is fed a minimal event."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from feeding import outcome
from messages import END, PING, body, delta, ending, opened, start, stop, streamed, text

if TYPE_CHECKING:
    from feeding import Engine

PAGE = Path(__file__).parent.parent / "docs" / "formats" / "anthropic_messages.md"


def rows(title: str) -> list[list[str]]:
    """The rows of the table under a heading, each cell without its backticks where it is one word."""
    section = PAGE.read_text().split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[re.sub(r"^`([^`]*)`$", r"\1", cell.strip()) for cell in line.strip("|").split("|")] for line in lines]


def named(word: str) -> str:
    return "hologram" if word == "any other" else word


def state_of(core: Engine, *events: dict[str, Any]) -> Any:
    result = outcome(core, list(events))
    assert (result.quirks, result.problems) == ({}, [])
    return result.state


BLOCK = (start("text", text=""), text("a"))
EVENTS: dict[str, tuple[list[dict[str, Any]], Any]] = {
    "message_start": (
        [opened(tier="t", usage={})],
        lambda s: (s.id, s.model, s.role, s.extras) == ("msg_1", "m", "assistant", {"tier": "t"}),
    ),
    "content_block_start": ([opened(), BLOCK[0]], lambda s: len(s.blocks) == 1),
    "content_block_delta": ([opened(), *BLOCK], lambda s: s.blocks[0].content == "a"),
    "content_block_stop": ([opened(), *BLOCK, stop()], lambda s: s.blocks[0].is_complete),
    "message_delta": (
        [opened(), ending(usage={"output_tokens": 1}, container={"id": "c"})],
        lambda s: (s.finish_reason, s.usage.output_tokens, s.extras) == ("stop", 1, {"container": {"id": "c"}}),
    ),
    "message_stop": ([opened(), END, BLOCK[0]], lambda s: not s.interrupted and not s.blocks),
    "ping": ([PING], lambda s: (s.blocks, s.extras) == ([], {})),
    "error": ([{"type": "error", "error": {"type": "api_error"}}], lambda s: s.error == {"type": "api_error"}),
    "any other": ([opened(), {"type": "weather"}], lambda s: s.extras == {"weather": {"type": "weather"}}),
    "a whole message": (
        [body({"type": "text", "text": "a"})],
        lambda s: (
            (s.blocks[0].content, s.blocks[0].is_complete, s.finish_reason, s.interrupted) == ("a", True, "stop", False)
        ),
    ),
}


@pytest.mark.parametrize("event", [row[0] for row in rows("Events")])
def test_each_event_becomes_what_the_table_says(core: Engine, event: str) -> None:
    events, holds = EVENTS[event]
    assert holds(state_of(core, *events))


def test_the_table_of_events_is_whole() -> None:
    assert [row[0] for row in rows("Events")] == list(EVENTS)


FIELDS: dict[str, dict[str, Any]] = {
    "text": {"text": "a"},
    "thinking": {"thinking": "a", "signature": "s"},
    "redacted_thinking": {"data": "d"},
    "call": {"id": "i", "name": "n", "input": {"x": 1}},
    "result": {"tool_use_id": "i", "content": "a"},
}
HELD: dict[str, dict[str, Any]] = {
    "text": {"content": "a"},
    "thinking": {"content": "a", "signature": "s"},
    "redacted_thinking": {"data": "d"},
    "call": {"id": "i", "name": "n", "arguments_complete": True},
    "result": {"tool_call_id": "i", "content": "a", "raw": ["a"]},
}


def sort_of(kind: str) -> str:
    endings = {"tool_use": "call", "tool_result": "result"}
    return next((sort for ending_of, sort in endings.items() if kind.endswith(ending_of)), kind)


@pytest.mark.parametrize(("block", "becomes", "cls"), [row[:3] for row in rows("Blocks")])
def test_each_block_becomes_what_the_table_says(core: Engine, block: str, becomes: str, cls: str) -> None:
    kind = named(block)
    fields = FIELDS.get(sort_of(kind), {"a": 1})
    (made,) = state_of(core, *streamed(start(kind, **fields), stop())).blocks
    assert type(made).__name__ == cls
    held = HELD.get(sort_of(kind), {"kind": kind, "raw": [{"type": kind, "a": 1}]})
    assert {name: getattr(made, name) for name in held} == held
    if "kind" in becomes:
        assert becomes.endswith(f"`{made.kind}`")
    elif becomes == "a result":
        assert made.kind == kind


ADDED: dict[str, dict[str, Any]] = {
    "text_delta": {"text": "a"},
    "citations_delta": {"citation": {"type": "char_location"}},
    "thinking_delta": {"thinking": "a"},
    "signature_delta": {"signature": "a"},
    "input_json_delta": {"partial_json": "{}"},
    "compaction_delta": {"content": "a"},
    "hologram": {"a": 1},
}


@pytest.mark.parametrize(("kind", "on", "to"), rows("Deltas"))
def test_each_delta_adds_to_what_the_table_says(core: Engine, kind: str, on: str, to: str) -> None:
    kind, added = named(kind), {"type": named(kind), **ADDED[named(kind)]}
    for target in re.findall(r"\w+_\w+|\w+", on.replace("any block", "text")):
        (block,) = state_of(core, *streamed(start(target, id="i", name="n"), delta(**_delta(kind)), stop())).blocks
        last = {
            "raw": lambda made: made.raw[-1] == added,
            '`extras["citations"]`': lambda made: made.extras["citations"] == [added["citation"]],
            'extras["citations"]': lambda made: made.extras["citations"] == [added["citation"]],
            "an extra of the block, under its type": lambda made: made.extras[kind] == [added],
        }
        is_there = last.get(to, lambda made: getattr(made, to) in added.values())
        assert is_there(block)


def _delta(kind: str) -> dict[str, Any]:
    return {"kind": kind, **ADDED[kind]}


@pytest.mark.parametrize(("native", "reason"), rows("Stop reasons"))
def test_each_stop_reason_is_the_word_that_the_table_says(core: Engine, native: str, reason: str) -> None:
    assert state_of(core, opened(), ending(native), END).finish_reason == reason
