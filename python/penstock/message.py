"""Plain aggregation: a whole stream as one message."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock import sources
from penstock.blocks import ContentStreamBlock, StreamBlock, StreamState, ThinkingStreamBlock, ToolCallStreamBlock
from penstock.engine import check_end, new_engine, report_problems

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Iterable

    from penstock import _core
    from penstock.limits import Limits
    from penstock.protocols import Source
    from penstock.usage import Usage
    from penstock.vocabulary import Tags

__all__ = ["Message", "StreamChunkAggregator", "aggregate", "aggregate_async"]


@dataclass
class Message:
    """A whole answer.

    Attributes:
        role: The role it is given in.
        content: All text, over all text blocks.
        thinking: All reasoning.
        tool_calls: The calls in the shape of a chat message: `{"id", "type", "function": {"name", "arguments"}}`.
        finish_reason: Why it ended; None if the stream was cut.
        usage: Token counts, if they came.
        blocks: Everything, in order.
        state: The stream's final state, for what else there is to know.
    """

    role: str
    content: str
    thinking: str
    tool_calls: list[dict[str, Any]]
    finish_reason: str | None
    usage: Usage | None
    blocks: list[StreamBlock]
    state: StreamState = field(repr=False)

    @classmethod
    def from_state(cls, state: StreamState) -> Message:
        """The message that a stream's state amounts to. Of several choices, the first."""
        blocks = [block for block in state.blocks if block.choice == 0]
        return cls(
            role=state.role or "assistant",
            content="".join(block.content for block in blocks if isinstance(block, ContentStreamBlock)),
            thinking="".join(block.content for block in blocks if isinstance(block, ThinkingStreamBlock)),
            tool_calls=[_tool_call(block) for block in blocks if isinstance(block, ToolCallStreamBlock)],
            finish_reason=state.finish_reason,
            usage=state.usage,
            blocks=blocks,
            state=state,
        )


def _tool_call(block: ToolCallStreamBlock) -> dict[str, Any]:
    if block.kind == "custom":
        return {"id": block.id, "type": "custom", "custom": {"name": block.name, "input": block.arguments}}
    return {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": block.arguments}}


def aggregate(
    chunks: Iterable[Any],
    *,
    source: Source = "auto",
    strict: bool = False,
    limits: Limits | None = None,
    tags: Tags | None = None,
) -> Message:
    """Reads a stream to its end and gives the answer as one message.

    Args:
        chunks: Chunks or reads: objects of LiteLLM or the OpenAI SDK, dicts, JSON text, or bytes of server-sent events.
        source: The wire format, or `auto` to tell it from the first event.
        strict: Raise at the first deviation, instead of putting it right or skipping the chunk.
        limits: What the stream may cost.
        tags: The vocabulary of the tags in its text: a name, a `TagVocabulary`, or a list of them. Without one, the text of a wire format
            is text, and text alone has the tags of Claude; an empty list looks for none.

    Raises:
        LimitExceeded: The stream reached one of its limits.
        ProtocolError, StreamInterrupted, UpstreamError: In strict mode.

    Example:
        >>> from penstock import aggregate
        >>> aggregate([{"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}]).content
        'Hi'
    """
    engine = new_engine("nothing", source=source, strict=strict, limits=limits, tags=tags)
    for chunk in sources.checked_iterable(chunks, instead="aggregate_async"):
        _take(chunk, engine)
    return _finished(engine, strict=strict)


async def aggregate_async(
    chunks: AsyncIterable[Any],
    *,
    source: Source = "auto",
    strict: bool = False,
    limits: Limits | None = None,
    tags: Tags | None = None,
) -> Message:
    """As `aggregate`, from an async iterable."""
    engine = new_engine("nothing", source=source, strict=strict, limits=limits, tags=tags)
    async with sources.opened(chunks) as items:
        async for chunk in items:
            _take(chunk, engine)
    return _finished(engine, strict=strict)


def _take(chunk: Any, engine: _core.StreamProcessor) -> None:
    try:
        engine.feed(chunk)
    finally:
        report_problems(engine)


def _finished(engine: _core.StreamProcessor, *, strict: bool) -> Message:
    engine.finish()
    report_problems(engine)
    check_end(engine.state, engine.source, strict=strict)
    return Message.from_state(engine.state)


class StreamChunkAggregator:
    """Collects text and tool calls, chunk by chunk.

    Example:
        >>> from penstock import StreamChunkAggregator
        >>> aggregator = StreamChunkAggregator()
        >>> aggregator.capture_chunk({"choices": [{"delta": {"role": "assistant", "content": "Hi"}}]})
        >>> aggregator.get_accumulated_content(), aggregator.role, aggregator.finish_reason
        ('Hi', 'assistant', None)
    """

    def __init__(
        self,
        *,
        source: Source = "auto",
        strict: bool = False,
        limits: Limits | None = None,
        tags: Tags | None = None,
    ) -> None:
        self._engine = new_engine("nothing", source=source, strict=strict, limits=limits, tags=tags)

    def capture_chunk(self, chunk: Any) -> None:
        """Takes one chunk: a dict, an object, or JSON text."""
        _take(chunk, self._engine)

    def get_accumulated_content(self) -> str:
        """All text so far."""
        return Message.from_state(self._engine.state).content

    def get_tool_calls(self) -> list[dict[str, Any]]:
        """The tool calls so far, in the shape of a chat message."""
        return Message.from_state(self._engine.state).tool_calls

    @property
    def finish_reason(self) -> str | None:
        """Why the answer ended; None until it has."""
        return self._engine.state.finish_reason

    @property
    def role(self) -> str | None:
        """The role the answer is given in; None until it is known."""
        return self._engine.state.role or None
