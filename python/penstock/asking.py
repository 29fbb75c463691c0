"""Calls a hook, sync or async, and comes back in time with an answer or with what went wrong.

Rules. (1) Nothing that a hook raises comes out, whatever its base class. (2) A cancellation of the caller comes out, after the hook
was cancelled too. (3) An answer that comes late is none. (4) No task is left; one that ignores its cancellation is reported.
(5) A hook that has to be awaited runs in one task of its own; one that has not, in none.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import traceback
from dataclasses import dataclass, field
from functools import partial
from types import CoroutineType
from typing import TYPE_CHECKING, Any, cast

from penstock.errors import PolicyFailed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from contextvars import Context

__all__ = ["Answer", "Asked", "ask", "call", "cancel", "discard", "in_time"]

log = logging.getLogger("penstock")

# How long a cancelled hook may take to clean up. It is not part of anybody's deadline, so it is short.
GRACE_SECONDS = 1.0

# A task that only the loop knows may be collected while it runs.
_unfinished: set[asyncio.Task[None]] = set()


@dataclass(slots=True)
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
    loop = asyncio.get_running_loop()
    due = None if deadline is None else loop.time() + deadline
    outcome = call(hook, arguments)
    if isinstance(outcome, Answer):
        return in_time(outcome, loop.time(), due, deadline)
    answered: asyncio.Future[Answer] = loop.create_future()
    asked = Asked(outcome, partial(_resolve, answered), due=due, deadline=deadline)
    try:
        return in_time(await answered, loop.time(), due, deadline)
    except asyncio.CancelledError:
        await cancel([asked])
        raise
    finally:
        asked.leave()


def call(hook: Callable[..., Any], arguments: tuple[Any, ...]) -> Answer | Awaitable[Any]:
    """Calls a hook. Gives its answer, or what has to be awaited for it."""
    try:
        value: Any = hook(*arguments)
        # Most hooks return a coroutine or nothing, and the question costs more than such a hook.
        is_awaitable = type(value) is CoroutineType or (value is not None and inspect.isawaitable(value))
    except BaseException as error:  # noqa: BLE001 (rule 1: a policy that raises anything at all has not answered)
        return _raised(error)
    return cast("Awaitable[Any]", value) if is_awaitable else Answer(value)


def in_time(answer: Answer, now: float, due: float | None, deadline: float | None) -> Answer:
    """The answer, unless it comes late."""
    if due is None or now <= due or answer.failure:
        return answer
    discard(answer.value)
    return Answer(failure=_late(deadline))


def discard(value: object) -> None:
    """Closes a coroutine that nobody will await, which would warn of it at a time of its own."""
    if type(value) is CoroutineType:
        cast("CoroutineType[Any, Any, Any]", value).close()


class Asked:
    """A hook that has to be awaited, in a task of its own, until it answers or its time is over.

    Args:
        awaitable: What the hook returned.
        on_answer: Called with the answer, once; never after `mute`. Whether it is `in_time` is for whoever hears it to see.
        due: When the answer has to be there, on the clock of the loop; None for whenever it likes.
        deadline: The seconds that this is, for the failure that says so.
        context: The context that the task runs in.
    """

    __slots__ = ("_awaitable", "_deadline", "_due", "_is_late", "_on_answer", "_timer", "has_begun", "task")

    def __init__(
        self,
        awaitable: Awaitable[Any],
        on_answer: Callable[[Answer], None],
        *,
        due: float | None,
        deadline: float | None,
        context: Context | None = None,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._awaitable = awaitable
        self._on_answer: Callable[[Answer], None] | None = on_answer
        self._due = due
        self._deadline = deadline
        self._is_late = False
        self._timer: asyncio.Handle | None = None
        self.has_begun = False
        self.task = loop.create_task(self._run(awaitable), context=context)
        if self._on_answer is not None:
            # Most hooks wait for nothing and are done with the task's first step. What the others need would cost as much as that, so
            # it comes behind.
            self._timer = loop.call_soon(self._go_on)

    async def _run(self, awaitable: Awaitable[Any]) -> None:
        self.has_begun = True
        try:
            answer = Answer(await awaitable)
        except BaseException as error:  # noqa: BLE001 (rule 1; a task that raised SystemExit would stop the loop)
            answer = _raised(error)
        if self._is_late:
            discard(answer.value)
            answer = Answer(failure=_late(self._deadline))
        self._answer(answer)

    def _go_on(self) -> None:
        """The first step is done, and there is no answer."""
        if not self.has_begun:
            # Somebody has cancelled the task before, so it has awaited nothing.
            self._answer(Answer(failure="was cancelled before it began"))
        elif self._due is not None:
            self._timer = asyncio.get_running_loop().call_at(self._due, self._expire)

    def _answer(self, answer: Answer) -> None:
        on_answer = self._on_answer
        self.mute()
        if on_answer is None:
            discard(answer.value)
        else:
            on_answer(answer)

    def _expire(self) -> None:
        """Its time is over: it may clean up, and then nobody waits for it any more."""
        self._is_late = True
        self.task.cancel()
        self._timer = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._give_up)

    def _give_up(self) -> None:
        self._answer(Answer(failure=f"{_late(self._deadline)}, and its task ignores that it was cancelled"))
        self.leave()

    def mute(self) -> None:
        """Nobody wants the answer any more."""
        self._on_answer = None
        if self._timer is not None:
            self._timer.cancel()
        if not self.has_begun:
            discard(self._awaitable)

    def leave(self) -> None:
        """Nobody waits for the task any more. If it still runs, that is reported."""
        task = self.task
        if task.done() or task in _unfinished:
            return
        if task.cancelling():
            log.error("a policy's task ignores that it was cancelled, and still runs")
        task.cancel()
        _unfinished.add(task)
        task.add_done_callback(_unfinished.discard)


async def cancel(hooks: Iterable[Asked]) -> None:
    """Ends hooks that nobody wants an answer of. Those that do not end soon are left, and reported."""
    running = [asked for asked in hooks if not asked.task.done()]
    for asked in running:
        asked.mute()
        asked.task.cancel()
    try:
        if running:
            await asyncio.wait([asked.task for asked in running], timeout=GRACE_SECONDS)
    finally:
        for asked in running:
            asked.leave()


def _resolve(future: asyncio.Future[Answer], answer: Answer) -> None:
    # Whoever was cancelled waits no longer.
    if not future.done():
        future.set_result(answer)


def _late(deadline: float | None) -> str:
    return f"no answer within {deadline:g} s"


def _raised(error: BaseException) -> Answer:
    if isinstance(error, PolicyFailed):
        # One policy inside another: what it says has no content.
        return Answer(failure=error.detail, error=error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" in {frames[-1].name}, line {frames[-1].lineno}" if frames else ""
    return Answer(failure=f"raised {type(error).__qualname__}{place}", error=error)
