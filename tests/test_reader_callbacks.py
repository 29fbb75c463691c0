"""Callbacks of a reader: plain or async, called in order, and free to raise."""

from __future__ import annotations

import asyncio
import logging
import re
from contextlib import aclosing
from functools import partial
from typing import Any

import pytest

import messages
import wire
from penstock import (
    BlockReader,
    LimitExceeded,
    Limits,
    ProtocolError,
    ReentrancyError,
    StreamClosed,
    StreamInterrupted,
    StreamTimeout,
    UpstreamError,
)
from processing import Source, stream
from reading import READERS, Heard, check, chunks, hear, result_block, start, text_block

ANSWER = [
    wire.text("Let me "),
    wire.text("see."),
    wire.call("{}", index=0, id="c", name="ls"),
    wire.finish("tool_calls"),
]
EXPECTED = hear(BlockReader, ANSWER)


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest) -> type[BlockReader]:
    """The reader on each engine in turn."""
    return READERS[request.param]


class AsyncHeard(Heard):
    """Callbacks that let the loop run before they write down what they got."""

    async def chunk(self, text: str, meta: Any, *, later: bool = False) -> None:
        await asyncio.sleep(0)
        self.items.append((text, meta))

    async def block(self, event: Any) -> None:
        await asyncio.sleep(0)
        self.items.append(event)


async def test_plain_and_async_callbacks_hear_the_same(reader: type[BlockReader]) -> None:
    plain, other = Heard(), AsyncHeard()
    await reader(plain.on_chunk, plain.on_block).read(stream(ANSWER))
    await reader(other.chunk, other.block).read(stream(ANSWER))
    assert plain.items == other.items == EXPECTED


async def test_a_plain_and_an_async_callback_go_together() -> None:
    heard = AsyncHeard()
    await BlockReader(heard.on_chunk, heard.block).read(stream(ANSWER))
    assert heard.items == EXPECTED


async def test_every_kind_of_source_can_be_read() -> None:
    queue: asyncio.Queue[Any] = asyncio.Queue()
    for item in [*ANSWER, None]:
        queue.put_nowait(item)
    for incoming in (ANSWER, iter(ANSWER), stream(ANSWER), queue, [wire.sse(*ANSWER)]):
        heard = Heard()
        await BlockReader(heard.on_chunk, heard.on_block).read(incoming)
        assert heard.items == EXPECTED


def test_one_callback_is_enough() -> None:
    heard = Heard()
    for options in ({"on_chunk": heard.on_chunk}, {"on_block": heard.on_block}):
        reading = BlockReader(**options)
        for item in ANSWER:
            reading.feed(item)
        reading.flush()
    assert sorted(map(repr, heard.items)) == sorted(map(repr, EXPECTED))


def test_a_loop_gets_what_the_callbacks_get(reader: type[BlockReader]) -> None:
    assert list(reader().events(ANSWER)) == EXPECTED


async def test_an_async_loop_gets_what_the_callbacks_get(reader: type[BlockReader]) -> None:
    assert [item async for item in reader().events(stream(ANSWER))] == EXPECTED
    assert [item async for item in reader().events(ANSWER)] == EXPECTED


GIVEN = "the items of this stream have been given: call events() with the source of another"


async def test_the_items_of_a_stream_are_given_once(reader: type[BlockReader]) -> None:
    items, later = reader().events(ANSWER), reader().events(stream(ANSWER))
    assert list(items) == [item async for item in later] == EXPECTED
    for given in (items, later):
        with pytest.raises(StreamClosed, match=rf"\A{re.escape(GIVEN)}\Z"):
            list(given)
        with pytest.raises(StreamClosed, match=rf"\A{re.escape(GIVEN)}\Z"):
            aiter(given)


async def test_a_loop_that_was_closed_or_has_failed_is_not_begun_again() -> None:
    closed, failed = BlockReader().events(ANSWER), BlockReader(strict=True).events([*ANSWER, wire.text("late")])
    async with aclosing(closed):
        pass
    with pytest.raises(ProtocolError):
        list(failed)
    for given in (closed, failed):
        with pytest.raises(StreamClosed):
            list(given)


def test_a_loop_that_was_left_goes_on_where_it_was() -> None:
    items = BlockReader().events(ANSWER)
    for first in items:
        assert first == EXPECTED[0]
        break
    assert list(items) == EXPECTED[1:]


def test_a_loop_over_an_async_source_must_be_async() -> None:
    for source in (stream(ANSWER), asyncio.Queue[Any]()):
        said = f"expected an iterable of chunks or reads, not {type(source).__name__}: use `async for`"
        with pytest.raises(TypeError, match=f"^{said}$"):
            next(iter(BlockReader().events(source)))


def test_a_loop_and_callbacks_exclude_each_other() -> None:
    with pytest.raises(
        ValueError, match=r"^events\(\) gives what the callbacks would get: make the reader without callbacks$"
    ):
        BlockReader(Heard().on_chunk).events(ANSWER)


async def test_leaving_a_loop_closes_the_source() -> None:
    source = Source(list(ANSWER))
    reading = BlockReader()
    async with aclosing(reading.events(source)) as items:
        async for _ in items:
            break
    assert source.closed
    assert len(source.read) == 1
    # The reader is free, and numbers on.
    assert [item async for item in reading.events([wire.text("Hi"), wire.finish()])] == text_block(1, "Hi")


def test_leaving_a_plain_loop_closes_the_source() -> None:
    closed: list[str] = []

    def source() -> Any:
        try:
            yield from ANSWER
        finally:
            closed.append("yes")

    for _ in BlockReader().events(source()):
        break
    assert closed == ["yes"]


async def test_a_reader_goes_on_although_an_async_loop_was_left_without_a_word() -> None:
    reading = BlockReader()
    loop = reading.events(stream(ANSWER))
    async for _ in loop:
        break
    assert [item async for item in reading.events([wire.text("Hi"), wire.finish()])] == text_block(1, "Hi")
    with pytest.raises(StreamClosed):
        async for _ in loop:
            pass


@pytest.mark.parametrize("name", ["on_chunk", "on_block"])
def test_an_async_callback_cannot_be_fed(name: str) -> None:
    heard = AsyncHeard()
    callback = heard.chunk if name == "on_chunk" else heard.block
    reading = BlockReader(**{name: callback})
    message = f"^{name} is async: use `await reader.read\\(...\\)` and `await reader.tool_result_async\\(...\\)`$"
    with pytest.raises(TypeError, match=message):
        reading.feed(ANSWER[0])
    with pytest.raises(TypeError, match=message):
        reading.tool_result("c", "done")
    assert heard.items == []


def test_a_callback_that_turns_out_to_be_async_cannot_be_fed() -> None:
    heard = AsyncHeard()
    reading = BlockReader(lambda *chunk: heard.chunk(*chunk, later=True))
    with pytest.raises(TypeError, match=r"^on_chunk is async: "):
        reading.feed(ANSWER[0])


async def test_a_callable_object_may_be_async() -> None:
    class Speaker:
        def __init__(self) -> None:
            self.said: list[str] = []

        async def __call__(self, text: str, meta: Any) -> None:
            self.said.append(text)

    speaker = Speaker()
    with pytest.raises(TypeError, match=r"^on_chunk is async: "):
        BlockReader(speaker).feed(ANSWER[0])
    await BlockReader(speaker).read(stream(ANSWER))
    assert speaker.said == [text for text, _ in chunks(EXPECTED)]


def fail(message: str, *_: Any) -> None:
    raise RuntimeError(message)


@pytest.mark.parametrize("name", ["on_chunk", "on_block"])
async def test_a_callback_that_raises_closes_the_source(name: str) -> None:
    source = Source(list(ANSWER))
    reading = BlockReader(**{name: partial(fail, "enough")})
    with pytest.raises(RuntimeError, match=r"^enough$"):
        await reading.read(source)
    assert source.closed
    assert len(source.read) == 1


async def test_a_reader_that_is_cancelled_closes_the_source() -> None:
    source = Source(list(ANSWER))

    async def wait(text: str, meta: Any) -> None:
        await asyncio.sleep(60)

    task = asyncio.create_task(BlockReader(wait).read(source))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert source.closed


def test_a_stream_whose_callback_raised_is_broken_until_it_is_ended() -> None:
    heard = Heard()
    reading = BlockReader(partial(fail, "enough"), heard.on_block)
    with pytest.raises(RuntimeError, match=r"^enough$"):
        reading.feed(ANSWER[0])
    with pytest.raises(
        StreamClosed, match=r"^the stream broke off: flush\(\) ends it, and what is fed then is a new stream$"
    ):
        reading.feed(ANSWER[1])
    assert reading.flush().items == []
    with pytest.raises(RuntimeError, match=r"^enough$"):
        reading.feed(ANSWER[1])
    assert [event.index for event in heard.items] == [0, 1]


def test_what_an_item_brings_before_a_callback_raises_is_not_brought_again() -> None:
    heard: list[str] = []

    def once(text: str, meta: Any) -> None:
        heard.append(text)
        if len(heard) == 1:
            fail("enough")

    reading = BlockReader(once)
    with pytest.raises(RuntimeError):
        reading.feed(wire.sse(*ANSWER))
    reading.flush()
    reading.feed(ANSWER[1])
    assert heard == ["Let me ", "see."]


def test_a_callback_cannot_feed_its_own_reader() -> None:
    reading = BlockReader(lambda text, meta: reading.feed(ANSWER[1]) and None)
    with pytest.raises(
        ReentrancyError, match=r"^the reader is busy: it was called again before the last call returned"
    ):
        reading.feed(ANSWER[0])


async def test_two_streams_at_once_are_one_too_many() -> None:
    reading = BlockReader()
    first = asyncio.create_task(reading.read(asyncio.Queue()))
    await asyncio.sleep(0)
    with pytest.raises(ReentrancyError):
        await reading.read(ANSWER)
    with pytest.raises(ReentrancyError):
        reading.feed(ANSWER[0])
    with pytest.raises(ReentrancyError):
        reading.flush()
    first.cancel()


async def test_a_source_that_is_too_slow_ends_in_a_timeout() -> None:
    with pytest.raises(StreamTimeout) as raised:
        await BlockReader(chunk_timeout=0.01).read(asyncio.Queue())
    assert raised.value.which == "chunk"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"on_chunk": 1}, TypeError, "on_chunk must be a function, not int"),
        ({"on_block": "x"}, TypeError, "on_block must be a function, not str"),
        ({"source": None}, TypeError, 'source must be the name of a wire format or "auto", not NoneType'),
        ({"strict": 1}, TypeError, "strict must be True or False, not int"),
        (
            {"tags": {}},
            TypeError,
            "tags must be the name of a vocabulary, a TagVocabulary, or a list of them, not dict",
        ),
        ({"limits": {}}, TypeError, "limits must be penstock.Limits or None, not dict"),
        ({"chunk_timeout": 0}, ValueError, "chunk_timeout must be a positive number of seconds, or None, not 0"),
    ],
)
def test_a_wrong_argument_gets_one_clear_line(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        BlockReader(**options)
    assert str(raised.value) == message


def test_a_source_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match=r'^source must be "auto", .*, not "x"$'):
        BlockReader(source="x")  # pyright: ignore[reportArgumentType]


def test_an_item_that_is_nothing_is_refused_and_the_stream_goes_on() -> None:
    heard = Heard()
    reading = BlockReader(heard.on_chunk, heard.on_block)
    reading.feed(ANSWER[0])
    with pytest.raises(
        TypeError,
        match=r"^expected bytes of server-sent events, or a chunk as JSON text, dict or model object, not int$",
    ):
        reading.feed(1)
    for item in ANSWER[1:]:
        reading.feed(item)
    reading.flush()
    assert heard.items == EXPECTED


def test_a_stream_that_was_cut_leaves_its_block_open(reader: type[BlockReader]) -> None:
    heard = Heard()
    reading = reader(heard.on_chunk, heard.on_block)
    reading.feed(ANSWER[0])
    assert reading.flush().items == []
    assert heard.items == text_block(0, "Let me ")[:2]
    assert reading.state.interrupted
    reading.tool_result("c", "done")
    assert heard.items[2:] == result_block(1, "c", "done")
    check(heard.items, is_cut=True)


def test_strict_mode_says_that_a_stream_was_cut(reader: type[BlockReader]) -> None:
    reading = reader(strict=True)
    reading.feed(ANSWER[0])
    with pytest.raises(StreamInterrupted):
        reading.flush()
    # That stream is over.
    assert reading.feed(wire.text("Hi"))[0] == start(1, "text")


async def test_strict_mode_says_what_the_upstream_said() -> None:
    with pytest.raises(UpstreamError):
        await BlockReader(strict=True).read([ANSWER[0], {"error": {"message": "overloaded"}}])


def test_what_came_before_an_error_in_the_same_read_is_heard(reader: type[BlockReader]) -> None:
    heard = Heard()
    reading = reader(heard.on_chunk, heard.on_block, strict=True)
    with pytest.raises(ProtocolError):
        reading.feed(wire.sse(ANSWER[0], "{"))
    assert heard.items == text_block(0, "Let me ")[:2]
    with pytest.raises(StreamClosed):
        reading.feed(ANSWER[1])


def test_what_came_before_an_error_is_given_to_a_loop(reader: type[BlockReader]) -> None:
    given: list[Any] = []
    with pytest.raises(LimitExceeded):
        given.extend(reader(limits=Limits(blocks=1)).events([wire.sse(*ANSWER)]))
    assert given == text_block(0, "Let me ", "see.")[:-1]


def test_a_malformed_chunk_is_skipped_and_told_to_the_log(
    reader: type[BlockReader], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "penstock"):
        items = hear(reader, [wire.sse(ANSWER[0], "{"), *ANSWER[1:]])
    assert items == EXPECTED
    assert [record.message[:27] for record in caplog.records] == ["skipped a malformed chunk: "]


def test_the_state_is_that_of_the_stream_that_is_read() -> None:
    reading = BlockReader()
    state = reading.state
    reading.feed(ANSWER[0])
    assert reading.state is state
    assert state.current_block is state.blocks[0]
    reading.flush()
    assert reading.state is state
    reading.feed({**messages.body({"type": "text", "text": "Hi"})})
    assert reading.state is not state
    assert reading.source == "anthropic_messages"
