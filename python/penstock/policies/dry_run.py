"""Tries a policy out on real streams: it is asked, and what it says is only logged."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal

from penstock.composition import Policies
from penstock.errors import PolicyFailed
from penstock.judging import VERDICT_SECONDS, Judgement, judge, judge_block, judge_thinking, tell, text_of
from penstock.verdicts import ALLOW, Verdict

if TYPE_CHECKING:
    from penstock.blocks import StreamBlock
    from penstock.calls import BlockView, ToolCall
    from penstock.policy import Hook, Policy, PolicyContext

__all__ = ["DryRun"]

log = logging.getLogger("penstock.dry_run")

# Of the time that is left, what the policy under trial may take: a hang must be over before it becomes a denial of the real kind.
PART_OF_TIME = 0.8


class DryRun(Policies):
    """Asks a policy, logs what it would have done under `penstock.dry_run`, and lets everything pass.

    What the gate refuses by itself, such as arguments that readers would differ on, stays refused.

    Args:
        policy: The policy to try out. Whatever it does, it changes nothing.

    Example:
        >>> import asyncio, penstock
        >>> from penstock.policies import DryRun, ToolRules
        >>> call = penstock.ToolCall(id="call_1", name="bash", arguments="{}")
        >>> trial = DryRun(ToolRules(deny=["bash"]))
        >>> asyncio.run(penstock.judge(trial, call, penstock.PolicyContext())).verdict.decision
        'allow'
    """

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        # Those of the policy, and those for what it would deny for want of a hook.
        own: set[Hook] = {"on_tool_call", "on_block"}
        self.hooks |= own

    async def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
        """Logs the verdict, and allows."""
        judgement = await judge(self.policies[0], call, context, deadline=_seconds(context))
        return _logged(judgement, context, call.digest)

    async def on_thinking(self, text: str, block: BlockView, context: PolicyContext) -> Verdict:
        """Logs the verdict, and allows."""
        judgement = await judge_thinking(self.policies[0], text, block, context, deadline=_seconds(context))
        return _logged(judgement, context, f"block {block.number}")

    async def on_block(self, block: StreamBlock, context: PolicyContext) -> Verdict:
        """Logs the verdict, and allows."""
        judgement = await judge_block(self.policies[0], block, context, deadline=_seconds(context))
        return _logged(judgement, context, f"a block of type {block.type}")

    async def on_text_delta(self, delta: str, block: BlockView, context: PolicyContext) -> str:
        """Has the text rewritten, and passes it on as it was."""
        await self._try_text("on_text_delta", delta, block, context)
        return delta

    async def on_text(self, text: str, block: BlockView, context: PolicyContext) -> str:
        """Has the text completed, and adds nothing."""
        await self._try_text("on_text", text, block, context)
        return ""

    async def _try_text(
        self, hook: Literal["on_text_delta", "on_text"], text: str, block: BlockView, context: PolicyContext
    ) -> None:
        if hook not in self.policies[0].hooks:
            return
        try:
            await text_of(self.policies[0], hook, text, block, context, deadline=_seconds(context))
        except PolicyFailed as error:
            log.warning("stream %s: would fail: %s", context.stream_id, error)

    async def _tell(self, hook: Hook, *arguments: Any) -> None:
        context: PolicyContext = arguments[-1]
        try:
            await tell(self.policies[0], hook, *arguments, deadline=_seconds(context))
        except PolicyFailed as error:
            log.warning("stream %s: would fail: %s", context.stream_id, error)

    _tell_all = _tell


def _seconds(context: PolicyContext) -> float:
    left = context.time_left
    return PART_OF_TIME * (VERDICT_SECONDS if left is None or left == float("inf") else left)


def _logged(judgement: Judgement, context: PolicyContext, subject: str) -> Verdict:
    level = logging.INFO if judgement.verdict.decision == "allow" else logging.WARNING
    log.log(
        level, "stream %s: would %s %s (%s)", context.stream_id, judgement.verdict.decision, subject, judgement.detail
    )
    return ALLOW
