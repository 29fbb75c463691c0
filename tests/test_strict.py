"""Strict mode: each quirk that lenient mode puts right is a `ProtocolError` of that kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

import feeding
from penstock.errors import ProtocolError
from wire import DONE, Chunk, call, calls, delta, finish, part, sse, text

if TYPE_CHECKING:
    from feeding import Engine, Run


@dataclass(frozen=True)
class Deviation:
    """A stream with one deviation, and the number of the chunk that has it."""

    chunks: list[Chunk]
    chunk: int


DEVIATIONS = {
    "index_missing": Deviation([text("x"), call("{}", id="a", name="f")], 1),
    "id_missing": Deviation([text("x"), call("{}", index=0, name="f")], 1),
    "name_in_pieces": Deviation([call("", index=0, id="a", name="f"), call("", index=0, name="g")], 1),
    "name_changed": Deviation([call("{}", index=0, id="a", name="f"), call("", index=0, name="g")], 1),
    "arguments_as_object": Deviation([text("x"), text("y"), call({}, index=0, id="a", name="f")], 2),
    "repeated_finish": Deviation([text("x"), finish(), finish()], 2),
    "late_text": Deviation([text("x"), finish(), text("y")], 2),
    "late_tool_call": Deviation([text("x"), finish(), call("{}", index=0, id="a", name="f")], 2),
}


@pytest.mark.parametrize("kind", DEVIATIONS)
def test_a_deviation_is_counted_in_lenient_mode(run: Run, kind: str) -> None:
    assert run(*DEVIATIONS[kind].chunks).quirks == {kind: 1}


@pytest.mark.parametrize("kind", DEVIATIONS)
def test_a_deviation_ends_a_strict_stream_with_an_error_of_its_kind(run: Run, kind: str) -> None:
    with pytest.raises(ProtocolError) as raised:
        run(*DEVIATIONS[kind].chunks, strict=True)
    assert raised.value.kind == kind


@pytest.mark.parametrize("kind", DEVIATIONS)
def test_the_error_of_a_deviation_names_its_place(engine: Engine, kind: str) -> None:
    chunks, number = DEVIATIONS[kind].chunks, DEVIATIONS[kind].chunk
    with pytest.raises(ProtocolError) as raised:
        feeding.run(engine, chunks, strict=True)
    assert raised.value.offset == number
    with pytest.raises(ProtocolError) as raised:
        feeding.run(engine, [sse(*chunks)], strict=True)
    assert raised.value.offset == len(sse(*chunks[:number]))


def test_an_unterminated_last_event_ends_a_strict_stream(engine: Engine) -> None:
    with pytest.raises(ProtocolError) as raised:
        feeding.run(engine, [sse(text("a"), finish())[:-1]], strict=True)
    assert raised.value.kind == "unterminated_event"


def test_a_stream_by_the_book_passes_strict_mode(run: Run) -> None:
    said = run(
        delta(role="assistant", reasoning="Hm", content=""),
        text("a"),
        calls(part("", index=0, id="a", name="f"), part("", index=1, id="b", name="f")),
        call("{}", index=1),
        finish("tool_calls"),
        {"choices": [], "usage": {"prompt_tokens": 1}},
        strict=True,
    )
    assert said.quirks == {}
    assert len(said.state.blocks) == 4


def test_the_legacy_function_call_passes_strict_mode(run: Run) -> None:
    said = run(delta(function_call={"name": "f", "arguments": "{}"}), finish("function_call"), strict=True)
    assert said.quirks == {}


def test_a_strict_stream_gives_the_events_of_a_lenient_one_up_to_the_terminator(engine: Engine) -> None:
    reads = [sse(text("a"), call("{}", index=0, id="a", name="f"), finish("tool_calls"), DONE)]
    assert feeding.run(engine, reads, strict=True) == feeding.run(engine, reads)
