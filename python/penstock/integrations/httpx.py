"""The gate as a transport of httpx: for the OpenAI SDK, and for whatever else reads a model's answers through httpx."""

from __future__ import annotations

from penstock.integrations.transports import AsyncTransport, Transport

__all__ = ["AsyncGateTransport", "GateTransport"]


class AsyncGateTransport(AsyncTransport):
    """Judges answers for an `httpx.AsyncClient`.

    Args:
        policy: Who judges.
        transport: The transport that sends the requests; by default `httpx.AsyncHTTPTransport()`.
        options: As for `HttpGuard`: `routes`, `chunk_timeout`, `on_deny`, `audit` …

    Raises:
        ModuleNotFoundError: httpx is not installed.

    Example:
        >>> import httpx, penstock
        >>> from penstock.integrations.httpx import AsyncGateTransport
        >>> client = httpx.AsyncClient(transport=AsyncGateTransport(penstock.AllowAll()))
    """

    library = "httpx"


class GateTransport(Transport):
    """Judges answers for an `httpx.Client`. Policies run on a loop of their own, in another thread, and the caller waits for them.

    Args:
        policy: Who judges.
        transport: The transport that sends the requests; by default `httpx.HTTPTransport()`.
        options: As for `HttpGuard`: `routes`, `on_deny`, `audit` … The client's own time-outs hold for the upstream.

    Raises:
        ModuleNotFoundError: httpx is not installed.

    Example:
        >>> import httpx, penstock
        >>> from penstock.integrations.httpx import GateTransport
        >>> client = httpx.Client(transport=GateTransport(penstock.AllowAll()))
    """

    library = "httpx"
