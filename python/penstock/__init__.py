"""Turns the stream of a language model into blocks, and shows each chunk to a policy."""

from penstock._core import SseFramer
from penstock._core import __version__ as __version__
from penstock.audit import AuditRecord, AuditSink, CallRecord, Ending
from penstock.blocking import BlockingGate
from penstock.blocks import (
    CallKind,
    ContentStreamBlock,
    RefusalStreamBlock,
    StreamBlock,
    StreamState,
    ThinkingStreamBlock,
    ToolCallStreamBlock,
    ToolResultStreamBlock,
    UnknownStreamBlock,
)
from penstock.callbacks import OnBlock, OnChunk
from penstock.calls import BlockView, ToolCall
from penstock.collecting import collect, collect_sync, translate_body
from penstock.composition import Policies, all_of
from penstock.context import ChunkSink, StreamingContext
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
from penstock.event_translator import EventTranslator, Shape, translate_events
from penstock.events import BlockType, ChoiceFinished
from penstock.gated import gate, gate_body, gate_events
from penstock.gating import Gate, OnDeny
from penstock.grammar import CheckedStream, Ended, Finding, Report, check, check_body
from penstock.items import (
    BlockComplete,
    BlockEvent,
    BlockStart,
    ChunkMeta,
    ChunkType,
    Events,
    Item,
    MembraneBlock,
    ReadItems,
    ToolCallPart,
)
from penstock.judging import Judgement, JudgementState, judge
from penstock.limits import Limits
from penstock.message import Message, StreamChunkAggregator, aggregate, aggregate_async
from penstock.options import BlockingGateOptions, GatedOptions, GateOptions, TranslateOptions, TranslatorOptions
from penstock.policy import AllowAll, Hook, Policy, PolicyContext
from penstock.processor import ChunkCallback, StreamProcessor
from penstock.protocols import Protocol, Source, Target
from penstock.reader import BlockReader
from penstock.rewriting import Finder, Overlong, TextRewriter
from penstock.sources import Incoming
from penstock.sse import SseEvent
from penstock.translator import FailureKind, OnInterrupt, TextAfterCalls, Translator, translate
from penstock.usage import Usage
from penstock.verdicts import ALLOW, Decision, Verdict, deny, replace
from penstock.vocabulary import Tags, TagVocabulary

__all__ = [
    "ALLOW",
    "AllowAll",
    "AuditRecord",
    "AuditSink",
    "BlockComplete",
    "BlockEvent",
    "BlockReader",
    "BlockStart",
    "BlockType",
    "BlockView",
    "BlockingGate",
    "BlockingGateOptions",
    "CallKind",
    "CallRecord",
    "CheckedStream",
    "ChoiceFinished",
    "ChunkCallback",
    "ChunkMeta",
    "ChunkSink",
    "ChunkType",
    "ContentStreamBlock",
    "Decision",
    "Ended",
    "Ending",
    "EventTranslator",
    "Events",
    "FailureKind",
    "Finder",
    "Finding",
    "Gate",
    "GateOptions",
    "GatedOptions",
    "Hook",
    "Incoming",
    "InvalidArguments",
    "Item",
    "Judgement",
    "JudgementState",
    "LimitExceeded",
    "Limits",
    "MembraneBlock",
    "Message",
    "OnBlock",
    "OnChunk",
    "OnDeny",
    "OnInterrupt",
    "Overlong",
    "PenstockError",
    "Policies",
    "Policy",
    "PolicyContext",
    "PolicyFailed",
    "Protocol",
    "ProtocolError",
    "ReadItems",
    "ReentrancyError",
    "RefusalStreamBlock",
    "Report",
    "Shape",
    "Source",
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
    "Tags",
    "Target",
    "TextAfterCalls",
    "TextRewriter",
    "ThinkingStreamBlock",
    "ToolCall",
    "ToolCallPart",
    "ToolCallStreamBlock",
    "ToolResultStreamBlock",
    "TranslateOptions",
    "Translator",
    "TranslatorOptions",
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
