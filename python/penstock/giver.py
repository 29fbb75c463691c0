"""What a reader does out of sight: one stream after another, and every item given to whoever waits for it, once and in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, cast

from penstock import _core
from penstock.engine import check_end, report_problems
from penstock.errors import PenstockError, ReentrancyError, StreamClosed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.callbacks import Callbacks
    from penstock.items import Item
    from penstock.limits import Limits
    from penstock.protocols import Source
    from penstock.results import Result
    from penstock.vocabulary import Tags

__all__ = ["Giver"]

# `open`: a stream is being fed. `broken`: a call raised, and the stream that was being fed has not been ended.
_Stage: TypeAlias = Literal["idle", "open", "reading", "iterating", "broken"]


class Giver:
    """Has an engine for each stream in turn, and gives what it brings.

    While a callback, or the body of a loop, is at work with an item, the list that it comes from may grow: what is put there is given in
    its turn.
    """

    def __init__(
        self, callbacks: Callbacks, *, source: Source, strict: bool, limits: Limits | None, tags: Tags | None
    ) -> None:
        self._callbacks = callbacks
        self._source: Source = source
        self._strict = strict
        self._limits = limits
        self._tags = tags
        self._stage: _Stage = "idle"
        self._giving: list[Item] | None = None
        self._engine = self._new_engine(source, first_index=0)
        self._quirks = self._engine.quirks
        self._is_fresh = True

    def _new_engine(self, source: Source, *, first_index: int) -> _core.BlockReader:
        return _core.BlockReader(
            source=source, strict=self._strict, limits=self._limits, tags=self._tags, first_index=first_index
        )

    def _open(self, source: Source) -> None:
        """A stream begins that is fed piece by piece."""
        if self._stage == "broken":
            msg = "the stream broke off: flush() ends it, and what is fed then is a new stream"
            raise StreamClosed(msg)
        self._callbacks.check_sync()
        self._begin("open", source)

    def _begin(self, stage: _Stage, source: Source) -> _core.BlockReader:
        if self._stage == "iterating":
            # Whoever iterated has left the loop; an async generator is told of that later, or never.
            self._give_up(self._engine, "idle")
        if self._stage in ("open", "reading") or self._giving is not None:
            self._refuse()
        if not self._is_fresh or source != self._source:
            self._engine = self._new_engine(source, first_index=self._engine.next_index)
            self._quirks = self._engine.quirks
        self._is_fresh = False
        self._stage = stage
        return self._engine

    def _refuse(self) -> NoReturn:
        msg = "the reader is busy: it was called again before the last call returned, or before its stream was ended"
        raise ReentrancyError(msg)

    def _end(self, engine: _core.BlockReader) -> None:
        self._stage = "idle"
        check_end(engine.ending, engine.source, strict=self._strict)

    def _give_up(self, engine: _core.BlockReader, stage: _Stage) -> None:
        """The stream is left before its end: nothing of it completes any more."""
        engine.close()
        if engine is self._engine:
            self._giving = None
            self._stage = stage

    def _items_of(self, result: Result) -> list[Item]:
        completed, index = self._engine.interpose()
        return [*completed, *result.items(index)]

    def _insert(self, result: Result) -> list[Item]:
        items = self._items_of(result)
        cast("list[Item]", self._giving).extend(items)
        return items

    def _break_off(self, error: BaseException) -> None:
        """A step or a callback has raised. What the step brought before that is given."""
        if self._giving is None and not isinstance(error, PenstockError):
            # Nothing was taken: the argument was at fault.
            return
        try:
            if self._giving is None:
                self._give(self._engine.take_ready())
        finally:
            self._give_up(self._engine, "broken")

    async def _feed_async(self, step: Callable[..., list[Item]], *arguments: Any) -> None:
        items, error = self._take(step, *arguments)
        await self._give_async(items)
        if error is not None:
            raise error

    def _give(self, items: list[Item]) -> None:
        self._giving = items
        try:
            self._callbacks.give(items)
        finally:
            self._giving = None

    async def _give_async(self, items: list[Item]) -> None:
        if self._giving is not None:
            # Another task is giving, and waits for a callback.
            self._giving.extend(items)
            return
        self._giving = items
        try:
            await self._callbacks.give_async(items)
        finally:
            self._giving = None

    def _pass_on(self, step: Callable[..., list[Item]], *arguments: Any) -> Iterator[Item]:
        items, error = self._take(step, *arguments)
        self._giving = items
        yield from items
        self._giving = None
        if error is not None:
            raise error

    def _take(self, step: Callable[..., list[Item]], *arguments: Any) -> tuple[list[Item], PenstockError | None]:
        """What a step brings, and the error that it ended in."""
        try:
            items = step(*arguments)
        except PenstockError as error:
            return self._engine.take_ready(), error
        if self._quirks:
            report_problems(self._engine)
        return items, None
