"""Blocks are dataclasses, whether an engine keeps their text, a hand made them, or they were copied."""

from __future__ import annotations

import copy
import pickle
from dataclasses import asdict, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from penstock import (
    ContentStreamBlock,
    RefusalStreamBlock,
    StreamBlock,
    StreamState,
    ThinkingStreamBlock,
    ToolCallStreamBlock,
    UnknownStreamBlock,
)
from wire import call, choice, chunk, delta, finish, text

if TYPE_CHECKING:
    from feeding import Engine

STREAM = [
    delta(reasoning="hm", thinking_blocks=[{"type": "thinking", "signature": "s"}]),
    chunk(choice({"content": "x"}, logprobs={"content": [1]})),
    text("y"),
    call('{"a":', index=0, id="a", name="f"),
    call("1}", index=0),
    delta(images=[{"url": "u"}]),
    delta(refusal="no"),
    finish(),
]

MADE = [
    ThinkingStreamBlock("thinking", is_complete=True, content="hm", signature="s"),
    ContentStreamBlock("content", is_complete=True, content="xy", extras={"logprobs": [{"content": [1]}]}),
    ToolCallStreamBlock("a", is_complete=True, name="f", arguments='{"a":1}'),
    UnknownStreamBlock("image", is_complete=True, kind="image", raw=[{"url": "u"}]),
    RefusalStreamBlock("refusal", is_complete=True, content="no"),
]


def read(engine: Engine, *chunks: Any) -> StreamState:
    processor = engine.StreamProcessor(emit="nothing")
    for each in chunks:
        processor.feed(each)
    processor.finish()
    return processor.state


@pytest.fixture(params=range(len(MADE)), ids=[made.type for made in MADE])
def made(request: pytest.FixtureRequest) -> StreamBlock:
    """A block of each kind, made by hand."""
    return copy.deepcopy(MADE[request.param])


@pytest.fixture
def live(engine: Engine, made: StreamBlock) -> StreamBlock:
    """The same block as each engine gives it."""
    return next(block for block in read(engine, *STREAM).blocks if block.type == made.type)


def test_a_live_block_is_a_dataclass_of_the_public_class(live: StreamBlock, made: StreamBlock) -> None:
    assert is_dataclass(live)
    assert type(live) is type(made)
    assert fields(live) == fields(made)


def test_a_live_block_equals_the_one_made_by_hand(live: StreamBlock, made: StreamBlock) -> None:
    assert live == made
    assert repr(live) == repr(made)
    assert asdict(live) == asdict(made)


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda block: pickle.loads(pickle.dumps(block)),  # noqa: S301 (pickled in the same line)
    "replace": replace,
    "asdict": lambda block: type(block)(**asdict(block)),
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_a_copy_is_equal_and_another_object(live: StreamBlock, made: StreamBlock, copied: Any) -> None:
    for block in (live, made):
        twin = copied(block)
        assert twin == block
        assert twin is not block
        assert type(twin) is type(block)


def test_replace_changes_a_field_of_a_live_block_in_a_copy(live: StreamBlock) -> None:
    other = replace(live, id="other", is_complete=False)
    assert (other.id, other.is_complete) == ("other", False)
    assert other != live
    assert replace(other, id=live.id, is_complete=True) == live


GROWING = [
    (chunk(choice({"content": "x"}, logprobs=1)), chunk(choice({"content": "y"}, logprobs=2))),
    (call("[", index=0, id="a", name="f"), call("]", index=0)),
    (delta(reasoning="x"), delta(reasoning="y")),
    (delta(audio={"data": "x"}), delta(audio={"data": "y"})),
]


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize(("first", "second"), GROWING, ids=["text", "call", "thinking", "audio"])
def test_a_copy_does_not_grow_with_the_stream(engine: Engine, first: Any, second: Any, copied: Any) -> None:
    processor = engine.StreamProcessor(emit="nothing")
    processor.feed(first)
    block = processor.state.blocks[0]
    kept = copied(block)
    before = asdict(kept)
    processor.feed(second)
    assert asdict(kept) == before
    assert asdict(block) != before
    assert kept.delta == ""


def test_a_block_that_somebody_changed_keeps_the_change(engine: Engine) -> None:
    processor = engine.StreamProcessor(emit="nothing")
    processor.feed(text("x"))
    block = processor.state.blocks[0]
    block.content = "redacted"
    processor.feed(text("y"))
    assert (block.content, block.delta) == ("redacted", "y")


def test_blocks_match_by_position_and_by_name(engine: Engine) -> None:
    for block in (*read(engine, *STREAM).blocks, *MADE):
        match block:
            case ThinkingStreamBlock("thinking", True, "hm", "s", ""):
                pass
            case ContentStreamBlock("content", True, "xy"):
                pass
            case ToolCallStreamBlock("a", True, "f", '{"a":1}', 0):
                pass
            case UnknownStreamBlock(kind="image", raw=[{"url": "u"}]):
                pass
            case RefusalStreamBlock(content="no"):
                pass
            case _:
                pytest.fail(f"{block!r} matches nothing")


def test_blocks_of_different_kinds_are_never_equal() -> None:
    assert ContentStreamBlock("x", content="y") != RefusalStreamBlock("x", content="y")


def test_a_block_can_be_made_as_it_always_could() -> None:
    assert StreamBlock(id="x") == StreamBlock("x", False)  # noqa: FBT003 (a dataclass takes its fields by position)
    made = ToolCallStreamBlock("a", True, "f", "{}", 2)  # noqa: FBT003
    assert made == ToolCallStreamBlock(id="a", is_complete=True, name="f", arguments="{}", index=2)
    assert ContentStreamBlock("content").content == ""
    assert StreamState(blocks=[], current_block=None, just_completed=None, finish_reason=None) == StreamState()


@pytest.mark.parametrize("kind", [type(made) for made in MADE])
def test_blocks_made_by_hand_share_nothing(kind: type[StreamBlock]) -> None:
    one, other = kind("x"), kind("x")
    one.extras["seen"] = [1]
    assert other.extras == {}
    assert one != other
    if isinstance(one, UnknownStreamBlock):
        one.raw.append(1)
        assert other.raw == []


def test_blocks_of_a_stream_share_no_extras(engine: Engine) -> None:
    said = chunk(choice({"content": "x"}, logprobs=1), choice({"content": "y"}, 1, logprobs=2))
    one, other = read(engine, said).blocks
    assert (one.extras, other.extras) == ({"logprobs": [1]}, {"logprobs": [2]})
    one.extras["logprobs"].append(3)
    assert other.extras == {"logprobs": [2]}


def test_what_a_policy_does_to_the_extras_it_was_given_does_not_change_the_stream(engine: Engine) -> None:
    block = read(engine, *STREAM).blocks[1]
    block.extras.clear()
    block.extras["logprobs"].append("mine")
    assert block.extras == {"logprobs": [{"content": [1]}]}


def test_the_delta_is_what_the_last_chunk_added(engine: Engine) -> None:
    processor = engine.StreamProcessor(emit="nothing")
    deltas: list[list[str]] = []
    for each in STREAM:
        processor.feed(each)
        deltas.append([block.delta for block in processor.state.blocks])
    assert deltas == [
        ["hm"],
        ["", "x"],
        ["", "y"],
        ["", "", '{"a":'],
        ["", "", "1}"],
        ["", "", "", ""],
        ["", "", "", "", "no"],
        ["", "", "", "", ""],
    ]


def test_the_deltas_of_a_block_add_up_to_its_text_also_when_one_chunk_has_several(engine: Engine) -> None:
    processor = engine.StreamProcessor(emit="nothing")
    processor.feed(delta(content=[{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]))
    assert processor.state.blocks[0].delta == "xy"


def test_a_block_made_by_hand_has_no_delta() -> None:
    assert [made.delta for made in MADE] == [""] * len(MADE)


WHOLE = {
    "object": ("{}", True),
    "spaces": (' {"a": [1, "}"]}\n', True),
    "number": ("1", True),
    "cut": ('{"a":', False),
    "more_behind": ("{} {}", False),
    "not_json": ("{a: 1}", False),
    "not_a_number": ("NaN", False),
    "too_deep_for_anyone": ("[" * 100_000, False),
}


@pytest.mark.parametrize(("arguments", "is_whole"), WHOLE.values(), ids=WHOLE)
def test_arguments_are_complete_when_they_are_one_json_value(
    engine: Engine,
    arguments: str,
    is_whole: bool,  # noqa: FBT001 (a column of the table)
) -> None:
    made = ToolCallStreamBlock("a", name="f", arguments=arguments)
    assert made.arguments_complete is is_whole
    live = read(engine, call(arguments, index=0, id="a", name="f")).blocks[0]
    assert live.arguments_complete is is_whole
    assert replace(made, is_complete=True).arguments_complete is is_whole


def test_no_arguments_are_complete_once_the_call_is() -> None:
    assert not ToolCallStreamBlock("a").arguments_complete
    assert ToolCallStreamBlock("a", is_complete=True).arguments_complete


def test_the_input_of_a_custom_tool_is_complete_once_the_call_is() -> None:
    made = ToolCallStreamBlock("a", arguments="free text", kind="custom")
    assert not made.arguments_complete
    assert replace(made, is_complete=True).arguments_complete


def test_the_objects_of_a_state_are_its_blocks_by_their_ids(engine: Engine) -> None:
    state = read(engine, *STREAM)
    assert list(state.objects) == ["thinking", "content", "a", "image", "refusal"]
    assert all(state.objects[block.id] is block for block in state.blocks)
    assert [(each.type, each.is_complete) for each in state.objects.values()][2] == ("tool_call", True)


def test_a_state_is_a_dataclass_that_can_be_kept(engine: Engine) -> None:
    state = read(engine, *STREAM)
    assert is_dataclass(state)
    for kept in (copy.deepcopy(state), pickle.loads(pickle.dumps(state))):  # noqa: S301
        assert kept == state
        assert kept is not state
    assert [block["id"] for block in asdict(state)["blocks"]] == list(state.objects)


def test_a_kept_state_has_the_block_that_completed_among_its_blocks(engine: Engine) -> None:
    processor = engine.StreamProcessor()
    for _ in processor.feed(chunk(choice({"content": "x"}, finish_reason="stop"))):
        kept = copy.deepcopy(processor.state)
    assert kept.just_completed is kept.blocks[0]
