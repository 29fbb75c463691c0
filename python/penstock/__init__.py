"""Turns the stream of a language model into blocks, and shows each chunk to a policy."""

from penstock._core import SseFramer
from penstock._core import __version__ as __version__
from penstock.audit import AuditRecord, CallRecord
from penstock.blocking import BlockingGate
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
from penstock.calls import BlockView, ToolCall
from penstock.collecting import collect, collect_sync, translate_body
from penstock.composition import Policies, all_of
from penstock.context import StreamingContext
from penstock.errors import (
    InvalidArguments,
    LimitExceeded,
    PenstockError,
    PolicyFailed,
    ProtocolError,
    ReentrancyError,
    StreamClosed,
    StreamInterrupted,
    StreamTimeout,
    UpstreamError,
)
from penstock.event_translator import EventTranslator, translate_events
from penstock.gated import gate, gate_body, gate_events
from penstock.gating import Gate
from penstock.grammar import Finding, Report, check, check_body
from penstock.items import BlockComplete, BlockEvent, BlockStart, ChunkMeta, MembraneBlock
from penstock.judging import Judgement, judge
from penstock.limits import Limits
from penstock.message import Message, StreamChunkAggregator, aggregate, aggregate_async
from penstock.policy import AllowAll, Policy, PolicyContext
from penstock.processor import StreamProcessor
from penstock.reader import BlockReader
from penstock.rewriting import TextRewriter
from penstock.sse import SseEvent
from penstock.translator import Translator, translate
from penstock.usage import Usage
from penstock.verdicts import ALLOW, Verdict, deny, replace
from penstock.vocabulary import TagVocabulary

__all__ = [
    "ALLOW",
    "AllowAll",
    "AuditRecord",
    "BlockComplete",
    "BlockEvent",
    "BlockReader",
    "BlockStart",
    "BlockView",
    "BlockingGate",
    "CallRecord",
    "ChunkMeta",
    "ContentStreamBlock",
    "EventTranslator",
    "Finding",
    "Gate",
    "InvalidArguments",
    "Judgement",
    "LimitExceeded",
    "Limits",
    "MembraneBlock",
    "Message",
    "PenstockError",
    "Policies",
    "Policy",
    "PolicyContext",
    "PolicyFailed",
    "ProtocolError",
    "ReentrancyError",
    "RefusalStreamBlock",
    "Report",
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
    "TagVocabulary",
    "TextRewriter",
    "ThinkingStreamBlock",
    "ToolCall",
    "ToolCallStreamBlock",
    "ToolResultStreamBlock",
    "Translator",
    "UnknownStreamBlock",
    "UpstreamError",
    "Usage",
    "Verdict",
    "aggregate",
    "aggregate_async",
    "all_of",
    "check",
    "check_body",
    "collect",
    "collect_sync",
    "deny",
    "gate",
    "gate_body",
    "gate_events",
    "judge",
    "replace",
    "translate",
    "translate_body",
    "translate_events",
]
