"""Reads streams as blocks: the same callbacks from tags in text, native events and answers that were not streamed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import sources
from penstock.callbacks import Callbacks
from penstock.engine import check_arguments, check_text, report_problems
from penstock.giver import Giver
from penstock.items import Events, ReadItems
from penstock.results import Result
from penstock.timeouts import StreamClock, checked_seconds

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from penstock.blocks import StreamState
    from penstock.callbacks import OnBlock, OnChunk
    from penstock.items import Item
    from penstock.limits import Limits
    from penstock.protocols import Protocol, Source
    from penstock.sources import Incoming
    from penstock.vocabulary import Tags

__all__ = ["BlockReader"]


class BlockReader(Giver):
    """Tells what a model says, block by block: which text is visible, where thinking and tool calls start and end.

    `on_chunk(text, meta)` is called for every chunk, `on_block(event)` when a block starts and when it is whole. Both may be plain or
    async functions; async ones need `read`. A reader goes on from one answer to the next, and numbers the blocks of all of them, and the
    results of tools, in the order in which they start.

    Args:
        on_chunk: Called with each chunk of text and its `ChunkMeta`.
        on_block: Called with each `BlockStart` and `BlockComplete`.
        source: The wire format, `text` for text alone, or `auto` to tell the wire format from the first event.
        tags: The vocabulary of the tags in its text: a name, a `TagVocabulary`, or a list of them. Without one, the text of a wire format
            is text, and text alone has the tags of Claude; an empty list looks for none.
        strict: End the stream with an error at the first deviation, instead of putting it right or skipping the chunk.
        limits: What a stream may cost.
        chunk_timeout: How long `read` waits for the next chunk, in seconds; None for ever. A comment is none.
        total_timeout: How long a whole stream may take in `read`, in seconds; None for ever.

    Example:
        >>> from penstock import BlockReader
        >>> def speak(text, meta):
        ...     if meta.visible:
        ...         print(text)
        >>> reader = BlockReader(on_chunk=speak)
        >>> _ = reader.feed({"choices": [{"delta": {"reasoning_content": "A greeting?"}}]})
        >>> _ = reader.feed({"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]})
        Hi
    """

    def __init__(
        self,
        on_chunk: OnChunk | None = None,
        on_block: OnBlock | None = None,
        *,
        source: Source = "auto",
        tags: Tags | None = None,
        strict: bool = False,
        limits: Limits | None = None,
        chunk_timeout: float | None = 30.0,
        total_timeout: float | None = 600.0,
    ) -> None:
        check_arguments(source=source, strict=strict, limits=limits)
        super().__init__(Callbacks(on_chunk, on_block), source=source, strict=strict, limits=limits, tags=tags)
        self._chunk_timeout = checked_seconds("chunk_timeout", chunk_timeout)
        self._total_timeout = checked_seconds("total_timeout", total_timeout)

    @property
    def source(self) -> Protocol | None:
        """The wire format, as it was named or told from the first event; None while it could be any."""
        return self._engine.source

    @property
    def state(self) -> StreamState:
        """What is known of the stream so far; of the last one, until the next begins."""
        return self._engine.state

    def feed(self, item: Any) -> list[Item]:
        """Takes a read of bytes or a chunk, and calls the callbacks for what it brings.

        Args:
            item: Bytes of server-sent events; a chunk as JSON text, dict or object of an SDK; an answer that was not streamed; or
                text, if that is the source.

        Returns:
            What the callbacks were called with, in order: `(text, meta)` for a chunk, else a block event.

        Raises:
            TypeError: A callback is async, or the item is nothing that can be read.
            LimitExceeded: The stream reached one of its limits.
            ProtocolError: In strict mode.
            StreamClosed: The stream broke off in an earlier call. `flush` ends it; what is fed then is a new stream.
        """
        if self._stage != "open" or self._giving is not None:
            self._open(self._source)
        # Written out, for this is called for each token.
        try:
            items = self._giving = self._engine.feed(item)
            self._callbacks.give(items)
        except BaseException as error:
            self._break_off(error)
            raise
        self._giving = None
        if self._quirks:
            report_problems(self._engine)
        return items

    def process_chunk(self, text: str) -> ReadItems:
        """Takes more text of a model that writes its blocks as text; `flush` is the end of it.

        Args:
            text: The text as it came, cut anywhere.

        Returns:
            `content`, the chunks with their meaning, and `block_events`. The callbacks, if there are any, are called too.

        Raises:
            ValueError: The stream is one of a wire format.

        Example:
            >>> from penstock import BlockReader
            >>> reader = BlockReader()
            >>> reader.process_chunk("Hello").content[0][0]
            'Hello'
            >>> [event.event for event in reader.flush().block_events]
            ['block_complete']
        """
        check_text(text)
        if self._stage != "open" or self._giving is not None:
            self._open("text" if self._source == "auto" else self._source)
        if self._engine.source != "text":
            msg = f"process_chunk takes text alone, and this stream is of {self._engine.source or 'a wire format'}: use feed"
            raise ValueError(msg)
        return ReadItems(self.feed(text))

    def flush(self) -> ReadItems:
        """Ends the stream. What is fed after that is a new one, whose blocks are numbered on.

        Raises:
            StreamInterrupted, UpstreamError: In strict mode.
        """
        if self._stage in ("idle", "broken"):
            self._stage = "idle"
            return ReadItems([])
        if self._stage != "open" or self._giving is not None:
            self._refuse()
        engine = self._engine
        items, error = self._take(engine.finish)
        try:
            self._give(items)
        finally:
            self._give_up(engine, "idle")
        if error is not None:
            raise error
        self._end(engine)
        return ReadItems(items)

    def tool_result(
        self, tool_id: str, content: str | list[Any], *, tool_name: str | None = None, is_error: bool = False
    ) -> list[Item]:
        """Sends the result of a tool, which the host has run, through the callbacks as a block of its own.

        Text that is open completes first. From inside a callback, the result comes behind what its read has brought.

        Args:
            tool_id: The call that it is for.
            content: Text, or a list of parts as the wire formats have them. Of a part that is no text, the chunk has a placeholder such
                as `[image: image/png]`; the block has all of it.
            tool_name: The name of the tool.
            is_error: Whether the result tells of a failure.

        Example:
            >>> from penstock import BlockReader
            >>> start, (text, meta), complete = BlockReader().tool_result("call_1", "22 degrees")
            >>> text, meta.type, meta.tool_id, complete.block.content
            ('22 degrees', 'tool_result', 'call_1', '22 degrees')
        """
        result = Result.of(tool_id, content, tool_name=tool_name, is_error=is_error)
        if self._giving is not None:
            return self._insert(result)
        self._callbacks.check_sync()
        items = self._items_of(result)
        self._give(items)
        return items

    async def tool_result_async(
        self, tool_id: str, content: str | list[Any], *, tool_name: str | None = None, is_error: bool = False
    ) -> list[Item]:
        """As `tool_result`, for callbacks that are async."""
        result = Result.of(tool_id, content, tool_name=tool_name, is_error=is_error)
        if self._giving is not None:
            return self._insert(result)
        items = self._items_of(result)
        await self._give_async(items)
        return items

    async def read(self, incoming: Incoming) -> None:
        """Reads a stream to its end, calling the callbacks in the task that called this.

        When a callback raises and when the task is cancelled, the source is closed.

        Args:
            incoming: What `feed` takes, from an async iterable, a plain iterable, or an `asyncio.Queue` that is ended by None or shut down.

        Raises:
            StreamTimeout: A chunk or the whole stream took too long.
            LimitExceeded: The stream reached one of its limits.
            ProtocolError, StreamInterrupted, UpstreamError: In strict mode.
            ReentrancyError: The reader is busy with a stream.
        """
        engine = self._begin("reading", self._source)
        try:
            async with (
                sources.opened(incoming) as arriving,
                StreamClock(chunk=self._chunk_timeout, total=self._total_timeout) as clock,
            ):
                clock.wait()
                async for item in arriving:
                    clock.go_on()
                    await self._feed_async(engine.feed, item)
                    if engine.took_event:
                        clock.wait()
                    else:
                        clock.keep_waiting()
                clock.go_on()
                await self._feed_async(engine.finish)
        except BaseException:
            self._give_up(engine, "idle")
            raise
        self._end(engine)

    def events(self, incoming: Incoming) -> Events:
        """Reads a stream and gives what the callbacks would get, once: to `async for`, or to `for` if the source is a plain iterable.

        There is no time limit but the caller's own. Whoever leaves an `async for` early uses `contextlib.aclosing`, so that the source is
        closed at once.

        Args:
            incoming: What `read` takes.

        Raises:
            ValueError: The reader has callbacks.

        Example:
            >>> from penstock import BlockReader
            >>> chunk = {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}
            >>> for item in BlockReader().events([chunk]):
            ...     match item:
            ...         case (text, meta):
            ...             print(meta.type, text)
            ...         case event:
            ...             print(event.event, event.index)
            block_start 0
            text Hi
            block_complete 0
        """
        if self._callbacks.are_given:
            msg = "events() gives what the callbacks would get: make the reader without callbacks"
            raise ValueError(msg)
        return Events(self._iterate(incoming), self._iterate_async(incoming))

    def _iterate(self, incoming: Incoming) -> Generator[Item]:
        arriving = iter(sources.checked_iterable(incoming, instead="`async for`"))
        engine = self._begin("iterating", self._source)
        try:
            for item in arriving:
                yield from self._pass_on(engine.feed, item)
            yield from self._pass_on(engine.finish)
        except BaseException:
            self._give_up(engine, "idle")
            raise
        finally:
            sources.close(arriving, incoming)
        self._end(engine)

    async def _iterate_async(self, incoming: Incoming) -> AsyncGenerator[Item]:
        engine = self._begin("iterating", self._source)
        try:
            async with sources.opened(incoming) as arriving:
                async for item in arriving:
                    for each in self._pass_on(engine.feed, item):
                        yield each
                for each in self._pass_on(engine.finish):
                    yield each
        except BaseException:
            self._give_up(engine, "idle")
            raise
        self._end(engine)
