"""Per-tool-call buffering: text streams on, and no byte of a tool call leaves before that call has been judged.

Two things make this more than "hold the chunks of the current block":

- A call completes when the *next* block starts, or at the finish. Either way the block that has just completed is not the current one.
- One chunk can hold parts of several calls. It may leave only when all of them have been judged.

So chunks are held in the order in which they came, from the start of a call on, and are released when no call among them is left to judge.
Run it: `python examples/per_tool_call_buffering.py`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from penstock import StreamBlock, StreamingContext, StreamProcessor, StreamState, ToolCallStreamBlock

if TYPE_CHECKING:
    from collections.abc import Callable


class PerToolCallBuffering:
    """Judges each tool call once it is whole; ends the stream at the first that may not pass.

    Args:
        should_block: The judge.
        refusal: What the client gets instead of a call that may not pass.
    """

    def __init__(self, should_block: Callable[[ToolCallStreamBlock], bool], refusal: Any) -> None:
        self._should_block = should_block
        self._refusal = refusal
        self._held: list[Any] = []
        self._waiting: list[ToolCallStreamBlock] = []
        # By choice and index: an id is the provider's word, and two calls may have the same.
        self._passed: set[tuple[int, int]] = set()

    async def on_chunk(self, chunk: Any, state: StreamState, context: StreamingContext) -> None:
        """Holds or sends the chunk."""
        if self._is_blocked(state.just_completed):
            await self._refuse(context)
            return
        if not any(map(self._is_waiting, self._waiting)):
            await self._release(context)
        self._held.append(chunk)
        calls = (block for block in state.blocks if isinstance(block, ToolCallStreamBlock))
        self._waiting = [call for call in calls if self._is_waiting(call)]
        if not self._waiting:
            await self._release(context)
        elif any(call.choice in state.finish_reasons for call in self._waiting):
            # The answer was cut short: half a call is not for the client to run.
            await self._refuse(context)

    def _is_blocked(self, block: StreamBlock | None) -> bool:
        """Judges a call that has just completed."""
        if not isinstance(block, ToolCallStreamBlock):
            return False
        self._passed.discard((block.choice, block.index))
        if not block.arguments_complete:
            # Some providers send calls in turns: the rest may come yet.
            return False
        if self._should_block(block):
            return True
        self._passed.add((block.choice, block.index))
        return False

    def _is_waiting(self, call: ToolCallStreamBlock) -> bool:
        return not call.is_complete or (call.choice, call.index) not in self._passed

    async def _release(self, context: StreamingContext) -> None:
        for chunk in self._held:
            await context.send(chunk)
        self._held.clear()

    async def _refuse(self, context: StreamingContext) -> None:
        await context.send(self._refusal)
        context.terminate()


def _chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def _call(index: int, name: str, arguments: str) -> dict[str, Any]:
    return {"index": index, "id": f"call_{index}", "function": {"name": name, "arguments": arguments}}


ANSWER = [
    _chunk({"role": "assistant", "content": "Let me see."}),
    _chunk({"tool_calls": [_call(0, "list_files", '{"path": ')]}),
    _chunk({"tool_calls": [{"index": 0, "function": {"arguments": '"/srv"}'}}]}),
    _chunk({"tool_calls": [_call(1, "shell", '{"command": "rm -rf /srv"}')]}),
    _chunk({}, "tool_calls"),
]


async def main() -> None:
    """Lets one call pass and stops the other."""

    def should_block(call: ToolCallStreamBlock) -> bool:
        print(f"judging {call.name}({call.arguments})")
        return call.name == "shell"

    policy = PerToolCallBuffering(should_block, refusal={"error": {"message": "this call is not allowed"}})
    context = StreamingContext(sink=lambda chunk: print("  sent:", chunk.get("error") or chunk["choices"][0]["delta"]))
    await StreamProcessor(on_chunk_callback=policy.on_chunk).process(ANSWER, context)


if __name__ == "__main__":
    asyncio.run(main())
