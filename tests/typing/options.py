"""A user's options by name: pyright knows them and their values wherever they are handed on, and finds those that are wrong."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from typing import TYPE_CHECKING

import penstock
from penstock.integrations.asgi import GateMiddleware
from penstock.integrations.httpx import AsyncGateTransport

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from penstock.integrations.asgi import App

POLICY = penstock.AllowAll()
LIMITS = penstock.Limits(blocks=7)


async def judge_stream(stream: AsyncIterator[bytes]) -> None:
    async for _ in penstock.gate(stream, POLICY, source="openai_chat", tags="claude-xml", on_deny="end", strict=True):
        pass
    async for _ in penstock.gate_events(stream, POLICY, source="openai_chat", limits=LIMITS, ping_seconds=None):
        pass
    penstock.gate(stream, POLICY, on_deny="drop")  # pyright: ignore[reportArgumentType]
    penstock.gate(stream, POLICY, on_denial="end")  # pyright: ignore[reportCallIssue]
    penstock.gate_events(stream, POLICY, tag="claude-xml")  # pyright: ignore[reportCallIssue]
    penstock.gate_events(stream, POLICY, chunk_timeout="soon")  # pyright: ignore[reportArgumentType]


async def judge_body(body: bytes) -> None:
    await penstock.gate_body(body, POLICY, source="openai_chat", context=penstock.PolicyContext(), audit_content=True)
    await penstock.gate_body(body, POLICY, shape="dict")  # pyright: ignore[reportCallIssue]


def judge_by_hand() -> None:
    penstock.Gate(POLICY, source="openai_chat", message_id="msg_1", verdict_timeout=None)
    penstock.Gate(POLICY, messageid="msg_1")  # pyright: ignore[reportCallIssue]
    penstock.BlockingGate(POLICY, source="auto", target="openai_chat", max_concurrent=2, coalesce=False)
    penstock.BlockingGate(POLICY, ping_seconds=1.0)  # pyright: ignore[reportCallIssue]
    penstock.BlockingGate(POLICY, target="text")  # pyright: ignore[reportArgumentType]


async def translate_stream(stream: AsyncIterator[bytes]) -> None:
    async for _ in penstock.translate(stream, target="openai_chat", text_after_calls="before_calls", created=7):
        pass
    async for _ in penstock.translate_events(stream, target="openai_chat", total_timeout=None, model="m"):
        pass
    await penstock.collect(stream, target="openai_chat", chunk_timeout=1, on_interrupt="close")
    penstock.translate(stream, target="openai_chat", text_after_call="in_order")  # pyright: ignore[reportCallIssue]
    penstock.translate_events(stream, target="openai_chat", verdict_timeout=1)  # pyright: ignore[reportCallIssue]
    await penstock.collect(stream, target="openai_chat", created="now")  # pyright: ignore[reportArgumentType]


def translate_whole(body: bytes) -> None:
    penstock.translate_body(body, target="openai_chat", strict=True, tags=["qwen", "hermes"])
    penstock.collect_sync([body], target="openai_chat", coalesce=False)
    penstock.EventTranslator(target="openai_chat", shape="sdk", message_id=None)
    penstock.translate_body(body, target="openai_chat", chunk_timeout=1)  # pyright: ignore[reportCallIssue]
    penstock.EventTranslator(target="openai_chat", stict=True)  # pyright: ignore[reportCallIssue]


def put_in_place(app: App) -> None:
    GateMiddleware(app, POLICY, chunk_timeout=None, on_deny="end", tags="claude-xml")
    AsyncGateTransport(POLICY, audit=None)
    GateMiddleware(app, POLICY, context=penstock.PolicyContext())  # pyright: ignore[reportCallIssue]
    AsyncGateTransport(POLICY, on_denial="end")  # pyright: ignore[reportCallIssue]
