"""Tells a policy what happens in a stream, in order, and shows it the blocks that it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from penstock.calls import BlockView
from penstock.events import BlockGrew, ChoiceFinished, ErrorReported, UsageReported
from penstock.judging import tell

if TYPE_CHECKING:
    from penstock import _core
    from penstock.blocks import StreamState
    from penstock.policy import Hook, Policy, PolicyContext

__all__ = ["Watcher"]


class Watcher:
    """Stands between a gate's core and the hooks of a policy that only look.

    Args:
        policy: Who is told.
        context: The stream.
        core: What is looked at.
        deadline: The seconds for each hook; None for as long as it likes.
    """

    def __init__(
        self, policy: Policy, context: PolicyContext, core: _core.Translator, *, deadline: float | None
    ) -> None:
        self._policy = policy
        self._context = context
        self._core = core
        self._deadline = deadline

    async def hear(self, item: Any = None) -> None:
        """Tells the policy what the last step of the core has brought. `item` is what it was fed.

        Raises:
            PolicyFailed: A hook failed.
        """
        if "on_chunk" in self._policy.hooks and not isinstance(item, (bytes, bytearray, memoryview, str, type(None))):
            await self.tell("on_chunk", item)
        for event in self._core.take_events():
            match event:
                case dict():
                    await self.tell("on_chunk", event)
                case BlockGrew(block=block, part="text", text=text) if self.state.blocks[block].type == "thinking":
                    await self.tell("on_thinking_delta", text, self.view(block))
                case BlockGrew(block=block, part="arguments", text=text):
                    await self.tell("on_tool_call_delta", text, self.view(block))
                case ChoiceFinished():
                    await self.tell("on_finish", event)
                case UsageReported():
                    await self.tell("on_usage", self.state.usage)
                case ErrorReported():
                    await self.tell("on_error", cast("object", self.state.error))
                case _:
                    pass

    async def tell(self, hook: Hook, *subject: Any) -> None:
        """Calls a hook, if the policy has it.

        Raises:
            PolicyFailed: It failed.
        """
        await tell(self._policy, hook, *subject, self._context, deadline=self._deadline)

    @property
    def state(self) -> StreamState:
        """What is known of the stream."""
        state = self._core.state
        if state is None:
            msg = "the gate keeps no state, because its policy has no hook that looks at it"
            raise RuntimeError(msg)
        return state

    def text(self, block: int) -> str:
        """All that a block says so far."""
        return cast("Any", self.state.blocks[block]).content

    def view(self, number: int) -> BlockView:
        """Which block it is."""
        block = self.state.blocks[number]
        return BlockView(number, block.type, block.id, block.choice)
