"""The two oracles: behind a judge that denies all, no official client has a call; behind one that allows all, each has what was judged."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

import mutations
from gate_clients import Seen, canonical, seen
from gate_runs import TARGETS, allow_all, deny_all, run
from legal import assert_legal
from recorded import Recording, of_others, own

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gate_runs import Gated
    from penstock import ToolCall

RECORDINGS = of_others("openai_chat/*", "litellm_chat/*", "anthropic_messages/*", "openai_responses/*")
OWN = ("thinking_text_tool_call.sse", "tool_calls_interleaved.sse", "tool_calls_sequential.sse", "choices_two_crlf.sse")

every_target = pytest.mark.parametrize("target", TARGETS)

SEED = 11
FLIPS = 12


def items_of(recording: Recording) -> list[Any]:
    """What to feed."""
    return [recording.data] if recording.is_sse else recording.lines


def source_of(recording: Recording) -> str:
    """The wire format, told by the folder."""
    folder = recording.path.parent.name
    return "openai_chat" if folder in ("litellm_chat", "recordings") else folder


def as_clients_see(call: ToolCall, source: str | None, target: str) -> Seen | None:
    """A judged call as the clients of a format have it; None where the format has no words for it."""
    if call.choice > 0 and target != "openai_chat":
        return None
    if call.kind in ("server", "builtin"):
        is_seen = source == target == "anthropic_messages"
        return Seen(call.name, canonical(call.arguments)) if is_seen else None
    if call.kind == "custom" and target == "anthropic_messages":
        return Seen(call.name, canonical({"input": call.arguments}))
    return Seen(call.name, canonical(call.arguments))


def judged(gated: Gated, source: str | None, *, state: str = "allowed") -> list[Seen]:
    """The calls that were allowed, in the order in which they stand in the answer."""
    states = {record.digest: record.state for record in gated.record.calls}
    calls = sorted(gated.asked, key=lambda call: (call.choice, call.index))
    allowed = [call for call in calls if states.get(call.digest) == state]
    shown = [as_clients_see(call, source, gated.target) for call in allowed]
    return [call for call in shown if call is not None]


def check_legal(gated: Gated) -> None:
    """The stream is legal. Usage that the source gives in part is passed on in part: none is made up."""
    if {finding.rule for finding in gated.report} != {"C11"}:
        assert_legal(gated.out, gated.target)


def check_denied(items: list[Any], source: str, target: str, **options: Any) -> None:
    gated = run(items, deny_all(), source=source, target=target, **options)
    check_legal(gated)
    assert seen(gated.out, target) == []
    assert gated.record.count("allowed") == 0
    for call in gated.asked:
        assert call.id.encode() not in gated.out
        spelt = json.dumps(call.arguments)[1:-1].encode()
        assert len(spelt) < 16 or spelt not in gated.out


def check_allowed(items: list[Any], source: str, target: str, **options: Any) -> None:
    gated = run(items, allow_all(), source=source, target=target, **options)
    check_legal(gated)
    calls = seen(gated.out, target)
    if gated.ended == "finished":
        assert calls == judged(gated, source)
    else:
        # What was whole and judged before the stream turned out to be cut may have left.
        assert calls == judged(gated, source)[: len(calls)]


@every_target
@pytest.mark.parametrize("recording", RECORDINGS, ids=str)
def test_no_client_has_a_call_that_was_denied(recording: Recording, target: str) -> None:
    check_denied(items_of(recording), source_of(recording), target)


@every_target
@pytest.mark.parametrize("recording", RECORDINGS, ids=str)
def test_each_client_has_the_calls_that_were_allowed(recording: Recording, target: str) -> None:
    check_allowed(items_of(recording), source_of(recording), target)


# Mutated


def split_events(data: bytes) -> list[bytes]:
    """The events of a stream, each with its blank line."""
    blank = b"\r\n\r\n" if b"\r\n\r\n" in data else b"\n\n"
    return [event + blank for event in data.split(blank) if event]


def mutated(data: bytes) -> Iterator[bytes]:
    """Each event dropped, doubled, and swapped with the next; and some bits flipped."""
    events = split_events(data)
    for at in range(len(events)):
        yield b"".join(events[:at] + events[at + 1 :])
        yield b"".join(events[: at + 1] + events[at:])
        yield b"".join([*events[:at], *events[at + 1 : at + 2], events[at], *events[at + 2 :]])
    chance = random.Random(SEED)
    for _ in range(FLIPS):
        at, bit = chance.randrange(len(data)), chance.randrange(8)
        yield data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]


def check_both(data: bytes, source: str, target: str) -> None:
    check_denied([data], source, target)
    check_allowed([data], source, target)


@mutations.every_stream
def test_the_oracles_hold_for_legal_streams_that_were_mutated(form: str, name: str) -> None:
    data = mutations.sse(form, mutations.STREAMS[form][name])
    for target in TARGETS:
        check_both(data, form, target)
    for number, stream in enumerate(mutated(data)):
        check_both(stream, form, TARGETS[number % len(TARGETS)])


@pytest.mark.parametrize("name", OWN)
def test_the_oracles_hold_for_recordings_that_were_mutated(name: str) -> None:
    for number, stream in enumerate(mutated(own(name).data)):
        check_both(stream, "openai_chat", TARGETS[number % len(TARGETS)])


def test_the_recordings_have_calls_for_the_oracles_to_see() -> None:
    gated = [run([own(name).data], allow_all(), source="openai_chat", target="openai_chat") for name in OWN]
    assert all(seen(each.out, each.target) for each in gated)
