"""The guard in a real LiteLLM proxy, on its three routes, streamed and not, with the official SDKs as clients."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import anthropic
import httpx
import openai
import pytest

from proxying import ABSENT, KEY, proxy
from sdk_clients import ERRORS, ask, request
from upstream import CALLS, PROTOCOLS, TEXT, replaying

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(bool(ABSENT), reason=f"the proxy of LiteLLM needs {', '.join(ABSENT)}"),
    # The first test waits for the proxy to start.
    pytest.mark.timeout(150),
]

STREAMED = [pytest.param(True, id="streamed"), pytest.param(False, id="whole")]
# With the one model LiteLLM passes Messages on and translates the rest; with the other it is the other way round.
MODELS = ("gpt", "claude")


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The proxy."""
    with replaying() as upstream, proxy(upstream.url, tmp_path_factory.mktemp("proxy")) as known:
        yield known


def client(url: str, protocol: str, user: str) -> Any:
    """The official client of a wire format, for a user that the policy knows."""
    if protocol == "anthropic_messages":
        return _Telling(anthropic.Anthropic(api_key=KEY, base_url=url, max_retries=0), user)
    return _Telling(openai.OpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0), user)


class _Telling:
    """A client that adds the user to what is asked."""

    def __init__(self, inner: Any, user: str) -> None:
        self._inner = inner
        self._user = user

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name in {"create", "stream"}:
            return lambda **asked: found(**asked, extra_body={"user": self._user})
        told = _Telling.__new__(_Telling)
        told._inner, told._user = found, self._user
        return told


def judged(log: Path, since: int) -> list[tuple[str, Any]]:
    """What the policy in the proxy says that it judged."""
    said = re.findall(r"^judged (\S+) ?(.*)$", log.read_text(errors="replace")[since:], re.MULTILINE)
    # No arguments at all are an empty object.
    return [(name, json.loads(arguments or "{}")) for name, arguments in said]


@pytest.mark.parametrize("streamed", STREAMED)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_deny_all_shows_no_call(protocol: str, model: str, streamed: bool, running: tuple[str, Path]) -> None:  # noqa: FBT001
    seen = ask(client(running[0], protocol, "deny"), protocol, streamed=streamed, model=model)
    assert seen.calls == []
    assert seen.text == TEXT + "not here" * 2


@pytest.mark.parametrize("streamed", STREAMED)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_allow_all_shows_exactly_the_judged_calls(
    protocol: str,
    model: str,
    streamed: bool,  # noqa: FBT001
    running: tuple[str, Path],
) -> None:
    url, log = running
    since = len(log.read_text(errors="replace"))
    seen = ask(client(url, protocol, "allow"), protocol, streamed=streamed, model=model)
    assert seen.calls == judged(log, since) == CALLS
    assert seen.text == TEXT


@pytest.mark.parametrize("streamed", STREAMED)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_exception_in_the_policy_is_an_error_to_the_client(
    protocol: str,
    model: str,
    streamed: bool,  # noqa: FBT001
    running: tuple[str, Path],
) -> None:
    with pytest.raises(ERRORS, match="the policy failed") as caught:
        ask(client(running[0], protocol, "broken"), protocol, streamed=streamed, model=model)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_of_a_stream_that_was_cut_nothing_is_shown_that_was_not_judged(
    protocol: str, model: str, running: tuple[str, Path]
) -> None:
    url, log = running
    since = len(log.read_text(errors="replace"))
    try:
        seen = ask(client(url, protocol, "allow"), protocol, streamed=True, model=f"{model}-cut").calls
    except ERRORS:
        seen = []
    assert all(call in judged(log, since) for call in seen)


def test_a_stream_of_chat_that_failed_is_not_said_to_be_done(running: tuple[str, Path]) -> None:
    asked = {**request("openai_chat", "gpt"), "stream": True, "user": "broken"}
    headers = {"authorization": f"Bearer {KEY}"}
    answer = httpx.post(f"{running[0]}/v1/chat/completions", json=asked, headers=headers, timeout=20)
    assert "the policy failed" in answer.text
    assert "[DONE]" not in answer.text


def test_a_route_that_nobody_listed_is_refused(running: tuple[str, Path]) -> None:
    asked = {"model": "gpt", "prompt": "x"}
    headers = {"authorization": f"Bearer {KEY}"}
    answer = httpx.post(f"{running[0]}/v1/completions", json=asked, headers=headers, timeout=20)
    assert answer.status_code >= 400
    assert "choices" not in answer.json()
