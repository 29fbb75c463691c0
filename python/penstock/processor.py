"""The drop-in processor: chunks in, blocks out, a policy on every chunk."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock import sources
from penstock.blocks import StreamState
from penstock.context import StreamingContext
from penstock.engine import check_end, new_engine, report_problems
from penstock.errors import ReentrancyError, StreamClosed
from penstock.timeouts import StreamClock, checked_seconds

if TYPE_CHECKING:
    from penstock.limits import Limits
    from penstock.protocols import Protocol, Source
    from penstock.sources import Incoming
    from penstock.vocabulary import Tags

__all__ = ["ChunkCallback", "StreamProcessor"]

ChunkCallback: TypeAlias = Callable[[Any, StreamState, StreamingContext], Awaitable[None] | None]


class StreamProcessor:
    r"""Processes the chunks of one stream, and calls a policy for each.

    Args:
        on_chunk_callback: The policy: `async def on_chunk(chunk, state, context)`. A plain function will do.
        source: The wire format, or `auto` to tell it from the first event.
        strict: End the stream with an error at the first deviation, instead of putting it right or skipping the chunk.
        limits: What the stream may cost.
        tags: The vocabulary of the tags in its text: a name, a `TagVocabulary`, or a list of them. Without one, the text of a wire format
            is text, and text alone has the tags of Claude; an empty list looks for none.
        chunk_timeout: How long to wait for the next chunk, in seconds; None for ever. A comment is none.
        total_timeout: How long the whole stream may take, in seconds; None for ever.

    Example:
        >>> import asyncio
        >>> from penstock import StreamProcessor, StreamingContext
        >>> async def on_chunk(chunk, state, context):
        ...     await context.send(chunk)
        >>> processor = StreamProcessor(on_chunk_callback=on_chunk)
        >>> reads = [b'data: {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}', b"\n\n"]
        >>> asyncio.run(processor.process(reads, StreamingContext()))
        >>> processor.state.blocks
        [ContentStreamBlock(id='content', is_complete=True, choice=0, extras={}, content='Hi')]
    """

    def __init__(
        self,
        on_chunk_callback: ChunkCallback,
        *,
        source: Source = "auto",
        strict: bool = False,
        limits: Limits | None = None,
        tags: Tags | None = None,
        chunk_timeout: float | None = 30.0,
        total_timeout: float | None = 600.0,
    ) -> None:
        if not callable(on_chunk_callback):
            msg = f"on_chunk_callback must be a function, not {type(on_chunk_callback).__name__}"
            raise TypeError(msg)
        self.on_chunk = on_chunk_callback
        self._engine = new_engine("chunks", source=source, strict=strict, limits=limits, tags=tags)
        self._strict = strict
        self._chunk_timeout = checked_seconds("chunk_timeout", chunk_timeout)
        self._total_timeout = checked_seconds("total_timeout", total_timeout)
        self._is_busy = False
        self._is_used = False

    @property
    def source(self) -> Protocol | None:
        """The wire format, as it was named or told from the first event; None while it could be any."""
        return self._engine.source

    @property
    def state(self) -> StreamState:
        """What is known of the stream so far."""
        return self._engine.state

    async def process(self, incoming: Incoming, context: StreamingContext) -> None:
        """Reads the stream to its end, calling the policy for each chunk.

        The policy is awaited in the task that called this. When it ends the stream, when it raises and when the task is cancelled,
        the source is closed.

        Args:
            incoming: Chunks or reads, from an async iterable, a plain iterable, or an `asyncio.Queue` that is ended by None or shut down.
                A chunk is an object of LiteLLM or the OpenAI SDK, a dict, or JSON text; a read is bytes of server-sent events.
            context: What the policy gets to send and to end the stream with.

        Raises:
            StreamTimeout: A chunk or the whole stream took too long.
            LimitExceeded: The stream reached one of its limits.
            ProtocolError, StreamInterrupted, UpstreamError: In strict mode.
            ReentrancyError: The processor is busy with a stream.
            StreamClosed: The processor has had its stream.
        """
        _check_context(context)
        self._claim()
        try:
            async with (
                sources.opened(incoming) as items,
                StreamClock(chunk=self._chunk_timeout, total=self._total_timeout) as clock,
            ):
                await self._read(items, context, clock)
        finally:
            report_problems(self._engine)
            self._is_busy = False

    def _claim(self) -> None:
        if self._is_busy:
            msg = "this processor is busy with a stream; make one processor for each stream"
            raise ReentrancyError(msg)
        if self._is_used:
            msg = "this processor has had its stream; make one processor for each stream"
            raise StreamClosed(msg)
        self._is_busy = self._is_used = True

    async def _read(self, items: AsyncIterator[Any], context: StreamingContext, clock: StreamClock) -> None:
        if context.terminated:
            return
        clock.wait()
        async for item in items:
            clock.go_on()
            if not await self._dispatch(self._engine.feed(item), context):
                return
            if self._engine.took_event:
                clock.wait()
            else:
                clock.keep_waiting()
        clock.go_on()
        if await self._dispatch(self._engine.finish(), context):
            check_end(self.state, self.source, strict=self._strict)

    async def _dispatch(self, chunks: Any, context: StreamingContext) -> bool:
        """Gives each chunk to the policy; false once the policy has ended the stream."""
        # Another task may have ended the stream while this one waited for a chunk.
        if context.terminated:
            return False
        for chunk in chunks:
            outcome = self.on_chunk(chunk, self.state, context)
            if inspect.isawaitable(outcome):
                await outcome
            if context.terminated:
                return False
        report_problems(self._engine)
        return True


def _check_context(context: object) -> None:
    if not hasattr(context, "terminated"):
        msg = f"context must be a StreamingContext, not {type(context).__name__}"
        raise TypeError(msg)
