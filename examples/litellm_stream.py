"""Penstock behind LiteLLM: the answer streams on, and a tool call in it is stopped before the client sees any of it.

Nothing here needs a key, because LiteLLM is told what to answer; without `mock_response` the same code reads any provider that it knows.
With `LITELLM_LOCAL_MODEL_COST_MAP=True` it needs no network either: LiteLLM looks for prices there when it is imported.

Needs LiteLLM (`pip install "penstock[litellm]"`). Run it: `python examples/litellm_stream.py`.
"""

from __future__ import annotations

import asyncio
from typing import Any

import litellm
from per_tool_call_buffering import PerToolCallBuffering

from penstock import StreamingContext, StreamProcessor, ToolCallStreamBlock

FORBIDDEN = {"shell"}


def _call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


CALLS = [_call("call_1", "list_files", '{"path": "/srv"}'), _call("call_2", "shell", '{"command": "rm -rf /srv"}')]
MESSAGE = {"role": "assistant", "content": "Let me clean up.", "tool_calls": CALLS}
ANSWER = litellm.ModelResponse(choices=[{"index": 0, "message": MESSAGE, "finish_reason": "tool_calls"}])


def _should_block(call: ToolCallStreamBlock) -> bool:
    print(f"judging {call.name}({call.arguments})")
    return call.name in FORBIDDEN


def _show(chunk: Any) -> None:
    print("  sent:", chunk if isinstance(chunk, str) else chunk.choices[0].delta.content)


async def main() -> None:
    """Streams an answer through the processor."""
    messages = [{"role": "user", "content": "Clean up."}]
    stream = await litellm.acompletion(model="gpt-4o", messages=messages, stream=True, mock_response=ANSWER)
    policy = PerToolCallBuffering(_should_block, refusal="this call is not allowed")
    processor = StreamProcessor(on_chunk_callback=policy.on_chunk)
    await processor.process(stream, StreamingContext(sink=_show))
    print("the processor saw:", *(block.id for block in processor.state.blocks))


if __name__ == "__main__":
    asyncio.run(main())
