"""Calls a hook, sync or async, and comes back in time with an answer or with what went wrong.

Rules. (1) Nothing that a hook raises comes out, whatever its base class. (2) A cancellation of the caller comes out, after the hook
was cancelled too. (3) An answer that comes late is none. (4) No task is left; one that ignores its cancellation is reported.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import traceback
from dataclasses import dataclass, field
from types import CoroutineType
from typing import TYPE_CHECKING, Any, cast

from penstock.errors import PolicyFailed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["Answer", "ask", "discard"]

log = logging.getLogger("penstock")

# How long a cancelled hook may take to clean up. It is not part of anybody's deadline, so it is short.
GRACE_SECONDS = 1.0

# A task that only the loop knows may be collected while it runs.
_unfinished: set[asyncio.Task[Answer]] = set()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a hook returned, or why it returned nothing.

    Attributes:
        value: What it returned.
        failure: Why there is no value, without a word of the stream or of an exception's text; empty if there is one.
        error: The exception, for whoever may see its text.
    """

    value: Any = None
    failure: str = ""
    error: BaseException | None = field(default=None, compare=False, repr=False)


async def ask(hook: Callable[..., Any], *arguments: Any, deadline: float | None) -> Answer:
    """Calls a hook and awaits what it returns.

    Args:
        hook: What to call.
        arguments: What to call it with.
        deadline: The seconds that it may take; None for as long as it likes.
    """
    clock = asyncio.get_running_loop().time
    due = None if deadline is None else clock() + deadline
    try:
        value = hook(*arguments)
        is_awaitable = inspect.isawaitable(value)
    except BaseException as error:  # noqa: BLE001 (rule 1: a policy that raises anything at all has not answered)
        return _raised(error)
    if is_awaitable:
        answer = await _await(value, None if due is None else due - clock(), deadline)
    else:
        answer = Answer(value)
    if due is not None and clock() > due and not answer.failure:
        discard(answer.value)
        return Answer(failure=_late(deadline))
    return answer


def discard(value: object) -> None:
    """Closes a coroutine that nobody will await, which would warn of it at a time of its own."""
    if type(value) is CoroutineType:
        cast("CoroutineType[Any, Any, Any]", value).close()


async def _await(awaitable: Awaitable[Any], seconds: float | None, deadline: float | None) -> Answer:
    task = asyncio.create_task(_answer(awaitable))
    try:
        await asyncio.wait({task}, timeout=seconds)
        if task.done():
            return task.result()
        is_over = await _cancel(task)
    except asyncio.CancelledError:
        await _cancel(task)
        raise
    finally:
        _leave(task)
    return Answer(failure=_late(deadline) + ("" if is_over else ", and its task ignores that it was cancelled"))


async def _answer(awaitable: Awaitable[Any]) -> Answer:
    try:
        return Answer(await awaitable)
    except BaseException as error:  # noqa: BLE001 (rule 1; a task that raised SystemExit would stop the loop)
        return _raised(error)


async def _cancel(task: asyncio.Task[Answer]) -> bool:
    task.cancel()
    await asyncio.wait({task}, timeout=GRACE_SECONDS)
    return task.done()


def _leave(task: asyncio.Task[Answer]) -> None:
    if task.done():
        return
    if task.cancelling():
        log.error("a policy's task ignores that it was cancelled, and still runs")
    task.cancel()
    _unfinished.add(task)
    task.add_done_callback(_unfinished.discard)


def _late(deadline: float | None) -> str:
    return f"no answer within {deadline:g} s"


def _raised(error: BaseException) -> Answer:
    if isinstance(error, PolicyFailed):
        # One policy inside another: what it says has no content.
        return Answer(failure=error.detail, error=error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" in {frames[-1].name}, line {frames[-1].lineno}" if frames else ""
    return Answer(failure=f"raised {type(error).__qualname__}{place}", error=error)
