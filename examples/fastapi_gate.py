"""The gate around an application of FastAPI that answers for a model. One line puts it there.

Needs fastapi and httpx. Run it: `python examples/fastapi_gate.py`; or serve it: `uvicorn fastapi_gate:app`.
"""

from __future__ import annotations

import asyncio

import fastapi
import httpx
from canned import CHAT
from fastapi.responses import StreamingResponse

from penstock import aggregate
from penstock.integrations.asgi import GateMiddleware
from penstock.integrations.routes import Routes
from penstock.policies import ToolRules

app = fastapi.FastAPI()
app.add_middleware(GateMiddleware, policy=ToolRules(deny=["bash"]), routes=Routes(unguarded=["/health"]))


@app.post("/v1/chat/completions")
async def answer() -> StreamingResponse:
    """Where a proxy would ask its upstream."""
    return StreamingResponse(iter([CHAT]), media_type="text/event-stream")


@app.get("/health")
async def health() -> dict[str, bool]:
    """A path that has no answers of a model, and is listed as such."""
    return {"ok": True}


async def main() -> None:
    """Asks the application, and shows what a client gets."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
        message = aggregate([(await client.post("/v1/chat/completions", json={"stream": True})).content])
        print("text:", message.content)
        print("calls:", *(call["function"]["name"] for call in message.tool_calls))
        print("/health:", (await client.get("/health")).json())
        print("/admin:", (await client.get("/admin")).status_code)


if __name__ == "__main__":
    asyncio.run(main())
