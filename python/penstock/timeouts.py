"""The two clocks of a stream: the wait for the next chunk, and the whole."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from penstock.errors import StreamTimeout

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from types import TracebackType

__all__ = ["StreamClock", "checked_seconds", "in_time"]


class StreamClock:
    """Ends a block of code with `StreamTimeout` when a chunk, or all of them, take too long.

    A timer per chunk would cost more than the chunk. So there is one timer at most: it is set for the earliest moment that could matter,
    and when it fires too early, because chunks came in the meantime, it is set again.
    """

    def __init__(self, *, chunk: float | None, total: float | None) -> None:
        self._chunk = chunk
        self._total = total
        self._waiting_since: float | None = None
        self._timeout = asyncio.timeout(None)
        self._timer: asyncio.TimerHandle | None = None
        self._expired: Literal["chunk", "total"] | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        await self._timeout.__aenter__()
        self._set_timer()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        try:
            await self._timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            if self._expired is None:
                raise
            seconds = self._chunk if self._expired == "chunk" else self._total
            raise StreamTimeout(self._expired, seconds or 0.0) from None

    def wait(self) -> None:
        """The wait for the next chunk begins.

        Raises:
            StreamTimeout: The whole took too long. A source that never lets the loop run keeps the timer from firing.
        """
        self._waiting_since = now = self._loop.time()
        if self._total is not None and now >= self._started + self._total:
            raise StreamTimeout("total", self._total)

    def go_on(self) -> None:
        """The chunk is there; the policy's own time is not the source's."""
        self._waiting_since = None

    def _set_timer(self) -> None:
        deadlines: list[float] = []
        if self._total is not None:
            deadlines.append(self._started + self._total)
        if self._chunk is not None:
            since = self._loop.time() if self._waiting_since is None else self._waiting_since
            deadlines.append(since + self._chunk)
        if deadlines:
            self._timer = self._loop.call_at(min(deadlines), self._fire)

    def _fire(self) -> None:
        now = self._loop.time()
        if self._total is not None and now >= self._started + self._total:
            self._expire("total")
        elif self._chunk is not None and self._waiting_since is not None and now >= self._waiting_since + self._chunk:
            self._expire("chunk")
        else:
            self._set_timer()

    def _expire(self, which: Literal["chunk", "total"]) -> None:
        self._expired = which
        self._timeout.reschedule(self._loop.time())


def checked_seconds(name: str, seconds: float | None) -> float | None:
    """The argument, if it is a time that can be waited for.

    Raises:
        ValueError: It is none.
    """
    given = cast("object", seconds)
    if given is None:
        return None
    if isinstance(given, (int, float)) and given > 0:
        return given
    msg = f"{name} must be a positive number of seconds, or None, not {given!r}"
    raise ValueError(msg)


async def in_time(items: AsyncIterator[Any], *, chunk: float | None, total: float | None) -> AsyncGenerator[Any]:
    """The items, each as it comes.

    For generators, where `StreamClock` cannot be: its timer would run while the consumer has the item, and end the consumer's wait instead.

    Raises:
        StreamTimeout: A chunk or the whole stream took too long.
    """
    loop = asyncio.get_running_loop()
    end = None if total is None else loop.time() + total
    while True:
        gap = None if chunk is None else loop.time() + chunk
        deadlines = [each for each in (gap, end) if each is not None]
        scope = asyncio.timeout_at(min(deadlines, default=None))
        try:
            async with scope:
                item = await anext(items)
        except StopAsyncIteration:
            return
        except TimeoutError:
            if not scope.expired():
                raise
            is_total = end is not None and (gap is None or end <= gap)
            raise StreamTimeout("total" if is_total else "chunk", (total if is_total else chunk) or 0.0) from None
        yield item
