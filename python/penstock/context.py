"""What a policy can do with a stream: send, and end it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from penstock.errors import StreamClosed

__all__ = ["ChunkSink", "StreamingContext"]

ChunkSink: TypeAlias = Callable[[Any], Awaitable[None] | None] | asyncio.Queue[Any]


class StreamingContext:
    """Given to the policy with each chunk. A policy may keep attributes of its own on it.

    Args:
        sink: Where `send` puts what the policy sends: a function, sync or async, or a queue.
            Without one, `sent` collects it.

    Example:
        >>> import asyncio
        >>> from penstock import StreamingContext
        >>> context = StreamingContext()
        >>> asyncio.run(context.send({"choices": []}))
        >>> context.sent
        [{'choices': []}]
    """

    def __init__(self, sink: ChunkSink | None = None) -> None:
        self.sent: list[Any] = []
        self._terminated = False
        match sink:
            case None:
                self._put: Callable[[Any], Awaitable[None] | None] = self.sent.append
            case asyncio.Queue():
                self._put = sink.put
            case _ if callable(sink):
                self._put = sink
            case _:
                msg = f"sink must be a function, an asyncio.Queue or None, not {type(sink).__name__}"
                raise TypeError(msg)

    async def send(self, chunk: Any) -> None:
        """Sends a chunk on to the client.

        Raises:
            StreamClosed: The policy has ended the stream.
        """
        if self._terminated:
            msg = "nothing can be sent: the stream was terminated"
            raise StreamClosed(msg)
        outcome = self._put(chunk)
        if inspect.isawaitable(outcome):
            await outcome

    def terminate(self) -> None:
        """Ends the stream: after the policy returns, nothing more is read or sent, and the source is closed."""
        self._terminated = True

    @property
    def terminated(self) -> bool:
        """Whether the policy has ended the stream."""
        return self._terminated
