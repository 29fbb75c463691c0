"""Anthropic's Messages: what each type of block becomes, event by event."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from feeding import merged
from messages import body, delta, partial, start, stop, streamed, text
from penstock.events import BlockCompleted, BlockGrew, BlockNoted, BlockStarted

if TYPE_CHECKING:
    from feeding import Run

BLOCK_EVENTS = (BlockStarted, BlockGrew, BlockNoted, BlockCompleted)
CITATION = {"type": "char_location", "cited_text": "c", "document_index": 0}


def of_blocks(read: Run, *events: dict[str, Any]) -> list[Any]:
    outcome = read(*streamed(*events))
    assert outcome.quirks == {}
    assert outcome.problems == []
    return [event for event in outcome.events if isinstance(event, BLOCK_EVENTS)]


def compact(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def test_text_grows_by_its_deltas(read_messages: Run) -> None:
    assert of_blocks(read_messages, start("text", text=""), text("Hel"), text("lo ✓"), stop()) == [
        BlockStarted(0, "content", "content"),
        BlockGrew(0, "text", "Hel"),
        BlockGrew(0, "text", "lo ✓"),
        BlockCompleted(0),
    ]


def test_text_in_the_start_is_its_first_growth(read_messages: Run) -> None:
    assert of_blocks(read_messages, start("text", text="Hel"), text("lo"), stop()) == [
        BlockStarted(0, "content", "content"),
        BlockGrew(0, "text", "Hel"),
        BlockGrew(0, "text", "lo"),
        BlockCompleted(0),
    ]


def test_each_citation_is_a_note_of_its_block(read_messages: Run) -> None:
    cited = delta("citations_delta", citation=CITATION)
    assert of_blocks(read_messages, start("text", text="", citations=[CITATION]), text("a"), cited, stop()) == [
        BlockStarted(0, "content", "content"),
        BlockNoted(0, "citations", compact(CITATION)),
        BlockGrew(0, "text", "a"),
        BlockNoted(0, "citations", compact(CITATION)),
        BlockCompleted(0),
    ]


def test_thinking_has_text_and_a_signature(read_messages: Run) -> None:
    events = (
        start("thinking", thinking="", signature=""),
        delta("thinking_delta", thinking="Hm"),
        delta("signature_delta", signature="sig"),
        stop(),
    )
    assert of_blocks(read_messages, *events) == [
        BlockStarted(0, "thinking", "thinking"),
        BlockGrew(0, "text", "Hm"),
        BlockGrew(0, "signature", "sig"),
        BlockCompleted(0),
    ]


def test_a_thinking_delta_keeps_its_other_fields(read_messages: Run) -> None:
    thought = delta("thinking_delta", thinking="Hm", estimated_tokens=7)
    assert of_blocks(read_messages, start("thinking", thinking=""), thought, stop()) == [
        BlockStarted(0, "thinking", "thinking"),
        BlockGrew(0, "text", "Hm"),
        BlockNoted(0, "estimated_tokens", "7"),
        BlockCompleted(0),
    ]


def test_redacted_thinking_has_data(read_messages: Run) -> None:
    assert of_blocks(read_messages, start("redacted_thinking", data="AAAA"), stop()) == [
        BlockStarted(0, "thinking", "thinking"),
        BlockGrew(0, "data", "AAAA"),
        BlockCompleted(0),
    ]


def test_a_tool_call_grows_by_its_arguments(read_messages: Run) -> None:
    events = (start("tool_use", id="tu", name="ls", input={}), partial(""), partial('{"p":'), partial('"/"}'), stop())
    assert of_blocks(read_messages, *events) == [
        BlockStarted(0, "tool_call", "tu", "ls"),
        BlockGrew(0, "arguments", '{"p":'),
        BlockGrew(0, "arguments", '"/"}'),
        BlockCompleted(0),
    ]


@pytest.mark.parametrize("more", [(), (partial(""),)], ids=["alone", "and-an-empty-delta"])
def test_input_in_the_start_is_the_arguments(read_messages: Run, more: tuple[Any, ...]) -> None:
    started, grew, completed = of_blocks(
        read_messages, start("tool_use", id="tu", name="ls", input={"p": "/"}), *more, stop()
    )
    assert started == BlockStarted(0, "tool_call", "tu", "ls")
    assert (grew.part, json.loads(grew.text)) == ("arguments", {"p": "/"})
    assert completed == BlockCompleted(0)


def test_input_in_the_start_keeps_its_source_text(read_messages: Run, request: pytest.FixtureRequest) -> None:
    if "dicts" in request.node.name:
        pytest.skip("an object has no source text")
    events = of_blocks(
        read_messages, start("tool_use", id="tu", name="ls", input={"n": 9007199254740993, "a": [1.50]}), stop()
    )
    assert events[1] == BlockGrew(0, "arguments", '{"n": 9007199254740993, "a": [1.5]}')


def test_other_fields_of_a_call_are_noted(read_messages: Run) -> None:
    events = (start("tool_use", id="tu", name="ls", input={}, caller={"type": "direct"}), stop())
    assert of_blocks(read_messages, *events)[1] == BlockNoted(0, "caller", '{"type":"direct"}')


@pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use"])
def test_a_call_that_the_provider_runs_says_so(read_messages: Run, kind: str) -> None:
    outcome = read_messages(
        *streamed(start(kind, id="st", name="search", input={}, server_name="s"), partial("{}"), stop())
    )
    (call,) = outcome.state.blocks
    assert (call.type, call.kind, call.id, call.name, call.arguments) == ("tool_call", "server", "st", "search", "{}")
    assert call.extras == {"server_name": ["s"]}


def test_a_result_in_text_is_text_and_raw(read_messages: Run) -> None:
    content = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    events = (start("mcp_tool_result", tool_use_id="st", content=content, is_error=False), stop())
    assert of_blocks(read_messages, *events) == [
        BlockStarted(0, "tool_result", "tool_result", "mcp_tool_result", tool_call_id="st"),
        BlockGrew(0, "text", "ab"),
        BlockGrew(0, "raw", compact(content)),
        BlockNoted(0, "is_error", "false"),
        BlockCompleted(0),
    ]


def test_a_result_that_is_a_string_is_text_and_raw(read_messages: Run) -> None:
    assert of_blocks(read_messages, start("mcp_tool_result", tool_use_id="st", content="done"), stop())[1:3] == [
        BlockGrew(0, "text", "done"),
        BlockGrew(0, "raw", '"done"'),
    ]


RESULTS = (
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "advisor_tool_result",
    "a_tool_result_not_known_yet_tool_result",
)


@pytest.mark.parametrize("kind", RESULTS)
def test_a_result_that_is_not_text_is_raw(read_messages: Run, kind: str) -> None:
    content = {"type": "result", "stdout": "x"}
    assert of_blocks(read_messages, start(kind, tool_use_id="st", content=content), stop()) == [
        BlockStarted(0, "tool_result", "tool_result", kind, tool_call_id="st"),
        BlockGrew(0, "raw", compact(content)),
        BlockCompleted(0),
    ]


@pytest.mark.parametrize("kind", ["container_upload", "compaction", "fallback", "hologram"])
def test_a_block_of_another_type_is_kept_raw_with_its_deltas(read_messages: Run, kind: str) -> None:
    added = {"type": "compaction_delta", "content": "c"}
    events = (start(kind, file_id="f", content=None), delta("compaction_delta", content="c"), stop())
    assert of_blocks(read_messages, *events) == [
        BlockStarted(0, "unknown", kind, kind),
        BlockGrew(0, "raw", compact({"type": kind, "file_id": "f", "content": None})),
        BlockGrew(0, "raw", compact(added)),
        BlockCompleted(0),
    ]


def test_a_delta_of_another_type_is_a_note_of_its_block(read_messages: Run) -> None:
    odd = delta("mood_delta", mood={"level": 3})
    assert of_blocks(read_messages, start("text", text=""), odd, stop())[1] == BlockNoted(
        0, "mood_delta", compact(odd["delta"])
    )


def test_blocks_that_overlap_are_kept_apart(read_messages: Run) -> None:
    one, two = start("tool_use", 0, id="a", name="x", input={}), start("tool_use", 1, id="b", name="y", input={})
    events = (one, two, partial('{"p"', 0), partial('{"q"', 1), partial(":1}", 0), partial(":2}", 1), stop(1), stop(0))
    calls = read_messages(*streamed(*events)).state.blocks
    assert [(call.id, call.arguments, call.index) for call in calls] == [("a", '{"p":1}', 0), ("b", '{"q":2}', 1)]
    assert all(call.is_complete for call in calls)


BLOCKS: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "Hm", "signature": "sig"},
    {"type": "redacted_thinking", "data": "AAAA"},
    {"type": "text", "text": "Hello", "citations": [CITATION, CITATION]},
    {"type": "server_tool_use", "id": "st", "name": "search", "input": {"q": "x"}},
    {"type": "web_search_tool_result", "tool_use_id": "st", "content": [{"type": "web_search_result", "url": "u"}]},
    {"type": "tool_use", "id": "tu", "name": "ls", "input": {"p": "/"}},
    {"type": "hologram", "depth": 3},
]


def test_a_body_says_each_block_as_a_start_would(read_messages: Run) -> None:
    whole = read_messages(body(*BLOCKS))
    starts = [
        start(block["type"], at, **{k: v for k, v in block.items() if k != "type"}) for at, block in enumerate(BLOCKS)
    ]
    events = [event for at, each in enumerate(starts) for event in (each, stop(at))]
    assert merged(whole.events) == merged(read_messages(*streamed(*events)).events)
    assert whole.quirks == {}
