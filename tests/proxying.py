"""A LiteLLM proxy in a process of its own, in front of the replaying upstream."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import urlopen

if TYPE_CHECKING:
    from collections.abc import Generator

HERE = Path(__file__).parent / "litellm_proxy"
KEY = "sk-tests"

# It imports a thousand modules; a slow machine takes half a minute.
START_SECONDS = 100.0
STOP_SECONDS = 10.0

# Of what the proxy needs, the parts that LiteLLM alone does not bring.
ABSENT = [name for name in ("apscheduler", "backoff", "fastapi", "mcp", "nacl", "uvicorn") if find_spec(name) is None]

CONFIG = """
model_list:
  - model_name: gpt
    litellm_params: {{model: openai/m, api_base: "{upstream}/v1", api_key: x}}
  - model_name: claude
    litellm_params: {{model: anthropic/m, api_base: "{upstream}", api_key: x}}
  - model_name: gpt-cut
    litellm_params: {{model: openai/cut, api_base: "{upstream}/v1", api_key: x}}
  - model_name: claude-cut
    litellm_params: {{model: anthropic/cut, api_base: "{upstream}", api_key: x}}
litellm_settings:
  callbacks: proxy_guards.guard
general_settings:
  master_key: {key}
"""


@contextmanager
def proxy(upstream: str, folder: Path) -> Generator[tuple[str, Path]]:
    """Its address and its log, for as long as it is used."""
    port = _free_port()
    # LiteLLM looks for the module beside its configuration.
    (folder / "proxy_guards.py").write_bytes((HERE / "proxy_guards.py").read_bytes())
    (folder / "config.yaml").write_text(CONFIG.format(upstream=upstream, key=KEY))
    log, url = folder / "proxy.log", f"http://127.0.0.1:{port}"
    with log.open("wb") as writing:
        process = subprocess.Popen(  # noqa: S603 (this interpreter)
            [sys.executable, "-m", "litellm.proxy.proxy_cli", *_options(port)],
            cwd=folder,
            env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_PROXY": "*", "PYTHONUTF8": "1"},
            stdout=writing,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait(process, url, log)
        yield url, log
    finally:
        _end(process)


def _options(port: int) -> list[str]:
    return ["--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            with urlopen(f"{url}/health/liveliness", timeout=5):  # noqa: S310 (loopback)
                return
        except (URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError("the proxy did not start:\n" + log.read_text(errors="replace")[-2000:])


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
