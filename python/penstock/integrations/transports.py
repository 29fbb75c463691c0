"""Transports for the clients of httpx and httpx2: answers are judged before the client, and the SDK on top of it, sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

from penstock.integrations.guarding import HttpGuard
from penstock.integrations.responses import ResponseGate
from penstock.integrations.routes import IDENTITY
from penstock.options import GuardOptions, check_options

if TYPE_CHECKING:
    from penstock.policy import Policy

__all__ = ["AsyncTransport", "Transport"]


class _Wrapping:
    """What both have: the library, the transport beneath, and the guard."""

    library: ClassVar[str]
    beneath: ClassVar[str]

    def __init__(self, policy: Policy, transport: Any = None, **options: Unpack[GuardOptions]) -> None:
        check_options(type(self).__name__, options, GuardOptions)
        self._gate = ResponseGate(self.library, HttpGuard(policy, **options))
        self._transport: Any = getattr(self._gate.library, self.beneath)() if transport is None else transport


class AsyncTransport(_Wrapping):
    """Judges the answers that another transport brings, for an `AsyncClient`."""

    beneath = "AsyncHTTPTransport"

    async def handle_async_request(self, request: Any) -> Any:
        """Sends a request, if its path is known, and gives its answer as it may be read."""
        place = self._gate.guard.routes.place(request.url.path)
        if place == "unknown":
            return self._gate.refused_path()
        if place == "unguarded":
            return await self._transport.handle_async_request(request)
        request.headers["accept-encoding"] = IDENTITY
        said = await request.aread()
        response = await self._transport.handle_async_request(request)
        return await self._gate.judged(response, place, said, method=request.method)

    async def aclose(self) -> None:
        """Closes the transport beneath."""
        await self._transport.aclose()

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._transport.__aexit__(*error)


class Transport(_Wrapping):
    """The same for a `Client`. Policies run on a loop of their own, in another thread."""

    beneath = "HTTPTransport"

    def handle_request(self, request: Any) -> Any:
        """Sends a request, if its path is known, and gives its answer as it may be read."""
        place = self._gate.guard.routes.place(request.url.path)
        if place == "unknown":
            return self._gate.refused_path()
        if place == "unguarded":
            return self._transport.handle_request(request)
        request.headers["accept-encoding"] = IDENTITY
        said = request.read()
        response = self._transport.handle_request(request)
        return self._gate.judged_blocking(response, place, said, method=request.method)

    def close(self) -> None:
        """Closes the transport beneath."""
        self._transport.close()

    def __enter__(self) -> Self:
        self._transport.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._transport.__exit__(*error)
