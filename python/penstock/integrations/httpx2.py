"""The gate as a transport of httpx2: for the OpenAI SDK, and for whatever else reads a model's answers through httpx2."""

from __future__ import annotations

from penstock.integrations.transports import AsyncTransport, Transport

__all__ = ["AsyncGateTransport", "GateTransport"]


class AsyncGateTransport(AsyncTransport):
    """Judges answers for an `httpx2.AsyncClient`.

    Args:
        policy: Who judges.
        transport: The transport that sends the requests; by default `httpx2.AsyncHTTPTransport()`.
        options: As for `HttpGuard`: `routes`, `chunk_timeout`, `on_deny`, `audit` …

    Raises:
        ModuleNotFoundError: httpx2 is not installed.

    Example:
        >>> import httpx2, penstock
        >>> from penstock.integrations.httpx2 import AsyncGateTransport
        >>> client = httpx2.AsyncClient(transport=AsyncGateTransport(penstock.AllowAll()))
    """

    library = "httpx2"


class GateTransport(Transport):
    """Judges answers for an `httpx2.Client`. Policies run on a loop of their own, in another thread, and the caller waits for them.

    Args:
        policy: Who judges.
        transport: The transport that sends the requests; by default `httpx2.HTTPTransport()`.
        options: As for `HttpGuard`: `routes`, `on_deny`, `audit` … The client's own time-outs hold for the upstream.

    Raises:
        ModuleNotFoundError: httpx2 is not installed.

    Example:
        >>> import httpx2, penstock
        >>> from penstock.integrations.httpx2 import GateTransport
        >>> client = httpx2.Client(transport=GateTransport(penstock.AllowAll()))
    """

    library = "httpx2"
