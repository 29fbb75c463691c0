"""The policies that users have: what each does on penstock, and why the third was written anew as an example."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import seed_policies
from models import FORMS
from oracle import chunks_of_sse
from penstock import StreamingContext
from processing import process
from recorded import own
from wire import call, calls, choice, chunk, delta, finish, part, sse, text

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE = Path(__file__).parent.parent / "examples" / "per_tool_call_buffering.py"
USAGE = {"choices": [], "usage": {"prompt_tokens": 1}}
ANSWER = [
    text("I look it up."),
    call("", index=0, id="a", name="tide"),
    call("{}", index=0),
    call("[1]", index=1, id="b", name="moon"),
    finish("tool_calls"),
    USAGE,
]
BLOCKED = {"error": "blocked"}


@pytest.fixture(autouse=True)
def judge() -> Iterator[None]:
    """A judge that has judged nothing and forbids nothing."""
    seed_policies.JUDGED.clear()
    seed_policies.FORBIDDEN.clear()
    yield
    seed_policies.FORBIDDEN.clear()


async def sent_by(policy: Any, items: Any = ANSWER) -> list[Any]:
    context = StreamingContext()
    await process(items, policy, context)
    return context.sent


def buffered() -> Any:
    return seed_policies.BufferedJudgePolicy().on_chunk


# As printed.


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
async def test_the_basic_policy_judges_each_call_when_it_completes_and_forwards_all(form: Any) -> None:
    chunks = [form(each) for each in ANSWER[:-1]]
    assert await sent_by(seed_policies.basic, chunks) == chunks
    assert seed_policies.JUDGED == [("tide", "{}"), ("moon", "[1]")]


async def test_the_basic_policy_stops_a_call_only_when_its_chunks_have_left() -> None:
    seed_policies.FORBIDDEN.add("tide")
    assert await sent_by(seed_policies.basic) == [*ANSWER[:3], BLOCKED]


async def test_the_buffering_policy_sends_nothing_before_a_call_has_been_judged() -> None:
    seed_policies.FORBIDDEN.add("tide")
    assert await sent_by(buffered()) == [BLOCKED]


async def test_the_buffering_policy_lets_the_start_of_the_next_call_leave_with_the_one_before() -> None:
    seed_policies.FORBIDDEN.add("moon")
    assert await sent_by(buffered()) == [*ANSWER[:4], BLOCKED]
    assert seed_policies.JUDGED == [("tide", "{}"), ("moon", "[1]")]


async def test_the_buffering_policy_keeps_what_follows_the_last_call() -> None:
    assert await sent_by(buffered()) == ANSWER[:5]
    assert await sent_by(buffered(), [text("x"), finish()]) == []


async def test_the_per_call_policy_never_judges_a_call_and_never_releases_one() -> None:
    assert await sent_by(seed_policies.per_tool_call) == ANSWER[:1]
    assert seed_policies.JUDGED == []


# The example.


def load_example() -> Any:
    spec = importlib.util.spec_from_file_location("per_tool_call_buffering", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


example = load_example()


def corrected() -> Any:
    return example.PerToolCallBuffering(seed_policies.should_block, refusal=BLOCKED).on_chunk


async def test_the_example_judges_the_calls_that_the_printed_policy_lets_lie() -> None:
    assert await sent_by(corrected()) == ANSWER
    assert seed_policies.JUDGED == [("tide", "{}"), ("moon", "[1]")]


BOTH = calls(part("{}", index=0, id="a", name="tide"), part("[1]", index=1, id="b", name="moon"))
INTERLEAVED = [
    call('{"x":', index=0, id="a", name="tide"),
    call("[", index=1, id="b", name="moon"),
    call("1}", index=0),
    call("1]", index=1),
]
STREAMS = {
    "in_turn": ANSWER,
    "both_in_one_chunk": [text("x"), BOTH, finish("tool_calls"), USAGE],
    "text_behind": [*ANSWER[:3], text("Done."), finish(), USAGE],
    "no_calls": [delta(role="assistant"), text("x"), text("y"), finish(), USAGE],
    "interleaved": [text("x"), *INTERLEAVED, finish("tool_calls"), USAGE],
    "two_choices": [
        chunk(choice({"tool_calls": [part("{", index=0, id="a", name="tide")]}), choice({"content": "x"}, 1)),
        chunk(choice({"tool_calls": [part("}", index=0)]}), choice({"content": "y"}, 1)),
        chunk(choice(finish_reason="tool_calls"), choice({}, 1, finish_reason="stop")),
    ],
    "same_id_twice": [
        call("{}", index=0, id="a", name="tide"),
        call("[1]", index=1, id="a", name="moon"),
        finish("tool_calls"),
    ],
}

every_stream = pytest.mark.parametrize("chunks", STREAMS.values(), ids=STREAMS)


def names_in(chunks: list[Any]) -> set[str]:
    return {name for name in ("tide", "moon") if f"'name': '{name}'" in str(chunks)}


@every_stream
async def test_the_example_loses_nothing(chunks: list[Any]) -> None:
    forwarded = await sent_by(lambda chunk, state, context: context.send(chunk), chunks)
    assert await sent_by(corrected(), chunks) == forwarded


@every_stream
async def test_the_example_judges_every_call_before_any_byte_of_it_is_sent(chunks: list[Any]) -> None:
    def check(sent: Any) -> None:
        assert names_in([sent]) <= {name for name, _ in seed_policies.JUDGED}

    await process(chunks, corrected(), StreamingContext(check))
    assert {name for name, _ in seed_policies.JUDGED} == names_in(chunks)


@every_stream
@pytest.mark.parametrize("name", ["tide", "moon"])
async def test_the_example_sends_no_byte_of_a_call_that_it_blocks(chunks: list[Any], name: str) -> None:
    seed_policies.FORBIDDEN.add(name)
    received = await sent_by(corrected(), chunks)
    assert name not in str(received)
    assert (received[-1] == BLOCKED) is (name in names_in(chunks))


async def test_the_example_judges_interleaved_calls_when_they_are_whole() -> None:
    await sent_by(corrected(), STREAMS["interleaved"])
    assert dict(seed_policies.JUDGED) == {"tide": '{"x":1}', "moon": "[1]"}


async def test_the_example_sends_text_at_once_and_a_call_as_soon_as_it_is_judged() -> None:
    context = StreamingContext()
    counts: list[int] = []

    async def policy(chunk: Any, state: Any, context: StreamingContext) -> None:
        await inner(chunk, state, context)
        counts.append(len(context.sent))

    inner = corrected()
    await process(ANSWER, policy, context)
    assert counts == [1, 1, 1, 3, 5, 6]


@pytest.mark.parametrize("ending", [[finish("length")], [call("{}", index=1, id="b", name="moon"), finish("length")]])
async def test_the_example_refuses_half_a_call(ending: list[Any]) -> None:
    half = [text("x"), call('{"port', index=0, id="a", name="tide"), *ending]
    assert await sent_by(corrected(), half) == [text("x"), BLOCKED]


async def test_the_example_never_sends_the_call_that_a_cut_stream_was_in() -> None:
    assert await sent_by(corrected(), ANSWER[:3]) == ANSWER[:1]


async def test_the_example_passes_a_recording_on_whole() -> None:
    data = own("tool_calls_interleaved.sse").data
    forwarded = await sent_by(lambda chunk, state, context: context.send(chunk), [data])
    assert await sent_by(corrected(), [data]) == forwarded
    assert len(forwarded) >= len(list(chunks_of_sse(data)))


async def test_the_example_gets_the_same_from_bytes() -> None:
    assert await sent_by(corrected(), [sse(*ANSWER)]) == ANSWER
