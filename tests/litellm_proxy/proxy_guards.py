"""What the configuration of the proxy under test names: one guard, with a policy that each request chooses by its user."""

from __future__ import annotations

from typing import TYPE_CHECKING

import penstock
from penstock.integrations.litellm import PenstockGuard

if TYPE_CHECKING:
    from penstock import BlockView, PolicyContext, ToolCall, Verdict


class ByUser(penstock.Policy):
    """Denies, allows or fails, as the request's user says; whoever is not known is denied."""

    def on_text_delta(self, delta: str, block: BlockView, context: PolicyContext) -> str:
        """Fails for one user."""
        if context.request.get("user") == "broken":
            raise RuntimeError("secret")
        return delta

    async def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
        """Says what the user says."""
        print("judged", call.name, call.arguments, flush=True)  # noqa: T201 (the test reads it in the proxy's log)
        return penstock.ALLOW if context.request.get("user") == "allow" else penstock.deny("not here")


class Subclassed(PenstockGuard):
    """LiteLLM looks for the hook in this class."""


guard = Subclassed(ByUser())
