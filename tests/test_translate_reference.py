"""Chat to Messages: core and reference write the same bytes, at the same read, whatever comes."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock
from penstock import _core, reference
from penstock.errors import PenstockError, StreamClosed
from penstock.limits import Limits
from recorded import OWN, Recording, of_others, own
from splits import SPLITS, SeededRandom
from test_generated import ends, generated, streams
from wire import DONE, call, calls, chunk, delta, finish, frame, part, sse, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from splits import Split

TRANSLATORS = {"core": _core.Translator, "reference": reference.Translator}
OPTIONS: tuple[dict[str, Any], ...] = (
    {"coalesce": False},
    {},
    {"on_interrupt": "close"},
    {"text_after_calls": "before_calls"},
    {"on_interrupt": "close", "text_after_calls": "before_calls", "coalesce": False, "model": "tide"},
)
CUTS = 5
FLIPS = 40
SEED = 11

every_option = pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(map(str, options.values())))


def translated(engine: str, items: Iterable[Any], **options: Any) -> tuple[Any, ...]:
    """All that a translator gives: what each read brings, and what it tells at the end."""
    translator: Any = TRANSLATORS[engine](
        source="openai_chat", target="anthropic_messages", id="made", created=1, **options
    )
    given = [step(translator.feed, item) for item in items]
    given.append(step(translator.finish))
    given.append(step(translator.finish))
    return given, translator.losses, translator.ids, translator.failure, translator.is_over


def step(take: Any, *item: Any) -> Any:
    try:
        return take(*item)
    except StreamClosed:
        return "closed"
    except PenstockError as error:
        # Which of several faults of a chunk is met first, and how it is told, depends on the parser.
        return type(error).__name__


def assert_same(items: list[Any], **options: Any) -> bytes:
    """Holds both engines to the same; gives what was written, which is legal."""
    ours, theirs = (translated(engine, items, **options) for engine in TRANSLATORS)
    assert ours == theirs
    written = b"".join(each for each in ours[0] if isinstance(each, bytes))
    assert list(penstock.check(written, "anthropic_messages")) == []
    return written


def items_of(recording: Recording, split: Split) -> list[Any]:
    return split(recording.data) if recording.is_sse else recording.lines


# Recordings


def recordings() -> list[Any]:
    others = of_others("openai_chat/*", "litellm_chat/*.jsonl", "synthetic/*chat*")
    return [*(Recording(path) for path in sorted(OWN.glob("*.sse"))), *others]


@pytest.mark.parametrize("split", SPLITS, ids=str)
@pytest.mark.parametrize("recording", recordings(), ids=str)
def test_a_recording_is_written_alike(recording: Recording, split: Split) -> None:
    items = items_of(recording, split)
    for options in OPTIONS if split is SPLITS[0] else OPTIONS[:1]:
        assert_same(items, **options)


@pytest.mark.parametrize("recording", recordings(), ids=str)
def test_a_recording_that_is_cut_anywhere_is_written_alike(recording: Recording) -> None:
    data = recording.data if recording.is_sse else sse(*recording.lines)
    chance = random.Random(f"{SEED} {recording}")
    for _ in range(CUTS):
        cut = chance.randrange(len(data))
        for options in OPTIONS[:3]:
            written = assert_same(SeededRandom(cut, longest=4096)(data[:cut]), **options)
            assert penstock.check(written, "anthropic_messages").ended != "truncated", f"cut at {cut}"


# Generated


@generated
@given(stream=streams, seed=st.integers(0, 99), end=ends, options=st.sampled_from(OPTIONS))
def test_any_stream_is_written_alike(
    stream: list[dict[str, Any]], seed: int, end: list[str], options: dict[str, Any]
) -> None:
    data = sse(*stream, *end)
    for items in ([data], SeededRandom(seed)(data), stream):
        assert_same(items, **options)


@generated
@given(stream=streams, end=ends)
def test_any_stream_is_written_alike_in_strict_mode(stream: list[dict[str, Any]], end: list[str]) -> None:
    assert_same([sse(*stream, *end)], strict=True)


# Damaged, and meant to harm


@pytest.mark.parametrize("name", ["thinking_text_tool_call.sse", "choices_two_crlf.sse", "tool_calls_interleaved.sse"])
def test_a_stream_with_a_flipped_bit_is_written_alike(name: str) -> None:
    data = own(name).data
    chance = random.Random(SEED)
    for _ in range(FLIPS):
        at, bit = chance.randrange(len(data)), chance.randrange(8)
        flipped = data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]
        for options in OPTIONS:
            assert_same([flipped], **options)


SEALED = {"type": "reasoning.encrypted", "data": "c2VhbGVk"}
THOUGHT = {"type": "reasoning.text", "text": "low water"}
SIGNED = {"type": "reasoning.text", "signature": "c2lnbmVk"}
BEGUN = call('{"port"', index=0, id="call_a", name="tide")
WHOLE = call('{"port": "Brest"}', index=0, id="call_a", name="tide")

HOSTILE: dict[str, list[Any]] = {
    "a call without a name": [call("{}", index=0, id="a"), finish("tool_calls")],
    "a name behind the arguments": [call("{}", index=0, id="a"), call(index=0, name="tide"), finish("tool_calls")],
    "a call cut by the limit": [text("High"), BEGUN, finish("length")],
    "a call cut by the limit before a text": [BEGUN, text("High"), finish("length")],
    "arguments that are a list": [call("[1]", index=0, id="a", name="tide"), finish("tool_calls")],
    "arguments that are null": [call(" null ", index=0, id="a", name="tide"), finish("tool_calls")],
    "arguments of white space": [call(" \f\n", index=0, id="a", name="tide"), finish("tool_calls")],
    "arguments behind a form feed": [call("\f{}", index=0, id="a", name="tide"), finish("tool_calls")],
    "arguments nested too deeply": [
        call('{"a":' + "[" * 128 + "]" * 128 + "}", index=0, id="a", name="tide"),
        text("x"),
        finish(),
    ],
    "arguments nested just enough": [
        call('{"a":' + "[" * 127 + "]" * 127 + "}", index=0, id="a", name="tide"),
        text("x"),
        finish(),
    ],
    "more for a call that was closed": [WHOLE, text("High"), call("x", index=0), finish("tool_calls")],
    "white space for a call that was closed": [WHOLE, text("High"), call(" \n", index=0), finish("tool_calls")],
    "a second value for a call in one chunk": [
        calls(part("{}", index=0, id="a", name="f"), part("{}", index=1, id="b", name="g"), part("{}", index=0)),
        finish("tool_calls"),
    ],
    "text behind a whole call": [WHOLE, text("High"), finish("tool_calls")],
    "reasoning behind a call": [BEGUN, delta(reasoning_details=[THOUGHT]), call(': "Brest"}', index=0), finish()],
    "sealed reasoning before its text": [
        delta(reasoning_details=[SEALED]),
        delta(reasoning_details=[THOUGHT]),
        finish(),
    ],
    "sealed reasoning behind its text, behind a call": [
        BEGUN,
        delta(reasoning_details=[THOUGHT]),
        delta(reasoning_details=[SEALED]),
        call(': "Brest"}', index=0),
        finish(),
    ],
    "sealed reasoning that is signed": [delta(reasoning_details=[SEALED, SIGNED]), text("High"), finish()],
    "a signature alone": [delta(reasoning_details=[SIGNED]), text("High"), finish()],
    "a late signature": [delta(reasoning_details=[THOUGHT]), text("High"), delta(reasoning_details=[SIGNED]), finish()],
    "late sealed reasoning": [
        delta(reasoning_details=[THOUGHT]),
        text("High"),
        delta(reasoning_details=[SEALED]),
        finish(),
    ],
    "an id and a model in a delta": [delta(id=7, model=["m"]), text("High"), finish()],
    "ids that are taken, illegal, or too long": [
        call("{}", index=0, id="call_1", name="f"),
        call("{}", index=1, id="toolu_1", name="f"),
        call("{}", index=2, id="so sorry", name="f"),
        call("{}", index=3, id="x" * 65, name="f"),
        finish("tool_calls"),
    ],
    "characters that end lines elsewhere": [text('a\u2028b\u2029c\x85d\x08e\x0cf\x00g\x7fh"i\\j'), finish()],
    "a custom call with the same": [
        delta(
            tool_calls=[
                {"index": 0, "id": "c", "type": "custom", "custom": {"name": "h", "input": 'a\u2028"\\\n\x08\x7f'}}
            ]
        ),
        finish("tool_calls"),
    ],
    "a custom call without input": [
        delta(tool_calls=[{"index": 0, "id": "c", "type": "custom", "custom": {"name": "h"}}]),
        finish(),
    ],
    "a refusal": [delta(refusal="no"), finish()],
    "a refusal beside a call": [delta(refusal="no"), WHOLE, finish()],
    "a finish of another sort": [text("High"), finish("weather")],
    "no finish": [text("High"), DONE],
    "nothing at all": [],
    "the terminator alone": [DONE],
    "counts that are no counts": [
        chunk(usage={"prompt_tokens": -1, "completion_tokens": True, "prompt_tokens_details": {"cached_tokens": 1.5}}),
        text("High"),
        finish(),
        chunk(usage={"prompt_tokens": 1 << 64, "completion_tokens": 3}),
    ],
    "more from the cache than was read": [
        text("High"),
        finish(),
        chunk(usage={"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9, "cache_write_tokens": 1}}),
    ],
    "too many choices": [chunk({"index": 9, "delta": {"content": "x"}})],
}
ERRORS: tuple[Any, ...] = (
    "words",
    {"message": "slow down", "type": "rate_limit_error"},
    {"message": "slow\ndown\x85", "code": 429},
    {"error": {"detail": "x" * 600, "code": "+503"}},
    {"error": "words", "message": "others"},
    {"msg": "no", "type": 5.0, "code": True, "status": "INVALID_ARGUMENT"},
    {"message": ["no"], "code": "quota_exceeded"},
    {"code": 500},
    {"code": 302},
    ["no"],
    7,
)


@every_option
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_stream_is_written_alike(name: str, options: dict[str, Any]) -> None:
    for split in SPLITS:
        assert_same(split(sse(*HOSTILE[name])), **options)


@every_option
@pytest.mark.parametrize(
    "arguments",
    [
        '{"a":%s}' % ("1" * 5000),
        '{"a":-%s}' % ("1" * 64),
        '{"a":-%s}' % ("1" * 65),
        '{"a":1e999}',
        '{"a":1,"\\u0061":2}',
        '{"a":"\\ud800"}',
        json.dumps(dict.fromkeys(map(str, range(1025)), 0)),
    ],
    ids=lambda arguments: arguments[:20],
)
def test_arguments_that_readers_disagree_on_are_written_alike(arguments: str, options: dict[str, Any]) -> None:
    assert_same([sse(call(arguments, index=0, id="a", name="tide"), text("x"), finish())], **options)


@every_option
@pytest.mark.parametrize("error", ERRORS, ids=str)
def test_an_error_of_the_upstream_is_told_alike(error: Any, options: dict[str, Any]) -> None:
    assert_same([sse(text("High"), BEGUN, chunk(error=error), text("tide"), finish())], **options)


@pytest.mark.parametrize("limit", ["frame_bytes", "argument_bytes", "blocks", "calls", "held_bytes"])
def test_a_limit_ends_the_answer_alike(limit: str) -> None:
    stream = [text("High"), WHOLE, call("{}", index=1, id="b", name="f"), finish("tool_calls")]
    for allowed in (1, 2, 16, 100):
        assert_same([sse(*stream)], limits=Limits(**{limit: allowed}))


@pytest.mark.parametrize("data", [b"<html>", b" \n<!DOCTYPE html>\n\n", frame("not JSON"), b"data: \xff\n\n"])
def test_what_is_no_stream_is_told_alike(data: bytes) -> None:
    for split in SPLITS:
        assert_same(split(data))


# Beside the stream


@every_option
def test_pings_and_interruptions_are_written_alike(options: dict[str, Any]) -> None:
    for stream in ([], [text("High")], [BEGUN], [WHOLE, text("tide")]):
        given: list[Any] = []
        for engine in TRANSLATORS.values():
            translator: Any = engine(source="openai_chat", target="anthropic_messages", id="made", created=1, **options)
            out = [translator.ping(), *(translator.feed(each) for each in stream), translator.ping()]
            out += [translator.interrupt("gone\n", "timeout_error"), translator.ping(), translator.finish()]
            given.append((out, translator.failure, step(translator.feed, text("late"))))
        assert given[0] == given[1]


@pytest.mark.parametrize("option", ["source", "target", "on_interrupt", "text_after_calls"])
def test_an_option_that_the_reference_does_not_know_is_refused(option: str) -> None:
    options: dict[str, Any] = {"id": "made", "created": 1, option: "weather"}
    with pytest.raises(ValueError, match=f"{option} must be"):
        reference.Translator(**options)
