"""Limits of one stream, each at one less, at, and at one more than it allows."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

import feeding
from mutations import STREAMS
from mutations import sse as as_sse
from penstock.errors import LimitExceeded
from penstock.events import BlockGrew
from penstock.limits import Limits
from splits import SPLITS, Split
from wire import Chunk, call, calls, delta, finish, part, sse, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from feeding import Engine, Run

LIMIT = 4


def blocks(count: int) -> list[Chunk]:
    return [text("x") if number % 2 else delta(reasoning="x") for number in range(count)]


def tool_calls(count: int) -> list[Chunk]:
    return [call("{}", index=number, id=f"c{number}", name="f") for number in range(count)]


def tool_calls_in_one_chunk(count: int) -> list[Chunk]:
    return [calls(*(part("{}", index=number, id=f"c{number}", name="f") for number in range(count)))]


def tool_calls_over_choices(count: int) -> list[Chunk]:
    return [call("{}", index=0, id=f"c{number}", name="f", choice=number % 2) for number in range(count)]


def answers(count: int) -> list[Chunk]:
    return [text("x", number) for number in range(count)]


def argument_bytes(count: int) -> list[Chunk]:
    start = call("", index=0, id="c", name="f")
    return [start, *(call("x", index=0) for _ in range(count - 2)), call("ä", index=0)]


def argument_bytes_in_one_delta(count: int) -> list[Chunk]:
    return [call("x" * count, index=0, id="c", name="f")]


def deltas_of_a_call(count: int) -> list[Chunk]:
    return [call("{", index=0, id="c", name="f"), *(call(" ", index=0) for _ in range(count - 1))]


CASES = {
    "blocks": ("blocks", blocks),
    "blocks_of_images": ("blocks", lambda count: [delta(images=[{}] * count)]),
    "calls": ("calls", tool_calls),
    "calls_in_one_chunk": ("calls", tool_calls_in_one_chunk),
    "calls_over_choices": ("calls", tool_calls_over_choices),
    "choices": ("choices", answers),
    "deltas": ("deltas", lambda count: [text("x")] * count),
    "deltas_of_a_call": ("deltas", deltas_of_a_call),
    "deltas_in_one_chunk": ("deltas", lambda count: [calls(*[part("{", index=0, id="c", name="f")] * count)]),
    "deltas_of_thinking": ("deltas", lambda count: [delta(reasoning="x")] * count),
    "deltas_without_text": ("deltas", lambda count: [text("")] * count),
    "deltas_of_many_sorts": (
        "deltas",
        lambda count: [delta(reasoning="x", content="y", refusal="z", images=[{}] * (count - 3))],
    ),
    "argument_bytes": ("argument_bytes", argument_bytes),
    "argument_bytes_in_one_delta": ("argument_bytes", argument_bytes_in_one_delta),
}

every_case = pytest.mark.parametrize(("limit", "stream"), CASES.values(), ids=CASES)


@every_case
@pytest.mark.parametrize("count", [LIMIT - 1, LIMIT])
def test_a_stream_up_to_its_limit_is_taken(
    run: Run, limit: str, stream: Callable[[int], list[Chunk]], count: int
) -> None:
    limited = run(*stream(count), finish(), limits=Limits(**{limit: LIMIT}))
    assert limited.events == run(*stream(count), finish()).events


@every_case
def test_a_stream_over_its_limit_is_refused_by_name(run: Run, limit: str, stream: Callable[[int], list[Chunk]]) -> None:
    with pytest.raises(LimitExceeded) as raised:
        run(*stream(LIMIT + 1), limits=Limits(**{limit: LIMIT}))
    assert (raised.value.limit, raised.value.allowed) == (limit, LIMIT)


def exhaust(processor: Any, items: list[Chunk]) -> None:
    for item in items:
        list(processor.feed(item))


@every_case
def test_a_limit_holds_whatever_is_emitted(engine: Engine, limit: str, stream: Callable[[int], list[Chunk]]) -> None:
    for emit in ("chunks", "nothing"):
        processor = engine.StreamProcessor(emit=emit, limits=Limits(**{limit: LIMIT}))
        with pytest.raises(LimitExceeded):
            exhaust(processor, stream(LIMIT + 1))


def test_the_arguments_of_each_call_have_a_limit_of_their_own(run: Run) -> None:
    said = run(*tool_calls(3), limits=Limits(argument_bytes=2))
    assert len(said.state.blocks) == 3


def test_the_wire_index_of_a_call_is_no_measure_of_how_many_there_are(run: Run) -> None:
    assert len(run(call("{}", index=2**53 + 1, id="c", name="f"), limits=Limits(calls=1)).state.blocks) == 1


def count_deltas(engine: Engine, chunks: list[Chunk]) -> int:
    """The least number of deltas with which a stream is read."""
    for most in range(1, 1000):
        with suppress(LimitExceeded):
            feeding.run(engine, chunks, limits=Limits(deltas=most))
            return most
    raise AssertionError(chunks)


@pytest.mark.parametrize("name", STREAMS["openai_chat"])
def test_both_engines_count_the_same_deltas(core: Engine, reference: Engine, name: str) -> None:
    chunks = STREAMS["openai_chat"][name]
    assert count_deltas(core, chunks) == count_deltas(reference, chunks)


def test_tags_add_nothing_to_the_deltas(engine: Engine) -> None:
    said = feeding.run(engine, [text("a<thinking>b</thinking>c")], limits=Limits(deltas=1), tags="claude-xml")
    assert len([event for event in said if isinstance(event, BlockGrew)]) == 3


@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_text_alone_has_no_deltas_for_the_network_cuts_it(engine: Engine, split: Split) -> None:
    said = feeding.run(engine, split(b"x" * 50), source="text", limits=Limits(deltas=1))
    assert "".join(event.text for event in said if isinstance(event, BlockGrew)) == "x" * 50


@pytest.mark.parametrize("form", ["anthropic_messages", "openai_responses"])
def test_numbered_formats_have_their_deltas_counted(core: Engine, form: str) -> None:
    data = as_sse(form, STREAMS[form]["text"])
    grown = sum(isinstance(event, BlockGrew) for event in feeding.run(core, [data], source=form))
    with pytest.raises(LimitExceeded, match="deltas"):
        feeding.run(core, [data], source=form, limits=Limits(deltas=grown - 1))
    assert feeding.run(core, [data], source=form, limits=Limits(deltas=grown)) != []


# An event is as long as its lines with their ends, without the blank line.
EVENT = sse(text("x" * 50))
LONG = len(EVENT) - 1


@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_an_event_up_to_the_limit_is_taken_and_a_longer_one_is_refused(engine: Engine, split: Split) -> None:
    for room in (0, 1):
        assert len(feeding.run(engine, split(EVENT * 3), limits=Limits(frame_bytes=LONG + room))) == 5
    with pytest.raises(LimitExceeded) as raised:
        feeding.run(engine, split(EVENT), limits=Limits(frame_bytes=LONG - 1))
    assert (raised.value.limit, raised.value.allowed) == ("frame_bytes", LONG - 1)


@pytest.mark.parametrize("split", SPLITS, ids=str)
@pytest.mark.parametrize("before", [b"", EVENT], ids=["first", "behind an event"])
def test_a_comment_has_the_limit_of_an_event_however_it_is_cut(engine: Engine, before: bytes, split: Split) -> None:
    comment = b":" * LONG
    for end in (b"\n", b"\r\n", b"\r"):
        data = before + comment + end + EVENT
        assert feeding.run(engine, split(data), limits=Limits(frame_bytes=LONG))[-1] == feeding.CUT
        with pytest.raises(LimitExceeded):
            feeding.run(engine, split(before + b":" + comment + end + EVENT), limits=Limits(frame_bytes=LONG))


def test_the_length_of_an_event_is_no_limit_for_objects(engine: Engine) -> None:
    assert len(feeding.run(engine, [text("x" * 100)], limits=Limits(frame_bytes=1))) == 3


def test_a_limit_ends_a_strict_stream_with_the_same_error(run: Run) -> None:
    with pytest.raises(LimitExceeded):
        run(*blocks(LIMIT + 1), limits=Limits(blocks=LIMIT), strict=True)
