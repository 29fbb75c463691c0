"""Results of tools that the host has run: one start, one chunk and one completion each, in their turn."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import wire
from penstock import BlockComplete, BlockReader, ChunkMeta, MembraneBlock
from processing import stream
from reading import READERS, Heard, call_block, check, completed, result_block, start, text_block

CALL = [wire.call("{}", index=0, id="c", name="ls"), wire.finish("tool_calls")]
MORE = [wire.text("Found it!"), wire.finish()]
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * 1000}}


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest) -> type[BlockReader]:
    """The reader on each engine in turn."""
    return READERS[request.param]


def feed(reading: BlockReader, items: list[Any]) -> None:
    for item in items:
        reading.feed(item)
    reading.flush()


def test_a_result_is_numbered_between_the_answers_around_it(reader: type[BlockReader]) -> None:
    heard = Heard()
    reading = reader(heard.on_chunk, heard.on_block)
    feed(reading, CALL)
    reading.tool_result("c", "one")
    reading.tool_result("c", "two")
    feed(reading, MORE)
    assert heard.items == [
        *call_block(0, "ls", "c", {}, "{}"),
        *result_block(1, "c", "one"),
        *result_block(2, "c", "two"),
        *text_block(3, "Found it!"),
    ]


def test_a_result_says_which_tool_it_is_of_and_whether_it_failed() -> None:
    _, (text, meta), complete = BlockReader().tool_result("c", "no such file", tool_name="cat", is_error=True)
    assert text == "no such file"
    assert meta == ChunkMeta("tool_result", visible=False, block_index=0, depth=1, tool_id="c", tool_name="cat")
    assert complete.block == MembraneBlock("tool_result", "no such file", "c", "cat", is_error=True)


def test_an_image_is_named_and_not_shown() -> None:
    parts = ["A picture: ", IMAGE, {"type": "text", "text": " and "}, {"type": "image_url", "image_url": {"url": "u"}}]
    _, (text, _), complete = BlockReader().tool_result("c", parts)
    assert text == complete.block.content == "A picture: [image: image/png] and [image_url]"
    assert complete.block.parts == parts


def test_an_empty_result_has_no_chunk() -> None:
    assert BlockReader().tool_result("c", "") == [
        start(0, "tool_result"),
        BlockComplete(0, MembraneBlock("tool_result", "", "c")),
    ]


def test_a_result_from_inside_a_callback_comes_behind_what_its_read_has_brought(reader: type[BlockReader]) -> None:
    heard = Heard()

    def on_block(event: Any) -> None:
        heard.on_block(event)
        if event.event == "block_complete" and event.block.type == "tool_call":
            reading.tool_result(event.block.tool_id, "done")

    reading = reader(heard.on_chunk, on_block)
    two_calls = [wire.call("{}", index=index, id=f"c{index}", name="ls") for index in (0, 1)]
    returned = reading.feed(wire.sse(*two_calls, wire.finish("tool_calls")))
    reading.flush()
    feed(reading, MORE)
    assert heard.items == [
        *call_block(0, "ls", "c0", {}, "{}"),
        *call_block(1, "ls", "c1", {}, "{}"),
        *result_block(2, "c0", "done"),
        *result_block(3, "c1", "done"),
        *text_block(4, "Found it!"),
    ]
    assert returned == heard.items[: len(returned)]


async def test_a_result_from_inside_an_async_callback_is_awaited_in_its_turn(reader: type[BlockReader]) -> None:
    heard = Heard()

    async def on_block(event: Any) -> None:
        heard.on_block(event)
        await asyncio.sleep(0)
        if event.event == "block_complete" and event.block.type == "tool_call":
            await reading.tool_result_async(event.block.tool_id, "done")

    reading = reader(heard.on_chunk, on_block)
    await reading.read(stream(CALL))
    await reading.tool_result_async("c", "again")
    await reading.read(stream(MORE))
    expected = [*result_block(1, "c", "done"), *result_block(2, "c", "again"), *text_block(3, "Found it!")]
    assert heard.items == [*call_block(0, "ls", "c", {}, "{}"), *expected]


async def test_a_tool_that_is_done_before_the_answer_is_parts_the_text(reader: type[BlockReader]) -> None:
    heard = Heard()
    reading = reader(heard.on_chunk, heard.on_block)
    queue: asyncio.Queue[Any] = asyncio.Queue()
    reads = asyncio.create_task(reading.read(queue))
    for item in (CALL[0], wire.text("while I "), None):
        await asyncio.sleep(0.01)
        if item is None:
            reading.tool_result("c", "done")
            item = wire.text("wait")  # noqa: PLW2901
        queue.put_nowait(item)
    queue.put_nowait(wire.finish())
    queue.put_nowait(None)
    await reads
    assert heard.items == [
        *call_block(0, "ls", "c", {}, "{}"),
        *text_block(1, "while I "),
        *result_block(2, "c", "done"),
        *text_block(3, "wait"),
    ]
    assert [block.content for block in reading.state.blocks if block.type == "content"] == ["while I wait"]


def test_text_that_a_result_parts_is_two_blocks(reader: type[BlockReader]) -> None:
    heard = Heard()
    reading = reader(heard.on_chunk, heard.on_block)
    reading.feed(wire.text("öne"))
    reading.tool_result("c", "done")
    reading.feed(wire.text("twö"))
    reading.feed(wire.finish())
    reading.flush()
    assert heard.items == [*text_block(0, "öne"), *result_block(1, "c", "done"), *text_block(2, "twö")]


def test_text_that_ends_at_a_result_completes_once(reader: type[BlockReader]) -> None:
    heard = Heard()
    reading = reader(heard.on_chunk, heard.on_block)
    reading.feed(wire.text("one"))
    reading.tool_result("c", "done")
    reading.feed(wire.finish())
    reading.flush()
    assert heard.items == [*text_block(0, "one"), *result_block(1, "c", "done")]


def test_a_call_that_is_open_stays_so_until_it_is_whole(reader: type[BlockReader]) -> None:
    heard = Heard()
    reading = reader(heard.on_chunk, heard.on_block)
    reading.feed(wire.call('{"a":', index=0, id="c", name="ls"))
    reading.tool_result("other", "done")
    reading.feed(wire.call("1}", index=0))
    reading.feed(wire.finish())
    reading.flush()
    check(heard.items)
    assert [block.input for block in completed(heard.items)] == [None, {"a": 1}]


def test_a_loop_gets_the_results_in_their_turn(reader: type[BlockReader]) -> None:
    reading = reader()
    items: list[Any] = []
    for item in reading.events(CALL):
        items.append(item)
        if isinstance(item, BlockComplete) and item.block.type == "tool_call":
            reading.tool_result("c", "done")
    assert items == [*call_block(0, "ls", "c", {}, "{}"), *result_block(1, "c", "done")]
    assert list(reading.events(MORE)) == text_block(2, "Found it!")


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((1, "x"), {}, "tool_id must be text, not int"),
        (("c", 1), {}, "content must be text or a list of parts, not int"),
        (("c", {"type": "text"}), {}, "content must be text or a list of parts, not dict"),
        (("c", [1]), {}, "a part of content must be text or a dict, not int"),
        (("c", "x"), {"tool_name": 1}, "tool_name must be text or None, not int"),
        (("c", "x"), {"is_error": "no"}, "is_error must be True or False, not str"),
    ],
)
def test_a_wrong_argument_gets_one_clear_line(arguments: Any, options: Any, message: str) -> None:
    heard = Heard()
    with pytest.raises(TypeError) as raised:
        BlockReader(heard.on_chunk, heard.on_block).tool_result(*arguments, **options)
    assert str(raised.value) == message
    assert heard.items == []
