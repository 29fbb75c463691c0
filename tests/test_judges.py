"""Calls are judged side by side, and none is left without a judgement. The clock of these tests jumps."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

import pytest

from faults import failing, hang, ignore_cancellation
from patience import run_patiently
from penstock import ALLOW, Policy, PolicyContext, StreamClosed, ToolCall, Verdict
from penstock.judges import Judged, Judges

MARK = ContextVar("mark", default="the stream's")


def call(number: int, seconds: float = 0) -> ToolCall:
    return ToolCall(id=f"call_{number}", name="f", arguments=f'{{"seconds":{seconds}}}', index=number)


class Ponder(Policy):
    """Takes as long as the call says."""

    def __init__(self) -> None:
        self.running = self.most = 0

    async def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(call.parsed["seconds"])
        self.running -= 1
        return ALLOW


async def all_judged(policy: Policy, *calls: ToolCall, **options: Any) -> list[Judged]:
    judged: list[Judged] = []
    async with Judges(policy, PolicyContext(), **options) as judges:
        for ticket, each in enumerate(calls):
            judges.start(ticket, each)
        while len(judged) < len(calls):
            await judges.wait()
            judged += judges.take()
        assert judges.pending == 0
    return judged


def test_judgements_come_in_the_order_in_which_they_are_made() -> None:
    judged = run_patiently(all_judged(Ponder(), call(0, 9), call(1, 1), call(2, 5)))
    assert [each.ticket for each in judged] == [1, 2, 0]
    assert [each.judgement.seconds for each in judged] == pytest.approx([1, 5, 9])
    assert [each.call.index for each in judged] == [1, 2, 0]


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_so_many_calls_are_judged_at_once_and_no_more(limit: int) -> None:
    policy = Ponder()
    judged = run_patiently(all_judged(policy, *(call(each, 10) for each in range(4)), max_concurrent=limit))
    assert policy.most == min(4, limit)
    waits = [10 * (each // limit) for each in range(4)]
    assert sorted(each.waited for each in judged) == pytest.approx(waits)


def test_the_deadline_counts_from_the_turn_of_a_call() -> None:
    judged = run_patiently(all_judged(Ponder(), call(0, 20), call(1, 20), call(2, 31), max_concurrent=1))
    assert [each.judgement.state for each in judged] == ["allowed", "allowed", "error-denied"]


async def closed_after(steps: int, policy: Policy, count: int) -> tuple[list[Judged], int]:
    judges = Judges(policy, PolicyContext(), max_concurrent=1)
    for number in range(count):
        judges.start(number, call(number))
    for _ in range(steps):
        await asyncio.sleep(0)
    await judges.close()
    await asyncio.sleep(0)
    return judges.take(), len(asyncio.all_tasks()) - 1


@pytest.mark.parametrize("steps", range(8))
def test_at_the_end_every_call_is_denied_that_was_not_judged(steps: int) -> None:
    judged, left = run_patiently(closed_after(steps, failing("on_tool_call", hang), 3))
    assert sorted(each.ticket for each in judged) == [0, 1, 2]
    assert {each.judgement.verdict.decision for each in judged} == {"deny"}
    states = sorted(each.judgement.state for each in judged)
    assert states == (["not-run"] * 3 if steps == 0 else ["error-denied", "not-run", "not-run"])
    assert left == 0


def test_even_a_policy_that_ignores_its_cancellation_does_not_keep_the_end() -> None:
    judged, left = run_patiently(closed_after(5, failing("on_tool_call", ignore_cancellation), 1))
    assert [each.judgement.state for each in judged] == ["error-denied"]
    assert left == 1


def test_a_cancelled_stream_leaves_no_task() -> None:
    async def cancelled() -> int:
        task = asyncio.create_task(all_judged(Ponder(), call(0, 100), call(1, 100), max_concurrent=1))
        await asyncio.sleep(5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(asyncio.all_tasks()) - 1

    assert run_patiently(cancelled()) == 0


async def test_a_ticket_is_judged_once_at_a_time_and_not_after_the_end() -> None:
    async with Judges(failing("on_tool_call", hang), PolicyContext()) as judges:
        judges.start(0, call(0))
        with pytest.raises(ValueError, match="the ticket 0 is being judged already"):
            judges.start(0, call(1))
    with pytest.raises(StreamClosed, match="nothing more is judged: the stream is over"):
        judges.start(1, call(1))


async def test_a_task_that_somebody_cancels_before_it_begins_denies() -> None:
    async with Judges(Ponder(), PolicyContext()) as judges:
        judges.start(0, call(0))
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await judges.wait()
        (judged,) = judges.take()
    assert (judged.judgement.state, judged.judgement.verdict.decision) == ("error-denied", "deny")
    assert judged.judgement.detail == "on_tool_call was cancelled before it began"


@pytest.mark.parametrize("verdict", [ALLOW, None])
async def test_a_hook_that_need_not_be_awaited_has_no_task_and_a_context_of_its_own(verdict: Any) -> None:
    class Plain(Policy):
        def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
            seen.append((context.time_left is not None, len(asyncio.all_tasks())))
            MARK.set("the hook's")
            return verdict

    seen: list[tuple[bool, int]] = []
    context = PolicyContext()
    async with Judges(Plain(), context) as judges:
        judges.start(0, call(0))
        assert (judges.pending, judges.has_news) == (0, True)
        (judged,) = judges.take()
    assert judged.judgement.state == ("error-denied" if verdict is None else "allowed")
    assert seen == [(True, 1)]
    assert (MARK.get(), context.time_left) == ("the stream's", None)


async def test_a_hook_that_is_awaited_has_a_task_to_work_with() -> None:
    class Busy(Policy):
        async def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
            tasks.append(asyncio.current_task())
            async with asyncio.timeout(1), asyncio.TaskGroup() as group:
                group.create_task(asyncio.sleep(0))
            tasks.append(asyncio.current_task())
            return ALLOW

    tasks: list[Any] = []
    (judged,) = await all_judged(Busy(), call(0))
    assert judged.judgement.state == "allowed"
    assert tasks[0] is tasks[1] is not asyncio.current_task()


def test_plain_hooks_behind_slow_ones_are_judged_in_turn() -> None:
    class Mixed(Ponder):
        def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Any:
            return super().on_tool_call(call, context) if call.index == 0 else ALLOW

    calls = [call(number, 1) for number in range(500)]
    judged = run_patiently(all_judged(Mixed(), *calls, max_concurrent=1))
    assert [each.ticket for each in judged] == list(range(500))


@pytest.mark.parametrize("count", [0, True, 1.0])
async def test_a_limit_that_is_no_number_of_judges_is_refused(count: Any) -> None:
    with pytest.raises(ValueError, match=f"max_concurrent must be a whole number above 0, not {count}"):
        Judges(Policy(), PolicyContext(), max_concurrent=count)
