"""The state of a stream: what a policy can look at, and when."""

from __future__ import annotations

import copy
import pickle
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

import feeding
from penstock.blocks import ContentStreamBlock, ToolCallStreamBlock
from penstock.errors import PenstockError
from replay import replayed, shown
from watching import watch
from wire import DONE, call, calls, choice, chunk, delta, finish, part, sse, text

if TYPE_CHECKING:
    from feeding import Engine, Way
    from wire import Chunk

A = part('{"a":1}', index=0, id="a", name="f")
B = part('{"b":1}', index=1, id="b", name="f")


def test_the_stream_goes_on_by_one_chunk_each_time_the_iterator_is_advanced(engine: Engine) -> None:
    processor = engine.StreamProcessor()
    state = processor.state
    chunks = iter(processor.feed(sse(text("x"), text("y"), calls(A, B), finish("tool_calls"))))
    assert state.blocks == []
    seen: list[Any] = []
    for _ in chunks:
        completed = state.just_completed
        seen.append((completed and completed.id, [block.id for block in state.blocks], state.blocks[0].content))
    assert seen == [
        (None, ["content"], "x"),
        (None, ["content"], "xy"),
        ("content", ["content", "a"], "xy"),
        ("a", ["content", "a", "b"], "xy"),
        ("b", ["content", "a", "b"], "xy"),
    ]
    assert state.just_completed is None


def test_the_current_block_is_the_one_touched_last_over_all_choices(engine: Engine, way: Way) -> None:
    chunks = [
        delta(role="assistant"),
        text("x"),
        text("y", 1),
        text("z"),
        calls(A, index=1),
        finish(index=0),
        finish(index=1),
        {"choices": [], "usage": {"prompt_tokens": 1}},
    ]
    current = [each.current for each in watch(engine, way.items(chunks))]
    assert current == [None, "content", "content_1", "content", "a", "a", None, None]


def test_there_is_no_current_block_once_the_one_touched_last_is_complete(engine: Engine, way: Way) -> None:
    chunks = [text("x", 1), text("y"), finish(index=0), text("z", 1)]
    assert [each.current for each in watch(engine, way.items(chunks))] == ["content", "content_1", None, "content"]


TOUCHES = {
    "signature": (delta(reasoning="r"), delta(thinking_blocks=[{"type": "thinking", "signature": "s"}]), "thinking"),
    "call_without_arguments": (calls(A), call(index=0), "a"),
}


@pytest.mark.parametrize(("first", "again", "touched"), TOUCHES.values(), ids=TOUCHES)
def test_a_delta_touches_its_block_even_if_no_text_grows(
    engine: Engine, way: Way, first: Chunk, again: Chunk, touched: str
) -> None:
    seen = watch(engine, way.items([first, text("y", 1), again]))
    assert [each.current for each in seen] == [touched, "content", touched]


def test_a_reopened_block_is_current_and_not_complete_again(engine: Engine) -> None:
    processor = engine.StreamProcessor(emit="nothing")
    state = processor.state
    processor.feed(calls(A, B))
    assert [block.is_complete for block in state.blocks] == [True, False]
    processor.feed(call(" ", index=0))
    assert [block.is_complete for block in state.blocks] == [False, True]
    assert state.current_block is state.blocks[0]


def test_a_block_is_one_object_for_its_whole_life(engine: Engine) -> None:
    processor = engine.StreamProcessor(emit="nothing")
    processor.feed(text("x"))
    block = processor.state.blocks[0]
    assert processor.state.current_block is block
    assert block.content == "x"
    processor.feed(text("y"))
    processor.feed(calls(A))
    assert processor.state.blocks[0] is block
    assert processor.state.objects["content"] is block
    assert (block.content, block.is_complete) == ("xy", True)


def test_the_delta_of_a_block_is_what_the_last_chunk_added(engine: Engine) -> None:
    processor = engine.StreamProcessor()
    state = processor.state
    deltas: list[list[str]] = []
    for item in (text("x"), text("yz"), calls(A), call(" ", index=0), finish("tool_calls")):
        deltas += [[block.delta for block in state.blocks] for _ in processor.feed(item)]
    assert deltas == [["x"], ["yz"], ["", '{"a":1}'], ["", " "], ["", ""]]


def test_the_delta_of_a_chunk_that_adds_twice_is_both(engine: Engine) -> None:
    processor = engine.StreamProcessor(emit="nothing")
    processor.feed(text([{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]))
    assert processor.state.blocks[0].delta == "xy"


def test_arguments_are_complete_when_they_are_one_json_value(engine: Engine) -> None:
    processor = engine.StreamProcessor(emit="nothing")
    processor.feed(call('{"a"', index=0, id="a", name="f"))
    (block,) = processor.state.blocks
    assert isinstance(block, ToolCallStreamBlock)
    assert not block.arguments_complete
    processor.feed(call(":1}", index=0))
    assert block.arguments_complete
    processor.feed(call("}", index=0))
    assert not block.arguments_complete


def test_blocks_compare_copy_and_pickle_as_the_dataclasses_they_are(engine: Engine) -> None:
    processor = engine.StreamProcessor(emit="nothing")
    processor.feed(chunk(choice({"content": "x"}, logprobs={"content": []})))
    processor.feed(text("y"))
    block = processor.state.blocks[0]
    made = ContentStreamBlock("content", content="xy", extras={"logprobs": [{"content": []}]})
    assert block == made
    assert pickle.loads(pickle.dumps(block)) == made  # noqa: S301 (pickled a line above)
    assert asdict(block) == asdict(made)
    kept = copy.copy(block)
    processor.feed(text("z"))
    assert (kept.content, block.content) == ("xy", "xyz")
    match block:
        case ContentStreamBlock(id="content", content=content):
            assert content == "xyz"
        case _:
            pytest.fail(f"{block!r} does not match its own class")


STREAM = [
    delta(role="assistant", reasoning="r", thinking_blocks=[{"type": "thinking", "signature": "s"}]),
    chunk(choice({"content": "x"}, logprobs={"content": []})),
    delta(content="y", annotations=[{"n": 1}], images=[{"url": "u"}]),
    calls(A, B),
    call(" ", index=0),
    chunk(choice({"refusal": "no"}, finish_reason="stop"), service_tier="auto"),
    {"choices": [], "usage": {"prompt_tokens": 1}},
]


def test_the_blocks_of_the_state_are_those_that_the_events_describe(engine: Engine, way: Way) -> None:
    events, processor = feeding.feed(engine, way.items(STREAM))
    assert shown(processor.state.blocks) == replayed(events)


@pytest.mark.parametrize("emit", ["nothing", "chunks"])
def test_the_state_at_the_end_is_the_same_whatever_is_emitted(engine: Engine, way: Way, emit: str) -> None:
    _, other = feeding.feed(engine, way.items(STREAM))
    processor = engine.StreamProcessor(emit=emit)
    for item in way.items(STREAM):
        given = list(processor.feed(item))
        assert emit == "chunks" or given == []
    list(processor.finish())
    assert processor.state == other.state


def test_events_come_as_soon_as_their_chunk_is_there(engine: Engine) -> None:
    processor = engine.StreamProcessor(emit="events")
    assert processor.feed(sse(text("x"))[:-1]) == []
    assert len(processor.feed(b"\n")) == 2
    assert len(processor.feed(text("y"))) == 1


@pytest.mark.parametrize("read_type", [bytes, bytearray, memoryview])
def test_every_bytes_like_read_is_taken(engine: Engine, read_type: Any) -> None:
    data = sse(text("x"), finish(), DONE)
    assert feeding.run(engine, [read_type(data)]) == feeding.run(engine, [data])


@pytest.mark.parametrize("options", [{"emit": "everything"}, {"emit": None}, {"unknown": 1}])
def test_a_wrong_argument_is_refused_in_one_line(engine: Engine, options: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)) as raised:
        engine.StreamProcessor(**options)
    assert len(str(raised.value).splitlines()) == 1


def test_nothing_is_taken_after_the_finish_of_the_input(engine: Engine) -> None:
    processor = engine.StreamProcessor(emit="events")
    processor.feed(text("x"))
    processor.finish()
    with pytest.raises(PenstockError):
        processor.feed(text("y"))
    assert processor.state.blocks[0].content == "x"


def test_a_state_that_is_asked_for_late_is_the_one_that_was_there_from_the_start(engine: Engine) -> None:
    stream = [text("x"), calls(A), calls(B), calls(part(" ", index=0))]
    early, late = engine.StreamProcessor(emit="nothing"), engine.StreamProcessor(emit="nothing")
    watched = early.state
    for each in stream:
        early.feed(each)
        late.feed(each)
    state = late.state
    assert state == watched
    assert [block.is_complete for block in state.blocks] == [True, False, True]
    assert state.current_block is state.blocks[1]
    assert state.just_completed is state.blocks[2]
    late.feed(finish("tool_calls"))
    assert state is late.state
    assert state.just_completed is state.blocks[1]
    assert state.current_block is None
