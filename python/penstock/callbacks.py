"""The callbacks of a reader: called with each item in turn."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

from penstock.items import BlockEvent, ChunkMeta, Item

__all__ = ["Callbacks", "OnBlock", "OnChunk"]

OnChunk: TypeAlias = Callable[[str, ChunkMeta], Awaitable[None] | None]
OnBlock: TypeAlias = Callable[[BlockEvent], Awaitable[None] | None]


class Callbacks:
    """Two functions of the user, either of which may be missing.

    The list of items may grow while it is given: what a callback adds to it comes behind what is there.
    """

    def __init__(self, on_chunk: OnChunk | None, on_block: OnBlock | None) -> None:
        given = {"on_chunk": on_chunk, "on_block": on_block}
        for name, callback in given.items():
            if callback is not None and not callable(callback):
                msg = f"{name} must be a function, not {type(callback).__name__}"
                raise TypeError(msg)
        self.are_given = on_chunk is not None or on_block is not None
        self._async_name = next((name for name, each in given.items() if _is_async(each)), None)
        self._on_chunk = on_chunk or _ignore
        self._on_block = on_block or _ignore

    def check_sync(self) -> None:
        """Whether the callbacks can be called from plain code.

        Raises:
            TypeError: One of them is async.
        """
        if self._async_name is not None:
            raise TypeError(_needs_await(self._async_name))

    def give(self, items: list[Item]) -> None:
        """Calls the callbacks from plain code."""
        if not self.are_given:
            return
        on_chunk, on_block = self._on_chunk, self._on_block
        for item in items:
            if type(item) is tuple:
                text, meta = item
                outcome = on_chunk(text, meta)
            else:
                outcome = on_block(cast("BlockEvent", item))
            if outcome is not None:
                _refuse_awaitable(outcome, "on_chunk" if isinstance(item, tuple) else "on_block")

    async def give_async(self, items: list[Item]) -> None:
        """Calls the callbacks, and awaits those that are async."""
        on_chunk, on_block = self._on_chunk, self._on_block
        for item in items:
            outcome = on_chunk(*item) if isinstance(item, tuple) else on_block(item)
            if outcome is not None and inspect.isawaitable(outcome):
                await outcome


def _refuse_awaitable(outcome: object, name: str) -> None:
    if not inspect.isawaitable(outcome):
        return
    if inspect.iscoroutine(outcome):
        # It will never be awaited, and would complain of that.
        outcome.close()
    raise TypeError(_needs_await(name))


def _needs_await(name: str) -> str:
    return f"{name} is async: use `await reader.read(...)` and `await reader.tool_result_async(...)`"


def _is_async(callback: object) -> bool:
    call = getattr(cast("Any", callback), "__call__", None)  # noqa: B004 (an object may have an async one)
    return inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(call)


def _ignore(*_: object) -> None:
    """Stands for a callback that was not given."""
