"""What all integrations have in common, and what LiteLLM asks of a callback."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from litellm import EmbeddingResponse, ModelResponse
from litellm.integrations.custom_guardrail import CustomGuardrail
from litellm.types.utils import ModelResponseStream

import penstock
from guards import DenyAll, Judging
from penstock.integrations.guarding import HttpGuard
from penstock.integrations.litellm import AnswerRefused, PenstockGuard
from upstream import CALLS, recording

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

HOOK = "async_post_call_streaming_iterator_hook"
CHAT = SimpleNamespace(request_route="/v1/chat/completions")

WITHOUT = """
import sys
sys.modules[{library!r}] = None
try:
    from penstock.integrations import {module}
    {use}
except ModuleNotFoundError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("library", "module", "use"),
    [
        ("litellm", "litellm", "pass"),
        ("anthropic", "anthropic", "pass"),
        ("httpx", "httpx", "httpx.GateTransport(__import__('penstock').AllowAll())"),
        ("httpx2", "httpx2", "httpx2.AsyncGateTransport(__import__('penstock').AllowAll())"),
        ("mitmproxy", "mitmproxy", "mitmproxy._mitmproxy('http')"),
    ],
)
def test_a_library_that_is_missing_is_named_in_one_line(library: str, module: str, use: str) -> None:
    script = WITHOUT.format(library=library, module=module, use=use)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)  # noqa: S603 (this interpreter)
    assert run.stdout == f"this needs {library}: pip install penstock[{library}]\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"policy": object()}, "policy must be a penstock.Policy"),
        ({"on_deny": "shout"}, "on_deny must be"),
        ({"chunk_timeout": 0}, "chunk_timeout must be a positive number"),
        ({"sauce": 1}, "sauce"),
    ],
)
def test_what_is_wrong_with_an_option_is_said_at_once(options: dict[str, Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        HttpGuard(**{"policy": DenyAll(), **options})


def test_each_subclass_has_the_hook_as_its_own() -> None:
    class Guard(PenstockGuard):
        pass

    class Grandchild(Guard):
        pass

    assert HOOK in vars(PenstockGuard)
    assert HOOK in vars(Guard)
    assert HOOK in vars(Grandchild)


def test_a_subclass_that_has_a_hook_of_its_own_keeps_it() -> None:
    class Counting(PenstockGuard):
        async def async_post_call_streaming_iterator_hook(self, *arguments: Any, **named: Any) -> AsyncIterator[Any]:
            yield 1

    class Grandchild(Counting):
        pass

    assert vars(Grandchild)[HOOK] is vars(Counting)[HOOK]


def test_it_is_no_guardrail_that_a_request_could_leave_out() -> None:
    assert not issubclass(PenstockGuard, CustomGuardrail)


async def streamed(guard: PenstockGuard, key: Any, *items: Any) -> list[Any]:
    """What the hook gives."""

    async def source() -> AsyncIterator[Any]:
        for item in items:
            yield item

    return [each async for each in guard.async_post_call_streaming_iterator_hook(key, source(), {})]


async def test_chunks_of_chat_stay_objects_of_litellm() -> None:
    policy = Judging()
    chunks = await streamed(PenstockGuard(policy), CHAT, recording("openai_chat", streamed=True))
    assert {type(chunk) for chunk in chunks} == {ModelResponseStream}
    assert policy.judged == CALLS


async def test_what_is_no_answer_of_a_model_is_left_alone() -> None:
    embedded = EmbeddingResponse()
    key = SimpleNamespace(request_route="/v1/embeddings")
    assert await PenstockGuard(DenyAll()).async_post_call_success_hook({}, key, embedded) is embedded


@pytest.mark.parametrize("route", ["/v1/completions", "", None, "/gemini/v1beta/models/m:generateContent"])
async def test_a_route_that_nobody_listed_is_refused(route: str | None) -> None:
    guard, key = PenstockGuard(penstock.AllowAll()), SimpleNamespace(request_route=route)
    with pytest.raises(AnswerRefused, match="neither guarded"):
        await guard.async_post_call_success_hook({}, key, ModelResponse())
    with pytest.raises(AnswerRefused, match="neither guarded"):
        await streamed(guard, key, b"data: {}\n\n")


@pytest.mark.parametrize("answer", [object(), None, "text", b"bytes", EmbeddingResponse()])
async def test_an_answer_that_cannot_be_read_is_refused(answer: Any) -> None:
    with pytest.raises(AnswerRefused) as caught:
        await PenstockGuard(penstock.AllowAll()).async_post_call_success_hook({}, CHAT, answer)
    assert caught.value.status_code == 502


async def test_what_litellm_knows_of_an_answer_stays_with_it() -> None:
    said = recording("openai_chat", streamed=False)
    answer = ModelResponse(**__import__("json").loads(said))
    answer._hidden_params = {"model_id": "7"}
    judged = await PenstockGuard(DenyAll()).async_post_call_success_hook({}, CHAT, answer)
    assert judged._hidden_params == {"model_id": "7"}
    assert judged.choices[0].message.tool_calls is None
    assert judged.choices[0].finish_reason == "stop"
