"""The gate as a middleware for FastAPI, Starlette and every other ASGI application that answers for a model.

Rules. (1) What the paths are is said in `routes`. (2) Nothing of an answer on a guarded path leaves but what the gate writes; its status
and headers are held until it is known what it is. (3) The application is read as fast as the client reads. (4) When the client leaves,
the application is cancelled, and the policy is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from penstock.integrations.guarding import HttpGuard, kept_headers, refused_answer, refused_path
from penstock.integrations.routes import answer_kind
from penstock.options import GuardOptions, check_options

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.integrations.guarding import Answer
    from penstock.integrations.routes import AnswerKind
    from penstock.policy import Policy
    from penstock.protocols import Target

__all__ = ["GateMiddleware"]

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]

# A request that is longer is not kept for the policy, which then knows of no tools. The vendors take no more.
REQUEST_BYTES = 32 << 20

# The code for what goes against a policy.
REFUSED_SOCKET = 1008


class GateMiddleware:
    """Judges the answers of an ASGI application.

    Compressed answers are not read: the client's `accept-encoding` is kept from the application, and an answer that is compressed
    nevertheless is refused. Web sockets are refused where they are not listed as unguarded.

    Args:
        app: The application.
        policy: Who judges.
        options: As for `HttpGuard`: `routes`, `chunk_timeout`, `ping_seconds`, `on_deny`, `audit` …

    Example:
        >>> import fastapi, penstock
        >>> from penstock.integrations.asgi import GateMiddleware
        >>> from penstock.integrations.routes import Routes
        >>> app = fastapi.FastAPI()
        >>> app.add_middleware(GateMiddleware, policy=penstock.AllowAll(), routes=Routes(unguarded=["/health"]))
    """

    def __init__(self, app: App, policy: Policy, **options: Unpack[GuardOptions]) -> None:
        check_options(type(self).__name__, options, GuardOptions)
        self._app = app
        self._guard = HttpGuard(policy, **options)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        place = "unguarded" if scope["type"] == "lifespan" else self._guard.routes.place(scope["path"])
        if place == "unguarded":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await receive()
            await send({"type": "websocket.close", "code": REFUSED_SOCKET})
        elif place == "unknown":
            await _send_whole(send, refused_path(), [])
        else:
            await _Exchange(self._app, self._guard, place, scope).run(receive, send)


class _Exchange:
    """One request on a guarded path, and its answer."""

    def __init__(self, app: App, guard: HttpGuard, protocol: Target, scope: Message) -> None:
        self._app = app
        self._guard = guard
        self._protocol: Target = protocol
        self._scope = scope
        self._request = bytearray()
        self._to_app: asyncio.Queue[Message] = asyncio.Queue(1)
        self._from_app: asyncio.Queue[Message] = asyncio.Queue(1)
        self._is_complete = False

    async def run(self, receive: Receive, send: Send) -> None:
        running = asyncio.create_task(self._run_app())
        answering = asyncio.create_task(self._answer(send))
        watching = asyncio.create_task(self._watch(receive))
        tasks = (answering, watching, running)
        try:
            # The watch ends only when the client leaves, or with an error of the server.
            await asyncio.wait({answering, watching}, return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                answering.result()
                if self._is_complete:
                    # What an application does behind its answer is its own.
                    await running
            else:
                watching.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, receive: Receive) -> None:
        """Hands on what the client sends, until it leaves."""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            if len(self._request) <= REQUEST_BYTES:
                self._request += message.get("body", b"")
            await self._to_app.put(message)

    async def _run_app(self) -> None:
        hidden = {b"accept-encoding"}
        headers = [(name, value) for name, value in self._scope["headers"] if name.lower() not in hidden]
        # Without extensions: each is another way to send an answer.
        scope: Message = {**self._scope, "headers": headers, "extensions": {}}
        try:
            await self._app(scope, self._to_app.get, self._from_app.put)
        except Exception as error:
            await self._from_app.put({"type": "failed", "error": error})
            raise
        await self._from_app.put({"type": "failed", "error": RuntimeError("the application ended before its answer")})

    async def _answer(self, send: Send) -> None:
        start = await self._from_app.get()
        if start["type"] == "failed":
            raise start["error"]
        if start["type"] != "http.response.start":
            await _send_whole(send, refused_answer(self._protocol), [])
            return
        headers: list[tuple[bytes, bytes]] = list(start.get("headers", ()))
        match self._kind(start["status"], headers):
            case "nothing":
                await self._pass(send, start)
            case "unreadable":
                await _send_whole(send, refused_answer(self._protocol), [])
            case "body":
                answer = await self._guard.body(self._reads(), self._protocol, self._known_request())
                await _send_whole(send, answer, headers)
            case "stream":
                await send({**start, "headers": kept_headers(headers)})
                await self._stream(send)

    def _kind(self, status: int, headers: list[tuple[bytes, bytes]]) -> AnswerKind:
        named = {name.lower(): value.decode("latin-1") for name, value in headers}
        # A header that comes twice says both.
        encoding = b",".join(value for name, value in headers if name.lower() == b"content-encoding").decode("latin-1")
        return answer_kind(self._scope["method"], status, named.get(b"content-type"), encoding)

    async def _pass(self, send: Send, start: Message) -> None:
        await send(start)
        async with aclosing(self._reads()) as reads:
            async for read in reads:
                await send({"type": "http.response.body", "body": read, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _stream(self, send: Send) -> None:
        async with aclosing(self._guard.stream(self._reads(), self._protocol, self._known_request())) as judged:
            async for out in judged:
                await send({"type": "http.response.body", "body": out, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _reads(self) -> AsyncGenerator[bytes]:
        while True:
            message = await self._from_app.get()
            if message["type"] == "failed":
                raise message["error"]
            if message["type"] != "http.response.body":
                msg = f"an answer behind the gate cannot have a message of the type {message['type']}"
                raise RuntimeError(msg)
            self._is_complete = not message.get("more_body", False)
            yield message.get("body", b"")
            if self._is_complete:
                return

    def _known_request(self) -> bytes:
        return bytes(self._request) if len(self._request) <= REQUEST_BYTES else b""


async def _send_whole(send: Send, answer: Answer, others: list[tuple[bytes, bytes]]) -> None:
    own = [(name.encode(), value.encode()) for name, value in answer.headers.items()]
    kept = [] if answer.failed else [each for each in kept_headers(others) if each[0].lower() != b"content-type"]
    await send({"type": "http.response.start", "status": answer.status, "headers": [*kept, *own]})
    await send({"type": "http.response.body", "body": answer.body})
