"""Runs streams through a gate, and keeps what the policy was asked, what was written and what was recorded."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import penstock
from penstock import ALLOW, AuditRecord, Policy, ToolCall, Verdict, deny

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock import Report, StreamBlock
    from penstock.policy import PolicyContext
    from penstock.protocols import Protocol

TARGETS: tuple[Protocol, ...] = ("openai_chat", "anthropic_messages", "openai_responses")

REASON = "no calls today"


class Judge(Policy):
    """Says the same of every call and of every block of another type, and keeps the calls."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self.asked: list[ToolCall] = []

    async def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
        self.asked.append(call)
        return self.verdict

    async def on_block(self, block: StreamBlock, context: PolicyContext) -> Verdict:
        return self.verdict


def allow_all() -> Judge:
    """A judge that allows everything that it is asked about."""
    return Judge(ALLOW)


def deny_all() -> Judge:
    """A judge that denies everything that it is asked about."""
    return Judge(deny(REASON))


@dataclass
class Gated:
    """A stream that went through a gate."""

    out: bytes
    target: Protocol
    asked: list[ToolCall]
    record: AuditRecord
    report: Report = field(init=False)

    def __post_init__(self) -> None:
        self.report = penstock.check(self.out, self.target)

    @property
    def ended(self) -> str:
        """How the stream ended for the client."""
        return self.report.ended


async def gated(items: Iterable[Any], policy: Policy, **options: Any) -> Gated:
    """What comes of a stream."""
    records: list[AuditRecord] = []
    out = b"".join([out async for out in penstock.gate(items, policy, audit=records.append, **options)])
    (record,) = records
    return Gated(out, options["target"], list(getattr(policy, "asked", [])), record)


def run(items: Iterable[Any], policy: Policy, **options: Any) -> Gated:
    """The same, in a loop of its own."""
    return asyncio.run(gated(items, policy, **options))
