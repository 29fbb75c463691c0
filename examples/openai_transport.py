"""The gate inside the OpenAI SDK: a transport for its HTTP client. The SDK is never shown a call that the policy denies.

Without `transport=` the same code asks OpenAI; here the answer is canned. With httpx2, take `penstock.integrations.httpx2`.

Needs openai and httpx (`pip install openai "penstock[httpx]"`). Run it: `python examples/openai_transport.py`.
"""

from __future__ import annotations

import asyncio

import httpx
import openai
from canned import CHAT

from penstock.integrations.httpx import AsyncGateTransport
from penstock.policies import ToolRules


def answer(_: httpx.Request) -> httpx.Response:
    """What the vendor would say."""
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=CHAT)


async def main() -> None:
    """Asks, and shows what the SDK shows."""
    gate = AsyncGateTransport(ToolRules(deny=["bash"]), transport=httpx.MockTransport(answer))
    http_client = httpx.AsyncClient(transport=gate)
    async with openai.AsyncOpenAI(api_key="none", http_client=http_client) as client:
        stream = await client.chat.completions.create(
            model="gpt-4o", messages=[{"role": "user", "content": "Clean up."}], stream=True
        )
        async for chunk in stream:
            delta = chunk.choices[0].delta
            if delta.content:
                print("text:", delta.content)
            for call in delta.tool_calls or []:
                if call.function and call.function.name:
                    print("call:", call.function.name)


if __name__ == "__main__":
    asyncio.run(main())
