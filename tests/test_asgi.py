"""The middleware for ASGI, around applications of FastAPI and Starlette."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from typing import TYPE_CHECKING, Any

import anthropic
import fastapi
import httpx
import httpx2
import openai
import pytest
import uvicorn
from fastapi.responses import StreamingResponse
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

import penstock
from guards import REASON, Broken, DenyAll, Judging
from penstock.integrations.asgi import GateMiddleware
from penstock.integrations.routes import Routes
from sdk_clients import ERRORS, ask, ask_async
from upstream import CALLS, PROTOCOLS, TEXT, recording

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

STREAMED = [pytest.param(True, id="streamed"), pytest.param(False, id="whole")]
PATHS = {
    "/v1/chat/completions": "openai_chat",
    "/v1/messages": "anthropic_messages",
    "/v1/responses": "openai_responses",
}


async def in_pieces(data: bytes) -> AsyncIterator[bytes]:
    """A stream in reads that end anywhere."""
    for start in range(0, len(data), 97):
        yield data[start : start + 97]
        await asyncio.sleep(0)


def application(policy: penstock.Policy, **options: Any) -> fastapi.FastAPI:
    """An application of FastAPI that answers for a model."""
    app = fastapi.FastAPI()

    async def answer(request: fastapi.Request) -> Response:
        body = await request.json()
        protocol, streamed = PATHS[request.url.path], bool(body.get("stream"))
        if not streamed:
            return Response(recording(protocol, streamed=False), media_type="application/json")
        return StreamingResponse(in_pieces(recording(protocol, streamed=True)), media_type="text/event-stream")

    for path in PATHS:
        app.post(path)(answer)
    app.get("/health")(lambda: {"ok": True})
    app.get("/other")(lambda: {"ok": True})
    app.add_middleware(GateMiddleware, policy=policy, routes=Routes(unguarded=["/health"]), **options)
    return app


def client(protocol: str, app: Any) -> Any:
    """The official client of a wire format, in front of the application."""
    if protocol == "anthropic_messages":
        carrier = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app))
        return anthropic.AsyncAnthropic(api_key="x", base_url="http://app", http_client=carrier, max_retries=0)
    carrier = httpx.AsyncClient(transport=httpx.ASGITransport(app=app))
    return openai.AsyncOpenAI(api_key="x", base_url="http://app/v1", http_client=carrier, max_retries=0)


@pytest.mark.parametrize("streamed", STREAMED)
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_deny_all_shows_no_call(protocol: str, streamed: bool) -> None:  # noqa: FBT001
    async with client(protocol, application(DenyAll())) as asking:
        seen = await ask_async(asking, protocol, streamed=streamed)
    assert seen.calls == []
    assert seen.text == TEXT + REASON * 2


@pytest.mark.parametrize("streamed", STREAMED)
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_allow_all_shows_exactly_the_judged_calls(protocol: str, streamed: bool) -> None:  # noqa: FBT001
    policy = Judging()
    async with client(protocol, application(policy)) as asking:
        seen = await ask_async(asking, protocol, streamed=streamed)
    assert seen.calls == policy.judged == CALLS
    assert policy.requests[0]["model"] == "m"
    assert policy.endings == ["finished"]


@pytest.mark.parametrize("streamed", STREAMED)
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_policy_that_fails_is_an_error_to_the_client(protocol: str, streamed: bool) -> None:  # noqa: FBT001
    async with client(protocol, application(Broken())) as asking:
        with pytest.raises(ERRORS, match="the policy failed"):
            await ask_async(asking, protocol, streamed=streamed)


def test_a_path_passes_only_if_it_is_listed() -> None:
    asking = TestClient(application(DenyAll()))
    assert asking.get("/health").json() == {"ok": True}
    refused = asking.get("/other")
    assert (refused.status_code, refused.json()["error"]["type"]) == (403, "permission_error")


def serving(endpoint: Any, *middleware: Middleware, policy: penstock.Policy | None = None) -> TestClient:
    """An application of Starlette with one path of a model."""
    gate = Middleware(GateMiddleware, policy=policy or penstock.AllowAll())
    routes = [Route("/v1/chat/completions", endpoint, methods=["GET", "POST"])]
    return TestClient(Starlette(routes=routes, middleware=[gate, *middleware]), raise_server_exceptions=False)


def test_an_answer_of_another_kind_is_refused() -> None:
    answer = serving(lambda _: HTMLResponse("<p>hello")).post("/v1/chat/completions", json={})
    assert answer.status_code == 502
    assert answer.headers["content-type"] == "application/json"
    assert "cannot be judged" in answer.json()["error"]["message"]


def test_an_error_of_the_application_passes_as_it_is() -> None:
    answer = serving(lambda _: JSONResponse({"mine": 1}, 429, {"retry-after": "7"})).post("/v1/chat/completions")
    assert (answer.status_code, answer.json(), answer.headers["retry-after"]) == (429, {"mine": 1}, "7")


def test_an_application_that_raises_is_the_server_s_to_report() -> None:
    def failing(_: Any) -> Response:
        raise ValueError("mine")

    assert serving(failing).post("/v1/chat/completions").status_code == 500


def test_the_length_of_another_body_and_its_tag_do_not_leave() -> None:
    whole = recording("openai_chat", streamed=False)
    answer = serving(lambda _: Response(whole, 200, {"etag": "1", "x-own": "2"}, "application/json"), policy=DenyAll())
    headers = answer.post("/v1/chat/completions").headers
    assert "etag" not in headers
    assert headers["x-own"] == "2"
    assert int(headers["content-length"]) != len(whole)


def test_the_application_is_asked_not_to_compress() -> None:
    def endpoint(_: Any) -> Response:
        return Response(recording("openai_chat", streamed=False), media_type="application/json")

    packed = Middleware(GZipMiddleware, minimum_size=1)
    answer = serving(endpoint, packed).post("/v1/chat/completions", headers={"accept-encoding": "gzip"})
    assert answer.json()["choices"][0]["message"]["content"] == TEXT


def test_a_compressed_answer_is_refused() -> None:
    def endpoint(_: Any) -> Response:
        return Response(b"\x1f\x8b", 200, {"content-encoding": "gzip"}, "application/json")

    assert serving(endpoint).post("/v1/chat/completions").status_code == 502


def test_a_web_socket_is_refused() -> None:
    async def endpoint(socket: Any) -> None:
        await socket.accept()

    app = Starlette(routes=[WebSocketRoute("/v1/responses", endpoint)])
    asking = TestClient(GateMiddleware(app, penstock.AllowAll()))
    with pytest.raises(WebSocketDisconnect) as caught, asking.websocket_connect("/v1/responses"):
        pass
    assert caught.value.code == 1008


def test_what_an_application_does_behind_its_answer_is_done() -> None:
    done: list[str] = []

    def endpoint(_: Any) -> Response:
        whole = recording("openai_chat", streamed=False)
        return Response(whole, media_type="application/json", background=BackgroundTask(done.append, "yes"))

    assert serving(endpoint).post("/v1/chat/completions").status_code == 200
    assert done == ["yes"]


def test_an_application_that_breaks_in_a_stream_ends_it_with_an_error() -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield recording("openai_chat", streamed=True)[:400]
        raise ValueError("mine")

    answer = serving(lambda _: StreamingResponse(breaking(), media_type="text/event-stream"))
    said = answer.post("/v1/chat/completions").text
    assert '"error"' in said
    assert "mine" not in said
    assert "[DONE]" not in said


class _Wire:
    """A connection whose client reads and leaves when the test says so."""

    def __init__(self, path: str) -> None:
        self.scope = {"type": "http", "method": "POST", "path": path, "headers": []}
        self.sent: list[Any] = []
        self.leaves = asyncio.Event()
        self.reads = asyncio.Event()
        self._asked = False

    async def receive(self) -> Any:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"{}", "more_body": False}
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)
        if message["type"] == "http.response.body":
            await self.reads.wait()


class _Endless:
    """An application that streams for ever, and keeps how far it came."""

    def __init__(self) -> None:
        self.written = 0
        self.ending = ""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        chunk = {"id": "1", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "on "}}]}
        event = b"data: " + json.dumps(chunk).encode() + b"\n\n"
        headers = [(b"content-type", b"text/event-stream")]
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            while True:
                await send({"type": "http.response.body", "body": event, "more_body": True})
                self.written += 1
        except asyncio.CancelledError:
            self.ending = "cancelled"
            raise


async def turns(count: int = 200) -> None:
    """Lets everything else run."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_client_that_does_not_read_holds_the_application_back() -> None:
    app, wire = _Endless(), _Wire("/v1/chat/completions")
    serving = asyncio.create_task(GateMiddleware(app, penstock.AllowAll())(wire.scope, wire.receive, wire.send))
    await turns()
    assert app.written < 8
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    assert app.ending == "cancelled"


async def test_a_client_that_leaves_ends_the_application_and_the_policy_is_told() -> None:
    app, wire, policy = _Endless(), _Wire("/v1/chat/completions"), Judging()
    wire.leaves.set()
    before = asyncio.all_tasks()
    await asyncio.wait_for(GateMiddleware(app, policy)(wire.scope, wire.receive, wire.send), 5)
    assert asyncio.all_tasks() == before


async def test_a_client_that_leaves_in_the_middle_of_a_stream_ends_both() -> None:
    app, wire, policy = _Endless(), _Wire("/v1/chat/completions"), Judging()
    serving = asyncio.create_task(GateMiddleware(app, policy)(wire.scope, wire.receive, wire.send))
    await turns()
    wire.leaves.set()
    await asyncio.wait_for(serving, 5)
    assert app.ending == "cancelled"
    assert policy.endings == ["cancelled"]


@pytest.fixture
def served() -> Iterator[str]:
    """The application behind a real server."""
    config = uvicorn.Config(application(DenyAll()), log_level="critical", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize("streamed", STREAMED)
def test_behind_a_real_server_it_is_the_same(served: str, streamed: bool) -> None:  # noqa: FBT001
    with openai.OpenAI(api_key="x", base_url=f"{served}/v1") as asking:
        seen = ask(asking, "openai_chat", streamed=streamed)
    assert (seen.text, seen.calls) == (TEXT + REASON * 2, [])
