"""Runs streams through the public processor, from sources that tell what was done to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock import StreamingContext, StreamProcessor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable


def ignore(chunk: Any, state: Any, context: Any) -> None:
    """A policy that does nothing."""


async def forward(chunk: Any, state: Any, context: StreamingContext) -> None:
    """A policy that sends everything on."""
    await context.send(chunk)


async def process(incoming: Any, on_chunk: Any = ignore, context: Any = None, **options: Any) -> StreamProcessor:
    """The processor, after it has read the whole stream."""
    processor = StreamProcessor(on_chunk_callback=on_chunk, **options)
    await processor.process(incoming, context or StreamingContext())
    return processor


async def sent(incoming: Any, on_chunk: Any = forward, **options: Any) -> list[Any]:
    """What the policy sent."""
    context = StreamingContext()
    await process(incoming, on_chunk, context, **options)
    return context.sent


async def stream(items: Iterable[Any]) -> AsyncIterator[Any]:
    """The items as an async generator gives them."""
    for item in items:
        yield item


@dataclass
class Source:
    """An async iterator that remembers what was read of it, and whether it was closed."""

    items: list[Any]
    read: list[Any] = field(default_factory=list)
    closed: int = 0

    def __aiter__(self) -> Source:
        return self

    async def __anext__(self) -> Any:
        if len(self.read) == len(self.items):
            raise StopAsyncIteration
        self.read.append(self.items[len(self.read)])
        return self.read[-1]

    async def aclose(self) -> None:
        self.closed += 1
