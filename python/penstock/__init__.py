"""Turns the stream of a language model into blocks, and shows each chunk to a policy."""

from penstock._core import SseFramer
from penstock.blocks import (
    ContentStreamBlock,
    RefusalStreamBlock,
    StreamBlock,
    StreamState,
    ThinkingStreamBlock,
    ToolCallStreamBlock,
    ToolResultStreamBlock,
    UnknownStreamBlock,
)
from penstock.context import StreamingContext
from penstock.errors import (
    LimitExceeded,
    PenstockError,
    ProtocolError,
    ReentrancyError,
    StreamClosed,
    StreamInterrupted,
    StreamTimeout,
    UpstreamError,
)
from penstock.limits import Limits
from penstock.message import Message, StreamChunkAggregator, aggregate, aggregate_async
from penstock.processor import StreamProcessor
from penstock.sse import SseEvent
from penstock.usage import Usage

__all__ = [
    "ContentStreamBlock",
    "LimitExceeded",
    "Limits",
    "Message",
    "PenstockError",
    "ProtocolError",
    "ReentrancyError",
    "RefusalStreamBlock",
    "SseEvent",
    "SseFramer",
    "StreamBlock",
    "StreamChunkAggregator",
    "StreamClosed",
    "StreamInterrupted",
    "StreamProcessor",
    "StreamState",
    "StreamTimeout",
    "StreamingContext",
    "ThinkingStreamBlock",
    "ToolCallStreamBlock",
    "ToolResultStreamBlock",
    "UnknownStreamBlock",
    "UpstreamError",
    "Usage",
    "aggregate",
    "aggregate_async",
]
