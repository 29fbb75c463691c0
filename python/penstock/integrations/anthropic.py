"""The gate as a middleware of Anthropic's SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, cast
from urllib.parse import urlsplit

from penstock.errors import PenstockError
from penstock.integrations.guarding import HttpGuard, missing
from penstock.integrations.responses import ResponseGate
from penstock.integrations.routes import IDENTITY
from penstock.options import GuardOptions, check_options

try:
    from anthropic import Middleware
except ModuleNotFoundError as error:
    raise missing("anthropic", "anthropic", error) from None

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from penstock.policy import Policy
    from penstock.protocols import Target

__all__ = ["GateMiddleware", "PathRefused"]


class PathRefused(PenstockError):
    """A request was not sent, because its path is neither guarded nor listed as unguarded."""


class GateMiddleware(Middleware):
    """Judges the answers that an `Anthropic` or `AsyncAnthropic` client gets, streamed or not.

    It belongs at the end of the list: what a middleware behind it makes up is refused, for it is no response that could be judged.
    Each attempt of the SDK is judged on its own.

    Args:
        policy: Who judges.
        options: As for `HttpGuard`: `routes`, `chunk_timeout`, `on_deny`, `audit` …

    Example:
        >>> import anthropic, penstock
        >>> from penstock.integrations.anthropic import GateMiddleware
        >>> client = anthropic.AsyncAnthropic(api_key="…", middleware=[GateMiddleware(penstock.AllowAll())])
    """

    def __init__(self, policy: Policy, **options: Unpack[GuardOptions]) -> None:
        check_options(type(self).__name__, options, GuardOptions)
        self._gate = ResponseGate("httpx2", HttpGuard(policy, **options))

    async def handle_async(self, request: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        """Sends a request and gives its answer as it may be read."""
        place = self._place(request)
        if place is None:
            return await call_next(request)
        answer = await call_next(_plain(request))
        raw = _raw(answer)
        return _replaced(answer, await self._gate.judged(raw, place, request.json, method=request.method))

    def handle(self, request: Any, call_next: Callable[[Any], Any]) -> Any:
        """The same for the client that cannot await."""
        place = self._place(request)
        if place is None:
            return call_next(request)
        answer = call_next(_plain(request))
        raw = _raw(answer)
        return _replaced(answer, self._gate.judged_blocking(raw, place, request.json, method=request.method))

    def _place(self, request: Any) -> Target | None:
        """The wire format of the answer; None if it passes untouched."""
        path = urlsplit(str(request.url)).path
        place = self._gate.guard.routes.place(path)
        if place == "unknown":
            msg = f"{path} is neither guarded nor listed as unguarded"
            raise PathRefused(msg)
        return None if place == "unguarded" else place


def _plain(request: Any) -> Any:
    """The request, asking for an answer that is not compressed."""
    others = {name: value for name, value in request.headers.items() if name.casefold() != "accept-encoding"}
    return request.copy(headers={**others, "accept-encoding": IDENTITY})


def _raw(answer: Any) -> Any:
    raw = getattr(answer, "http_response", None)
    if raw is None:
        kind = cast("object", answer).__class__.__name__
        msg = f"expected a response to judge, but a middleware behind the gate gave {kind}; put the gate last"
        raise TypeError(msg)
    return raw


def _replaced(answer: Any, judged: Any) -> Any:
    # What a middleware behind the gate may have parsed from the response as it came must not be found again.
    answer._parsed_by_type.clear()  # noqa: SLF001
    answer.http_response = judged
    return answer
