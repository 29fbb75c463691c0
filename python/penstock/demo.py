"""A demonstration: an answer streams by, its blocks grow, and a policy stops one of its tool calls."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

from penstock.blocks import StreamBlock, StreamState, ToolCallStreamBlock
from penstock.context import StreamingContext
from penstock.processor import StreamProcessor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

__all__ = ["run"]

TEXT = "Let me look at the folder first, and then clean it up."
CALLS = (
    ("call_1", "list_files", {"path": "/srv/reports"}),
    ("call_2", "shell", {"command": "rm -rf /srv/reports"}),
)
FORBIDDEN = frozenset({"shell"})


def _chunk(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    chunk = {
        "id": "chatcmpl-demo",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "demo",
        "choices": [choice],
    }
    return f"data: {json.dumps(chunk)}\n\n".encode()


def _answer() -> Iterator[bytes]:
    """What a provider sends: server-sent events, a token each."""
    yield _chunk({"role": "assistant", "content": ""})
    for word in re.findall(r"\S+\s*", TEXT):
        yield _chunk({"content": word})
    for index, (call_id, name, arguments) in enumerate(CALLS):
        yield _chunk({"tool_calls": [{"index": index, "id": call_id, "function": {"name": name, "arguments": ""}}]})
        for piece in re.findall(r".{1,8}", json.dumps(arguments)):
            yield _chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield _chunk({}, "tool_calls")
    yield b"data: [DONE]\n\n"


async def _reads(delay: float) -> AsyncIterator[bytes]:
    """The answer as a network gives it: in reads that end anywhere."""
    stream = b"".join(_answer())
    for start in range(0, len(stream), 100):
        await asyncio.sleep(delay)
        yield stream[start : start + 100]


class _Gatekeeper:
    """Holds each tool call back until it is whole, and ends the stream at one that is not allowed."""

    def __init__(self) -> None:
        self._held: list[Any] = []
        self._shown: StreamBlock | None = None

    async def on_chunk(self, chunk: Any, state: StreamState, context: StreamingContext) -> None:
        completed = state.just_completed
        if isinstance(completed, ToolCallStreamBlock):
            if completed.name in FORBIDDEN:
                print(f"\n  x {completed.name} is not allowed: the client never sees this call")
                context.terminate()
                return
            print(f"\n  + {completed.name} may pass", end="")
            await self._release(context)
        self._show(state.current_block)
        self._held.append(chunk)
        if not isinstance(state.current_block, ToolCallStreamBlock):
            await self._release(context)

    async def _release(self, context: StreamingContext) -> None:
        for held in self._held:
            await context.send(held)
        self._held.clear()

    def _show(self, block: StreamBlock | None) -> None:
        if block is None:
            return
        if block is not self._shown:
            self._shown = block
            name = f" {block.name}" if isinstance(block, ToolCallStreamBlock) else ""
            print(f"\n[{block.type}{name}] ", end="")
        print(block.delta, end="", flush=True)


async def run(*, delay: float = 0.02) -> None:
    """Streams the answer through a processor and prints what happens."""
    context = StreamingContext()
    processor = StreamProcessor(on_chunk_callback=_Gatekeeper().on_chunk)
    await processor.process(_reads(delay), context)
    print(f"\n{len(context.sent)} chunks were sent on. The blocks, as the processor saw them:")
    for block in processor.state.blocks:
        print(f"  {block}")
