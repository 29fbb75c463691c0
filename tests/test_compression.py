"""Compressed answers (W-16): they are not asked for, and one that comes nevertheless is refused before it is unpacked."""

from __future__ import annotations

import tracemalloc
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anthropic
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from guards import DenyAll
from penstock.integrations.anthropic import GateMiddleware
from penstock.integrations.asgi import GateMiddleware as AsgiGate
from penstock.integrations.routes import answer_kind
from sdk_clients import ERRORS, ask, ask_async
from test_transports import STREAMED, WAYS, gated, openai_client
from upstream import BOMB, UNPACKED_BYTES, Upstream, replaying

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

# What a client needs for a request and its error, of which the libraries load some at their first use.
ROOM = UNPACKED_BYTES // 4


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    """The server."""
    with replaying() as server:
        yield server


@contextmanager
def refused(*, unopened: bool = True) -> Generator[None]:
    """The client has an error; and at no moment more memory is in use than an answer needs that was not unpacked."""
    tracemalloc.start()
    try:
        with pytest.raises(ERRORS, match="cannot be judged"):
            yield
        assert not unopened or tracemalloc.get_traced_memory()[1] < ROOM
    finally:
        tracemalloc.stop()


def is_seen_first(client: str, *, streamed: bool) -> bool:
    """Whether the gate sees an answer before it is unpacked. The SDK unpacks a whole one before any middleware sees it."""
    return client != "middleware" or streamed


def assert_plain_was_asked_for(upstream: Upstream) -> None:
    assert upstream.headers[-1]["accept-encoding"] == "identity"


@pytest.mark.parametrize("streamed", STREAMED)
@pytest.mark.parametrize(("client", "protocol"), WAYS)
async def test_w_16_a_bomb_is_refused_unopened(
    client: str,
    protocol: str,
    streamed: bool,  # noqa: FBT001
    upstream: Upstream,
) -> None:
    async with gated(client, DenyAll(), upstream) as asking:
        with refused(unopened=is_seen_first(client, streamed=streamed)):
            await ask_async(asking, protocol, streamed=streamed, model="bomb")
    assert_plain_was_asked_for(upstream)


@pytest.mark.parametrize("streamed", STREAMED)
@pytest.mark.parametrize("library", ["httpx", "httpx2"])
def test_w_16_so_it_is_for_clients_that_cannot_await(library: str, streamed: bool, upstream: Upstream) -> None:  # noqa: FBT001
    with openai_client(library, DenyAll(), upstream) as client, refused():
        ask(client, "openai_chat", streamed=streamed, model="bomb")
    assert_plain_was_asked_for(upstream)


@pytest.mark.parametrize("streamed", STREAMED)
def test_w_16_so_it_is_for_the_middleware_that_cannot_await(streamed: bool, upstream: Upstream) -> None:  # noqa: FBT001
    gates = [GateMiddleware(DenyAll())]
    client = anthropic.Anthropic(api_key="x", base_url=upstream.url, middleware=gates, max_retries=0)
    with client, refused(unopened=streamed):
        ask(client, "anthropic_messages", streamed=streamed, model="bomb")
    assert_plain_was_asked_for(upstream)


@pytest.mark.parametrize("encodings", [["gzip"], ["GZIP"], ["br"], ["identity", "gzip"], ["gzip", "identity"], ["x"]])
@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
def test_w_16_a_bomb_of_the_application_is_refused_unopened(kind: str, encodings: list[str]) -> None:
    async def endpoint(_: Any) -> Response:
        answer = Response(BOMB, 200, media_type=kind)
        for encoding in encodings:
            answer.headers.append("content-encoding", encoding)
        return answer

    routes = [Route("/v1/chat/completions", endpoint, methods=["POST"])]
    app = Starlette(routes=routes, middleware=[Middleware(AsgiGate, policy=DenyAll())])
    answer = TestClient(app).post("/v1/chat/completions", headers={"accept-encoding": "gzip"})
    assert answer.status_code == 502
    assert "cannot be judged" in answer.json()["error"]["message"]


@pytest.mark.parametrize("library", ["httpx", "httpx2"])
async def test_a_client_that_asks_for_a_compressed_answer_is_not_heard(library: str, upstream: Upstream) -> None:
    transport = import_module(f"penstock.integrations.{library}").AsyncGateTransport(DenyAll())
    async with import_module(library).AsyncClient(transport=transport) as client:
        asked = {"url": f"{upstream.url}/v1/chat/completions", "json": {"model": "m"}}
        answer = await client.post(**asked, headers={"Accept-Encoding": "gzip, br"})
    assert answer.status_code == 200
    assert_plain_was_asked_for(upstream)


@pytest.mark.parametrize("encoding", [None, "", "identity", " Identity "])
def test_what_is_not_compressed_is_read(encoding: str | None) -> None:
    assert answer_kind("POST", 200, "application/json", encoding) == "body"


def test_an_error_passes_however_it_is_packed_because_no_call_is_taken_from_it() -> None:
    assert answer_kind("POST", 500, "application/json", "gzip") == "nothing"
