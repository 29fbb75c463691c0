"""The public processor: what a policy is given, what it can do, and that a processor serves one stream."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from models import FORMS, said
from penstock import ContentStreamBlock, ReentrancyError, StreamClosed, StreamingContext, StreamProcessor
from processing import Source, forward, ignore, process, sent, stream
from splits import SPLITS, Split
from wire import DONE, call, calls, finish, part, sse, text

ANSWER = [
    text("x"),
    text("y"),
    call("", index=0, id="a", name="f"),
    call("{}", index=0),
    call("{}", index=1, id="b", name="g"),
    finish("tool_calls"),
    {"choices": [], "usage": {"prompt_tokens": 1}},
]
IDS = ["content", "a", "b"]


def ids(processor: StreamProcessor) -> list[str]:
    return [block.id for block in processor.state.blocks if block.is_complete]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
async def test_chunks_come_as_objects_and_are_passed_on_as_they_came(form: Any) -> None:
    chunks = [form(each) for each in ANSWER[:-1]]
    received = await sent(stream(chunks))
    assert len(received) == len(chunks)
    assert all(one is other for one, other in zip(received, chunks, strict=True))


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
async def test_objects_of_every_library_give_the_same_blocks(form: Any) -> None:
    processor = await process(stream(form(each) for each in ANSWER[:-1]))
    assert processor.state.blocks == (await process(ANSWER)).state.blocks
    assert ids(processor) == IDS


async def test_chunks_come_as_json_text() -> None:
    context = StreamingContext()
    processor = await process([*map(json.dumps, ANSWER), DONE], forward, context)
    assert (context.sent, ids(processor)) == (ANSWER, IDS)


@pytest.mark.parametrize("split", SPLITS, ids=str)
@pytest.mark.parametrize("read_type", [bytes, bytearray, memoryview])
async def test_reads_come_as_bytes_that_end_anywhere(split: Split, read_type: Any) -> None:
    context = StreamingContext()
    reads = map(read_type, split(sse(*ANSWER, DONE)))
    processor = await process(stream(reads), forward, context)
    assert (context.sent, ids(processor)) == (ANSWER, IDS)


async def test_a_plain_function_will_do_as_a_policy() -> None:
    seen: list[Any] = []
    await process(ANSWER, lambda chunk, state, context: seen.append(chunk))
    assert seen == ANSWER


async def test_a_policy_may_return_any_awaitable() -> None:
    seen: list[Any] = []

    def later(chunk: Any, state: Any, context: Any) -> Any:
        return asyncio.ensure_future(asyncio.to_thread(seen.append, chunk))

    await process(ANSWER, later)
    assert seen == ANSWER


async def test_a_policy_may_be_an_object_that_is_called() -> None:
    class Policy:
        seen = 0

        async def __call__(self, chunk: Any, state: Any, context: Any) -> None:
            self.seen += 1

    policy = Policy()
    await process(ANSWER, policy)
    assert policy.seen == len(ANSWER)


async def test_the_callback_can_be_given_by_position_and_is_kept_as_on_chunk() -> None:
    assert StreamProcessor(ignore).on_chunk is ignore


async def test_the_policy_sees_one_state_and_the_very_blocks_that_are_in_it() -> None:
    seen: list[Any] = []

    async def look(chunk: Any, state: Any, context: Any) -> None:
        assert state is processor.state
        if state.just_completed:
            position = [block.id for block in state.blocks].index(state.just_completed.id)
            assert state.just_completed is state.blocks[position]
            assert state.just_completed is state.objects[state.just_completed.id]
        seen.append((state.just_completed and state.just_completed.id, state.current_block and state.current_block.id))

    processor = StreamProcessor(on_chunk_callback=look)
    await processor.process(stream(ANSWER), StreamingContext())
    assert seen == [
        (None, "content"),
        (None, "content"),
        ("content", "a"),
        (None, "a"),
        ("a", "b"),
        ("b", None),
        (None, None),
    ]
    assert processor.state.just_completed is None


async def test_just_completed_is_cleared_though_the_policy_took_its_time() -> None:
    completed: list[Any] = []

    async def look(chunk: Any, state: Any, context: Any) -> None:
        await asyncio.sleep(0)
        completed.append(state.just_completed and state.just_completed.id)

    await process([sse(*ANSWER, DONE)], look)
    assert completed == [None, None, "content", None, "a", "b", None]


async def test_a_chunk_that_completes_several_blocks_comes_in_pieces_that_complete_one_each() -> None:
    both = calls(part("{}", index=0, id="a", name="f"), part("{}", index=1, id="b", name="g"))
    both["choices"][0]["delta"]["content"] = "x"
    both["choices"][0]["finish_reason"] = "tool_calls"
    completed: list[Any] = []
    await process([both], lambda chunk, state, context: completed.append(state.just_completed.id))
    assert completed == IDS


async def test_before_the_stream_the_state_is_empty() -> None:
    state = StreamProcessor(ignore).state
    assert (state.blocks, state.current_block, state.just_completed, state.finish_reason) == ([], None, None, None)


async def test_a_stream_without_chunks_never_calls_the_policy() -> None:
    assert await sent([]) == []


async def test_an_answer_in_reads_of_one_byte_is_text() -> None:
    processor = await process(bytes([each]) for each in sse(text("Võrtsjärv"), finish()))
    assert processor.state.blocks == [ContentStreamBlock("content", is_complete=True, content="Võrtsjärv")]


async def test_empty_content_in_the_tool_phase_is_not_shown_and_the_callers_chunk_is_left_alone() -> None:
    theirs = call("{}", index=0, id="a", name="f")
    theirs["choices"][0]["delta"]["content"] = ""
    [received, _] = await sent([theirs, finish("tool_calls")])
    assert "content" not in said(received)["choices"][0]["delta"]
    assert theirs["choices"][0]["delta"]["content"] == ""


# What a policy does to the stream.


async def test_after_terminate_the_policy_is_not_called_again_even_within_one_read() -> None:
    seen: list[Any] = []

    def stop_at_second(chunk: Any, state: Any, context: StreamingContext) -> None:
        seen.append(chunk)
        if len(seen) == 2:
            context.terminate()

    processor = await process([sse(*ANSWER, DONE)], stop_at_second)
    assert seen == ANSWER[:2]
    assert processor.state.blocks[0].content == "xy"
    assert processor.state.finish_reason is None


async def test_after_terminate_nothing_can_be_sent() -> None:
    async def send_after_terminate(chunk: Any, state: Any, context: StreamingContext) -> None:
        await context.send("last")
        context.terminate()
        await context.send("too late")

    source, context = Source(ANSWER), StreamingContext()
    with pytest.raises(StreamClosed, match=r"\Anothing can be sent: the stream was terminated\Z"):
        await process(source, send_after_terminate, context)
    assert (context.sent, context.terminated, source.closed) == (["last"], True, 1)


async def test_with_a_context_that_is_terminated_nothing_is_read() -> None:
    source, context = Source(ANSWER), StreamingContext()
    context.terminate()
    await process(source, forward, context)
    assert (source.read, source.closed, context.sent) == ([], 1, [])


async def test_another_task_may_end_the_stream_while_it_waits() -> None:
    queue: asyncio.Queue[Any] = asyncio.Queue()
    context = StreamingContext()
    reading = asyncio.create_task(process(queue, forward, context))
    await asyncio.sleep(0)
    context.terminate()
    queue.put_nowait(text("x"))
    await reading
    assert context.sent == []


async def test_a_terminated_stream_is_no_interrupted_one_even_in_strict_mode() -> None:
    processor = await process(ANSWER, lambda chunk, state, context: context.terminate(), strict=True)
    assert not processor.state.interrupted


async def test_a_policy_may_keep_what_it_likes_on_the_context() -> None:
    context = StreamingContext()

    async def count(chunk: Any, state: Any, context: Any) -> None:
        context.count = getattr(context, "count", 0) + 1

    await process(ANSWER, count, context)
    assert context.count == len(ANSWER)


async def test_what_is_sent_goes_to_a_queue() -> None:
    sink: asyncio.Queue[Any] = asyncio.Queue()
    await process(ANSWER, forward, StreamingContext(sink))
    assert [sink.get_nowait() for _ in ANSWER] == ANSWER


async def test_what_is_sent_goes_to_a_function_sync_or_async() -> None:
    received: list[Any] = []

    async def receive(chunk: Any) -> None:
        await asyncio.sleep(0)
        received.append(chunk)

    await process(ANSWER, forward, StreamingContext(receive))
    await process(ANSWER, forward, StreamingContext(received.append))
    assert received == ANSWER * 2


async def test_a_full_queue_holds_the_source_back() -> None:
    source, sink = Source(ANSWER), asyncio.Queue[Any](maxsize=1)
    reading = asyncio.create_task(process(source, forward, StreamingContext(sink)))
    await asyncio.sleep(0)
    assert len(source.read) == 2
    assert [await sink.get() for _ in ANSWER] == ANSWER
    await reading


def test_a_sink_that_cannot_take_anything_is_refused_in_one_line() -> None:
    with pytest.raises(TypeError, match=r"\Asink must be a function, an asyncio.Queue or None, not int\Z"):
        StreamingContext(5)


# One processor, one stream.


async def test_a_processor_that_has_had_its_stream_takes_no_other() -> None:
    processor = await process(ANSWER)
    source = Source(ANSWER)
    with pytest.raises(
        StreamClosed, match=r"\Athis processor has had its stream; make one processor for each stream\Z"
    ):
        await processor.process(source, StreamingContext())
    assert (source.read, len(processor.state.blocks)) == ([], 3)


async def test_a_processor_whose_stream_failed_takes_no_other() -> None:
    processor = StreamProcessor(ignore)
    with pytest.raises(TypeError):
        await processor.process([5], StreamingContext())
    with pytest.raises(StreamClosed):
        await processor.process(ANSWER, StreamingContext())


BUSY = r"\Athis processor is busy with a stream; make one processor for each stream\Z"


async def test_two_tasks_cannot_share_a_processor() -> None:
    processor, queue = StreamProcessor(ignore), asyncio.Queue[Any]()
    first = asyncio.create_task(processor.process(queue, StreamingContext()))
    await asyncio.sleep(0)
    with pytest.raises(ReentrancyError, match=BUSY):
        await processor.process(ANSWER, StreamingContext())
    for each in [*ANSWER, None]:
        queue.put_nowait(each)
    await first
    assert ids(processor) == IDS


async def test_a_policy_cannot_use_the_processor_that_calls_it() -> None:
    async def reenter(chunk: Any, state: Any, context: StreamingContext) -> None:
        await processor.process(ANSWER, context)

    processor = StreamProcessor(reenter)
    with pytest.raises(ReentrancyError, match=BUSY):
        await processor.process(ANSWER, StreamingContext())


async def test_many_processors_run_side_by_side_without_sharing_anything() -> None:
    async def slow(chunk: Any, state: Any, context: StreamingContext) -> None:
        await asyncio.sleep(0)

    texts = [str(number) for number in range(20)]
    streams = ([text(each), text(each), finish()] for each in texts)
    processors = await asyncio.gather(*(process(each, slow) for each in streams))
    assert [each.state.blocks[0].content for each in processors] == [each * 2 for each in texts]
