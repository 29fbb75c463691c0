"""How a stream ends: finish reasons, usage, errors, the terminator, and input that just stops."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import feeding
from feeding import CUT, ENDED, Run
from penstock.events import (
    BlockCompleted,
    BlockGrew,
    BlockNoted,
    BlockStarted,
    ChoiceFinished,
    ErrorReported,
    ResponseNoted,
    UsageReported,
)
from splits import SPLITS, Split
from wire import DONE, call, choice, chunk, delta, finish, frame, sse, text

if TYPE_CHECKING:
    from feeding import Engine

HELLO = [BlockStarted(0, "content", "content"), BlockGrew(0, "text", "Hello")]
FINISHED = [BlockCompleted(0), ChoiceFinished(0, "stop", "stop")]

every_split = pytest.mark.parametrize("split", SPLITS, ids=str)

# The finish

WORDS = {
    "stop": "stop STOP eos eos_token end_turn stop_sequence COMPLETE",
    "length": "length max_tokens MAX_TOKENS max_output_tokens model_length model_context_window_exceeded",
    "tool_calls": "tool_calls tool_call TOOL_CALL tool_use function_call",
    "content_filter": "content_filter content_filtered guardrail_intervened refusal SAFETY sensitive",
    # An answer that broke off has not stopped.
    "insufficient_system_resource": "insufficient_system_resource",
    "error": "error",
    "abort": "abort",
}
REASONS = {native: reason for reason, natives in WORDS.items() for native in natives.split()}


@pytest.mark.parametrize(("native", "reason"), REASONS.items())
def test_a_finish_reason_has_one_vocabulary_and_keeps_its_own_word(run: Run, native: str, reason: str) -> None:
    said = run(finish(native))
    assert said.events == [ChoiceFinished(0, reason, native), ENDED]
    assert (said.state.finish_reason, said.state.native_finish_reason) == (reason, native)
    assert said.state.finish_reasons == {0: reason}


@pytest.mark.parametrize("empty", ["", None])
def test_an_empty_finish_reason_is_none(run: Run, empty: str | None) -> None:
    said = run(chunk(choice({"content": "Hello"}, finish_reason=empty)))
    assert said.events == [*HELLO, CUT]


def test_the_native_finish_reason_of_a_router_is_an_extra(run: Run) -> None:
    said = run(text("Hello"), chunk(choice({}, finish_reason="stop", native_finish_reason="STOP")))
    assert said.events == [
        *HELLO,
        BlockNoted(0, "native_finish_reason", '"STOP"'),
        BlockCompleted(0),
        ChoiceFinished(0, "stop", "stop"),
        ENDED,
    ]


# Usage


def test_usage_is_reported_each_time_and_the_last_counts(run: Run) -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 2}, "completion_tokens_details": {"reasoning_tokens": 3}}
    final = {"prompt_tokens": 5, "completion_tokens": 7, **details}
    said = run({"choices": [], "usage": {"prompt_tokens": 1}}, {"choices": [], "usage": final}, {"usage": None})
    assert said.events[0] == UsageReported('{"prompt_tokens":1}')
    assert len(said.events) == 3
    usage = said.state.usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (5, 7)
    assert (usage.cache_read_tokens, usage.reasoning_tokens, usage.raw) == (2, 3, final)


def test_usage_inside_x_groq_is_usage(run: Run) -> None:
    said = run({"choices": [], "x_groq": {"id": "r", "usage": {"prompt_tokens": 1}}})
    assert said.events == [
        ResponseNoted("x_groq", '{"id":"r","usage":{"prompt_tokens":1}}'),
        UsageReported('{"prompt_tokens":1}'),
        CUT,
    ]


# Errors

PROBLEM = {"message": "overloaded", "code": 529}
REPORTED = ErrorReported('{"code":529,"message":"overloaded"}')


def test_an_error_alone_in_a_chunk_is_reported_and_the_stream_is_interrupted(run: Run) -> None:
    said = run(text("Hello"), {"error": PROBLEM})
    assert said.events == [*HELLO, REPORTED, CUT]
    assert said.state.error == PROBLEM
    assert said.state.interrupted


def test_an_error_beside_choices_comes_after_what_they_say(run: Run) -> None:
    assert run(text("Hello") | {"error": PROBLEM}).events == [*HELLO, REPORTED, CUT]


def test_an_error_after_the_finish_does_not_unfinish_the_stream(run: Run) -> None:
    said = run(text("Hello"), finish(), {"error": PROBLEM})
    assert said.events == [*HELLO, *FINISHED, REPORTED, ENDED]
    assert said.state.error == PROBLEM
    assert not said.state.interrupted


def test_an_error_that_is_null_is_nothing(run: Run) -> None:
    said = run(text("Hello") | {"error": None})
    assert said.events == [*HELLO, CUT]
    assert said.state.error is None


def test_an_error_may_be_words(run: Run) -> None:
    said = run({"error": "overloaded"})
    assert said.events == [ErrorReported('"overloaded"'), CUT]
    assert said.state.error == "overloaded"


ERROR_FRAMES = {
    "named": frame(json.dumps(PROBLEM), event="error"),
    "named_with_member": frame(json.dumps({"error": PROBLEM}), event="error"),
    "field": b"error: " + json.dumps(PROBLEM).encode() + b"\n\n",
}


@pytest.mark.parametrize("error", ERROR_FRAMES.values(), ids=ERROR_FRAMES)
@every_split
def test_an_error_of_the_framing_is_reported(engine: Engine, error: bytes, split: Split) -> None:
    said = feeding.outcome(engine, split(sse(text("Hello")) + error))
    assert said.events == [*HELLO, REPORTED, CUT]
    assert said.quirks == {}


@every_split
def test_a_terminator_after_an_error_makes_nothing_whole(engine: Engine, split: Split) -> None:
    said = feeding.outcome(engine, split(sse(text("Hello"), {"error": PROBLEM}, DONE)))
    assert said.events == [*HELLO, REPORTED, CUT]
    assert not said.state.blocks[0].is_complete


# The terminator


@every_split
def test_the_terminator_after_the_finish_adds_nothing(engine: Engine, split: Split) -> None:
    said = feeding.outcome(engine, split(sse(text("Hello"), finish(), DONE)))
    assert said.events == [*HELLO, *FINISHED, ENDED]


@every_split
def test_the_terminator_without_a_finish_completes_every_open_block(engine: Engine, split: Split) -> None:
    said = feeding.outcome(engine, split(sse(text("Hello"), text("b", 1), DONE)))
    assert said.events == [
        *HELLO,
        BlockStarted(1, "content", "content_1", choice=1),
        BlockGrew(1, "text", "b"),
        BlockCompleted(0),
        BlockCompleted(1),
        ENDED,
    ]
    assert said.state.finish_reason is None
    assert said.state.current_block is None


@every_split
def test_nothing_after_the_terminator_is_read(engine: Engine, split: Split) -> None:
    late = sse(text("more"), "not JSON", call("{}", index=0, id="c", name="f"), finish())
    said = feeding.outcome(engine, split(sse(text("Hello"), finish(), DONE) + late))
    assert said.events == [*HELLO, *FINISHED, ENDED]
    assert (said.quirks, said.problems) == ({}, [])


@pytest.mark.parametrize("variant", ["[DONE] ", " [DONE]", "[done]", '["DONE"]', "[DONE]{}"])
def test_only_the_exact_terminator_ends_a_stream(engine: Engine, variant: str) -> None:
    said = feeding.outcome(engine, [sse(text("Hello"), variant, text("!"), finish())])
    assert said.quirks == {"malformed_chunk": 1}
    assert said.state.blocks[0].content == "Hello!"


@pytest.mark.parametrize("tail", [b"data: [DONE]\n", b"data: [DONE]"])
@every_split
def test_a_terminator_without_its_blank_line_is_a_terminator(engine: Engine, tail: bytes, split: Split) -> None:
    assert feeding.outcome(engine, split(sse(text("Hello")) + tail)).events == [*HELLO, BlockCompleted(0), ENDED]


# The end of the input


def test_input_that_ends_without_a_finish_is_interrupted_and_completes_nothing(run: Run) -> None:
    said = run(text("Hello"))
    assert said.events == [*HELLO, CUT]
    assert said.state.interrupted
    assert not said.state.blocks[0].is_complete


def test_a_stream_is_finished_only_when_every_choice_is(run: Run) -> None:
    assert run(text("Hello"), text("b", 1), finish(), finish(index=1)).events[-1] == ENDED
    assert run(text("Hello"), text("b", 1), finish()).events[-1] == CUT


def test_a_choice_that_was_only_announced_must_finish_too(run: Run) -> None:
    assert run(text("Hello"), delta(1, role="assistant"), finish()).events[-1] == CUT


def test_a_stream_without_any_choice_is_interrupted(run: Run) -> None:
    assert run({"id": "a", "choices": []}).events == [ResponseNoted("id", '"a"'), CUT]
    assert run().events == [CUT]


@every_split
def test_a_last_event_without_its_blank_line_is_taken_and_counted_if_its_json_is_whole(
    engine: Engine, split: Split
) -> None:
    data = sse(text("Hello"), finish())
    for cut in (1, 2):
        said = feeding.outcome(engine, split(data[:-cut]))
        assert said.events == [*HELLO, *FINISHED, ENDED]
        assert said.quirks == {"unterminated_event": 1}


@every_split
def test_a_last_event_that_is_cut_inside_its_json_is_a_cut(engine: Engine, split: Split) -> None:
    said = feeding.outcome(engine, split(sse(text("Hello"), finish())[:-3]))
    assert said.events == [*HELLO, CUT]
    assert said.quirks == {}
