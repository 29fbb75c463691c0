"""The gate inside Anthropic's SDK: a middleware of its client. The SDK is never shown a call that the policy denies.

Without `http_client=` the same code asks Anthropic; here the answer is canned.

Needs anthropic (`pip install "penstock[anthropic]"`). Run it: `python examples/anthropic_middleware.py`.
"""

from __future__ import annotations

import anthropic
import httpx2
from canned import MESSAGE

from penstock.integrations.anthropic import GateMiddleware
from penstock.policies import ToolRules


def answer(_: httpx2.Request) -> httpx2.Response:
    """What the vendor would say."""
    return httpx2.Response(200, headers={"content-type": "application/json"}, content=MESSAGE)


def main() -> None:
    """Asks, and shows what the SDK shows."""
    gate = GateMiddleware(ToolRules(deny=["bash"]))
    http_client = httpx2.Client(transport=httpx2.MockTransport(answer))
    with anthropic.Anthropic(api_key="none", middleware=[gate], http_client=http_client) as client:
        message = client.messages.create(
            model="claude", max_tokens=64, messages=[{"role": "user", "content": "Clean up."}]
        )
    for block in message.content:
        print(f"{block.type}:", block.text if block.type == "text" else getattr(block, "name", ""))


if __name__ == "__main__":
    main()
