"""What each kind of block is to a reader."""

from __future__ import annotations

from typing import Any

import pytest

import messages as m
import responses as r
import wire
from penstock import BlockComplete, BlockReader, ChunkMeta, MembraneBlock
from penstock.items import read_input
from reading import READERS, CoreReader, call_block, check, chunks, completed, hear, merged, start, text_block, visible

READ = [pytest.param(reader, id=name) for name, reader in READERS.items()]
every_reader = pytest.mark.parametrize("reader", READ)


@every_reader
def test_a_refusal_is_visible_text(reader: type[BlockReader]) -> None:
    items = hear(reader, [wire.delta(refusal="I will not."), wire.finish()])
    assert visible(items) == "I will not."
    assert completed(items) == [MembraneBlock("text", "I will not.", kind="refusal")]


@every_reader
def test_what_nobody_knows_is_kept_and_not_shown(reader: type[BlockReader]) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    items = hear(reader, [wire.delta(images=[image]), wire.finish()])
    assert items == [
        start(0, "unknown"),
        BlockComplete(0, MembraneBlock("unknown", kind="image", parts=[image])),
    ]


@every_reader
def test_calls_side_by_side_are_each_called_whole(reader: type[BlockReader]) -> None:
    items = hear(
        reader,
        [
            wire.call('{"a"', index=0, id="one", name="ls"),
            wire.call("{}", index=1, id="two", name="cat"),
            wire.call(":1}", index=0),
            wire.finish("tool_calls"),
        ],
    )
    check(items)
    assert [(block.tool_id, block.input, block.raw_input) for block in completed(items)] == [
        ("one", None, '{"a"'),
        ("two", {}, None),
        ("one", {"a": 1}, None),
    ]
    starts = [item.index for item in items if not isinstance(item, tuple) and item.event == "block_start"]
    assert starts == [0, 1, 0], "a call that goes on starts again under its number"


@every_reader
def test_a_name_that_comes_late_is_said_before_the_id(reader: type[BlockReader]) -> None:
    deltas = [wire.call(index=0, id="c"), wire.call(index=0, name="ls"), wire.call("{}", index=0)]
    assert hear(reader, [*deltas, wire.finish()]) == call_block(0, "ls", "c", {}, "{}")


@every_reader
def test_a_name_in_pieces_grows_what_each_chunk_says_of_it(reader: type[BlockReader]) -> None:
    deltas = [wire.call(index=0, id="c", name="get_"), wire.call(index=0, name="tide"), wire.call("{}", index=0)]
    items = hear(reader, [*deltas, wire.finish()])
    said = [(text, meta.tool_call_part, meta.tool_name) for text, meta in chunks(items)]
    assert said == [
        ("get_", "name", "get_"),
        ("c", "id", "get_"),
        ("tide", "name", "get_tide"),
        ("{}", "input", "get_tide"),
    ]
    check(items)


@every_reader
def test_a_call_without_a_name_or_an_id_still_has_an_id(reader: type[BlockReader]) -> None:
    items = hear(reader, [wire.call("{}", index=3), wire.finish()])
    assert [(text, meta.tool_call_part) for text, meta in chunks(items)] == [("tc_3", "id"), ("{}", "input")]
    assert completed(items) == [MembraneBlock("tool_call", tool_id="tc_3", input={})]


@every_reader
def test_the_chunks_of_a_block_share_what_they_are(reader: type[BlockReader]) -> None:
    items = hear(reader, [wire.text("a"), wire.text("b"), wire.call("{", index=0, id="c"), wire.call("}", index=0)])
    metas = [meta for _, meta in chunks(items)]
    assert metas[0] is metas[1]
    assert metas[-1] is metas[-2]


@every_reader
def test_each_answer_side_by_side_says_which_it_is(reader: type[BlockReader]) -> None:
    items = hear(reader, [wire.text("a", 0), wire.text("b", 1), wire.finish(index=0), wire.finish(index=1)])
    assert [(text, meta.choice, meta.block_index) for text, meta in chunks(items)] == [("a", 0, 0), ("b", 1, 1)]
    assert [block.choice for block in completed(items)] == [0, 1]


@every_reader
def test_free_text_is_the_input_of_a_custom_tool(reader: type[BlockReader]) -> None:
    custom = {"index": 0, "id": "c", "type": "custom", "custom": {"name": "patch", "input": '{"a": 1}'}}
    items = hear(reader, [wire.delta(tool_calls=[custom]), wire.finish()])
    assert completed(items) == [
        MembraneBlock("tool_call", tool_id="c", tool_name="patch", raw_input='{"a": 1}', kind="custom")
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", {}),
        ("{}", {}),
        (' {"a": [1, 2.5, null]} ', {"a": [1, 2.5, None]}),
        ('{"n": 123456789012345678901234567890}', {"n": 123456789012345678901234567890}),
        ('{"a": 1', None),
        ('{"a": 1}}', None),
        ("[1]", None),
        ("null", None),
        ('"text"', None),
        ('{"a": NaN}', None),
        ("[" * 100_000, None),
    ],
)
@every_reader
def test_the_input_is_one_whole_object_or_nothing(reader: type[BlockReader], arguments: str, expected: Any) -> None:
    assert read_input(arguments) == expected
    items = hear(reader, [wire.call(arguments, index=0, id="c", name="ls"), wire.finish()])
    (call,) = completed(items)
    assert call.input == expected
    assert call.raw_input == (arguments if expected is None else None)
    check(items)


def test_a_call_that_the_provider_runs_says_so_and_its_result_is_one() -> None:
    found = [{"type": "web_search_result", "title": "Tides", "url": "https://example.org"}]
    events = m.streamed(
        m.start(kind="server_tool_use", index=0, id="s", name="web_search", input={}),
        *(m.partial('{"query":"tides"}', 0), m.stop(0)),
        m.start("web_search_tool_result", 1, tool_use_id="s", content=found),
        m.stop(1),
    )
    call, result = completed(hear(CoreReader, events))
    assert (call.kind, call.tool_name, call.input) == ("server", "web_search", {"query": "tides"})
    assert (result.type, result.kind, result.tool_id) == ("tool_result", "web_search_tool_result", "s")
    assert result.parts == found


def test_a_result_of_the_provider_has_text_parts_and_tells_of_a_failure() -> None:
    parts = [{"type": "text", "text": "no such file"}]
    result = {"type": "mcp_tool_result", "tool_use_id": "s", "is_error": True, "content": parts}
    items = hear(CoreReader, [m.body(result)])
    check(items)
    meta = ChunkMeta("tool_result", visible=False, block_index=0, depth=1, tool_id="s")
    assert chunks(items) == [("no such file", meta)]
    assert completed(items) == [
        MembraneBlock("tool_result", "no such file", "s", kind="mcp_tool_result", parts=parts, is_error=True)
    ]


def test_a_signature_is_no_chunk() -> None:
    events = m.streamed(
        m.start("thinking", 0, thinking="", signature=""),
        m.delta("thinking_delta", 0, thinking="hm"),
        m.delta("signature_delta", 0, signature="c2ln"),
        m.stop(0),
    )
    assert hear(CoreReader, events) == text_block(0, "hm", kind="thinking", visible=False)


def test_redacted_thinking_starts_and_completes_without_a_chunk() -> None:
    events = m.streamed(m.start("redacted_thinking", 0, data="AAAA"), m.stop(0))
    assert hear(CoreReader, events) == text_block(0, kind="thinking", visible=False)


def test_blocks_that_are_open_side_by_side_are_told_apart() -> None:
    first, second = r.function_call(call=1), r.function_call(call=2)
    events = [
        r.created(),
        *(r.added(first, 0), r.added(second, 1)),
        *(r.arguments_delta('{"a"', 0), r.arguments_delta('{"b"', 1), r.arguments_delta(":1}", 0)),
        r.done({**first, "arguments": '{"a":1}'}, 0),
        r.arguments_delta(":2}", 1),
        r.done({**second, "arguments": '{"b":2}'}, 1),
        r.completed(),
    ]
    items = hear(CoreReader, events)
    check(items)
    assert [block.input for block in completed(items)] == [{"a": 1}, {"b": 2}]
    assert len(chunks(merged(items))) == 8


def test_items_show_themselves_briefly() -> None:
    start_item, chunk, complete = hear(CoreReader, [wire.text("Hi"), wire.finish()])
    assert repr(start_item) == "BlockStart(index=0, block=MembraneBlock(type='text'))"
    assert repr(chunk) == "('Hi', ChunkMeta(type='text', visible=True, block_index=0))"
    assert repr(complete) == "BlockComplete(index=0, block=MembraneBlock(type='text', content='Hi'))"
    assert start_item.event == "block_start"
    assert complete.event == "block_complete"


def test_items_are_values() -> None:
    meta = ChunkMeta("text", visible=True, block_index=0)
    assert meta == ChunkMeta("text", visible=True, block_index=0)
    with pytest.raises(AttributeError):
        meta.visible = False  # pyright: ignore[reportAttributeAccessIssue]
