"""What a policy gets: one chunk for each completion, in the form in which the chunks came."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

import feeding
from feeding import WAYS
from models import FORMS, MODELS, as_dict, said
from penstock.events import BlockCompleted, BlockStarted, ResponseNoted, UsageReported
from splits import SPLITS, Split
from watching import completions, watch
from wire import DONE, Chunk, call, calls, choice, chunk, delta, finish, frame, part, sse, text

if TYPE_CHECKING:
    from feeding import Engine, Way
    from penstock.events import Event

A = part('{"a":1}', index=0, id="a", name="f", type="function")
B = part('{"b":1}', index=1, id="b", name="f", type="function")
C = part('{"c":1}', index=2, id="c", name="f", type="function")

every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
every_model = pytest.mark.parametrize("form", MODELS.values(), ids=MODELS)

Form: TypeAlias = Callable[[Chunk], Any]


# Every completion is seen exactly once


@dataclass(frozen=True)
class Scenario:
    """Chunks, and the completions that a policy must see."""

    chunks: list[Chunk]
    completed: list[str]


SCENARIOS = {
    "several_calls_in_one_chunk": Scenario([calls(A, B, C), finish("tool_calls")], ["a", "b", "c"]),
    "calls_and_finish_in_one_chunk": Scenario(
        [chunk(choice({"content": "x", "tool_calls": [A, B]}, finish_reason="tool_calls"))], ["content", "a", "b"]
    ),
    "interleaved_calls": Scenario(
        [calls(A), calls(B), call(" ", index=0), call(" ", index=1), finish("tool_calls")], ["a", "b", "a", "b"]
    ),
    "interleaved_in_one_chunk": Scenario(
        [calls(A, B, part(" ", index=0), part(" ", index=1)), finish("tool_calls")], ["a", "b", "a", "b"]
    ),
    "index_reused": Scenario([calls(A), calls({**B, "index": 0}), finish("tool_calls")], ["a", "b"]),
    "ids_missing": Scenario(
        [calls(part("{}", index=0, name="f"), part("{}", index=1, name="f")), finish("tool_calls")], ["tc_0", "tc_1"]
    ),
    "text_after_calls": Scenario(
        [text("x"), calls(A), text("y"), calls(B), text("z"), finish()],
        ["content", "a", "content_1", "b", "content_2"],
    ),
    "finish_beside_the_call": Scenario([chunk(choice({"tool_calls": [A]}, finish_reason="tool_calls"))], ["a"]),
    "usage_after_the_finish": Scenario(
        [calls(A), finish("tool_calls"), {"choices": [], "usage": {"prompt_tokens": 1}}], ["a"]
    ),
    "usage_and_error_beside_the_calls": Scenario(
        [calls(A, B, C) | {"usage": {"prompt_tokens": 1}, "error": {"message": "e"}, "tier": "a"}, finish()],
        ["a", "b", "c"],
    ),
    "several_choices_in_one_chunk": Scenario(
        [
            chunk(choice({"content": "x"}), choice({"content": "y"}, 1)),
            chunk(choice({"tool_calls": [A]}), choice({"tool_calls": [B]}, 1)),
            chunk(choice({}, finish_reason="stop"), choice({}, 1, finish_reason="stop")),
        ],
        ["content", "content_1", "a", "b"],
    ),
    "content_parts": Scenario(
        [text([{"type": "thinking", "thinking": "x"}, {"type": "text", "text": "y"}]), finish()],
        ["thinking", "content"],
    ),
    "images": Scenario([delta(images=[{"n": 1}, {"n": 2}, {"n": 3}]), finish()], ["image", "image_1", "image_2"]),
    "everything_in_one_chunk": Scenario(
        [
            chunk(
                choice(
                    {"reasoning": "r", "content": "x", "refusal": "n", "images": [{}], "tool_calls": [A]},
                    finish_reason="stop",
                )
            )
        ],
        ["thinking", "content", "refusal", "image", "a"],
    ),
    "legacy_function_call": Scenario(
        [text("x"), delta(function_call={"name": "f", "arguments": "{}"}), finish()], ["content", "tc_0"]
    ),
}

every_scenario = pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)


@every_scenario
def test_a_policy_sees_every_completion_exactly_once(engine: Engine, way: Way, scenario: Scenario) -> None:
    assert completions(watch(engine, way.items(scenario.chunks))) == scenario.completed


@every_scenario
def test_the_completions_are_those_that_the_events_report(engine: Engine, scenario: Scenario) -> None:
    events = feeding.run(engine, scenario.chunks)
    ids = [event.id for event in events if isinstance(event, BlockStarted)]
    assert [ids[event.block] for event in events if isinstance(event, BlockCompleted)] == scenario.completed


@every_scenario
def test_what_the_pieces_say_together_is_what_the_chunks_said(engine: Engine, way: Way, scenario: Scenario) -> None:
    pieces = [each.chunk for each in watch(engine, way.items(scenario.chunks))]
    again = feeding.outcome(engine, pieces)
    assert again.events == feeding.outcome(engine, scenario.chunks).events


@every_scenario
def test_the_chunks_of_the_caller_are_never_altered(engine: Engine, scenario: Scenario) -> None:
    chunks = copy.deepcopy(scenario.chunks)
    for each in watch(engine, chunks):
        json.dumps(each.chunk)
    assert chunks == scenario.chunks


MODEL_SCENARIOS = (
    "several_calls_in_one_chunk",
    "calls_and_finish_in_one_chunk",
    "interleaved_calls",
    "text_after_calls",
)


@every_model
@pytest.mark.parametrize("name", MODEL_SCENARIOS)
def test_objects_are_split_as_dicts_are_and_never_altered(engine: Engine, form: Form, name: str) -> None:
    scenario = SCENARIOS[name]
    items = [form(each) for each in scenario.chunks]
    before = copy.deepcopy(items)
    seen = watch(engine, items)
    assert completions(seen) == scenario.completed
    assert all(type(each.chunk) is type(items[0]) for each in seen)
    assert items == before
    pieces = [each.chunk for each in seen]
    assert feeding.outcome(engine, pieces).events == feeding.outcome(engine, items).events


def of_blocks(events: list[Event]) -> list[Event]:
    """Without what models add to the envelope and to the usage."""
    return [event for event in events if not isinstance(event, ResponseNoted | UsageReported)]


# The models have no room for a call without an id, content as parts, or an error.
NOT_MODELLED = ("ids_missing", "content_parts", "usage_and_error_beside_the_calls")
MODELLED = {name: each for name, each in SCENARIOS.items() if name not in NOT_MODELLED}


@every_model
@pytest.mark.parametrize("scenario", MODELLED.values(), ids=MODELLED)
def test_objects_say_of_blocks_what_dicts_say(engine: Engine, form: Form, scenario: Scenario) -> None:
    as_objects = feeding.outcome(engine, [form(each) for each in scenario.chunks]).events
    as_dicts = feeding.outcome(engine, scenario.chunks).events
    assert of_blocks(as_objects) == of_blocks(as_dicts)


# The shape of the pieces


def test_a_piece_ends_before_the_delta_that_would_complete_a_second_block(engine: Engine, way: Way) -> None:
    whole = {
        "id": "r1",
        "choices": [
            {
                "index": 0,
                "delta": {"role": "assistant", "content": "x", "tool_calls": [A, B]},
                "logprobs": {"content": []},
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 1},
    }
    seen = watch(engine, way.items([whole]))
    assert [said(each.chunk) for each in seen] == [
        {"id": "r1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "x", "tool_calls": [A]}}]},
        {"id": "r1", "choices": [{"index": 0, "delta": {"tool_calls": [B]}, "logprobs": {"content": []}}]},
        {
            "id": "r1",
            "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 1},
        },
    ]
    assert [each.completed for each in seen] == ["content", "a", "b"]
    assert [each.finish_reason for each in seen] == [None, None, "tool_calls"]
    assert [each.arguments for each in seen] == [None, '{"a":1}', '{"b":1}']


def test_a_choice_with_nothing_in_a_piece_is_left_out_of_it(engine: Engine, way: Way) -> None:
    opening = chunk(choice({"content": "x"}), choice({"content": "y"}, 1))
    both = chunk(choice({"tool_calls": [A]}), choice({"tool_calls": [B]}, 1))
    seen = watch(engine, way.items([opening, both]))
    assert [said(each.chunk)["choices"] for each in seen[1:]] == [
        [{"index": 0, "delta": {"tool_calls": [A]}}],
        [{"index": 1, "delta": {"tool_calls": [B]}}],
    ]


def test_content_parts_are_split_element_by_element(engine: Engine, way: Way) -> None:
    parts = [{"type": "text", "text": "x"}, {"type": "video", "n": 1}, {"type": "video", "n": 2}]
    seen = watch(engine, way.items([text(parts)]))
    assert [said(each.chunk)["choices"][0]["delta"]["content"] for each in seen] == [parts[:2], parts[2:]]


def test_a_chunk_that_completes_one_block_or_none_is_not_split(engine: Engine, way: Way) -> None:
    chunks = [text("x"), chunk(choice({"content": "y", "tool_calls": [A]})), finish("tool_calls")]
    assert [each.chunk for each in watch(engine, way.items(chunks))] == chunks


@every_form
def test_an_object_that_is_not_touched_is_passed_on_itself(engine: Engine, form: Form) -> None:
    chunks = [delta(role="assistant", content=""), text("x"), calls(A), finish("tool_calls")]
    items = [form(each) for each in chunks]
    assert all(each.chunk is item for each, item in zip(watch(engine, items), items, strict=True))


@pytest.mark.parametrize("way", [way for way in WAYS if way.name != "dicts"], ids=str)
def test_chunks_from_bytes_and_text_are_dicts(engine: Engine, way: Way) -> None:
    chunks = [as_dict(text("ä\u2028😀")), as_dict(finish())]
    assert [each.chunk for each in watch(engine, way.items(chunks))] == chunks


# What is taken out


def fields_of_delta(piece: Any) -> Any:
    return piece["choices"][0]["delta"] if isinstance(piece, dict) else piece.choices[0].delta


@every_form
def test_empty_content_is_taken_out_in_the_tool_phase_and_left_before_it(engine: Engine, form: Form) -> None:
    begin = delta(role="assistant", content="")
    start = delta(content="", tool_calls=[{**A, "function": {"name": "f", "arguments": ""}}])
    more = delta(content="", tool_calls=[{"index": 0, "type": "function", "function": {"arguments": "{}"}}])
    items = [form(each) for each in (begin, text("x"), start, more, finish("tool_calls"))]
    before = copy.deepcopy(items)
    seen = watch(engine, items)
    contents = [said(each.chunk)["choices"][0]["delta"].get("content") for each in seen]
    assert contents == ["", "x", None, None, None]
    assert items == before
    assert seen[2].chunk is not items[2]


@pytest.mark.parametrize("name", ["dict", "litellm", "litellm_response"])
def test_the_field_itself_is_gone_where_it_can_be(engine: Engine, name: str) -> None:
    items = [FORMS[name](delta(content="", tool_calls=[A])), FORMS[name](delta(content=""))]
    for each in watch(engine, items):
        assert "content" not in fields_of_delta(each.chunk)


def test_text_after_the_calls_ends_the_tool_phase(engine: Engine, way: Way) -> None:
    chunks = [calls(A), text("x"), text("")]
    assert [each.chunk for each in watch(engine, way.items(chunks))] == chunks


def test_empty_content_is_taken_out_after_the_finish_too(engine: Engine, way: Way) -> None:
    seen = watch(engine, way.items([calls(A), finish("tool_calls"), text("")]))
    assert "content" not in fields_of_delta(seen[-1].chunk)


LATE: dict[str, dict[str, Any]] = {
    "text": {"content": "late"},
    "thinking": {"reasoning_content": "late"},
    "refusal": {"refusal": "late"},
    "parts": {"content": [{"type": "text", "text": "late"}, {"type": "text", "text": "later"}]},
    "calls": {"tool_calls": [A, B]},
    "function_call": {"function_call": {"name": "late"}},
    "images": {"images": [{"url": "late"}]},
    "audio": {"audio": {"data": "late"}},
    "thinking_twice": {
        "reasoning": "late",
        "reasoning_content": "late",
        "reasoning_details": [{"type": "reasoning.text", "text": "late"}],
    },
}


@pytest.mark.parametrize("fields", LATE.values(), ids=LATE)
def test_what_comes_after_the_finish_is_taken_out(engine: Engine, way: Way, fields: dict[str, Any]) -> None:
    chunks = [text("x"), finish(), delta(channel="kept", **fields)]
    seen = watch(engine, way.items(chunks))
    assert len(seen) == 3
    assert said(seen[2].chunk) == delta(channel="kept")


@every_form
def test_late_calls_are_taken_out_of_objects_that_stay_as_they_were(engine: Engine, form: Form) -> None:
    items = [form(each) for each in (text("x"), finish(), delta(content="late", tool_calls=[A]))]
    before = copy.deepcopy(items)
    seen = watch(engine, items)
    late = said(seen[-1].chunk)["choices"][0]["delta"]
    assert not late.get("tool_calls")
    assert not late.get("content")
    assert items == before


def test_late_parts_of_one_choice_leave_another_alone(engine: Engine, way: Way) -> None:
    late = chunk(choice({"content": "late"}), choice({"content": "y"}, 1))
    seen = watch(engine, way.items([text("x"), text("y", 1), finish(), late]))
    assert said(seen[-1].chunk)["choices"][-1] == choice({"content": "y"}, 1)
    assert "late" not in json.dumps(seen[-1].chunk)


def test_a_repetition_beside_the_delta_goes_with_what_is_taken_out(engine: Engine, way: Way) -> None:
    repeated = {"message": {"content": "xlate"}, "text": "late"}
    chunks = [text("x"), finish(), chunk(choice({"content": "late"}, **repeated))]
    seen = watch(engine, way.items(chunks))
    assert said(seen[-1].chunk) == chunk(choice())


def test_a_repetition_beside_the_delta_stays_where_nothing_is_taken_out(engine: Engine, way: Way) -> None:
    chunks = [chunk(choice({"content": "x"}, message={"content": "x"}, text="x"))]
    assert [each.chunk for each in watch(engine, way.items(chunks))] == chunks


def test_a_malformed_chunk_never_reaches_the_policy(engine: Engine) -> None:
    assert [each.chunk for each in watch(engine, [text("x"), {"choices": 5}, "no", finish()])] == [text("x"), finish()]


# The terminator


@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_a_terminator_that_completes_blocks_gives_a_chunk_for_each_that_says_nothing(
    engine: Engine, split: Split
) -> None:
    stream = sse(as_dict(text("x")), as_dict(calls(A, index=1)), DONE)
    seen = watch(engine, split(stream))
    assert [each.completed for each in seen] == [None, None, "content", "a"]
    assert [each.chunk for each in seen[2:]] == [
        {
            "id": "r1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [{"index": index, "delta": {}, "finish_reason": None}],
        }
        for index in (0, 1)
    ]


def test_a_terminator_after_the_finish_gives_no_chunk(engine: Engine) -> None:
    assert len(watch(engine, [sse(text("x"), finish(), DONE)])) == 2


def test_a_frame_that_is_no_chunk_gives_no_chunk(engine: Engine) -> None:
    seen = watch(engine, [b": comment\n\n", frame(json.dumps(text("x"))), b"event: ping\n\n", sse(finish(), DONE)])
    assert [each.chunk for each in seen] == [text("x"), finish()]
