"""The addon of mitmproxy: in a real mitmdump where there is one, and by the interface that it documents everywhere."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import anthropic
import openai
import pytest

import penstock
from guards import REASON, DenyAll, Judging
from penstock.integrations.mitmproxy import GateAddon
from sdk_clients import ask
from upstream import CALLS, PROTOCOLS, TEXT, recording, replaying

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
STREAMED = [pytest.param(True, id="streamed"), pytest.param(False, id="whole")]
PATHS = {
    "openai_chat": "/v1/chat/completions",
    "anthropic_messages": "/v1/messages?beta=true",
    "openai_responses": "/v1/responses",
}

# mitmproxy cannot be installed beside the other tools: it wants an older h11.
MITMDUMP = os.environ.get("PENSTOCK_MITMDUMP") or shutil.which("mitmdump")
START_SECONDS = 25.0


class _Headers(dict[str, str]):
    """Headers as mitmproxy has them: names in any case, and fields as bytes."""

    def __init__(self, fields: Any) -> None:
        super().__init__({name.decode().lower(): value.decode() for name, value in fields})

    @property
    def fields(self) -> tuple[tuple[bytes, bytes], ...]:
        return tuple((name.encode(), value.encode()) for name, value in self.items())


def flow(protocol: str, *, streamed: bool, host: str = "api.test", path: str | None = None, **headers: str) -> Any:
    """A request with its answer, in mitmproxy's own shape."""
    kind = b"text/event-stream" if streamed else b"application/json"
    content = recording(protocol, streamed=streamed)
    extra = [(name.encode(), value.encode()) for name, value in headers.items()]
    return SimpleNamespace(
        metadata={},
        response=None,
        request=SimpleNamespace(
            host=host, method="POST", path=path or PATHS[protocol], headers=_Headers([]), raw_content=b'{"model": "m"}'
        ),
        answer=SimpleNamespace(
            status_code=200,
            http_version="HTTP/1.1",
            headers=_Headers([(b"content-type", kind), (b"content-length", b"7"), *extra]),
            raw_content=content,
            stream=True,
        ),
    )


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """The few names of mitmproxy that an addon needs."""
    http = ModuleType("mitmproxy.http")
    http.Response = SimpleNamespace(  # type: ignore[attr-defined]
        make=lambda status, content, headers: SimpleNamespace(status_code=status, content=content, headers=headers)
    )
    monkeypatch.setitem(sys.modules, "mitmproxy", ModuleType("mitmproxy"))
    monkeypatch.setitem(sys.modules, "mitmproxy.http", http)


async def served(addon: GateAddon, flow: Any) -> bytes:
    """What the client gets, as mitmproxy would have it."""
    addon.requestheaders(flow)
    if flow.response is not None:
        return flow.response.content
    flow.response = flow.answer
    addon.responseheaders(flow)
    stream = flow.response.stream
    if callable(stream):
        data = flow.response.raw_content
        pieces = [data[:500], data[500:], b""]
        out = [each for piece in pieces for each in stream(piece)]
        assert b"" not in out
        await addon.response(flow)
        return b"".join(out)
    await addon.response(flow)
    return getattr(flow.response, "content", None) or flow.response.raw_content


@pytest.mark.parametrize("streamed", STREAMED)
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_what_leaves_is_what_was_judged(protocol: Any, streamed: bool) -> None:  # noqa: FBT001
    policy = Judging()
    out = await served(GateAddon(policy, hosts=["API.test"]), flow(protocol, streamed=streamed))
    assert policy.judged == CALLS
    assert policy.requests[0] == {"model": "m"}
    assert policy.endings == ["finished"]
    assert b"rm -rf" in out
    assert b"rm -rf" not in await served(GateAddon(DenyAll(), hosts=["api.test"]), flow(protocol, streamed=streamed))


async def test_a_stream_is_announced_as_what_it_is() -> None:
    asked = flow("openai_chat", streamed=True)
    await served(GateAddon(DenyAll(), hosts=["api.test"]), asked)
    assert asked.request.headers["accept-encoding"] == "identity"
    assert asked.response.headers == {"content-type": "text/event-stream", "transfer-encoding": "chunked"}


async def test_other_hosts_pass_untouched() -> None:
    asked = flow("openai_chat", streamed=False, host="elsewhere.test")
    assert await served(GateAddon(DenyAll(), hosts=["api.test"]), asked) == asked.answer.raw_content


async def test_a_path_that_nobody_listed_is_answered_without_asking() -> None:
    asked = flow("openai_chat", streamed=False, path="/v1/files?x=/v1/messages")
    assert b"neither guarded" in await served(GateAddon(DenyAll(), hosts=["api.test"]), asked)


async def test_an_upgrade_is_refused() -> None:
    asked = flow("openai_responses", streamed=False)
    asked.request.headers["upgrade"] = "websocket"
    await served(GateAddon(DenyAll(), hosts=["api.test"]), asked)
    assert asked.response.status_code == 403


@pytest.mark.parametrize("streamed", STREAMED)
async def test_a_compressed_answer_is_refused(streamed: bool) -> None:  # noqa: FBT001
    asked = flow("openai_chat", streamed=streamed, **{"content-encoding": "gzip"})
    assert b"cannot be judged" in await served(GateAddon(penstock.AllowAll(), hosts=["api.test"]), asked)


async def test_a_connection_that_breaks_ends_the_gate() -> None:
    policy, asked = Judging(), flow("openai_chat", streamed=True)
    addon = GateAddon(policy, hosts=["api.test"])
    addon.requestheaders(asked)
    asked.response = asked.answer
    addon.responseheaders(asked)
    asked.response.stream(asked.response.raw_content[:300])
    addon.error(asked)
    assert policy.endings == ["cancelled"]


def test_hosts_are_names() -> None:
    with pytest.raises(TypeError, match="hosts must be names"):
        GateAddon(DenyAll(), hosts="api.test")


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real mitmdump with the example, in front of the replaying upstream."""
    if MITMDUMP is None:
        pytest.skip("no mitmdump on the path; PENSTOCK_MITMDUMP names one that is elsewhere")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("mitmproxy")
    paths = {"PYTHONPATH": str(ROOT / "python"), "PENSTOCK_HOSTS": "127.0.0.1", "HOME": str(folder)}
    with replaying() as upstream, (folder / "log").open("wb") as log:
        options = ["--listen-host", "127.0.0.1", "--listen-port", str(port), "--mode", f"reverse:{upstream.url}"]
        process = subprocess.Popen(  # noqa: S603 (the tool under test)
            [MITMDUMP, *options, "--set", f"confdir={folder}", "-s", str(ROOT / "examples" / "mitmproxy_gate.py")],
            env={**os.environ, **paths},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait(port, process, folder / "log")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("mitmdump did not start:\n" + log.read_text(errors="replace")[-2000:])


@pytest.mark.timeout(60)
@pytest.mark.parametrize("streamed", STREAMED)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_in_a_real_mitmdump_the_clients_are_shown_what_may_pass(
    protocol: str,
    streamed: bool,  # noqa: FBT001
    proxied: str,
) -> None:
    if protocol == "anthropic_messages":
        client: Any = anthropic.Anthropic(api_key="x", base_url=proxied, max_retries=0)
    else:
        client = openai.OpenAI(api_key="x", base_url=f"{proxied}/v1", max_retries=0)
    with client:
        seen = ask(client, protocol, streamed=streamed)
    assert seen.calls == CALLS[:1]
    assert seen.text.startswith(TEXT)
    assert REASON not in seen.text
