"""The two timeouts of a stream. The clock of these tests jumps; nobody waits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from patience import run_patiently
from penstock import StreamingContext, StreamTimeout
from processing import Source, forward, process
from wire import finish, text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


async def every(seconds: float, *chunks: Any) -> AsyncIterator[Any]:
    for chunk in chunks:
        await asyncio.sleep(seconds)
        yield chunk


async def never() -> AsyncIterator[Any]:
    yield text("x")
    await asyncio.get_running_loop().create_future()


def timeout_of(incoming: Any, on_chunk: Any = forward, **options: Any) -> StreamTimeout:
    with pytest.raises(StreamTimeout) as raised:
        run_patiently(process(incoming, on_chunk, **options))
    return raised.value


def test_a_chunk_may_take_30_seconds_by_default() -> None:
    run_patiently(process(every(29.9, text("x"), finish())))
    error = timeout_of(every(30.1, text("x"), finish()))
    assert (error.which, error.seconds) == ("chunk", 30.0)
    assert str(error) == "no chunk came within 30 s"


def test_a_whole_stream_may_take_ten_minutes_by_default() -> None:
    run_patiently(process(every(29.9, *[text("x")] * 19, finish())))
    error = timeout_of(every(29.9, *[text("x")] * 20, finish()))
    assert (error.which, error.seconds) == ("total", 600.0)
    assert str(error) == "the stream did not end within 600 s"


def test_a_source_that_falls_silent_times_out() -> None:
    assert timeout_of(never(), chunk_timeout=0.01).which == "chunk"
    assert timeout_of(never(), chunk_timeout=None, total_timeout=0.01).which == "total"


async def test_a_real_clock_times_out_too() -> None:
    with pytest.raises(StreamTimeout) as raised:
        await process(never(), chunk_timeout=0.01)
    assert raised.value.which == "chunk"


@pytest.mark.parametrize("seconds", [None, float("inf")])
def test_a_timeout_can_be_switched_off(seconds: float | None) -> None:
    stream = every(100_000, text("x"), finish())
    processor = run_patiently(process(stream, chunk_timeout=seconds, total_timeout=seconds))
    assert processor.state.finish_reason == "stop"


def test_either_timeout_can_be_switched_off_alone() -> None:
    run_patiently(process(every(500, text("x")), chunk_timeout=None))
    run_patiently(process(every(20, *[text("x")] * 100), total_timeout=None))


async def ponder(chunk: Any, state: Any, context: Any) -> None:
    await asyncio.sleep(100)


def test_the_time_of_the_policy_is_not_the_time_of_the_source() -> None:
    processor = run_patiently(process(every(29.9, text("x"), text("y"), finish()), ponder))
    assert processor.state.blocks[0].content == "xy"


def test_the_time_of_the_policy_counts_for_the_whole() -> None:
    assert timeout_of(every(0, *[text("x")] * 10), ponder).which == "total"


def test_the_wait_for_the_end_of_the_source_counts_too() -> None:
    async def lingering() -> AsyncIterator[Any]:
        yield finish()
        await asyncio.sleep(31)

    assert timeout_of(lingering()).which == "chunk"


def test_a_source_that_never_lets_the_loop_run_ends_with_the_whole_time() -> None:
    def endless() -> Iterator[Any]:
        while True:
            yield text("x")

    async def run() -> None:
        loop = asyncio.get_running_loop()

        def work(chunk: Any, state: Any, context: Any) -> None:
            loop._jumping.now += 1  # the second that its work takes

        await process(endless(), work, total_timeout=10)

    with pytest.raises(StreamTimeout, match="within 10 s"):
        run_patiently(run())


def test_the_source_is_closed_after_a_timeout() -> None:
    class Silent(Source):
        async def __anext__(self) -> Any:
            return await asyncio.get_running_loop().create_future()

    source = Silent([])
    timeout_of(source)
    assert source.closed == 1


def test_a_timeout_is_a_timeout_error_for_those_who_know_no_other() -> None:
    assert isinstance(timeout_of(never()), TimeoutError)


def test_a_timeout_of_the_policy_is_its_own() -> None:
    async def hasty(chunk: Any, state: Any, context: Any) -> None:
        async with asyncio.timeout(1):
            await asyncio.sleep(2)

    with pytest.raises(TimeoutError) as raised:
        run_patiently(process([text("x")], hasty))
    assert not isinstance(raised.value, StreamTimeout)


def test_a_timeout_around_the_processor_is_the_callers() -> None:
    async def run() -> None:
        async with asyncio.timeout(5):
            await process(never())

    with pytest.raises(TimeoutError) as raised:
        run_patiently(run())
    assert not isinstance(raised.value, StreamTimeout)


def test_what_came_before_a_timeout_was_delivered() -> None:
    context = StreamingContext()
    with pytest.raises(StreamTimeout):
        run_patiently(process(never(), forward, context))
    assert context.sent == [text("x")]


@pytest.mark.parametrize("name", ["chunk_timeout", "total_timeout"])
@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "30", True])
def test_a_timeout_that_is_no_time_is_refused_in_one_line(name: str, seconds: Any) -> None:
    with pytest.raises(ValueError, match=rf"\A{name} must be a positive number of seconds, or None, not .*\Z"):
        run_patiently(process([], **{name: seconds}))
