"""Options that are handed on by name: each function takes those that it says, and names one that it does not know."""

from __future__ import annotations

import asyncio
import inspect
import re
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock import options
from penstock.integrations.anthropic import GateMiddleware as SdkMiddleware
from penstock.integrations.asgi import GateMiddleware
from penstock.integrations.guarding import HttpGuard
from penstock.integrations.httpx import GateTransport
from penstock.integrations.httpx2 import AsyncGateTransport
from penstock.integrations.litellm import PenstockGuard
from penstock.integrations.mitmproxy import GateAddon

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine

CHAT: Any = "openai_chat"
ALLOW_ALL = penstock.AllowAll()


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(coroutine)


def drain(stream: AsyncGenerator[Any]) -> list[Any]:
    async def drained() -> list[Any]:
        async with aclosing(stream):
            return [each async for each in stream]

    return run(drained())


def keys(typed: Any) -> frozenset[str]:
    return typed.__optional_keys__


CALLED: dict[str, Callable[..., Any]] = {
    "Translator": lambda **options: penstock.Translator(target=CHAT, **options),
    "EventTranslator": lambda **options: penstock.EventTranslator(target=CHAT, **options),
    "translate": lambda **options: drain(penstock.translate([], target=CHAT, **options)),
    "translate_events": lambda **options: drain(penstock.translate_events([], target=CHAT, **options)),
    "translate_body": lambda **options: penstock.translate_body({}, target=CHAT, **options),
    "collect": lambda **options: run(penstock.collect([], target=CHAT, **options)),
    "collect_sync": lambda **options: penstock.collect_sync([], target=CHAT, **options),
    "Gate": lambda **options: penstock.Gate(ALLOW_ALL, target=CHAT, **options),
    "BlockingGate": lambda **options: penstock.BlockingGate(ALLOW_ALL, **{"target": CHAT, **options}),
    "gate": lambda **options: drain(penstock.gate([], ALLOW_ALL, target=CHAT, **options)),
    "gate_events": lambda **options: drain(penstock.gate_events([], ALLOW_ALL, target=CHAT, **options)),
    "gate_body": lambda **options: run(penstock.gate_body({}, ALLOW_ALL, target=CHAT, **options)),
    "HttpGuard": lambda **options: HttpGuard(ALLOW_ALL, **options),
    "GateMiddleware": lambda **options: GateMiddleware(GateMiddleware, ALLOW_ALL, **options),
    "GateMiddleware of the SDK": lambda **options: SdkMiddleware(ALLOW_ALL, **options),
    "GateTransport": lambda **options: GateTransport(ALLOW_ALL, **options),
    "AsyncGateTransport": lambda **options: AsyncGateTransport(ALLOW_ALL, **options),
    "PenstockGuard": lambda **options: PenstockGuard(ALLOW_ALL, **options),
    "GateAddon": lambda **options: GateAddon(ALLOW_ALL, hosts=[], **options),
}
TAKEN = {
    "Translator": options.TranslatorOptions,
    "EventTranslator": options.TranslatorOptions,
    "translate": options.TranslateOptions,
    "translate_events": options.TranslateOptions,
    "translate_body": options.TranslatorOptions,
    "collect": options.TranslateOptions,
    "collect_sync": options.TranslatorOptions,
    "Gate": options.GateOptions,
    "BlockingGate": options.BlockingGateOptions,
    "gate": options.GatedOptions,
    "gate_events": options.GatedOptions,
    "gate_body": options.GatedOptions,
    "HttpGuard": options.GuardOptions,
    "GateMiddleware": options.GuardOptions,
    "GateMiddleware of the SDK": options.GuardOptions,
    "GateTransport": options.GuardOptions,
    "AsyncGateTransport": options.GuardOptions,
    "PenstockGuard": options.GuardOptions,
    "GateAddon": options.GuardOptions,
}
# Each with a value that is not the default.
VALUES: dict[str, Any] = {
    "strict": False,
    "limits": penstock.Limits(blocks=7),
    "tags": "claude-xml",
    "coalesce": False,
    "on_interrupt": "close",
    "text_after_calls": "before_calls",
    "model": "m",
    "message_id": "msg_1",
    "created": 7,
    "chunk_timeout": 7.0,
    "total_timeout": 7.0,
    "ping_seconds": 7.0,
    "on_deny": "end",
    "verdict_timeout": 7.0,
    "max_concurrent": 7,
    "audit": lambda record: None,
    "audit_content": True,
    "context": penstock.PolicyContext(),
    "source": "anthropic_messages",
    "target": "openai_responses",
    "routes": None,
}


@pytest.mark.parametrize("name", CALLED)
def test_an_option_that_there_is_not_is_named_with_the_function_that_was_called(name: str) -> None:
    with pytest.raises(TypeError) as raised:
        CALLED[name](txet_after_calls="in_order")
    function = name.split(maxsplit=1)[0]
    said = rf"{function}(\.__init__)?\(\) got an unexpected keyword argument 'txet_after_calls'"
    assert re.match(said, str(raised.value))


@pytest.mark.parametrize(
    ("name", "option"), [(name, each) for name, typed in TAKEN.items() for each in sorted(keys(typed))]
)
def test_every_option_that_a_type_checker_is_told_of_is_taken(name: str, option: str) -> None:
    CALLED[name](**{option: VALUES[option]})


def types_of(function: Any) -> dict[str, str]:
    """What a function says of the options that it names itself, as it is written."""
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.annotation for each in parameters if each.kind is each.KEYWORD_ONLY}


# A type, the function that says these options itself, and the type of those that it hands on.
SAID = [
    (options.TranslatorOptions, penstock.Translator, None),
    (options.TranslateOptions, penstock.translate, options.TranslatorOptions),
    (options.GateOptions, penstock.Gate, options.TranslatorOptions),
    (options.GatedOptions, penstock.gate, options.GateOptions),
    (options.BlockingGateOptions, penstock.Gate, options.TranslatorOptions),
    (options.GuardOptions, HttpGuard, options.JudgingOptions),
]


@pytest.mark.parametrize(("typed", "function", "handed_on"), SAID, ids=lambda each: getattr(each, "__name__", ""))
def test_a_type_checker_is_told_what_the_functions_themselves_say(typed: Any, function: Any, handed_on: Any) -> None:
    told = {name: each.__forward_arg__ for name, each in typed.__annotations__.items()}
    said = types_of(function)
    assert told.keys() - said.keys() == (keys(handed_on) if handed_on else frozenset())
    assert said.keys() - told.keys() <= {"source", "target"}
    assert all(told[name] == said[name] for name in told.keys() & said.keys())


@pytest.mark.parametrize("function", [penstock.Gate, penstock.gate], ids=["Gate", "gate"])
def test_the_gate_documents_every_option(function: Any) -> None:
    documented = set(re.findall(r"(\w+):|`(\w+)`", function.__doc__))
    assert keys(options.GateOptions) <= {name for names in documented for name in names}
