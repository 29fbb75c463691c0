"""What users of the public functions notice of streams that are cut, damaged, too large or in error."""

from __future__ import annotations

import logging
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from penstock import (
    BlockReader,
    LimitExceeded,
    Limits,
    ProtocolError,
    StreamChunkAggregator,
    StreamingContext,
    StreamInterrupted,
    StreamProcessor,
    UpstreamError,
    aggregate,
    aggregate_async,
    collect_sync,
)
from processing import Source, forward, ignore, process, stream
from wire import DONE, call, finish, sse, text

if TYPE_CHECKING:
    from collections.abc import Callable

CUT = [text("x"), call('{"a', index=0, id="a", name="f")]
SECRET = "hunter2"
BROKEN = f'{{"choices": "{SECRET}'
ERROR = {"error": {"message": "overloaded", "code": 529}}


async def processed(items: list[Any], **options: Any) -> Any:
    return (await process(items, **options)).state


async def aggregated(items: list[Any], **options: Any) -> Any:
    return aggregate(items, **options).state


async def aggregated_async(items: list[Any], **options: Any) -> Any:
    return (await aggregate_async(stream(items), **options)).state


async def read_in_blocks(items: list[Any], **options: Any) -> Any:
    reader = BlockReader(**options)
    await reader.read(items)
    return reader.state


READERS = {
    "process": processed,
    "aggregate": aggregated,
    "aggregate_async": aggregated_async,
    "BlockReader": read_in_blocks,
}


@pytest.fixture(params=READERS.values(), ids=READERS)
def read(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Each public function that reads a whole stream."""
    return request.param


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    assert all(record.name == "penstock" and record.levelno == logging.WARNING for record in caplog.records)
    return [record.getMessage() for record in caplog.records]


# Interrupted.


@pytest.mark.parametrize("items", [CUT, [sse(*CUT)], [sse(*CUT)[:-9]], []], ids=["objects", "bytes", "cut", "nothing"])
async def test_a_cut_stream_is_interrupted_and_no_error(read: Any, items: list[Any]) -> None:
    state = await read(items)
    assert state.interrupted
    assert state.finish_reason is None


@pytest.mark.parametrize(
    ("items", "source", "read_as"),
    [
        (CUT, "auto", "openai_chat"),
        ([sse({"type": "message_stop"})], "openai_chat", "openai_chat"),
        ([b"<html><body>502 Bad Gateway</body></html>"], "auto", "no format that could be told"),
    ],
)
async def test_a_stream_without_a_finish_is_logged_once(
    read: Any, items: list[Any], source: str, read_as: str, caplog: pytest.LogCaptureFixture
) -> None:
    await read(items, source=source)
    assert warnings_of(caplog) == [f"the stream ended without a finish, read as {read_as}"]


async def test_everything_that_a_cut_stream_had_is_delivered_and_its_last_block_is_not_complete() -> None:
    context = StreamingContext()
    processor = await process([sse(*CUT)], forward, context)
    assert context.sent == CUT
    assert [(block.id, block.is_complete) for block in processor.state.blocks] == [("content", True), ("a", False)]


async def test_a_cut_stream_is_an_error_in_strict_mode(read: Any) -> None:
    with pytest.raises(StreamInterrupted, match=r"\Athe stream ended without a finish\Z"):
        await read(CUT, strict=True)


async def test_what_a_cut_stream_had_is_delivered_in_strict_mode_before_the_error() -> None:
    source, context = Source(CUT), StreamingContext()
    with pytest.raises(StreamInterrupted):
        await process(source, forward, context, strict=True)
    assert (context.sent, source.closed) == (CUT, 1)


async def test_the_terminator_is_an_end_without_a_reason(read: Any) -> None:
    state = await read([sse(text("x"), DONE)], strict=True)
    assert (state.interrupted, state.finish_reason) == (False, None)


# Malformed.


async def test_a_malformed_chunk_is_skipped_counted_and_logged_once(
    read: Any, caplog: pytest.LogCaptureFixture
) -> None:
    reads = [sse(text("a")), sse(BROKEN, text("b")), sse(finish())]
    state = await read(reads)
    assert (state.blocks[0].content, state.quirks) == ("ab", {"malformed_chunk": 1})
    [message] = warnings_of(caplog)
    assert message.startswith(f"skipped a malformed chunk: invalid_json at {len(reads[0])}")


async def test_text_that_is_taken_for_json_is_told_what_to_do_about_it_once(
    read: Any, caplog: pytest.LogCaptureFixture
) -> None:
    await read(["Hello ", "there", finish()])
    first, second = warnings_of(caplog)
    hint = ' (text alone needs source="text", and server-sent events are fed as bytes)'
    assert (first.endswith(hint), hint in second) == (True, False)


MALFORMED = {
    "not_json": BROKEN,
    "not_utf8": b"data: " + SECRET.encode() + b"\xff\n\n",
    "not_an_object": f'["{SECRET}"]',
    "wrong_type": {"id": [SECRET], "choices": []},
    "wrong_field": {SECRET: SECRET, "choices": SECRET},
}


@pytest.mark.parametrize("item", MALFORMED.values(), ids=MALFORMED)
async def test_the_log_never_has_the_content(read: Any, item: Any, caplog: pytest.LogCaptureFixture) -> None:
    await read([item, text("x"), finish()])
    [message] = warnings_of(caplog)
    assert SECRET not in message


@pytest.mark.parametrize("item", MALFORMED.values(), ids=MALFORMED)
async def test_the_error_of_strict_mode_never_has_the_content(read: Any, item: Any) -> None:
    with pytest.raises(ProtocolError) as raised:
        await read([item], strict=True)
    assert SECRET not in str(raised.value)


async def test_the_position_of_an_object_is_its_number(read: Any, caplog: pytest.LogCaptureFixture) -> None:
    await read([text("x"), {"choices": 5}, "{", finish()])
    assert [message.split(": ")[1] for message in warnings_of(caplog)] == ["wrong_shape at 1", "invalid_json at 2"]


async def test_the_error_of_strict_mode_says_what_and_where(read: Any) -> None:
    good = sse(text("x"))
    with pytest.raises(ProtocolError) as raised:
        await read([good, sse(BROKEN)], strict=True)
    assert (raised.value.kind, raised.value.offset) == ("invalid_json", len(good))
    assert str(raised.value).startswith(f"invalid_json at {len(good)}")


async def test_a_deviation_that_is_put_right_is_an_error_in_strict_mode(read: Any) -> None:
    late = [text("x"), finish(), text("y")]
    assert (await read(late)).quirks == {"late_text": 1}
    with pytest.raises(ProtocolError) as raised:
        await read(late, strict=True)
    assert (raised.value.kind, raised.value.offset) == ("late_text", 2)


async def test_a_malformed_chunk_never_reaches_the_policy() -> None:
    context = StreamingContext()
    await process([sse(text("x"), BROKEN, finish())], forward, context)
    assert context.sent == [text("x"), finish()]


@pytest.mark.parametrize("ends", ["terminate", "fail"])
async def test_a_malformed_chunk_is_logged_even_if_the_policy_ends_the_stream_behind_it(
    ends: str, caplog: pytest.LogCaptureFixture
) -> None:
    def policy(chunk: Any, state: Any, context: StreamingContext) -> None:
        context.terminate()
        if ends == "fail":
            raise ValueError(ends)

    with pytest.raises(ValueError, match="fail") if ends == "fail" else caplog.at_level(0):
        await process([sse(BROKEN, text("x"))], policy)
    assert len(warnings_of(caplog)) == 1


def test_the_aggregator_logs_a_malformed_chunk_when_it_gets_it(caplog: pytest.LogCaptureFixture) -> None:
    aggregator = StreamChunkAggregator()
    aggregator.capture_chunk(text("x"))
    aggregator.capture_chunk("{")
    assert [message.split(": ")[1] for message in warnings_of(caplog)] == ["invalid_json at 1"]
    aggregator.capture_chunk(text("y"))
    assert (aggregator.get_accumulated_content(), len(caplog.records)) == ("xy", 1)


# Errors of the upstream.


async def test_an_error_inside_the_stream_is_in_the_state(read: Any) -> None:
    state = await read([text("x"), ERROR])
    assert (state.error, state.interrupted) == (ERROR["error"], True)


async def test_an_error_inside_the_stream_is_logged_without_what_it_says(
    read: Any, caplog: pytest.LogCaptureFixture
) -> None:
    await read([text("x"), ERROR])
    assert warnings_of(caplog) == ["the upstream reported an error, which is in the state"]


async def test_the_policy_sees_the_chunk_that_reports_an_error() -> None:
    context = StreamingContext()
    await process([text("x"), ERROR], forward, context)
    assert context.sent == [text("x"), ERROR]


async def test_an_error_inside_the_stream_is_raised_in_strict_mode_when_all_is_delivered(read: Any) -> None:
    with pytest.raises(UpstreamError, match=r"\Athe upstream reported an error: overloaded\Z") as raised:
        await read([text("x"), ERROR], strict=True)
    assert raised.value.error == ERROR["error"]


# Limits.


ONE_CALL = call("[1, 2, 3]", index=0, id="a", name="f")
LIMITS = {
    "frame_bytes": [sse(text("x" * 100))],
    "argument_bytes": [ONE_CALL],
    "blocks": [text("x"), ONE_CALL],
    "calls": [ONE_CALL, call("1", index=1, id="b", name="g")],
    "choices": [text("x"), text("y", 1)],
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("name", "items"), LIMITS.items(), ids=LIMITS)
async def test_reaching_a_limit_is_an_error_that_names_it(read: Any, name: str, items: list[Any], strict: bool) -> None:  # noqa: FBT001 (a parameter, not a choice)
    with pytest.raises(LimitExceeded, match=rf"\Athe stream exceeds the limit {name} = 1\Z") as raised:
        await read(items, limits=Limits(**{name: 1}), strict=strict)
    assert (raised.value.limit, raised.value.allowed) == (name, 1)


async def test_reaching_a_limit_closes_the_source_and_what_came_before_was_delivered() -> None:
    source, context = Source([text("x"), ONE_CALL, finish()]), StreamingContext()
    with pytest.raises(LimitExceeded):
        await process(source, forward, context, limits=Limits(blocks=1))
    assert (context.sent, len(source.read), source.closed) == ([text("x")], 2, 1)


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("value", [0, -1, 1.5, "8", None, True])
def test_a_limit_that_is_no_number_of_things_is_refused_in_one_line(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"\A{name} must be a whole number above 0, not .*\Z"):
        Limits(**{name: value})


@pytest.mark.parametrize("name", [*LIMITS, "held_bytes", "deltas", "tag_bytes"])
def test_a_limit_beyond_what_can_be_counted_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(ValueError, match=rf"\A{name} must be at most {sys.maxsize}, not {2**70}\Z"):
        Limits(**{name: 2**70})
    aggregate([], limits=Limits(**{name: sys.maxsize}))


# Wrong arguments.


MAKERS = {
    "processor": lambda **options: StreamProcessor(ignore, **options),
    "aggregator": StreamChunkAggregator,
    "aggregate": lambda **options: aggregate([], **options),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_options_of_another_type_are_refused_in_one_line(make: Any) -> None:
    with pytest.raises(TypeError, match=r"\Astrict must be True or False, not str\Z"):
        make(strict="yes")
    with pytest.raises(TypeError, match=r"\Alimits must be penstock.Limits or None, not dict\Z"):
        make(limits={"blocks": 1})


def test_a_policy_that_cannot_be_called_is_refused_in_one_line() -> None:
    with pytest.raises(TypeError, match=r"\Aon_chunk_callback must be a function, not dict\Z"):
        StreamProcessor(on_chunk_callback={})


async def test_a_context_that_is_none_is_refused_in_one_line_and_the_processor_can_still_be_used() -> None:
    processor = StreamProcessor(ignore)
    with pytest.raises(TypeError, match=r"\Acontext must be a StreamingContext, not NoneType\Z"):
        await processor.process([finish()], None)
    await processor.process([finish()], StreamingContext())


def test_a_source_that_is_async_is_refused_with_the_name_of_what_takes_it() -> None:
    for read, instead in [(aggregate, "aggregate_async"), (partial(collect_sync, target="openai_chat"), "collect")]:
        with pytest.raises(TypeError) as raised:
            read(stream([]))
        assert str(raised.value) == f"expected an iterable of chunks or reads, not async_generator: use {instead}"


@pytest.mark.parametrize("chunks", [5, None, "{}", b"", {"choices": []}])
def test_what_gives_no_chunks_cannot_be_aggregated(chunks: Any) -> None:
    with pytest.raises(TypeError) as raised:
        aggregate(chunks)
    assert str(raised.value) == f"expected an iterable of chunks or reads, not {type(chunks).__name__}"
