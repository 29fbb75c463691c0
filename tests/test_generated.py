"""Generated chat streams: whatever they say, both engines report the same, in every split and form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import feeding
from feeding import canonical, run
from penstock.errors import ProtocolError
from penstock.events import BlockCompleted, BlockStarted
from replay import replayed, shown
from splits import SeededRandom
from watching import completions, watch
from wire import DONE, Chunk, sse

if TYPE_CHECKING:
    from feeding import Engine

# Always the same examples: a run that fails can be repeated, here and elsewhere.
generated = settings(
    max_examples=250,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

words = st.sampled_from(["", "a", "Hm ", "ä😀", "\n\n", None])
pieces = st.sampled_from(["", "{", "}", "{}", '{"a":1}', "x", '"', None])


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A dict that has any of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


functions = some(name=st.sampled_from(["f", "g", "", None]), arguments=pieces)
tool_calls = some(
    index=st.sampled_from([None, 0, 1, 2, 7]),
    id=st.sampled_from([None, "", "a", "b", "tc_0"]),
    function=functions,
    type=st.just("function"),
    note=st.integers(0, 2),
)
custom_calls = st.builds(
    lambda index, body: {"index": index, "type": "custom", "custom": body},
    st.integers(0, 2),
    some(name=st.just("h"), input=words),
)
details = st.one_of(
    st.fixed_dictionaries({"type": st.just("reasoning.text")}, optional={"text": words, "signature": words}),
    st.fixed_dictionaries({"type": st.just("reasoning.summary")}, optional={"summary": words}),
    st.fixed_dictionaries({"type": st.just("reasoning.encrypted")}, optional={"data": words}),
    st.just({"type": "reasoning.odd", "x": 1}),
)
thinking_blocks = st.one_of(
    st.fixed_dictionaries({"type": st.just("thinking")}, optional={"thinking": words, "signature": words}),
    st.fixed_dictionaries({"type": st.just("redacted_thinking")}, optional={"data": words}),
)
parts = st.sampled_from(
    [
        {"type": "text", "text": "t"},
        {"type": "text", "text": ""},
        {"type": "thinking", "thinking": [{"type": "text", "text": "u"}]},
        {"type": "thinking", "thinking": "v"},
        {"type": "refusal", "refusal": "w"},
        {"type": "video", "url": "x"},
    ]
)
deltas = some(
    role=st.sampled_from(["assistant", "", None]),
    content=st.one_of(words, st.lists(parts, max_size=3)),
    reasoning=words,
    reasoning_content=words,
    reasoning_details=st.lists(details, max_size=2),
    thinking_blocks=st.lists(thinking_blocks, max_size=2),
    refusal=words,
    audio=st.sampled_from([None, {"data": "AA"}]),
    images=st.lists(st.just({"url": "u"}), max_size=2),
    annotations=st.lists(st.just({"n": 1}), max_size=2),
    tool_calls=st.lists(st.one_of(tool_calls, custom_calls), max_size=3),
    function_call=functions,
    channel=st.sampled_from(["x", "y", None]),
    obfuscation=st.just("pad"),
)
choices = st.fixed_dictionaries(
    {"index": st.integers(0, 2), "delta": deltas},
    optional={
        "finish_reason": st.sampled_from([None, None, None, "", "stop", "tool_use", "odd"]),
        "logprobs": st.sampled_from([None, {"content": []}]),
    },
)
# A choice stands once in a chunk.
all_choices = st.lists(choices, max_size=3, unique_by=lambda choice: choice["index"])
chunks = st.fixed_dictionaries(
    {"choices": all_choices},
    optional={
        "id": st.sampled_from(["", "r1", "r2"]),
        "model": st.sampled_from(["", "m"]),
        "usage": st.sampled_from([None, {"prompt_tokens": 1}]),
        "error": st.sampled_from([None, {"message": "e"}]),
        "tier": st.sampled_from([None, "a", "b"]),
    },
)
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
    assert watch(core, [data]) == watch(reference, [data])


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
