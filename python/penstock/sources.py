"""Whatever chunks come from, as one async iterator that can be closed."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, cast

__all__ = ["Incoming", "checked_iterable", "close", "opened"]

Incoming: TypeAlias = AsyncIterable[Any] | Iterable[Any] | asyncio.Queue[Any]


def _iterate(incoming: Incoming) -> AsyncIterator[Any]:
    """An async iterator over async iterables, plain iterables and queues.

    Raises:
        TypeError: It is none of these.
    """
    if isinstance(incoming, AsyncIterable):
        return aiter(incoming)
    if isinstance(incoming, asyncio.Queue):
        return _from_queue(incoming)
    return _from_iterable(checked_iterable(cast("object", incoming)))


def checked_iterable(incoming: object, *, instead: str = "") -> Iterable[Any]:
    """The argument, if it is an iterable of chunks or reads.

    Args:
        incoming: What was given.
        instead: What takes a source that has to be awaited.

    Raises:
        TypeError: It is not iterable, or what it would give are characters, numbers or names.
    """
    if isinstance(incoming, (bytes, bytearray, memoryview, str, Mapping)) or not isinstance(incoming, Iterable):
        kind = cast("object", incoming).__class__.__name__
        hint = f": use {instead}" if isinstance(incoming, (AsyncIterable, asyncio.Queue)) else ""
        msg = f"expected an iterable of chunks or reads, not {kind}{hint}"
        raise TypeError(msg)
    return cast("Iterable[Any]", incoming)


@asynccontextmanager
async def opened(incoming: Incoming) -> AsyncGenerator[AsyncIterator[Any]]:
    """The items of a source. It is closed at the end, however that comes, so that its connection is given back."""
    items = _iterate(incoming)
    try:
        yield items
    finally:
        await _close(items, incoming)


async def _close(items: AsyncIterator[Any], incoming: Incoming) -> None:
    try:
        await _close_one(items)
    finally:
        if items is not incoming:
            await _close_one(incoming)


async def _close_one(closable: object) -> None:
    closing = getattr(closable, "aclose", None) or getattr(closable, "close", None)
    if callable(closing):
        outcome = closing()
        if inspect.isawaitable(outcome):
            await outcome


def close(items: Iterator[Any], incoming: object) -> None:
    """Closes a plain source, if it can be closed, and the iterator over it."""
    for closable in (items, incoming):
        closing = getattr(closable, "close", None)
        if callable(closing):
            closing()


async def _from_iterable(items: Iterable[Any]) -> AsyncIterator[Any]:
    for item in items:
        yield item


async def _from_queue(queue: asyncio.Queue[Any]) -> AsyncIterator[Any]:
    # Queues can be shut down since Python 3.13.
    shut_down: type[Exception] | tuple[()] = getattr(asyncio, "QueueShutDown", ())
    while True:
        try:
            item = await queue.get()
        except shut_down:
            return
        if item is None:
            return
        yield item
