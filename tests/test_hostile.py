"""Input that is cut, damaged or meant to harm: no completion is invented, and no undocumented exception gets out."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import feeding
from feeding import canonical, run
from penstock.errors import LimitExceeded, ProtocolError
from penstock.events import BlockCompleted, BlockStarted, ChoiceFinished, Event, QuirkSeen, StreamEnded
from recorded import own
from splits import SPLITS, bytewise
from watching import completions, watch
from wire import DONE, call, choice, chunk, finish, frame, part, sse, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from feeding import Engine, Run, Way
    from splits import Split

SMALL = ("thinking_text_tool_call.sse", "choices_two_crlf.sse", "tool_calls_interleaved.sse")
SEED = 5
FLIPS = 300

every_small = pytest.mark.parametrize("name", SMALL)


# Cut


def without_end(events: list[Event]) -> list[Event]:
    return [event for event in events[:-1] if event != QuirkSeen("unterminated_event")]


def is_cut(events: list[Event]) -> bool:
    seen = {event.choice for event in events if isinstance(event, BlockStarted)}
    finished = {event.choice for event in events if isinstance(event, ChoiceFinished)}
    return not seen or seen != finished


@every_small
def test_a_stream_cut_at_any_byte_reports_what_it_had_and_nothing_else(engine: Engine, name: str) -> None:
    data = own(name).data
    whole = without_end(run(engine, [data]))
    for cut in range(len(data)):
        events = run(engine, [data[:cut]])
        had = without_end(events)
        assert had == whole[: len(had)], f"cut at {cut}"
        assert events[-1] == StreamEnded(is_cut(had)), f"cut at {cut}"


@every_small
def test_a_policy_sees_no_completion_that_a_cut_stream_did_not_have(engine: Engine, name: str) -> None:
    data = own(name).data
    for cut in range(0, len(data), 7):
        events = run(engine, [data[:cut]])
        ids = [event.id for event in events if isinstance(event, BlockStarted)]
        expected = [ids[event.block] for event in events if isinstance(event, BlockCompleted)]
        assert completions(watch(engine, [data[:cut]])) == expected, f"cut at {cut}"


# Damaged


def flipped(data: bytes) -> Iterator[tuple[str, bytes]]:
    chance = random.Random(SEED)
    for _ in range(FLIPS):
        at, bit = chance.randrange(len(data)), chance.randrange(8)
        yield f"bit {bit} of byte {at}", data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]


# Which of several faults of a chunk is met first depends on the parser.
MALFORMED = ("invalid_utf8", "invalid_json", "wrong_shape")


def result(engine: Engine, items: list[Any], **options: Any) -> Any:
    """The events, or the documented error that ended them; anything else gets out."""
    try:
        return canonical(run(engine, items, **options))
    except ProtocolError as error:
        return ("malformed" if error.kind in MALFORMED else error.kind, error.offset)
    except LimitExceeded as error:
        return error.limit


@every_small
def test_a_flipped_bit_means_the_same_to_both_engines_in_every_split(
    core: Engine, reference: Engine, name: str
) -> None:
    for what, data in flipped(own(name).data):
        expected = result(reference, [data])
        assert result(core, [data]) == expected, what
        assert result(core, bytewise(data)) == expected, what


@every_small
def test_a_flipped_bit_ends_a_strict_stream_in_the_same_error(core: Engine, reference: Engine, name: str) -> None:
    for what, data in flipped(own(name).data):
        assert result(core, [data], strict=True) == result(reference, [data], strict=True), what


def damaged(frames: list[bytes]) -> Iterator[tuple[str, bytes]]:
    for at in range(len(frames)):
        yield f"without frame {at}", b"".join(frames[:at] + frames[at + 1 :])
        yield f"frame {at} twice", b"".join(frames[: at + 1] + frames[at:])
        yield f"frame {at} last", b"".join(frames[:at] + frames[at + 1 :] + frames[at : at + 1])


@every_small
def test_frames_dropped_doubled_and_moved_mean_the_same_to_both_engines(
    core: Engine, reference: Engine, name: str
) -> None:
    data = own(name).data
    end = b"\r\n\r\n" if b"\r\n" in data else b"\n\n"
    frames = [each + end for each in data.split(end) if each]
    for what, stream in damaged(frames):
        assert result(core, [stream]) == result(reference, [stream]), what


# Nodes of other types

FULL = chunk(
    choice(
        {
            "role": "assistant",
            "content": "x",
            "refusal": "n",
            "reasoning": "r",
            "reasoning_details": [{"type": "reasoning.text", "text": "r", "signature": "s"}],
            "thinking_blocks": [{"type": "thinking", "thinking": "r"}],
            "audio": {"data": "a"},
            "images": [{"url": "u"}],
            "annotations": [{"n": 1}],
            "tool_calls": [part("{}", index=0, id="c", name="f", type="function")],
            "function_call": {"name": "g", "arguments": "{}"},
        },
        logprobs={"content": []},
        finish_reason="stop",
    ),
    id="r1",
    model="m",
    usage={"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 0}},
    x_groq={"usage": {}},
    error=None,
)
ODD_VALUES: tuple[Any, ...] = (None, True, 0, -1, 1.5, "", "x", "😀", [], ["x"], [None], {}, {"x": 1}, [[]])


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inner:
        yield from places(value, (*path, key))


def with_odd(node: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    changed = copy.copy(node)
    changed[path[0]] = with_odd(node[path[0]], path[1:], odd)
    return changed


def odd_chunks() -> Iterator[tuple[str, Any]]:
    for path in places(FULL):
        for odd in ODD_VALUES:
            yield f"{odd!r} at {path}", with_odd(FULL, path, odd)


def test_no_value_anywhere_in_a_chunk_raises_an_undocumented_exception(engine: Engine) -> None:
    for what, odd in odd_chunks():
        items = [odd] if isinstance(odd, dict) else []
        for each in (*items, json.dumps(odd), frame(json.dumps(odd))):
            processor = engine.StreamProcessor(emit="events")
            events = processor.feed(each)
            assert isinstance(events, list), what
            is_skipped = QuirkSeen("malformed_chunk") in events
            assert is_skipped == bool(processor.take_problems()), what
            assert not is_skipped or len(events) == 1, f"{what}: a chunk is skipped whole or not at all"


def test_an_odd_value_means_the_same_as_bytes_text_and_dict(engine: Engine) -> None:
    for what, odd in odd_chunks():
        as_bytes = result(engine, [frame(json.dumps(odd))])
        assert result(engine, [json.dumps(odd)]) == as_bytes, what
        if isinstance(odd, dict):
            assert result(engine, [odd]) == as_bytes, what


def test_an_odd_value_means_the_same_to_both_engines(core: Engine, reference: Engine) -> None:
    for what, odd in odd_chunks():
        item = frame(json.dumps(odd))
        assert result(core, [item]) == result(reference, [item]), what


# JSON that is meant to harm

DEPTH = 100_000


def is_skipped(engine: Engine, item: Any) -> bool:
    said = feeding.outcome(engine, [text("a"), item, text("b"), finish()])
    assert said.state.blocks[0].content == "ab"
    return said.quirks == {"malformed_chunk": 1}


DEEP = {
    "list": "[" * DEPTH,
    "object": '{"a":' * DEPTH,
    "closed_list": "[" * DEPTH + "]" * DEPTH,
    "choices": '{"choices":' + "[" * DEPTH + "]" * DEPTH + "}",
}


@pytest.mark.parametrize("data", DEEP.values(), ids=DEEP)
def test_deep_json_is_skipped(engine: Engine, data: str) -> None:
    assert is_skipped(engine, data)
    said = feeding.outcome(engine, [sse(text("a"), data, text("b"), finish())])
    assert said.quirks == {"malformed_chunk": 1}


KEPT_DEEP = {
    "response": '{"choices":[],"deep":%s}',
    "block": '{"choices":[{"index":0,"delta":{"content":"x","deep":%s}}]}',
    "unknown_block": '{"choices":[{"index":0,"delta":{"images":[%s]}}]}',
    "usage": '{"choices":[],"usage":{"deep":%s}}',
    "error": '{"choices":[],"error":%s}',
    "arguments": '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":%s}}]}}]}',
}


@pytest.mark.parametrize("chunk_text", KEPT_DEEP.values(), ids=KEPT_DEEP)
@pytest.mark.parametrize("emit", ["events", "chunks", "nothing"])
def test_deep_json_in_a_field_that_is_kept_does_no_harm(engine: Engine, chunk_text: str, emit: str) -> None:
    data = chunk_text % ('{"a":' * DEPTH + "1" + "}" * DEPTH)
    processor = engine.StreamProcessor(emit=emit)
    list(processor.feed(sse(text("a"), data, text("b"))))
    list(processor.feed(data))
    assert processor.state.blocks[0].content.startswith("a")


# Run apart: an engine that overflows its stack takes the whole process with it.
DEEP_OBJECTS = """
import importlib, sys

where, module = sys.argv[1:]
deep = 1
for _ in range(100_000):
    deep = {"a": deep}
ring = {"choices": []}
ring["ring"] = ring
delta = {"choices": [{"index": 0, "delta": {"deep": deep}}]}
items = {"extra": {"deep": deep}, "choices": {"choices": deep}, "delta": delta, "ring": ring}
processor = importlib.import_module(module).StreamProcessor(emit="events")
processor.feed(items[where])
processor.feed({"choices": [{"index": 0, "delta": {"content": "a"}}]})
print(processor.state.blocks[0].content, processor.state.quirks.get("malformed_chunk", 0))
"""


@pytest.mark.parametrize("where", ["extra", "choices", "delta", "ring"])
def test_objects_that_are_deep_or_contain_themselves_are_skipped(engine: Engine, where: str) -> None:
    command = [sys.executable, "-c", DEEP_OBJECTS, where, engine.StreamProcessor.__module__]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (our own script)
    assert (done.returncode, done.stdout) == (0, "a 1\n"), done.stderr[-500:]


SURROGATES = {
    "escape": '{"choices":[{"index":0,"delta":{"content":"\\ud800"}}]}',
    "escape_in_the_name_of_a_tool": json.dumps(call("{}", index=0, id="c", name="f")).replace('"f"', '"f\\udfff"'),
    "escape_in_an_unknown_field": '{"choices":[],"extra":"\\ud800x"}',
}


@pytest.mark.parametrize("data", SURROGATES.values(), ids=SURROGATES)
@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_half_a_surrogate_pair_is_not_json_that_can_be_kept(engine: Engine, data: str, split: Split) -> None:
    assert is_skipped(engine, data)
    assert feeding.outcome(engine, split(sse(data))).quirks == {"malformed_chunk": 1}


def test_a_surrogate_in_the_text_of_a_dict_is_skipped(engine: Engine) -> None:
    assert is_skipped(engine, text("\ud800"))
    assert is_skipped(engine, '{"choices":[],"x":"\ud800"}')


def test_a_whole_surrogate_pair_is_one_character(run: Run) -> None:
    assert run(text("😀")).state.blocks[0].content == "😀"


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_a_constant_that_json_does_not_know_is_skipped(engine: Engine, constant: str) -> None:
    assert is_skipped(engine, f'{{"choices":[],"x":{constant}}}')


def test_numbers_keep_their_value_in_what_is_kept(engine: Engine, way: Way) -> None:
    numbers = [9007199254740993, -0.009429153054952621, 1762103515.4381053, 5e-324, 2**64 - 1, -(2**63), 0.1, -0.0]
    said = feeding.outcome(engine, way.items([{"choices": [], "numbers": numbers}]))
    assert said.state.extras == {"numbers": numbers}


def test_a_null_inside_what_is_kept_stays(engine: Engine, way: Way) -> None:
    kept = {"a": None, "b": [None, {"c": None}]}
    said = feeding.outcome(engine, way.items([chunk(choice({"content": "x"}, logprobs=kept), extra=kept, usage=kept)]))
    assert said.state.extras == {"extra": kept}
    assert said.state.blocks[0].extras == {"logprobs": [kept]}
    assert said.state.usage is not None
    assert said.state.usage.raw == kept


def test_a_null_character_is_text_like_any_other(engine: Engine, way: Way) -> None:
    assert feeding.outcome(engine, way.items([text("a\0b")])).state.blocks[0].content == "a\0b"


def test_text_that_looks_like_framing_is_text(engine: Engine, way: Way) -> None:
    framing = f"\n\ndata: {json.dumps(finish())}\n\ndata: {DONE}\n\n"
    said = feeding.outcome(engine, way.items([text(framing)]))
    assert said.state.blocks[0].content == framing
    assert said.state.interrupted


def test_a_chunk_of_a_megabyte_is_read_like_any_other(engine: Engine) -> None:
    long = "x" * (1 << 20)
    assert feeding.outcome(engine, [sse(text(long))]).state.blocks[0].content == long
