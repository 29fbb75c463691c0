"""Policies for the tests of the integrations."""

from __future__ import annotations

from typing import Any

import penstock

REASON = "not here"


class DenyAll(penstock.Policy):
    """Lets no call pass."""

    def on_tool_call(self, call: penstock.ToolCall, context: penstock.PolicyContext) -> penstock.Verdict:
        return penstock.deny(REASON)


class Judging(penstock.Policy):
    """Allows every call, and keeps what it judged and for which request."""

    def __init__(self) -> None:
        self.judged: list[tuple[str, Any]] = []
        self.requests: list[Any] = []
        self.endings: list[str] = []

    async def on_tool_call(self, call: penstock.ToolCall, context: penstock.PolicyContext) -> penstock.Verdict:
        self.judged.append((call.name, call.parsed))
        self.requests.append(context.request)
        return penstock.ALLOW

    def on_end(self, record: penstock.AuditRecord, context: penstock.PolicyContext) -> None:
        self.endings.append(record.ending)


class Broken(penstock.Policy):
    """Fails at the first text."""

    def on_text_delta(self, delta: str, block: penstock.BlockView, context: penstock.PolicyContext) -> str:
        raise RuntimeError("secret")

    def on_tool_call(self, call: penstock.ToolCall, context: penstock.PolicyContext) -> penstock.Verdict:
        return penstock.ALLOW
