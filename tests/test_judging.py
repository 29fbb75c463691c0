"""A judgement always comes, and whatever is not plainly allowed is denied. The clock of these tests jumps."""

from __future__ import annotations

import asyncio
import gc
import logging
from typing import TYPE_CHECKING, Any

import pytest

from faults import CALL, FAULTS, ODD_VALUES, failing, hang, ignore_cancellation, returning
from patience import run_patiently
from penstock import (
    ALLOW,
    AllowAll,
    BlockView,
    ContentStreamBlock,
    Judgement,
    Policy,
    PolicyContext,
    PolicyFailed,
    ToolCall,
    ToolResultStreamBlock,
    UnknownStreamBlock,
    Verdict,
    all_of,
    deny,
    judge,
    replace,
)
from penstock.judging import judge_block, judge_thinking, tell, text_of

if TYPE_CHECKING:
    from penstock.policy import Hook

BLOCK = BlockView(0, "content", "content")
IMAGE = UnknownStreamBlock("image", kind="image")
WATCHING: list[Hook] = [
    "on_chunk",
    "on_thinking_delta",
    "on_tool_call_delta",
    "on_finish",
    "on_usage",
    "on_error",
    "on_end",
]
DECISIVE = ["on_tool_call", "on_thinking", "on_block"]


async def judged(policy: Policy, hook: str, context: PolicyContext) -> Judgement:
    match hook:
        case "on_tool_call":
            return await judge(policy, CALL, context)
        case "on_thinking":
            return await judge_thinking(policy, "secret", BLOCK, context)
        case _:
            return await judge_block(policy, IMAGE, context)


async def others() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[operator]


async def judged_and_left(policy: Policy, hook: str) -> tuple[Judgement, int]:
    judgement = await judged(policy, hook, PolicyContext())
    return judgement, len(await others())


def alone(policy: Policy) -> Policy:
    return policy


def among_others(policy: Policy) -> Policy:
    class Kind(Policy):
        on_tool_call = on_thinking = on_block = returning(ALLOW)

    return all_of(Kind(), policy, Kind())


@pytest.mark.parametrize("wrap", [alone, among_others])
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("hook", DECISIVE)
def test_a_hook_that_fails_denies(hook: str, fault: Any, wrap: Any, caplog: pytest.LogCaptureFixture) -> None:
    judgement, left = run_patiently(judged_and_left(wrap(failing(hook, fault)), hook))
    assert (judgement.verdict.decision, judgement.state) == ("deny", "error-denied")
    assert judgement.seconds <= 31
    assert left == (fault is ignore_cancellation)
    assert "secret" not in judgement.detail + judgement.verdict.reason + caplog.text
    assert "a policy failed" in caplog.text


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("wrap", [alone, among_others])
@pytest.mark.parametrize("value", ODD_VALUES.values(), ids=ODD_VALUES)
@pytest.mark.parametrize("hook", DECISIVE)
async def test_what_is_no_verdict_denies(hook: str, value: Any, wrap: Any, *, is_async: bool) -> None:
    async def later(*_: Any) -> Any:
        return value

    judgement = await judged(wrap(failing(hook, later if is_async else returning(value))), hook, PolicyContext())
    assert (judgement.verdict.decision, judgement.state) == ("deny", "error-denied")
    assert judgement.detail.endswith(f"returned {type(value).__name__}, not a verdict")


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("wrap", [alone, among_others])
@pytest.mark.parametrize("hook", WATCHING)
def test_a_hook_that_watches_and_fails_is_an_error(hook: Hook, wrap: Any, fault: Any) -> None:
    async def told() -> int:
        subject = ("secret", BLOCK) if hook.endswith("_delta") else ("secret",)
        with pytest.raises(PolicyFailed) as raised:
            await tell(wrap(failing(hook, fault)), hook, *subject, PolicyContext())
        assert raised.value.hook == hook
        assert "TypeError" not in str(raised.value)
        assert "secret" not in str(raised.value)
        return len(await others())

    assert run_patiently(told()) == (fault is ignore_cancellation)


@pytest.mark.parametrize("fault", [*FAULTS.values(), *map(returning, [7, True, b"x", ALLOW])])
@pytest.mark.parametrize("wrap", [alone, among_others])
@pytest.mark.parametrize("hook", ["on_text_delta", "on_text"])
def test_a_hook_that_writes_and_fails_is_an_error(hook: Any, wrap: Any, fault: Any) -> None:
    async def written() -> None:
        with pytest.raises(PolicyFailed):
            await text_of(wrap(failing(hook, fault)), hook, "secret", BLOCK, PolicyContext())

    run_patiently(written())


async def test_a_delta_for_which_nothing_is_returned_is_an_error_and_not_a_loss() -> None:
    with pytest.raises(PolicyFailed, match=r'on_text_delta: returned NoneType, not text \(""'):
        await text_of(failing("on_text_delta", returning(None)), "on_text_delta", "x", BLOCK, PolicyContext())
    assert await text_of(failing("on_text", returning(None)), "on_text", "x", BLOCK, PolicyContext()) == ""


@pytest.mark.parametrize(
    ("verdict", "state"), [(ALLOW, "allowed"), (deny("no"), "denied"), (replace(name="ls"), "allowed")]
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_verdict_is_taken_as_it_is(verdict: Verdict, state: str, *, is_async: bool) -> None:
    async def later(*_: Any) -> Verdict:
        await asyncio.sleep(0)
        return verdict

    judgement = await judge(failing("on_tool_call", later if is_async else returning(verdict)), CALL, PolicyContext())
    assert (judgement.verdict, judgement.state, judgement.error) == (verdict, state, None)


@pytest.mark.parametrize("seconds", [29.9, 30.1])
def test_a_verdict_may_take_30_seconds_by_default(seconds: float) -> None:
    async def ponder(*_: Any) -> Verdict:
        await asyncio.sleep(seconds)
        return ALLOW

    judgement = run_patiently(judge(failing("on_tool_call", ponder), CALL, PolicyContext()))
    assert judgement.state == ("allowed" if seconds < 30 else "error-denied")
    assert judgement.seconds == pytest.approx(min(seconds, 30))


def test_a_deadline_can_be_set_and_switched_off() -> None:
    async def ponder(*_: Any) -> Verdict:
        await asyncio.sleep(100)
        return ALLOW

    policy = failing("on_tool_call", ponder)
    judgement = run_patiently(judge(policy, CALL, PolicyContext(), deadline=2))
    assert (judgement.state, judgement.detail) == ("error-denied", "on_tool_call no answer within 2 s")
    assert run_patiently(judge(policy, CALL, PolicyContext(), deadline=None)).state == "allowed"


async def test_no_time_at_all_denies() -> None:
    assert (await judge(failing("on_tool_call", hang), CALL, PolicyContext(), deadline=0)).state == "error-denied"


def test_a_plain_function_that_is_late_denies() -> None:
    def block(*_: Any) -> Verdict:
        asyncio.get_running_loop()._jumping.now += 31  # type: ignore[attr-defined]
        return ALLOW

    judgement = run_patiently(judge(failing("on_tool_call", block), CALL, PolicyContext()))
    assert (judgement.state, judgement.detail) == ("error-denied", "on_tool_call no answer within 30 s")


def test_a_task_that_ignores_its_cancellation_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    judgement = run_patiently(judge(failing("on_tool_call", ignore_cancellation), CALL, PolicyContext()))
    assert judgement.detail == "on_tool_call no answer within 30 s, and its task ignores that it was cancelled"
    assert "ignores that it was cancelled, and still runs" in caplog.text


async def test_a_cancellation_of_the_caller_comes_out_and_takes_the_policy_along() -> None:
    cancelled = asyncio.Event()

    async def ponder(*_: Any) -> Any:
        try:
            await hang()
        finally:
            cancelled.set()

    task = asyncio.create_task(judge(failing("on_tool_call", ponder), CALL, PolicyContext()))
    for _ in range(3):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cancelled.is_set()
    assert await others() == set()


def test_a_policy_that_is_cancelled_has_time_to_clean_up() -> None:
    cleaned = []

    async def ponder(*_: Any) -> Any:
        try:
            await hang()
        finally:
            await asyncio.sleep(0.5)
            cleaned.append(True)

    async def cancelled() -> None:
        task = asyncio.create_task(judge(failing("on_tool_call", ponder), CALL, PolicyContext()))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert cleaned == [True]

    run_patiently(cancelled())


async def test_a_policy_that_cancels_its_caller_leaves_nothing_that_was_never_awaited() -> None:
    def cancel_caller(*_: Any) -> Any:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return hang()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(judge(failing("on_tool_call", cancel_caller), CALL, PolicyContext()))
    gc.collect()
    assert await others() == set()


@pytest.mark.parametrize("steps", range(6))
async def test_a_cancellation_at_any_step_leaves_nothing(steps: int) -> None:
    async def ponder(*_: Any) -> Verdict:
        for _ in range(3):
            await asyncio.sleep(0)
        return ALLOW

    task = asyncio.create_task(judge(failing("on_tool_call", ponder), CALL, PolicyContext()))
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await others() == set()


async def test_the_time_that_is_left_is_known_to_the_policy_alone() -> None:
    left: list[float | None] = []

    class Watching(Policy):
        async def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
            left.append(context.time_left)
            return ALLOW

    context = PolicyContext()
    await judge(Watching(), CALL, context, deadline=5)
    assert left[0] is not None
    assert 0 < left[0] <= 5
    assert context.time_left is None


async def test_what_was_raised_is_there_for_whoever_may_see_it() -> None:
    judgement = await judge(failing("on_tool_call", FAULTS["raise_exception"]), CALL, PolicyContext())
    assert str(judgement.error) == "secret"
    assert "secret" not in repr(judgement)
    assert judgement.detail.startswith("on_tool_call raised ValueError in raise_exception, line ")


@pytest.mark.parametrize("arguments", ['{"a":1,"a":2}', '{"a":', "NaN", "[" * 100])
async def test_arguments_that_readers_differ_on_are_denied_before_anybody_is_asked(arguments: str) -> None:
    call = ToolCall("a", "f", arguments)
    for policy in (failing("on_tool_call", returning(ALLOW)), AllowAll()):
        judgement = await judge(policy, call, PolicyContext())
        assert (judgement.verdict.decision, judgement.state) == ("deny", "not-run")
        assert call.invalid is not None
        assert judgement.detail == f"arguments: {call.invalid.kind}"


@pytest.mark.parametrize("kind", ["custom", "server"])
async def test_free_text_is_judged_as_it_is(kind: Any) -> None:
    call = ToolCall("a", "f", "print(1)", kind=kind)
    assert (await judge(failing("on_tool_call", returning(ALLOW)), call, PolicyContext())).state == "allowed"


async def test_a_flagged_call_is_denied_unless_its_flags_are_tolerated() -> None:
    class Tolerant(Policy):
        tolerates = frozenset({"tag_in_value"})
        on_tool_call = returning(ALLOW)

    flagged = ToolCall("a", "f", "{}", flags=frozenset({"tag_in_value"}))
    doubly = ToolCall("a", "f", "{}", flags=frozenset({"tag_in_value", "other"}))
    judgement = await judge(failing("on_tool_call", returning(ALLOW)), flagged, PolicyContext())
    assert (judgement.verdict.decision, judgement.state, judgement.detail) == (
        "deny",
        "not-run",
        "flagged: tag_in_value",
    )
    assert (await judge(Tolerant(), flagged, PolicyContext())).state == "allowed"
    assert (await judge(Tolerant(), doubly, PolicyContext())).detail == "flagged: other"
    assert (
        await judge(all_of(Tolerant(), failing("on_tool_call", returning(ALLOW))), flagged, PolicyContext())
    ).state == "not-run"
    assert (await judge(all_of(Tolerant(), AllowAll()), flagged, PolicyContext())).state == "allowed"


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        (replace(arguments='{"a":1,"a":2}'), "function"),
        (replace(arguments="not JSON"), "builtin"),
        (replace(name="\ud800"), "function"),
        (replace(name="ls"), "server"),
    ],
)
async def test_a_replacement_that_could_not_be_judged_itself_denies(verdict: Verdict, kind: Any) -> None:
    call = ToolCall("a", "f", "{}", kind=kind)
    judgement = await judge(failing("on_tool_call", returning(verdict)), call, PolicyContext())
    assert (judgement.verdict.decision, judgement.state) == ("deny", "error-denied")


@pytest.mark.parametrize("hook", ["on_thinking", "on_block"])
async def test_only_calls_can_be_replaced(hook: str) -> None:
    judgement = await judged(failing(hook, returning(replace(name="x"))), hook, PolicyContext())
    assert (judgement.verdict.decision, judgement.state) == ("deny", "error-denied")


async def test_a_type_without_a_hook_is_denied_unless_it_is_inert() -> None:
    class Lenient(Policy):
        inert = Policy.inert | {"image", "tool_result"}

    text, result = ContentStreamBlock("content"), ToolResultStreamBlock("r", kind="web_search_tool_result")
    audio = UnknownStreamBlock("audio", kind="audio")
    for policy, expected in [
        (Policy(), "dadd"),
        (Lenient(), "aaad"),
        (AllowAll(), "aaaa"),
        (all_of(Policy(), Lenient()), "aaad"),
    ]:
        found = [await judge_block(policy, each, PolicyContext()) for each in (IMAGE, text, result, audio)]
        assert "".join(each.verdict.decision[0] for each in found) == expected
        assert {each.state for each in found} == {"not-run"}


async def test_a_policy_that_looks_at_text_alone_denies_calls() -> None:
    judgement = await judge(failing("on_text_delta", returning("")), CALL, PolicyContext())
    assert (judgement.verdict.decision, judgement.state) == ("deny", "not-run")
    assert judgement.detail == "the policy has no hook for tool_call"


async def test_thinking_passes_where_nobody_judges_it() -> None:
    assert (await judge_thinking(Policy(), "x", BLOCK, PolicyContext())).verdict == ALLOW


async def test_a_hook_that_the_policy_has_not_is_not_called() -> None:
    await tell(AllowAll(), "on_chunk", {}, PolicyContext())


def test_failures_are_logged_once_each(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    run_patiently(judge(failing("on_tool_call", FAULTS["raise_later"]), CALL, PolicyContext()))
    assert len([each for each in caplog.records if each.name == "penstock"]) == 1


WRONG: list[tuple[tuple[Any, Any, Any], str]] = [
    ((None, CALL, PolicyContext()), "policy must be a penstock.Policy, not NoneType"),
    ((Policy(), {"name": "x"}, PolicyContext()), "call must be a penstock.ToolCall, not dict"),
    ((Policy(), CALL, {}), "context must be a penstock.PolicyContext, not dict"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[message for _, message in WRONG])
async def test_what_cannot_be_judged_gets_one_clear_line_and_no_verdict(arguments: Any, message: str) -> None:
    with pytest.raises(TypeError) as raised:
        await judge(*arguments)
    assert str(raised.value) == message
