"""The two clocks of a stream: the wait for the next event, and the whole.

Rules. (1) A read that brings no event (a comment, a part of an event) is no progress: the wait for the next event goes on. (2) The time
that the caller takes is not the source's. (3) A source that never lets the loop run is late as well.
"""

from __future__ import annotations

import asyncio
from math import inf
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from penstock.errors import StreamTimeout

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import TracebackType

__all__ = ["ItemsInTime", "StreamClock", "checked_seconds"]

# At the core's pace this takes less than a tenth of a millisecond.
SLICE_BYTES = 64 << 10


class StreamClock:
    """Ends a block of code with `StreamTimeout` when a chunk, or all of them, take too long.

    A timer per chunk would cost more than the chunk. So there is one timer at most: it is set for the earliest moment that could matter,
    and when it fires too early, because chunks came in the meantime, it is set again.
    """

    def __init__(self, *, chunk: float | None, total: float | None) -> None:
        self._chunk = chunk
        self._total = total
        self._since = 0.0
        self._is_waiting = False
        self._timeout = asyncio.timeout(None)
        self._timer: asyncio.TimerHandle | None = None
        self._expired: Literal["chunk", "total"] | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._started = self._since = self._loop.time()
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
        self._is_waiting = True
        self._since = now = self._loop.time()
        if self._total is not None and now >= self._started + self._total:
            raise StreamTimeout("total", self._total)

    def keep_waiting(self) -> None:
        """What came was no chunk, so the wait for one goes on.

        Raises:
            StreamTimeout: The chunk, or the whole, took too long.
        """
        since = self._since
        self.wait()
        if self._chunk is not None and self._since >= since + self._chunk:
            raise StreamTimeout("chunk", self._chunk)
        self._since = since

    def go_on(self) -> None:
        """The chunk is there; the policy's own time is not the source's."""
        self._is_waiting = False

    def _set_timer(self) -> None:
        deadlines: list[float] = []
        if self._total is not None:
            deadlines.append(self._started + self._total)
        if self._chunk is not None:
            since = self._since if self._is_waiting else self._loop.time()
            deadlines.append(since + self._chunk)
        if deadlines:
            self._timer = self._loop.call_at(min(deadlines), self._fire)

    def _fire(self) -> None:
        now = self._loop.time()
        if self._total is not None and now >= self._started + self._total:
            self._expire("total")
        elif self._chunk is not None and self._is_waiting and now >= self._since + self._chunk:
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
    # True is a number to Python alone.
    if isinstance(given, (int, float)) and not isinstance(given, bool) and given > 0:
        return given
    msg = f"{name} must be a positive number of seconds, or None, not {given!r}"
    raise ValueError(msg)


class ItemsInTime:
    """The items of a source, each as it comes.

    For generators, where `StreamClock` cannot be: its timer would run while the consumer has the item, and end the consumer's wait instead.

    Args:
        items: The source.
        chunk: The seconds that it may take to the next event; None for as long as it likes.
        total: The seconds that all of it may take, from the first wait on; None for as long as it likes.

    Raises:
        StreamTimeout: An event or the whole stream took too long.
    """

    def __init__(self, items: AsyncIterator[Any], *, chunk: float | None, total: float | None) -> None:
        self._items = items
        self._chunk = inf if chunk is None else chunk
        self._total = inf if total is None else total
        self._loop = asyncio.get_running_loop()
        self._end: float | None = None
        # What is left of the wait for the next event; when that would have been over, and when the last item came.
        self._left = self._chunk
        self._gap = inf
        self._came = 0.0
        # A long read that is handed on in slices: where the next one begins, and whether one of them has brought an event.
        self._long_read = b""
        self._at = 0
        self._has_brought_event = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        if self._long_read:
            return await self._next_slice()
        now = self._loop.time()
        if self._end is None:
            self._end = now + self._total
        self._gap = now + self._left
        due = min(self._gap, self._end)
        if due <= now:
            raise self._timeout()
        scope = asyncio.timeout_at(None if due == inf else due)
        try:
            async with scope:
                item = await anext(self._items)
        except TimeoutError:
            if not scope.expired():
                raise
            raise self._timeout() from None
        # Looked up now, for the caller may take its time.
        self._came = self._loop.time()
        self._left = self._chunk
        self._has_brought_event = False
        if type(item) is bytes and len(item) > SLICE_BYTES:
            self._long_read, self._at = item, SLICE_BYTES
            return item[:SLICE_BYTES]
        return item

    async def _next_slice(self) -> bytes:
        """More of a long read. It is handed on in slices, so that other tasks have their turns."""
        await asyncio.sleep(0)
        # Whoever took the last slice would have said so if it had no event.
        self._has_brought_event |= self._left == self._chunk
        self._left = self._chunk
        read, start = self._long_read, self._at
        self._at += SLICE_BYTES
        if self._at >= len(read):
            self._long_read = b""
        return read[start : start + SLICE_BYTES]

    def keep_waiting(self) -> None:
        """What came was no event, so the wait for one goes on."""
        if not self._has_brought_event:
            self._left = self._gap - self._came

    def _timeout(self) -> StreamTimeout:
        if self._end is not None and self._end <= self._gap:
            return StreamTimeout("total", self._total)
        return StreamTimeout("chunk", self._chunk)
