"""Where chunks come from, and that each source is closed however its stream ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from penstock import StreamingContext, aggregate_async
from processing import Source, forward, ignore, process, sent, stream
from wire import finish, text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

CHUNKS = [text("x"), text("y"), finish()]


def queue_of(*items: Any) -> asyncio.Queue[Any]:
    queue: asyncio.Queue[Any] = asyncio.Queue()
    for item in items:
        queue.put_nowait(item)
    return queue


class AsyncIterable:
    def __aiter__(self) -> AsyncIterator[Any]:
        return stream(CHUNKS)


SOURCES = {
    "async_generator": lambda: stream(CHUNKS),
    "async_iterator": lambda: Source(CHUNKS),
    "async_iterable": AsyncIterable,
    "list": lambda: CHUNKS,
    "generator": lambda: (each for each in CHUNKS),
    "queue_ended_by_none": lambda: queue_of(*CHUNKS, None),
}


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
async def test_every_kind_of_source_is_read_to_its_end(make: Any) -> None:
    assert await sent(make()) == CHUNKS


async def test_a_queue_may_be_filled_while_it_is_read() -> None:
    queue: asyncio.Queue[Any] = asyncio.Queue(maxsize=1)

    async def produce() -> None:
        for item in [*CHUNKS, None]:
            await queue.put(item)

    _, received = await asyncio.gather(produce(), sent(queue))
    assert received == CHUNKS


async def test_nothing_behind_the_none_of_a_queue_is_read() -> None:
    queue = queue_of(*CHUNKS, None, text("z"))
    assert await sent(queue) == CHUNKS
    assert queue.get_nowait() == text("z")


@pytest.mark.skipif(not hasattr(asyncio, "QueueShutDown"), reason="queues can be shut down since Python 3.13")
async def test_a_queue_that_is_shut_down_is_a_stream_that_is_over() -> None:
    queue = queue_of(*CHUNKS)
    queue.shutdown()
    assert await sent(queue) == CHUNKS


@pytest.mark.skipif(not hasattr(asyncio, "QueueShutDown"), reason="queues can be shut down since Python 3.13")
async def test_a_queue_may_be_shut_down_while_it_is_waited_for() -> None:
    queue: asyncio.Queue[Any] = asyncio.Queue()
    reading = asyncio.create_task(process(queue))
    await asyncio.sleep(0)
    queue.shutdown()
    assert (await reading).state.interrupted


@pytest.mark.parametrize("incoming", [5, None, "data: {}", b"data: {}", bytearray(), memoryview(b""), {"choices": []}])
async def test_what_gives_no_chunks_is_refused_in_one_line(incoming: Any) -> None:
    with pytest.raises(TypeError) as raised:
        await process(incoming)
    assert str(raised.value) == f"expected an iterable of chunks or reads, not {type(incoming).__name__}"


@pytest.mark.parametrize("item", [None, 5, ["choices"], object()])
async def test_an_item_that_is_no_chunk_is_refused_in_one_line_and_closes_the_source(item: Any) -> None:
    source = Source([item])
    with pytest.raises(TypeError, match=rf"\Aexpected bytes of .*, not {type(item).__name__}\Z"):
        await process(source)
    assert source.closed == 1


def terminate(chunk: Any, state: Any, context: StreamingContext) -> None:
    context.terminate()


class PolicyError(Exception):
    pass


def fail(chunk: Any, state: Any, context: StreamingContext) -> None:
    raise PolicyError


async def test_a_source_is_closed_once_when_it_is_at_its_end() -> None:
    source = Source(CHUNKS)
    await process(source)
    assert (source.read, source.closed) == (CHUNKS, 1)


async def test_terminate_closes_the_source_and_reads_no_more() -> None:
    source = Source(CHUNKS)
    await process(source, terminate)
    assert (source.read, source.closed) == (CHUNKS[:1], 1)


async def test_an_exception_in_the_policy_closes_the_source_and_reads_no_more() -> None:
    source = Source(CHUNKS)
    with pytest.raises(PolicyError):
        await process(source, fail)
    assert (source.read, source.closed) == (CHUNKS[:1], 1)


async def test_an_exception_in_the_source_goes_to_the_caller_and_closes_it() -> None:
    class Broken(Source):
        async def __anext__(self) -> Any:
            if self.read:
                msg = "connection reset"
                raise ConnectionError(msg)
            return await super().__anext__()

    source = Broken(CHUNKS)
    context = StreamingContext()
    with pytest.raises(ConnectionError, match="connection reset"):
        await process(source, forward, context)
    assert (context.sent, source.closed) == (CHUNKS[:1], 1)


async def wait_for_ever(chunk: Any, state: Any, context: Any) -> None:
    await asyncio.get_running_loop().create_future()


class Silent(Source):
    async def __anext__(self) -> Any:
        return await asyncio.get_running_loop().create_future()


@pytest.mark.parametrize(
    ("source", "policy"),
    [(Source(CHUNKS), wait_for_ever), (Silent(CHUNKS), ignore)],
    ids=["in_the_policy", "in_the_source"],
)
async def test_cancellation_closes_the_source_and_leaves_no_task_behind(source: Source, policy: Any) -> None:
    before = asyncio.all_tasks()
    task = asyncio.create_task(process(source, policy))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert source.closed == 1
    assert asyncio.all_tasks() == before


async def test_the_policy_is_awaited_in_the_task_of_the_caller() -> None:
    tasks: list[Any] = []

    async def note_task(chunk: Any, state: Any, context: Any) -> None:
        tasks.append(asyncio.current_task())
        await asyncio.sleep(0)

    before = asyncio.all_tasks()
    await process(stream(CHUNKS), note_task)
    assert tasks == [asyncio.current_task()] * 3
    assert asyncio.all_tasks() == before


async def test_an_async_generator_gets_to_clean_up() -> None:
    log: list[str] = []

    async def connected() -> AsyncIterator[Any]:
        try:
            for chunk in CHUNKS:
                yield chunk
        finally:
            await asyncio.sleep(0)
            log.append("connection given back")

    await process(connected(), terminate)
    assert log == ["connection given back"]


async def test_a_generator_gets_to_clean_up() -> None:
    log: list[str] = []

    def connected() -> Iterator[Any]:
        try:
            yield from CHUNKS
        finally:
            log.append("connection given back")

    generator = connected()
    await process(generator, terminate)
    assert log == ["connection given back"]


class Response:
    """Made like the streams of SDKs: iterating and closing are two objects' work."""

    def __init__(self) -> None:
        self.closed = 0
        self.iterator = Source(CHUNKS)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self.iterator

    async def close(self) -> None:
        self.closed += 1


async def test_a_response_is_closed_with_its_iterator() -> None:
    response = Response()
    await process(response, terminate)
    assert (response.iterator.closed, response.closed) == (1, 1)


async def test_a_response_is_closed_even_if_its_iterator_cannot_be() -> None:
    class Stuck(Source):
        async def aclose(self) -> None:
            msg = "already gone"
            raise ConnectionError(msg)

    response = Response()
    response.iterator = Stuck(CHUNKS)
    with pytest.raises(ConnectionError, match="already gone"):
        await process(response)
    assert response.closed == 1


async def test_a_response_with_a_plain_close_is_closed() -> None:
    class Plain:
        closed = 0

        def __iter__(self) -> Iterator[Any]:
            return iter(CHUNKS)

        def close(self) -> None:
            self.closed += 1

    response = Plain()
    await process(response)
    assert response.closed == 1


async def test_aggregation_closes_its_source_too() -> None:
    source = Source([*CHUNKS, 5])
    with pytest.raises(TypeError):
        await aggregate_async(source)
    assert source.closed == 1
