"""Judges a block by a policy, and always comes to a verdict: whatever is not plainly allowed is denied."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from penstock.asking import ask, discard
from penstock.blocks import ToolResultStreamBlock, UnknownStreamBlock
from penstock.calls import ToolCall
from penstock.engine import check_type
from penstock.errors import PolicyFailed
from penstock.policy import Policy, PolicyContext
from penstock.verdicts import ALLOW, Verdict, deny

if TYPE_CHECKING:
    from penstock.asking import Answer
    from penstock.blocks import StreamBlock
    from penstock.calls import BlockView
    from penstock.policy import Hook

__all__ = [
    "VERDICT_SECONDS",
    "Judgement",
    "JudgementState",
    "judge",
    "judge_block",
    "judge_thinking",
    "judged_by_default",
    "judgement_of",
    "kind_of",
    "odd_value",
    "replaced",
    "settled_by_rules",
    "tell",
    "text_of",
]

log = logging.getLogger("penstock")

# A judge that asks a model takes some seconds; clients give up on a silent stream after a minute or more.
VERDICT_SECONDS = 30.0

# The client is told no more of a failure than that there was one.
FAILURE_REASON = "this call could not be checked, so it is not allowed"

JudgementState: TypeAlias = Literal["allowed", "denied", "error-denied", "not-run"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of judging a block.

    Attributes:
        verdict: What is to be done with it.
        state: `allowed` or `denied` by the policy (a replacement is an allowance); `error-denied`, because the policy failed;
            `not-run`, because no policy was asked: the verdict is then that of the rules.
        seconds: How long it took.
        detail: What decided, without content.
        error: What the policy raised, for whoever may see its text.
    """

    verdict: Verdict
    state: JudgementState
    seconds: float = 0.0
    detail: str = ""
    error: BaseException | None = field(default=None, compare=False, repr=False)


async def judge(
    policy: Policy, call: ToolCall, context: PolicyContext, *, deadline: float | None = VERDICT_SECONDS
) -> Judgement:
    """Judges a tool call.

    Before the policy is asked, a call is denied whose arguments readers would differ on, and one with a flag that the policy
    does not tolerate.

    Args:
        policy: Who is asked.
        call: The whole call.
        context: The stream that it belongs to.
        deadline: The seconds that the policy may take; then the call is denied. None for as long as it likes.

    Raises:
        TypeError: An argument is of another type than it must be.
        asyncio.CancelledError: The caller was cancelled, and with it the policy. The call has to be taken as denied.

    Example:
        >>> import asyncio, penstock
        >>> class Broken(penstock.Policy):
        ...     def on_tool_call(self, call, context):
        ...         return None
        >>> call = penstock.ToolCall(id="call_1", name="bash", arguments="{}")
        >>> judgement = asyncio.run(penstock.judge(Broken(), call, penstock.PolicyContext()))
        >>> judgement.verdict.decision, judgement.state, judgement.detail
        ('deny', 'error-denied', 'on_tool_call returned NoneType, not a verdict')
    """
    check_type("policy", policy, Policy, "a penstock.Policy")
    check_type("call", call, ToolCall, "a penstock.ToolCall")
    check_type("context", context, PolicyContext, "a penstock.PolicyContext")
    settled = settled_by_rules(policy, call)
    if settled is not None:
        return settled
    return await _judge(policy, "on_tool_call", "tool_call", (call,), context, deadline)


async def judge_thinking(
    policy: Policy, text: str, block: BlockView, context: PolicyContext, *, deadline: float | None = VERDICT_SECONDS
) -> Judgement:
    """Judges a whole thinking block, which is allowed or denied as it is."""
    return await _judge(policy, "on_thinking", "thinking", (text, block), context, deadline)


async def judge_block(
    policy: Policy, block: StreamBlock, context: PolicyContext, *, deadline: float | None = VERDICT_SECONDS
) -> Judgement:
    """Judges a whole block of any type that has no hook of its own."""
    return await _judge(policy, "on_block", kind_of(policy, block), (block,), context, deadline)


async def tell(policy: Policy, hook: Hook, *arguments: Any, deadline: float | None = VERDICT_SECONDS) -> None:
    """Calls a hook that only watches, if the policy has it.

    Raises:
        PolicyFailed: It raised, took too long, or returned something, which only a hook does that was taken for another.
    """
    if hook not in policy.hooks:
        return
    value = _value(hook, await ask(getattr(policy, hook), *arguments, deadline=deadline))
    if value is not None:
        raise odd_value(hook, value, "nothing")


async def text_of(
    policy: Policy, hook: Literal["on_text_delta", "on_text"], *arguments: Any, deadline: float | None = VERDICT_SECONDS
) -> str:
    """Calls a hook that says what is written in place of the text, or behind it.

    Raises:
        PolicyFailed: It raised, took too long, or returned no text.
    """
    value = _value(hook, await ask(getattr(policy, hook), *arguments, deadline=deadline))
    if value is None and hook == "on_text":
        return ""
    if not isinstance(value, str):
        raise odd_value(hook, value, 'text ("" holds the text back)')
    return value


def settled_by_rules(policy: Policy, call: ToolCall, *, is_sound: bool = False) -> Judgement | None:
    """The judgement on a call that no policy has to be asked about; None if one has to.

    Args:
        policy: Who would be asked.
        call: The call.
        is_sound: Whether the arguments were read strictly already.
    """
    refusal = _refused_by_rules(policy, call, is_sound=is_sound)
    if refusal is None and "on_tool_call" not in policy.hooks:
        return judged_by_default(policy, "tool_call")
    return refusal


def replaced(call: ToolCall, verdict: Verdict) -> ToolCall:
    """The call that a replacement leaves in the place of another."""
    return ToolCall(
        id=call.id,
        name=call.name if verdict.name is None else verdict.name,
        arguments=call.arguments if verdict.arguments is None else verdict.arguments,
        kind=call.kind,
        choice=call.choice,
        index=call.index,
        flags=call.flags,
    )


async def _judge(
    policy: Policy,
    hook: Hook,
    type_or_kind: str,
    subject: tuple[Any, ...],
    context: PolicyContext,
    deadline: float | None,
) -> Judgement:
    if hook not in policy.hooks:
        return judged_by_default(policy, type_or_kind)
    clock = asyncio.get_running_loop().time
    started = clock()
    with context.due_at(float("inf") if deadline is None else started + deadline):
        answer = await ask(getattr(policy, hook), *subject, context, deadline=deadline)
    return judgement_of(hook, subject, answer, clock() - started)


def kind_of(policy: Policy, block: StreamBlock) -> str:
    """What the policy calls a block where it lists what is inert."""
    kind = block.kind if isinstance(block, (ToolResultStreamBlock, UnknownStreamBlock)) else ""
    return kind if kind in policy.inert else block.type


def judgement_of(hook: Hook, subject: tuple[Any, ...], answer: Answer, seconds: float) -> Judgement:
    """What the answer of a hook comes to.

    Args:
        hook: Who answered.
        subject: What it was asked about: the call alone, or the block.
        answer: What it said, or why it said nothing.
        seconds: How long it took.
    """
    verdict: object = answer.value
    if answer.failure:
        return _failed(f"{hook} {answer.failure}", seconds, answer.error)
    # Not isinstance: what only calls itself a verdict has not been through the checks of one.
    if type(verdict) is not Verdict:
        discard(verdict)
        return _failed(f"{hook} returned {type(verdict).__name__}, not a verdict", seconds)
    decision = verdict.decision
    judgement = Judgement(verdict, "denied" if decision == "deny" else "allowed", seconds, f"{hook}: {decision}")
    if decision != "replace":
        return judgement
    if hook == "on_tool_call":
        return _with_checked_replacement(judgement, subject[0])
    return _failed("a replacement came for a block that is no tool call", seconds)


def _failed(detail: str, seconds: float, error: BaseException | None = None) -> Judgement:
    log.error("a policy failed, and what it was asked about is denied: %s", detail)
    return Judgement(deny(FAILURE_REASON), "error-denied", seconds, detail, error)


def judged_by_default(policy: Policy, type_or_kind: str) -> Judgement:
    """The judgement on a block that the policy has no hook for."""
    if type_or_kind in policy.inert:
        return _inert(type_or_kind)
    return Judgement(deny(), "not-run", detail=f"the policy has no hook for {type_or_kind}")


# Each is a word that some policy lists, so there are few of them.
@cache
def _inert(type_or_kind: str) -> Judgement:
    return Judgement(ALLOW, "not-run", detail=f"{type_or_kind} is inert")


def _refused_by_rules(policy: Policy, call: ToolCall, *, is_sound: bool) -> Judgement | None:
    if not is_sound and call.takes_json and call.invalid is not None:
        reason = f"the arguments of this call are not sound: {call.invalid.detail}"
        return Judgement(deny(reason), "not-run", detail=f"arguments: {call.invalid.kind}")
    unwanted = call.flags - policy.tolerates
    if unwanted:
        detail = f"flagged: {', '.join(sorted(unwanted))}"
        return Judgement(deny("this call looks forged, so it is not allowed"), "not-run", detail=detail)
    return None


def _with_checked_replacement(judgement: Judgement, call: ToolCall) -> Judgement:
    """The judgement that replaces a call, unless it would put something in its place that could not be judged itself."""
    if call.has_run:
        return _failed("on_tool_call replaced a call that the provider has run", judgement.seconds)
    try:
        unsound = replaced(call, judgement.verdict).invalid
    except ValueError:
        return _failed("on_tool_call replaced a call by text that cannot be written", judgement.seconds)
    if call.takes_json and unsound is not None:
        return _failed(f"on_tool_call replaced the arguments by unsound ones: {unsound.kind}", judgement.seconds)
    return judgement


def _value(hook: Hook, answer: Answer) -> Any:
    if answer.failure:
        raise PolicyFailed(hook, answer.failure) from answer.error
    return answer.value


def odd_value(hook: Hook, value: object, expected: str) -> PolicyFailed:
    """The error that a hook returned something else than it has to."""
    discard(value)
    return PolicyFailed(hook, f"returned {type(value).__name__}, not {expected}")
