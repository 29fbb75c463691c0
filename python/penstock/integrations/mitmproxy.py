"""The gate as an addon of mitmproxy."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Unpack
from urllib.parse import unquote, urlsplit

from penstock.integrations.guarding import HttpGuard, kept_headers, missing, refused_answer, refused_path
from penstock.integrations.routes import IDENTITY, answer_kind
from penstock.options import GuardOptions, check_options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.blocking import BlockingGate
    from penstock.integrations.guarding import Answer
    from penstock.integrations.routes import AnswerKind
    from penstock.policy import Policy
    from penstock.protocols import Target

__all__ = ["GateAddon"]

# Where an addon may keep what it knows of a flow.
_KEY = "penstock"


class GateAddon:
    """Judges the answers that pass through mitmproxy.

    Answers of other hosts pass untouched. mitmproxy rewrites a stream by a function that cannot await, so while a judge thinks about a
    streamed call, mitmproxy waits with it; answers that are not streamed keep nobody waiting. Web sockets of the hosts are refused.

    Args:
        policy: Who judges.
        hosts: The hosts whose answers are judged.
        options: As for `HttpGuard`: `routes`, `on_deny`, `verdict_timeout`, `audit` …

    Example:
        >>> import penstock
        >>> from penstock.integrations.mitmproxy import GateAddon
        >>> addons = [GateAddon(penstock.AllowAll(), hosts=["api.openai.com", "api.anthropic.com"])]
    """

    def __init__(self, policy: Policy, *, hosts: Iterable[str], **options: Unpack[GuardOptions]) -> None:
        check_options(type(self).__name__, options, GuardOptions)
        if isinstance(hosts, str):
            msg = "hosts must be names, not one string"
            raise TypeError(msg)
        self._hosts = frozenset(host.casefold() for host in hosts)
        self._guard = HttpGuard(policy, **options)

    def configure(self, updated: set[str]) -> None:
        """Refuses an option that would let large answers pass before they are judged."""
        if "stream_large_bodies" in updated and _mitmproxy("ctx").options.stream_large_bodies:
            msg = "stream_large_bodies must be off: what is streamed for its size alone cannot be judged"
            raise _mitmproxy("exceptions").OptionsError(msg)

    def requestheaders(self, flow: Any) -> None:
        """A request begins: one whose path is not known is answered here."""
        # The host that is connected to, not the one that a header names.
        if flow.request.host.casefold() not in self._hosts:
            return
        place = self._guard.routes.place(unquote(urlsplit(str(flow.request.path)).path))
        if place == "unknown" or "upgrade" in flow.request.headers:
            flow.response = _response(refused_path())
        elif place != "unguarded":
            flow.request.headers["accept-encoding"] = IDENTITY
            flow.metadata[_KEY] = place

    def responseheaders(self, flow: Any) -> None:
        """An answer begins."""
        protocol: Target | None = flow.metadata.get(_KEY)
        if protocol is None:
            return
        match self._kind(flow):
            case "stream":
                _announce_stream(flow.response)
                judged = self._guard.blocking_gate(protocol, flow.request.raw_content)
                flow.metadata[_KEY] = judged
                flow.response.stream = _Rewriting(judged)
            case "nothing":
                del flow.metadata[_KEY]
            case _:
                # Read as a whole, whatever mitmproxy was told of large bodies.
                flow.response.stream = False

    async def response(self, flow: Any) -> None:
        """An answer is whole, if it was not streamed."""
        known: Target | BlockingGate | None = flow.metadata.pop(_KEY, None)
        if not isinstance(known, str):
            return
        if self._kind(flow) != "body":
            flow.response = _response(refused_answer(known))
            return
        answer = await self._guard.body([flow.response.raw_content], known, flow.request.raw_content)
        flow.response = _response(answer)

    def error(self, flow: Any) -> None:
        """A connection broke."""
        known: Target | BlockingGate | None = flow.metadata.pop(_KEY, None)
        if known is not None and not isinstance(known, str):
            known.close()

    def _kind(self, flow: Any) -> AnswerKind:
        headers = flow.response.headers
        status, encoding = flow.response.status_code, headers.get("content-encoding")
        return answer_kind(flow.request.method, status, headers.get("content-type"), encoding)


class _Rewriting:
    """What mitmproxy calls with each read of a stream, and with nothing at its end.

    It gives a list: nothing at all is no chunk, while a chunk of no bytes would be the end of the answer in HTTP/1.1.
    """

    def __init__(self, judged: BlockingGate) -> None:
        self._judged = judged

    def __call__(self, read: bytes) -> list[bytes]:
        if read:
            return self._list(b"" if self._judged.is_over else self._judged.feed(read))
        try:
            return self._list(b"" if self._judged.is_over else self._judged.finish())
        finally:
            self._judged.close()

    @staticmethod
    def _list(out: bytes) -> list[bytes]:
        return [out] if out else []


def _announce_stream(response: Any) -> None:
    """Takes out the headers that describe the stream as it came."""
    response.headers = type(response.headers)(kept_headers(response.headers.fields))
    if response.http_version.startswith("HTTP/1"):
        response.headers["transfer-encoding"] = "chunked"


def _mitmproxy(module: str) -> Any:
    try:
        return importlib.import_module(f"mitmproxy.{module}")
    except ModuleNotFoundError as error:
        raise missing("mitmproxy", "mitmproxy", error) from None


def _response(answer: Answer) -> Any:
    return _mitmproxy("http").Response.make(answer.status, answer.body, answer.headers)
