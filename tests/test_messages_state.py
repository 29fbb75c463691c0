"""Anthropic's Messages, chunk by chunk: what a policy sees, and the state that it sees it with."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from messages import END, PING, WAYS, body, delta, ending, opened, partial, sse, start, stop, streamed, text
from recorded import Recording, of_others
from watching import completions, watch

if TYPE_CHECKING:
    from feeding import Engine, Way

every_recording = pytest.mark.parametrize("recording", of_others("anthropic_messages/*.sse"), ids=str)

STREAM = [
    opened(),
    start("text", text=""),
    text("Hi"),
    stop(),
    start("tool_use", 1, id="tu", name="ls", input={}),
    partial("{}", 1),
    stop(1),
    ending("tool_use"),
    END,
]


def seen(core: Engine, items: list[Any]) -> list[Any]:
    """Each chunk with the ids of the current and the just completed block, and the finish reason."""
    all_seen = watch(core, items, source="anthropic_messages")
    return [(each.chunk, each.current, each.completed, each.finish_reason) for each in all_seen]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_policy_sees_each_event_with_the_state_behind_it(core: Engine, way: Way) -> None:
    assert seen(core, way.items(STREAM)) == [
        (STREAM[0], None, None, None),
        (STREAM[1], "content", None, None),
        (STREAM[2], "content", None, None),
        (STREAM[3], None, "content", None),
        (STREAM[4], "tu", None, None),
        (STREAM[5], "tu", None, None),
        (STREAM[6], None, "tu", None),
        (STREAM[7], None, None, "tool_calls"),
        (STREAM[8], None, None, "tool_calls"),
    ]


def test_a_ping_is_a_chunk_that_changes_nothing(core: Engine) -> None:
    assert seen(core, [opened(), start("text", text="a"), PING])[-1] == (PING, "content", None, None)


def test_an_object_is_passed_on_as_it_is(core: Engine) -> None:
    assert all(chunk is event for (chunk, *_), event in zip(seen(core, STREAM), STREAM, strict=True))


REFUSED = {
    "a contradiction": (start("tool_use", id="tu", name="ls", input={"p": 1}), partial('{"p":2}')),
    "a second block of a number": (start("text", text=""), start("tool_use", id="tu", name="rm", input={})),
    "a second signature": (start("thinking", signature="a"), delta("signature_delta", signature="b")),
    "a delta that its block does not have": (start("text", text=""), partial("{}")),
    "a second message": (PING, opened()),
}


@pytest.mark.parametrize(("before", "refused"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused_does_not_reach_the_policy(core: Engine, before: Any, refused: Any) -> None:
    assert [chunk for chunk, *_ in seen(core, [opened(), before, refused])] == [opened(), before]


BODY = body(
    {"type": "thinking", "thinking": "Hm", "signature": "s"},
    {"type": "text", "text": "Hi"},
    {"type": "tool_use", "id": "tu", "name": "ls", "input": {"p": "/"}},
    reason="tool_use",
    usage={"output_tokens": 3},
)


@pytest.mark.parametrize(
    "form", [lambda x: x, json.dumps, lambda x: json.dumps(x).encode()], ids=["dict", "text", "bytes"]
)
def test_a_body_is_shown_block_by_block(core: Engine, form: Any) -> None:
    before = copy.deepcopy(BODY)
    pieces = seen(core, [form(BODY)])
    assert [(piece["content"], completed) for piece, _, completed, _ in pieces] == [
        ([BODY["content"][0]], "thinking"),
        ([BODY["content"][1]], "content"),
        ([BODY["content"][2]], "tu"),
    ]
    assert [(piece["stop_reason"], bool(piece["usage"]), reason) for piece, _, _, reason in pieces] == [
        (None, False, None),
        (None, False, None),
        ("tool_use", True, "tool_calls"),
    ]
    assert before == BODY


@every_recording
def test_each_block_is_completed_once_and_by_itself(core: Engine, recording: Recording) -> None:
    all_seen = watch(core, [recording.data])
    final = core.StreamProcessor(emit="nothing")
    final.feed(recording.data)
    assert completions(all_seen) == [block.id for block in final.state.blocks]
    assert all(each.chunk["type"] for each in all_seen)


def test_the_state_is_the_same_with_and_without_chunks(core: Engine) -> None:
    shown = core.StreamProcessor(emit="chunks")
    list(shown.feed(sse(streamed(*STREAM[1:7]))))
    quiet = core.StreamProcessor(emit="nothing")
    quiet.feed(sse(streamed(*STREAM[1:7])))
    assert shown.state == quiet.state
