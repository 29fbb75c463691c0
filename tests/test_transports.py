"""The transports of httpx and httpx2 and the middleware of Anthropic's SDK, with the official clients on top and a server beneath."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
import openai
import pytest

import penstock
from guards import REASON, Broken, DenyAll, Judging
from penstock.integrations.anthropic import GateMiddleware, PathRefused
from sdk_clients import ERRORS, ask, ask_async
from upstream import CALLS, TEXT, Upstream, replaying

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

STREAMED = [pytest.param(True, id="streamed"), pytest.param(False, id="whole")]
OPENAI = ("openai_chat", "openai_responses")


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    """The server."""
    with replaying() as server:
        yield server


def transport(library: str, policy: penstock.Policy, *, is_async: bool, **options: Any) -> Any:
    """The transport of a library."""
    module = import_module(f"penstock.integrations.{library}")
    return (module.AsyncGateTransport if is_async else module.GateTransport)(policy, **options)


@contextmanager
def openai_client(library: str, policy: penstock.Policy, upstream: Upstream, **options: Any) -> Generator[Any]:
    """OpenAI's client that cannot await, on a gate."""
    carrier = import_module(library).Client(transport=transport(library, policy, is_async=False, **options))
    with openai.OpenAI(api_key="x", base_url=f"{upstream.url}/v1", http_client=carrier, max_retries=0) as client:
        yield client


def openai_async(library: str, policy: penstock.Policy, upstream: Upstream, **options: Any) -> openai.AsyncOpenAI:
    """OpenAI's client that awaits, on a gate."""
    carrier = import_module(library).AsyncClient(transport=transport(library, policy, is_async=True, **options))
    return openai.AsyncOpenAI(api_key="x", base_url=f"{upstream.url}/v1", http_client=carrier, max_retries=0)


def gated(client: str, policy: penstock.Policy, upstream: Upstream, **options: Any) -> Any:
    """An async client of each kind, by its name."""
    match client:
        case "middleware":
            gate = GateMiddleware(policy, **options)
            return anthropic.AsyncAnthropic(api_key="x", base_url=upstream.url, middleware=[gate], max_retries=0)
        case "transport":
            carrier = httpx2.AsyncClient(transport=transport("httpx2", policy, is_async=True, **options))
            return anthropic.AsyncAnthropic(api_key="x", base_url=upstream.url, http_client=carrier, max_retries=0)
        case library:
            return openai_async(library, policy, upstream, **options)


WAYS = [
    *((library, protocol) for library in ("httpx", "httpx2") for protocol in OPENAI),
    ("transport", "anthropic_messages"),
    ("middleware", "anthropic_messages"),
]


@pytest.mark.parametrize("streamed", STREAMED)
@pytest.mark.parametrize(("client", "protocol"), WAYS)
async def test_deny_all_shows_no_call(client: str, protocol: str, streamed: bool, upstream: Upstream) -> None:  # noqa: FBT001
    async with gated(client, DenyAll(), upstream) as asking:
        seen = await ask_async(asking, protocol, streamed=streamed)
    assert seen.calls == []
    assert seen.text == TEXT + REASON * 2


@pytest.mark.parametrize("streamed", STREAMED)
@pytest.mark.parametrize(("client", "protocol"), WAYS)
async def test_allow_all_shows_exactly_the_judged_calls(
    client: str,
    protocol: str,
    streamed: bool,  # noqa: FBT001
    upstream: Upstream,
) -> None:
    policy = Judging()
    async with gated(client, policy, upstream) as asking:
        seen = await ask_async(asking, protocol, streamed=streamed)
    assert seen.calls == policy.judged == CALLS
    assert seen.text == TEXT
    assert policy.endings == ["finished"]
    assert policy.requests[0]["model"] == "m"


@pytest.mark.parametrize("streamed", STREAMED)
@pytest.mark.parametrize(("client", "protocol"), WAYS)
@pytest.mark.parametrize("model", ["m", "cut"])
async def test_what_fails_is_an_error_to_the_client(
    model: str,
    client: str,
    protocol: str,
    streamed: bool,  # noqa: FBT001
    upstream: Upstream,
) -> None:
    policy = Judging() if model == "cut" else Broken()
    async with gated(client, policy, upstream) as asking:
        with pytest.raises(ERRORS) as caught:
            await ask_async(asking, protocol, streamed=streamed, model=model)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("streamed", STREAMED)
@pytest.mark.parametrize(("client", "protocol"), WAYS)
async def test_an_answer_that_is_no_answer_is_refused(
    client: str,
    protocol: str,
    streamed: bool,  # noqa: FBT001
    upstream: Upstream,
) -> None:
    async with gated(client, penstock.AllowAll(), upstream) as asking:
        with pytest.raises(ERRORS, match="cannot be judged"):
            await ask_async(asking, protocol, streamed=streamed, model="page")


@pytest.mark.parametrize(("client", "protocol"), WAYS)
async def test_an_error_of_the_upstream_is_the_client_s_own(client: str, protocol: str, upstream: Upstream) -> None:
    async with gated(client, penstock.AllowAll(), upstream) as asking:
        with pytest.raises((openai.RateLimitError, anthropic.RateLimitError), match="later"):
            await ask_async(asking, protocol, streamed=True, model="busy")


@pytest.mark.parametrize("streamed", STREAMED)
@pytest.mark.parametrize("library", ["httpx", "httpx2"])
@pytest.mark.parametrize("protocol", OPENAI)
@pytest.mark.parametrize("policy", [DenyAll, Judging, Broken])
def test_clients_that_cannot_await_are_shown_the_same(
    policy: type[penstock.Policy],
    protocol: str,
    library: str,
    streamed: bool,  # noqa: FBT001
    upstream: Upstream,
) -> None:
    judging = policy()
    with openai_client(library, judging, upstream) as client:
        if policy is Broken:
            with pytest.raises(ERRORS, match="the policy failed"):
                ask(client, protocol, streamed=streamed)
        else:
            assert ask(client, protocol, streamed=streamed).calls == ([] if policy is DenyAll else CALLS)
    assert getattr(judging, "endings", ["finished"]) == ["finished"]


@pytest.mark.parametrize("streamed", STREAMED)
@pytest.mark.parametrize("policy", [DenyAll, Judging])
def test_the_middleware_judges_for_the_client_that_cannot_await(
    policy: type[penstock.Policy],
    streamed: bool,  # noqa: FBT001
    upstream: Upstream,
) -> None:
    gate = GateMiddleware(policy())
    with anthropic.Anthropic(api_key="x", base_url=upstream.url, middleware=[gate], max_retries=0) as client:
        seen = ask(client, "anthropic_messages", streamed=streamed)
    assert seen.calls == ([] if policy is DenyAll else CALLS)


async def test_a_call_that_ends_the_answer_is_not_asked_for_again(upstream: Upstream) -> None:
    before = len(upstream.asked)
    async with openai_async("httpx", DenyAll(), upstream, on_deny="end").with_options(max_retries=2) as client:
        with pytest.raises(openai.PermissionDeniedError, match=REASON):
            await ask_async(client, "openai_chat", streamed=False)
    assert len(upstream.asked) == before + 1


async def test_a_path_that_nobody_listed_is_not_even_asked(upstream: Upstream) -> None:
    before = len(upstream.asked)
    async with openai_async("httpx", penstock.AllowAll(), upstream) as client:
        with pytest.raises(openai.PermissionDeniedError, match="neither guarded"):
            await client.post("/files", cast_to=object, body={})
    async with gated("middleware", penstock.AllowAll(), upstream) as client:
        with pytest.raises(PathRefused):
            await client.post("/v1/files", cast_to=object, body={})
    assert len(upstream.asked) == before


async def test_a_path_that_is_listed_passes(upstream: Upstream) -> None:
    async with openai_async("httpx", penstock.AllowAll(), upstream) as client:
        assert (await client.models.list()).data == []


async def test_a_stream_that_is_left_closes_the_connection_and_tells_the_policy(upstream: Upstream) -> None:
    policy = Judging()
    carrier = import_module("httpx").AsyncClient(transport=transport("httpx", policy, is_async=True))
    body = {"model": "m", "stream": True}
    async with carrier, carrier.stream("POST", f"{upstream.url}/v1/chat/completions", json=body) as response:
        async for _ in response.aiter_bytes():
            break
    assert policy.endings == ["cancelled"]


async def test_a_stream_that_was_never_read_is_closed_as_well(upstream: Upstream) -> None:
    carrier = import_module("httpx").AsyncClient(transport=transport("httpx", Judging(), is_async=True))
    async with carrier, carrier.stream("POST", f"{upstream.url}/v1/messages", json={"stream": True}) as response:
        assert not response.is_closed
    assert response.is_closed


async def test_an_answer_that_another_middleware_made_up_is_refused(upstream: Upstream) -> None:
    async def made_up(request: Any, call_next: Any) -> Any:
        return {"content": "anything"}

    gates = [GateMiddleware(penstock.AllowAll()), made_up]
    async with anthropic.AsyncAnthropic(api_key="x", base_url=upstream.url, middleware=gates, max_retries=0) as client:
        with pytest.raises(TypeError, match="put the gate last"):
            await ask_async(client, "anthropic_messages", streamed=False)


async def test_what_another_middleware_parsed_before_the_gate_is_not_found_again(upstream: Upstream) -> None:
    async def parsing(request: Any, call_next: Any) -> Any:
        answer = await call_next(request)
        await answer.parse()
        return answer

    gates = [GateMiddleware(DenyAll()), parsing]
    async with anthropic.AsyncAnthropic(api_key="x", base_url=upstream.url, middleware=gates, max_retries=0) as client:
        assert (await ask_async(client, "anthropic_messages", streamed=False)).calls == []
