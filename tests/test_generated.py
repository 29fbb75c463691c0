"""Generated chat streams: whatever they say, both engines report the same, in every split and form."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import feeding
from feeding import canonical, run
from models import said
from penstock.errors import ProtocolError
from penstock.events import BlockCompleted, BlockStarted
from replay import replayed, shown
from splits import SeededRandom
from watching import Seen, completions, watch
from wire import DONE, Chunk, sse

if TYPE_CHECKING:
    from feeding import Engine

# Always the same examples: a run that fails can be repeated, here and elsewhere.
generated = settings(
    max_examples=400,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)

WORDS = ("", "a", "Hm ", "ä😀", "\n\n", None)
PARTS = (
    {"type": "text", "text": "t"},
    {"type": "thinking", "thinking": [{"type": "text", "text": "u"}]},
    {"type": "thinking", "thinking": "v"},
    {"type": "refusal", "refusal": "w"},
    {"type": "video", "url": "x"},
)
DETAILS = (
    {"type": "reasoning.text", "text": "a", "signature": None},
    {"type": "reasoning.text", "text": "", "signature": "s"},
    {"type": "reasoning.summary", "summary": "b"},
    {"type": "reasoning.encrypted", "data": "d"},
    {"type": "reasoning.odd", "x": 1},
)
THINKING_BLOCKS = (
    {"type": "thinking", "thinking": "c"},
    {"type": "thinking", "thinking": "", "signature": "s"},
    {"type": "redacted_thinking", "data": "d"},
)
FUNCTIONS = [
    {"name": name, "arguments": arguments}
    for name in ("f", "g", "", None)
    for arguments in ("", "{", "}", "{}", '{"a":1}', "x", None)
]
IDENTITIES = [
    {"index": index, "id": call_id} for index in (None, 0, 0, 1, 7) for call_id in (None, None, "", "a", "b", "tc_0")
]
CUSTOM = [{"index": index, "type": "custom", "custom": {"name": "h", "input": "i"}} for index in (0, 1)]

# What one field of a delta may say; lists are lengthened when they come twice.
fields = st.one_of(
    st.tuples(st.just("content"), st.sampled_from(WORDS)),
    st.tuples(st.just("content"), st.lists(st.sampled_from(PARTS), max_size=3)),
    st.tuples(st.sampled_from(["reasoning", "reasoning_content", "refusal"]), st.sampled_from(WORDS)),
    st.tuples(st.just("reasoning_details"), st.sampled_from(DETAILS).map(lambda each: [each])),
    st.tuples(st.just("thinking_blocks"), st.sampled_from(THINKING_BLOCKS).map(lambda each: [each])),
    st.tuples(st.just("images"), st.just([{"url": "u"}])),
    st.tuples(st.just("annotations"), st.just([{"n": 1}])),
    st.tuples(st.just("audio"), st.sampled_from([None, {"data": "AA"}])),
    st.tuples(st.just("role"), st.sampled_from(["assistant", "", None])),
    st.tuples(st.sampled_from(["channel", "obfuscation"]), st.sampled_from(["x", "y", None])),
    st.tuples(st.just("function_call"), st.sampled_from(FUNCTIONS)),
    st.tuples(st.just("tool_calls"), st.sampled_from(CUSTOM).map(lambda each: [each])),
    *[
        st.tuples(
            st.just("tool_calls"),
            st.builds(
                lambda who, what: [{**who, "function": what}], st.sampled_from(IDENTITIES), st.sampled_from(FUNCTIONS)
            ),
        )
    ]
    * 3,
)


def as_delta(saying: list[tuple[str, Any]]) -> dict[str, Any]:
    delta: dict[str, Any] = {}
    for name, value in saying:
        longer = isinstance(value, list) and isinstance(delta.get(name), list)
        delta[name] = delta[name] + value if longer else value
    return delta


deltas = st.lists(fields, max_size=4).map(as_delta)
choices = st.builds(
    lambda index, delta, finish, others: {"index": index, "delta": delta, "finish_reason": finish, **others},
    st.sampled_from([0, 0, 0, 1, 2]),
    deltas,
    st.sampled_from([None, None, None, None, None, "", "stop", "tool_use", "odd"]),
    st.sampled_from(
        [{}, {}, {"logprobs": None}, {"logprobs": {"content": []}}, {"seed": 1, "native_finish_reason": "X"}]
    ),
)
# A choice stands once in a chunk.
all_choices = st.lists(choices, max_size=2, unique_by=lambda choice: choice["index"])
envelopes = st.sampled_from(
    [
        {"id": "r1", "model": "m"},
        {"id": "", "model": ""},
        {"tier": "a", "id": "r2"},
        {"tier": "b"},
        {"usage": None, "error": None},
        {"usage": {"prompt_tokens": 1}},
        {"error": {"message": "e"}},
    ]
)
chunks = st.builds(lambda envelope, choices: {"created": 1, **envelope, "choices": choices}, envelopes, all_choices)
streams = st.lists(chunks, max_size=6)
ends = st.sampled_from([[], [DONE]])


@generated
@given(stream=streams, seed=st.integers(0, 99), end=ends)
def test_both_engines_report_the_same_of_any_stream_in_any_split(
    core: Engine, reference: Engine, stream: list[Chunk], seed: int, end: list[str]
) -> None:
    data = sse(*stream, *end)
    expected = canonical(run(reference, [data]))
    assert canonical(run(core, [data])) == expected
    for engine in (core, reference):
        assert canonical(run(engine, SeededRandom(seed)(data))) == expected


@generated
@given(stream=streams)
def test_any_stream_means_the_same_as_bytes_text_and_dicts(engine: Engine, stream: list[Chunk]) -> None:
    as_bytes = canonical(run(engine, [sse(*stream)]))
    assert canonical(run(engine, map(json.dumps, stream))) == as_bytes
    assert canonical(run(engine, stream)) == as_bytes


@generated
@given(stream=streams)
def test_a_policy_sees_every_completion_of_any_stream_exactly_once(engine: Engine, stream: list[Chunk]) -> None:
    events = run(engine, stream)
    ids = [event.id for event in events if isinstance(event, BlockStarted)]
    seen = watch(engine, stream)
    assert completions(seen) == [ids[event.block] for event in events if isinstance(event, BlockCompleted)]
    assert completions(watch(engine, [sse(*stream)])) == completions(seen)


@generated
@given(stream=streams)
def test_the_pieces_of_any_stream_say_what_it_said(engine: Engine, stream: list[Chunk]) -> None:
    pieces_of_it = [each.chunk for each in watch(engine, stream)]
    again, whole = (blocks_of(engine, items) for items in (pieces_of_it, stream))
    assert again == whole


def blocks_of(engine: Engine, items: list[Chunk]) -> list[dict[str, Any]]:
    return shown(feeding.feed(engine, items)[1].state.blocks)


@generated
@given(stream=streams, end=ends)
def test_both_engines_give_the_same_chunks_of_any_stream(
    core: Engine, reference: Engine, stream: list[Chunk], end: list[str]
) -> None:
    data = sse(*stream, *end)
    for items in ([data], stream):
        assert seen_by(core, items) == seen_by(reference, items)


def seen_by(engine: Engine, items: list[Any]) -> list[Seen]:
    return [replace(each, chunk=without_blanks(said(each.chunk))) for each in watch(engine, items)]


# Where a piece shows reasoning that another field repeats is left open; that no piece says it twice is tested above.
REPEATING = ("reasoning", "reasoning_content", "reasoning_details", "thinking_blocks")


def without_blanks(chunk: Chunk) -> Chunk:
    """Without empty fields, which belong to no piece: only an empty content has a meaning of its own."""
    for choice in chunk["choices"]:
        fields_of_it = choice["delta"].items()
        said_of_it = {name: value for name, value in fields_of_it if value != "" or name == "content"}
        choice["delta"] = {name: value for name, value in said_of_it.items() if name not in REPEATING}
    chunk["choices"] = [choice for choice in chunk["choices"] if choice != {"index": choice["index"], "delta": {}}]
    return chunk


@generated
@given(stream=streams)
def test_the_state_of_any_stream_is_what_its_events_say(engine: Engine, stream: list[Chunk]) -> None:
    events, processor = feeding.feed(engine, stream)
    assert shown(processor.state.blocks) == replayed(events)


@generated
@given(stream=streams)
def test_a_strict_stream_ends_in_the_error_of_its_first_quirk(
    core: Engine, reference: Engine, stream: list[Chunk]
) -> None:
    assert strict_result(core, stream) == strict_result(reference, stream)


def strict_result(engine: Engine, stream: list[Chunk]) -> Any:
    try:
        return canonical(run(engine, stream, strict=True))
    except ProtocolError as error:
        return (error.kind, error.offset)
