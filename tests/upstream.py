"""A server on loopback that answers as a model's vendor would, with recordings of the project, and keeps what it was asked."""

from __future__ import annotations

import gzip
import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

from recorded import own

if TYPE_CHECKING:
    from collections.abc import Generator

PROTOCOLS = ("openai_chat", "anthropic_messages", "openai_responses")
PATHS = {"chat/completions": "openai_chat", "messages": "anthropic_messages", "responses": "openai_responses"}

# What the recordings say, in every wire format.
TEXT = "Let me look."
CALLS = [("list_files", {"path": "/srv"}), ("bash", {"command": "rm -rf /srv"})]

# A few kilobytes that unpack to much more than any limit allows.
UNPACKED_BYTES = 64 << 20
BOMB = gzip.compress(b":" * UNPACKED_BYTES)


def recording(protocol: str, *, streamed: bool) -> bytes:
    """The answer in a wire format."""
    return own(f"answer_{protocol}.{'sse' if streamed else 'json'}").data


@dataclass
class Upstream:
    """What is known of the server."""

    url: str
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def replaying() -> Generator[Upstream]:
    """The server, for as long as it is used."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Replay)
    server.upstream = known = Upstream(f"http://127.0.0.1:{server.server_address[1]}")  # type: ignore[attr-defined]
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield known
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Replay(BaseHTTPRequestHandler):
    """Answers with the recording of the path."""

    def do_POST(self) -> None:
        """A request to a model."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        upstream: Upstream = self.server.upstream  # type: ignore[attr-defined]
        upstream.asked.append((self.path, body))
        upstream.headers.append({name.lower(): value for name, value in self.headers.items()})
        self._answer(body)

    def do_GET(self) -> None:
        """A list of models."""
        self._send(200, "application/json", b'{"object": "list", "data": []}')

    def _answer(self, body: dict[str, Any]) -> None:
        path = self.path.partition("?")[0]
        protocol = next((name for ending, name in PATHS.items() if path.endswith(ending)), None)
        match protocol, body.get("model"):
            case None, _:
                self._send(404, "application/json", b'{"error": {"message": "no such path"}}')
            case _, "page":
                self._send(200, "text/html", b"<p>Sign in</p>")
            case _, "busy":
                self._send(429, "application/json", b'{"error": {"type": "rate_limit_error", "message": "later"}}')
            case _, "bomb":
                self._send(200, _type(body), BOMB, ("content-encoding", "gzip"))
            case str(), "cut":
                data = recording(protocol, streamed=bool(body.get("stream")))
                self._send(200, _type(body), data[: len(data) * 3 // 4])
            case _:
                self._send(200, _type(body), recording(protocol, streamed=bool(body.get("stream"))))

    def _send(self, status: int, content_type: str, data: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name that it has there)
        """Says nothing."""


def _type(body: dict[str, Any]) -> str:
    return "text/event-stream" if body.get("stream") else "application/json"
