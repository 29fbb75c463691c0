"""The ways in which a hook can fail, and policies that fail in one of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from penstock import ALLOW, Policy, ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable

CALL = ToolCall(id="call_1", name="bash", arguments='{"command":"secret"}')


class Abrupt(BaseException):
    """As a panic in an extension, this is no Exception."""


class Hostile:
    """Raises when it is looked at."""

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        raise Abrupt("secret")


class LooksAllowed:
    """Has what a verdict has, and is none."""

    decision = "allow"
    reason = ""
    name = arguments = None


def raise_exception(*_: Any) -> Any:
    raise ValueError("secret")


def raise_base_exception(*_: Any) -> Any:
    raise Abrupt("secret")


def raise_exit(*_: Any) -> Any:
    raise SystemExit("secret")


def raise_interrupt(*_: Any) -> Any:
    raise KeyboardInterrupt("secret")


def raise_cancelled(*_: Any) -> Any:
    raise asyncio.CancelledError("secret")


async def raise_later(*_: Any) -> Any:
    await asyncio.sleep(0)
    raise ValueError("secret")


async def raise_exit_later(*_: Any) -> Any:
    await asyncio.sleep(0)
    raise SystemExit("secret")


async def raise_cancelled_later(*_: Any) -> Any:
    await asyncio.sleep(0)
    raise asyncio.CancelledError("secret")


async def hang(*_: Any) -> Any:
    await asyncio.get_running_loop().create_future()


async def answer_when_cancelled(*_: Any) -> Any:
    try:
        await asyncio.sleep(1000)
    except asyncio.CancelledError:
        return ALLOW


async def ignore_cancellation(*_: Any) -> Any:
    for _attempt in range(3):
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            continue
    return ALLOW


async def answer_late(*_: Any) -> Any:
    await asyncio.sleep(1000)
    return ALLOW


async def return_coroutine(*_: Any) -> Any:
    return answer_late()


def return_hostile(*_: Any) -> Any:
    return Hostile()


async def yield_by_mistake(*_: Any) -> Any:
    yield ALLOW


def returning(value: Any) -> Callable[..., Any]:
    return lambda *_: value


# What no hook may do.
FAULTS: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (
        raise_exception,
        raise_base_exception,
        raise_exit,
        raise_interrupt,
        raise_cancelled,
        raise_later,
        raise_exit_later,
        raise_cancelled_later,
        hang,
        answer_when_cancelled,
        ignore_cancellation,
        answer_late,
        return_coroutine,
        return_hostile,
        yield_by_mistake,
    )
}
# What is no verdict.
ODD_VALUES: dict[str, Any] = {
    "None": None,
    "True": True,
    "one": 1,
    "the word": "allow",
    "the class": type(ALLOW),
    "a look-alike": LooksAllowed(),
    "a tuple": (ALLOW,),
    "a list": [ALLOW],
    "a dict": {"decision": "allow"},
    "an exception": ValueError("secret"),
}


def failing(hook: str, fault: Callable[..., Any]) -> Policy:
    """A policy with one hook, which fails."""
    return type("Failing", (Policy,), {hook: lambda self, *arguments: fault(*arguments)})()
