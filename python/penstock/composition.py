"""Several policies as one, and one policy inside another.

Rules. (1) The order is fixed. (2) Any denial wins, and a failure in one is a failure of all. (3) A call leaves only if each policy has
allowed it or has written it: a replacement is shown to all the others from the first on, and nobody replaces twice. (4) Text goes
through the policies one after the other; each sees what the one before let through. (5) Each policy is told of the end, whatever
the others do.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, cast

from penstock.errors import PolicyFailed
from penstock.judging import odd_value, replaced
from penstock.policy import HOOKS, Hook, Policy, PolicyContext
from penstock.verdicts import ALLOW, Verdict

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from penstock.audit import AuditRecord
    from penstock.blocks import StreamBlock
    from penstock.calls import BlockView, ToolCall
    from penstock.events import ChoiceFinished
    from penstock.usage import Usage

__all__ = ["Policies", "all_of"]


def all_of(*policies: Policy) -> Policy:
    """Several policies as one, asked in this order; any denial wins.

    Example:
        >>> import asyncio, penstock
        >>> class NoShell(penstock.Policy):
        ...     def on_tool_call(self, call, context):
        ...         return penstock.deny("shell is off") if call.name == "bash" else penstock.ALLOW
        >>> both = penstock.all_of(NoShell(), penstock.AllowAll())
        >>> call = penstock.ToolCall(id="call_1", name="bash", arguments="{}")
        >>> asyncio.run(penstock.judge(both, call, penstock.PolicyContext())).verdict.reason
        'shell is off'
    """
    return Policies(*policies)


class Policies(Policy):
    """What `all_of` makes. A type of block is judged by each policy that has a hook for it; if none has, it is inert if any says so."""

    def __init__(self, *policies: Policy) -> None:
        for each in cast("tuple[object, ...]", policies):
            if not isinstance(each, Policy):
                msg = f"expected policies, not {type(each).__name__}"
                raise TypeError(msg)
        if not policies:
            msg = "expected at least one policy"
            raise ValueError(msg)
        self.policies = policies
        judging = [each for each in policies if "on_tool_call" in each.hooks]
        self.inert = frozenset[str]().union(*(each.inert for each in policies))
        self.tolerates = frozenset[str].intersection(*(frozenset(each.tolerates) for each in judging or policies))
        self.is_buffered = any(each.is_buffered for each in policies)
        self._policies_having = {hook: [each for each in policies if hook in each.hooks] for hook in HOOKS}
        self._rewritten = _behind_a_rewriter(policies)
        own: set[Hook] = {"on_text_delta"} if self._rewritten else set()
        self.hooks = frozenset(own.union(*(each.hooks for each in policies)))

    def _having(self, hook: Hook) -> list[Policy]:
        return self._policies_having[hook]

    async def _tell(self, hook: Hook, *arguments: Any) -> None:
        for each in self._having(hook):
            await _told(each, hook, *arguments)

    async def on_chunk(self, chunk: Any, context: PolicyContext) -> None:
        """Tells each."""
        await self._tell("on_chunk", chunk, context)

    async def on_thinking_delta(self, delta: str, block: BlockView, context: PolicyContext) -> None:
        """Tells each."""
        await self._tell("on_thinking_delta", delta, block, context)

    async def on_tool_call_delta(self, delta: str, block: BlockView, context: PolicyContext) -> None:
        """Tells each."""
        await self._tell("on_tool_call_delta", delta, block, context)

    async def on_finish(self, finish: ChoiceFinished, context: PolicyContext) -> None:
        """Tells each."""
        await self._tell("on_finish", finish, context)

    async def on_usage(self, usage: Usage, context: PolicyContext) -> None:
        """Tells each."""
        await self._tell("on_usage", usage, context)

    async def on_error(self, error: Any, context: PolicyContext) -> None:
        """Tells each, whatever the others do."""
        await self._tell_all("on_error", error, context)

    async def on_end(self, record: AuditRecord, context: PolicyContext) -> None:
        """Tells each, whatever the others do."""
        await self._tell_all("on_end", record, context)

    async def _tell_all(self, hook: Hook, *arguments: Any) -> None:
        failures: list[BaseException] = []
        for each in self._having(hook):
            try:
                await _told(each, hook, *arguments)
            except BaseException as error:  # noqa: BLE001 (rule 5; what was raised is raised again below)
                failures.append(error)
        if failures:
            # A group cannot be sorted by what it holds without looking; the first failure is the one to act on.
            raise failures[0]

    async def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
        """The verdict of all on the call, or on what one of them puts in its place."""
        judging = self._having("on_tool_call")
        left, author, authors = call, None, set[int]()
        number = 0
        while number < len(judging):
            verdict = (
                ALLOW
                if number == author
                else await _verdict(judging[number].on_tool_call(left, context), "on_tool_call")
            )
            match verdict.decision:
                case "allow":
                    number += 1
                case "deny":
                    return verdict
                case "replace":
                    if number in authors:
                        raise PolicyFailed("on_tool_call", "two policies replace each other's calls")
                    left, author = replaced(left, verdict), number
                    authors.add(number)
                    number = 0
        return ALLOW if left is call else Verdict("replace", name=left.name, arguments=left.arguments)

    async def on_thinking(self, text: str, block: BlockView, context: PolicyContext) -> Verdict:
        """The first verdict that is not an allowance."""
        for each in self._having("on_thinking"):
            verdict = await _verdict(each.on_thinking(text, block, context), "on_thinking")
            if verdict.decision != "allow":
                return verdict
        return ALLOW

    async def on_block(self, block: StreamBlock, context: PolicyContext) -> Verdict:
        """The first verdict that is not an allowance."""
        for each in self._having("on_block"):
            verdict = await _verdict(each.on_block(block, context), "on_block")
            if verdict.decision != "allow":
                return verdict
        return ALLOW

    async def on_text_delta(self, delta: str, block: BlockView, context: PolicyContext) -> str:
        """The text as the last of the policies lets it through."""
        return await self._pass_on(0, delta, block, context)

    async def on_text(self, text: str, block: BlockView, context: PolicyContext) -> str:
        """What the policies still have of the block, each remainder seen by the policies behind."""
        written = ""
        for number, each in enumerate(self.policies):
            if "on_text" in each.hooks:
                own = self._take_seen(number, block, context) if number in self._rewritten else text
                rest = await _text(each.on_text(own, block, context), "on_text")
                written += await self._pass_on(number + 1, rest, block, context)
        return written

    async def _pass_on(self, start: int, text: str, block: BlockView, context: PolicyContext) -> str:
        """Gives text to the policies from a number on; each gets what the one before returned."""
        for number, each in enumerate(self.policies[start:], start):
            if not text:
                break
            if number in self._rewritten:
                self._seen(number, block, context).append(text)
            if "on_text_delta" in each.hooks:
                text = await _text(each.on_text_delta(text, block, context), "on_text_delta")
        return text

    def _seen(self, number: int, block: BlockView, context: PolicyContext) -> list[str]:
        """The parts of a block that a policy was given."""
        return context.own(self, dict[tuple[int, int], list[str]]).setdefault((block.number, number), [])

    def _take_seen(self, number: int, block: BlockView, context: PolicyContext) -> str:
        seen = "".join(self._seen(number, block, context))
        self._seen(number, block, context).clear()
        return seen


def _behind_a_rewriter(policies: tuple[Policy, ...]) -> frozenset[int]:
    """The numbers of the policies that want a block's whole text, and get another than the model wrote."""
    writes = [not each.hooks.isdisjoint({"on_text_delta", "on_text"}) for each in policies]
    return frozenset(number for number, each in enumerate(policies) if "on_text" in each.hooks and any(writes[:number]))


async def _settled(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


async def _told(policy: Policy, hook: Hook, *arguments: Any) -> None:
    value = await _settled(getattr(policy, hook)(*arguments))
    if value is not None:
        raise odd_value(hook, value, "nothing")


async def _verdict(value: Awaitable[Verdict] | Verdict, hook: Hook) -> Verdict:
    verdict = await _settled(value)
    if type(verdict) is not Verdict:
        raise odd_value(hook, verdict, "a verdict")
    return verdict


async def _text(value: Any, hook: Hook) -> str:
    text = await _settled(value)
    if text is None and hook == "on_text":
        return ""
    if not isinstance(text, str):
        raise odd_value(hook, text, "text")
    return text
