"""The gate for code that cannot await."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from guards import REASON, Broken, DenyAll, Judging
from penstock.blocking import run_blocking
from splits import SPLITS, Split
from upstream import CALLS, PROTOCOLS, recording

if TYPE_CHECKING:
    from penstock import PolicyContext, ToolCall, Verdict


def passed(protocol: Any, policy: penstock.Policy, reads: Any) -> bytes:
    """What leaves."""
    with penstock.BlockingGate(policy, source=protocol) as gate:
        out = b"".join(map(gate.feed, reads)) + gate.finish()
        assert gate.is_over
        return out


@pytest.mark.parametrize("split", SPLITS, ids=str)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_it_lets_pass_what_the_gate_lets_pass(protocol: Any, split: Split) -> None:
    data, policy = recording(protocol, streamed=True), Judging()
    out = passed(protocol, policy, split(data))
    assert list(penstock.check(out, protocol)) == []
    assert policy.judged == CALLS
    assert penstock.aggregate([out], source=protocol).tool_calls


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_it_holds_what_the_gate_holds(protocol: Any) -> None:
    out = passed(protocol, DenyAll(), [recording(protocol, streamed=True)])
    assert b"rm -rf" not in out
    assert out.count(REASON.encode()) >= 2


def test_it_waits_for_a_judge_that_thinks() -> None:
    class Slow(penstock.Policy):
        async def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
            await asyncio.sleep(0.01)
            return penstock.ALLOW

    out = passed("openai_chat", Slow(), [recording("openai_chat", streamed=True)])
    assert b"rm -rf" in out


def test_it_says_why_it_failed() -> None:
    with penstock.BlockingGate(Broken(), source="openai_chat") as gate:
        gate.feed(recording("openai_chat", streamed=True))
        assert gate.failure == ("api_error", "the policy failed")


def test_a_source_that_broke_ends_the_answer_with_an_error() -> None:
    with penstock.BlockingGate(Judging(), source="openai_chat") as gate:
        assert b"the connection to the upstream failed" in gate.interrupt(OSError())


def test_a_stream_that_is_left_is_told_to_the_policy() -> None:
    policy = Judging()
    with penstock.BlockingGate(policy, source="openai_chat") as gate:
        gate.feed(recording("openai_chat", streamed=True)[:300])
    assert policy.endings == ["cancelled"]


async def test_it_can_be_used_where_a_loop_runs() -> None:
    assert b"[DONE]" in passed("openai_chat", Judging(), [recording("openai_chat", streamed=True)])


def test_many_threads_use_it_side_by_side() -> None:
    outs: list[bytes] = []
    data = recording("openai_chat", streamed=True)

    def run() -> None:
        outs.append(passed("openai_chat", Judging(), [data]))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(outs)) == 1
    assert len(outs) == 8


def test_a_policy_that_waits_for_itself_is_refused() -> None:
    class Nested(penstock.Policy):
        def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
            with pytest.raises(penstock.ReentrancyError):
                penstock.BlockingGate(DenyAll(), source="openai_chat")
            return penstock.ALLOW

    assert b"rm -rf" in passed("openai_chat", Nested(), [recording("openai_chat", streamed=True)])


@pytest.mark.parametrize("option", [{"on_deny": "shout"}, {"sauce": 1}])
def test_a_bad_option_is_said_to_the_caller(option: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        penstock.BlockingGate(DenyAll(), source="openai_chat", **option)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_has_a_loop_of_its_own() -> None:
    run_blocking(asyncio.sleep(0))
    child = os.fork()
    if child == 0:
        os._exit(run_blocking(asyncio.sleep(0, 7)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
