"""Monotone hold: at every byte that comes in, nothing of a call without a verdict has gone out."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from gate_runs import TARGETS
from penstock import ALLOW, Gate, Policy, _core
from recorded import Recording, of_others, own
from splits import bytewise

if TYPE_CHECKING:
    from penstock import ToolCall, Verdict
    from penstock.policy import PolicyContext

OWN = ("thinking_text_tool_call.sse", "tool_calls_interleaved.sse", "tool_calls_sequential.sse", "choices_two_crlf.sse")
# Each tenth, so that every provider is likely to be there.
OTHERS = of_others("openai_chat/*tool*.sse", "anthropic_messages/*tool*.sse", "openai_responses/*tool*.sse")[::10]
FRAGMENT = 12

every_target = pytest.mark.parametrize("target", TARGETS)


class Slow(Policy):
    """Decides only when it is told to."""

    def __init__(self) -> None:
        self.asked: list[ToolCall] = []
        self.may_decide = asyncio.Event()

    async def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
        self.asked.append(call)
        await self.may_decide.wait()
        return ALLOW


def said_elsewhere(data: bytes, source: str) -> str:
    """What the stream says besides its calls."""
    engine = _core.StreamProcessor(emit="nothing", source=source)
    engine.feed(data)
    return " ".join(str(asdict(block)) for block in engine.state.blocks if block.type != "tool_call")


def secrets_of(calls: list[ToolCall], elsewhere: str) -> set[str]:
    """What would give a call away: its id, its name, and parts of its arguments, as far as they occur nowhere else."""
    found: set[str] = set()
    for call in calls:
        fragments = {call.arguments[at : at + FRAGMENT] for at in range(0, len(call.arguments) - FRAGMENT, FRAGMENT)}
        found |= {call.id, call.name, *fragments}
    return {secret for secret in found if secret not in elsewhere}


async def feed_undecided(data: bytes, source: str, target: str) -> tuple[bytes, list[ToolCall]]:
    """Feeds a stream byte by byte to a gate whose judge does not decide; gives all that has come out by the end, and what was asked.

    What has come out is never taken back, so that what is not in the last of it was in none before.
    """
    policy = Slow()
    async with Gate(policy, source=source, target=target, audit=lambda record: None) as gate:
        out = b""
        for byte in bytewise(data):
            if not gate.is_over:
                out += await gate.feed(byte)
        out += await gate.finish()
        # Each judge that may begin has begun by the time that this has had its turns.
        for _ in range(2 * gate.waiting + 2):
            await asyncio.sleep(0)
        return out, policy.asked


def check_hold(data: bytes, source: str, target: str) -> list[ToolCall]:
    out, asked = asyncio.run(feed_undecided(data, source, target))
    for secret in secrets_of(asked, said_elsewhere(data, source)):
        assert json.dumps(secret, ensure_ascii=False)[1:-1].encode() not in out
    return asked


@every_target
@pytest.mark.parametrize("name", OWN)
def test_nothing_of_an_undecided_call_is_out_at_any_byte(name: str, target: str) -> None:
    assert check_hold(own(name).data, "openai_chat", target)


@every_target
@pytest.mark.parametrize("recording", OTHERS, ids=str)
def test_the_same_holds_for_recordings_of_others(recording: Recording, target: str) -> None:
    check_hold(recording.data, recording.path.parent.name, target)
