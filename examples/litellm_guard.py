"""The gate in LiteLLM's proxy: one line in its configuration, for chat, `/v1/messages` and `/v1/responses` alike.

    litellm_settings:
      callbacks: litellm_guard.guard

with this file beside the configuration. Run by itself, it shows what the proxy would do with an answer that LiteLLM makes up.

Needs LiteLLM (`pip install "penstock[litellm]"`). Run it: `python examples/litellm_guard.py`.
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import litellm

from penstock.integrations.litellm import PenstockGuard
from penstock.policies import ToolRules

guard = PenstockGuard(ToolRules(deny=["bash"]))


async def main() -> None:
    """Streams an answer through the guard, as the proxy does."""
    calls = [
        {"id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for name in ("list_files", "bash")
    ]
    message = {"role": "assistant", "content": "Let me clean up.", "tool_calls": calls}
    answer = litellm.ModelResponse(choices=[{"index": 0, "message": message, "finish_reason": "tool_calls"}])
    request = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Clean up."}], "stream": True}
    stream = await litellm.acompletion(**request, mock_response=answer)
    key = SimpleNamespace(request_route="/v1/chat/completions")
    async for chunk in guard.async_post_call_streaming_iterator_hook(key, stream, request):
        delta = chunk.choices[0].delta
        if delta.content:
            print("text:", delta.content)
        for call in delta.tool_calls or []:
            if call.function.name:
                print("call:", call.function.name)


if __name__ == "__main__":
    asyncio.run(main())
