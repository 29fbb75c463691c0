"""Chunks that cannot be read: skipped whole, counted and reported; in strict mode, the end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import feeding
from feeding import ENDED, Run
from penstock.errors import ProtocolError
from penstock.events import BlockCompleted, BlockGrew, BlockStarted, ChoiceFinished
from splits import SPLITS, Split
from wire import Chunk, call, choice, chunk, delta, finish, frame, sse, text

if TYPE_CHECKING:
    from feeding import Engine

every_split = pytest.mark.parametrize("split", SPLITS, ids=str)

UNTOUCHED = [
    BlockStarted(0, "content", "content"),
    BlockGrew(0, "text", "a"),
    BlockGrew(0, "text", "b"),
    BlockCompleted(0),
    ChoiceFinished(0, "stop", "stop"),
    ENDED,
]

WRONG_SHAPES: dict[str, Chunk] = {
    "id_number": {"id": 5, "choices": []},
    "model_object": {"model": {}, "choices": []},
    "role_number": delta(role=5),
    "usage_text": {"usage": "x", "choices": []},
    "choices_object": {"choices": {}},
    "choices_text": {"choices": "x"},
    "choice_text": {"choices": ["x"]},
    "choice_index_text": {"choices": [{"index": "0", "delta": {}}]},
    "choice_index_negative": {"choices": [{"index": -1, "delta": {}}]},
    "choice_index_bool": {"choices": [{"index": True, "delta": {}}]},
    "delta_text": {"choices": [{"index": 0, "delta": "x"}]},
    "delta_list": {"choices": [{"index": 0, "delta": []}]},
    "content_number": delta(content=5),
    "content_object": delta(content={"type": "text", "text": "x"}),
    "refusal_number": delta(refusal=5),
    "reasoning_content_number": delta(reasoning_content=5),
    "reasoning_list": delta(reasoning=["x"]),
    "reasoning_details_text": delta(reasoning_details="x"),
    "reasoning_detail_text": delta(reasoning_details=["x"]),
    "thinking_blocks_object": delta(thinking_blocks={}),
    "images_object": delta(images={"url": "x"}),
    "annotations_object": delta(annotations={"n": 1}),
    "tool_calls_object": delta(tool_calls={"index": 0}),
    "tool_call_text": delta(tool_calls=["x"]),
    "call_index_text": call("{}", index="0", id="c", name="f"),
    "call_index_fraction": call("{}", index=0.5, id="c", name="f"),
    "call_index_negative": call("{}", index=-1, id="c", name="f"),
    "call_index_bool": call("{}", index=False, id="c", name="f"),
    "call_id_number": call("{}", index=0, id=7, name="f"),
    "name_number": call("{}", index=0, id="c", name=7),
    "arguments_number": call(7, index=0, id="c", name="f"),
    "function_text": delta(tool_calls=[{"index": 0, "id": "c", "function": "f"}]),
    "function_call_text": delta(function_call="f"),
    "finish_number": chunk(choice({}, finish_reason=1)),
}


@pytest.mark.parametrize("wrong", WRONG_SHAPES.values(), ids=WRONG_SHAPES)
def test_a_chunk_with_a_field_of_another_type_is_skipped_and_reported(run: Run, wrong: Chunk) -> None:
    said = run(text("a"), wrong, text("b"), finish())
    assert said.events == UNTOUCHED
    assert said.quirks == {"malformed_chunk": 1}
    assert [problem.kind for problem in said.problems] == ["wrong_shape"]


@pytest.mark.parametrize("wrong", WRONG_SHAPES.values(), ids=WRONG_SHAPES)
def test_a_chunk_with_a_field_of_another_type_ends_a_strict_stream(run: Run, wrong: Chunk) -> None:
    with pytest.raises(ProtocolError) as raised:
        run(text("a"), wrong, strict=True)
    assert raised.value.kind == "wrong_shape"


def test_a_malformed_chunk_is_skipped_with_all_that_it_says(run: Run) -> None:
    before = choice(
        {"content": "x", "role": "assistant", "tool_calls": [{"index": 0, "id": "c"}]}, finish_reason="stop"
    )
    said = run(text("a"), chunk(before, choice({"content": 5}, 1), id="r", usage={"a": 1}), text("b"), finish())
    assert said.events == UNTOUCHED


NOT_CHUNKS = {
    "words": ("not JSON", "invalid_json"),
    "nothing": ("", "invalid_json"),
    "cut": ('{"choices": [', "invalid_json"),
    "two": ('{"choices": []}{"choices": []}', "invalid_json"),
    "trailing": ('{"choices": []} x', "invalid_json"),
    "single_quotes": ("{'choices': []}", "invalid_json"),
    "list": ("[]", "wrong_shape"),
    "number": ("5", "wrong_shape"),
    "text": ('"x"', "wrong_shape"),
    "null": ("null", "wrong_shape"),
    "true": ("true", "wrong_shape"),
}


@pytest.mark.parametrize(("data", "kind"), NOT_CHUNKS.values(), ids=NOT_CHUNKS)
@every_split
def test_an_event_that_is_no_chunk_is_skipped_and_reported(engine: Engine, data: str, kind: str, split: Split) -> None:
    said = feeding.outcome(engine, split(sse(text("a"), data, text("b"), finish())))
    assert said.events == UNTOUCHED
    assert said.quirks == {"malformed_chunk": 1}
    assert [problem.kind for problem in said.problems] == [kind]


@pytest.mark.parametrize(("data", "kind"), NOT_CHUNKS.values(), ids=NOT_CHUNKS)
def test_a_text_that_is_no_chunk_is_skipped_and_reported(engine: Engine, data: str, kind: str) -> None:
    said = feeding.outcome(engine, [text("a"), data, text("b"), finish()])
    assert said.events == UNTOUCHED
    assert [problem.kind for problem in said.problems] == [kind]


@pytest.mark.parametrize("thing", [5, 1.5, True, [], ["x"], type])
def test_an_object_that_is_no_chunk_is_skipped_or_refused_as_an_argument(engine: Engine, thing: Any) -> None:
    processor = engine.StreamProcessor(emit="events")
    try:
        events = processor.feed(thing)
    except TypeError:
        return
    assert [event.name for event in events] == ["malformed_chunk"]


INVALID_UTF8 = b'data: {"choices":[{"index":0,"delta":{"content":"\xff"}}]}\n\n'


@every_split
def test_an_event_that_is_not_utf8_is_skipped_and_reported(engine: Engine, split: Split) -> None:
    said = feeding.outcome(engine, split(sse(text("a")) + INVALID_UTF8 + sse(text("b"), finish())))
    assert said.events == UNTOUCHED
    assert [problem.kind for problem in said.problems] == ["invalid_utf8"]


@pytest.mark.parametrize(
    ("bad", "kind"),
    [(INVALID_UTF8, "invalid_utf8"), (frame("not JSON"), "invalid_json"), (frame('{"choices": 5}'), "wrong_shape")],
)
@every_split
def test_a_problem_names_the_offset_of_its_event_in_the_bytes(
    engine: Engine, bad: bytes, kind: str, split: Split
) -> None:
    good = sse(text("ä"))
    (problem,) = feeding.outcome(engine, split(good + bad)).problems
    assert (problem.kind, problem.offset) == (kind, len(good))
    with pytest.raises(ProtocolError) as raised:
        feeding.run(engine, split(good + bad), strict=True)
    assert (raised.value.kind, raised.value.offset) == (kind, len(good))


@pytest.mark.parametrize("bad", ["not JSON", {"choices": 5}], ids=["json", "dict"])
def test_a_problem_in_a_stream_of_objects_names_the_number_of_its_chunk(engine: Engine, bad: Any) -> None:
    (problem,) = feeding.outcome(engine, [text("a"), text("b"), bad]).problems
    assert problem.offset == 2


def test_problems_are_taken_once_and_in_order(engine: Engine) -> None:
    processor = engine.StreamProcessor(emit="events")
    processor.feed("x")
    processor.feed("[]")
    assert [problem.kind for problem in processor.take_problems()] == ["invalid_json", "wrong_shape"]
    assert processor.take_problems() == []
    processor.feed("y")
    assert [(problem.kind, problem.offset) for problem in processor.take_problems()] == [("invalid_json", 2)]


CONTENT = "swordfish"


@pytest.mark.parametrize(
    "bad",
    [CONTENT, json.dumps({"choices": CONTENT}), json.dumps({"choices": [{"delta": CONTENT}]}), '{"a": ' + CONTENT],
)
def test_a_problem_never_shows_the_content_of_the_stream(engine: Engine, bad: str) -> None:
    (problem,) = feeding.outcome(engine, [bad]).problems
    assert isinstance(problem, ProtocolError)
    assert CONTENT not in str(problem)
    assert CONTENT not in repr(problem)
