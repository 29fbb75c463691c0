"""A source that only keeps the line alive is idle: the limit is between events. The clock of these tests jumps; nobody waits."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from gate_runs import allow_all
from patience import run_patiently
from penstock import ALLOW, BlockReader, LimitExceeded, Limits, Policy, StreamTimeout
from penstock.integrations.guarding import HttpGuard
from processing import process
from wire import DONE, call, finish, frame, sse, text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator

    from feeding import Engine
    from penstock import ToolCall, Verdict
    from penstock.policy import PolicyContext

    Way = Callable[..., Awaitable[str | None]]

COMMENT = b": still here\n\n"
HELLO = sse({**text("Hello"), "id": "1", "model": "m"})
END = sse(finish(), DONE)
BODY = json.dumps(
    {
        "id": "1",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}],
    }
).encode()


async def every(seconds: float, items: Iterable[Any]) -> AsyncIterator[Any]:
    for item in items:
        await asyncio.sleep(seconds)
        yield item


def for_ever(*items: Any) -> Iterator[Any]:
    while True:
        yield from items


async def processed(incoming: Any, **options: Any) -> str | None:
    return await _which(process(incoming, **options))


async def read(incoming: Any, **options: Any) -> str | None:
    return await _which(BlockReader(**options).read(incoming))


async def _which(reading: Awaitable[Any]) -> str | None:
    try:
        await reading
    except StreamTimeout as error:
        return error.which
    return None


async def translated(incoming: Any, **options: Any) -> str | None:
    options = {"source": "openai_chat", **options}
    return await _told(penstock.translate(incoming, target="openai_chat", **options))


async def gated(incoming: Any, **options: Any) -> str | None:
    options = {"source": "openai_chat", **options}
    return await _told(penstock.gate(incoming, allow_all(), target="openai_chat", **options))


async def _told(outs: AsyncIterator[bytes]) -> str | None:
    """The client is told of a timeout, and not which it was; these streams have only the one between events."""
    out = b"".join([out async for out in outs])
    return "chunk" if b"took too long" in out else None


every_way = pytest.mark.parametrize("way", [processed, read, translated, gated])


@every_way
@pytest.mark.parametrize(
    "item",
    [COMMENT, b":\n", b"\n", b":", b"id: 1\n\n", b"event: ping\n\n", b"retry: 1\n"],
    ids=repr,
)
def test_a_source_that_sends_no_event_for_ever_is_idle(way: Way, item: bytes) -> None:
    assert run_patiently(way(every(20, for_ever(item)), total_timeout=None)) == "chunk"


@pytest.mark.parametrize("way", [processed, read, translated])
def test_an_event_without_data_is_none(way: Way) -> None:
    assert run_patiently(way(every(20, for_ever(b"data\n\n")), total_timeout=None)) == "chunk"


@every_way
def test_a_source_that_falls_back_to_comments_is_idle(way: Way) -> None:
    def reads() -> Iterator[bytes]:
        yield HELLO
        yield from for_ever(COMMENT)

    assert run_patiently(way(every(20, reads()), total_timeout=None)) == "chunk"


@every_way
def test_an_event_now_and_then_is_enough(way: Way) -> None:
    reads = [HELLO, COMMENT, COMMENT] * 50 + [END]
    assert run_patiently(way(every(9.9, reads), total_timeout=None)) is None


@every_way
def test_a_part_of_an_event_is_no_event(way: Way) -> None:
    pieces = [HELLO[at : at + 1] for at in range(len(HELLO))]
    assert run_patiently(way(every(20, pieces), total_timeout=None)) == "chunk"
    halves = [HELLO[:20], HELLO[20:]] * 20 + [END]
    assert run_patiently(way(every(14.9, halves), total_timeout=None)) is None


@every_way
def test_a_read_that_ends_one_event_and_begins_another_brings_one(way: Way) -> None:
    wire = HELLO * 40 + END
    reads = [wire[at : at + len(HELLO)] for at in range(10, len(wire), len(HELLO))]
    assert run_patiently(way(every(14.9, [wire[:10], *reads]), total_timeout=None)) is None


@every_way
def test_objects_are_events(way: Way) -> None:
    objects = [text("x")] * 40 + [finish()]
    assert run_patiently(way(every(29, objects), total_timeout=None)) is None


@every_way
def test_a_ping_is_an_event(way: Way) -> None:
    def reads() -> Iterator[bytes]:
        yield frame(json.dumps({"type": "message_start", "message": {"id": "1", "role": "assistant", "content": []}}))
        yield from [frame(json.dumps({"type": "ping"}), "ping")] * 40

    assert run_patiently(way(every(29, reads()), source="anthropic_messages", total_timeout=None)) is None


@every_way
def test_a_source_that_never_lets_the_loop_run_is_idle_as_well(way: Way) -> None:
    def comments() -> Iterator[bytes]:
        while True:
            asyncio.get_running_loop()._jumping.now += 1  # type: ignore[attr-defined]
            yield COMMENT

    assert run_patiently(way(comments(), total_timeout=None)) == "chunk"


def test_the_time_of_the_client_is_not_the_time_of_the_source() -> None:
    async def slow(outs: AsyncIterator[bytes]) -> bytes:
        got = b""
        async for out in outs:
            got += out
            await asyncio.sleep(100)
        return got

    reads = [HELLO, COMMENT, HELLO, COMMENT, END]
    for stream in (
        penstock.translate(every(14.9, reads), source="openai_chat", target="openai_chat", total_timeout=None),
        penstock.gate(every(14.9, reads), allow_all(), source="openai_chat", total_timeout=None),
    ):
        assert b"took too long" not in run_patiently(slow(stream))


def test_a_comment_that_came_while_a_judge_thought_and_the_client_was_slow_is_not_held_against_the_source() -> None:
    class Slow(Policy):
        async def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
            await asyncio.sleep(5)
            return ALLOW

    async def reads() -> AsyncIterator[bytes]:
        yield HELLO + sse(call("{}", index=0, id="call_1", name="f"), text("x"))
        await asyncio.sleep(6)
        yield COMMENT
        await asyncio.sleep(6)
        yield END

    async def main() -> bytes:
        got = b""
        async for out in penstock.gate(reads(), Slow(), source="openai_chat", total_timeout=None):
            got += out
            await asyncio.sleep(100)
        return got

    out = run_patiently(main())
    assert b"took too long" not in out
    assert penstock.check(out, "openai_chat").ended == "finished"


def test_a_body_comes_read_by_read() -> None:
    pieces = [BODY[at : at + 20] for at in range(0, len(BODY), 20)]
    guard = HttpGuard(allow_all(), total_timeout=None)
    answer = run_patiently(guard.body(every(29, pieces), "openai_chat", {}))
    assert (answer.status, answer.failed) == (200, False)
    late = run_patiently(guard.body(every(20, for_ever(b" ")), "openai_chat", {}))
    assert (late.status, late.failed) == (504, True)


# Memory


def test_comment_lines_are_not_kept(engine: Engine) -> None:
    processor = engine.StreamProcessor(emit="nothing", limits=Limits(frame_bytes=1 << 12))
    for _ in range(256):
        processor.feed(COMMENT * 256)
    assert not processor.took_event
    processor.feed(HELLO)
    assert processor.took_event


@pytest.mark.parametrize("line", [b":", b"data: ", b"x"])
def test_a_line_without_an_end_is_bounded_whatever_it_is(engine: Engine, line: bytes) -> None:
    processor = engine.StreamProcessor(emit="nothing", limits=Limits(frame_bytes=1 << 12))
    processor.feed(line + b"x" * ((1 << 12) - len(line)))
    with pytest.raises(LimitExceeded, match="frame_bytes"):
        processor.feed(b"x")


@pytest.mark.parametrize("line", [b": x\n", b"id: 1\n", b"event: x\n", b"unknown: x\n"])
def test_lines_behind_the_beginning_of_an_event_are_bounded(engine: Engine, line: bytes) -> None:
    processor = engine.StreamProcessor(emit="nothing", limits=Limits(frame_bytes=1 << 12))
    processor.feed(b"event: x\n")
    processor.feed(line * 256)
    with pytest.raises(LimitExceeded, match="frame_bytes"):
        processor.feed(line * 1024)
