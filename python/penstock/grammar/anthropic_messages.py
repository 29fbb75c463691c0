"""The grammar of Anthropic Messages: rules A1 to A15, and the tables of events, blocks and deltas that they speak of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from penstock.grammar.finding import Checker
from penstock.grammar.framing import StrictJsonError, strict_json
from penstock.grammar.shapes import (
    ANYTHING,
    COUNT,
    FLAG,
    LIST,
    NULL,
    OBJECT,
    TEXT,
    Kind,
    Shape,
    is_object,
    nullable,
    one_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["BodyChecker", "StreamChecker"]


STOP_REASON = one_of(
    *("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal"),
    *("model_context_window_exceeded", "compaction"),
)
ERROR = Shape(
    {
        "type": one_of(
            *("invalid_request_error", "authentication_error", "billing_error", "permission_error", "not_found_error"),
            *("rate_limit_error", "timeout_error", "api_error", "overloaded_error"),
        ),
        "message": TEXT,
    }
)
USAGE_DETAILS = {
    "cache_creation_input_tokens": COUNT,
    "cache_read_input_tokens": COUNT,
    "cache_creation": OBJECT,
    "service_tier": TEXT,
    "server_tool_use": OBJECT,
    "inference_geo": TEXT,
    "output_tokens_details": OBJECT,
}
USAGE = Shape({"input_tokens": COUNT, "output_tokens": COUNT}, USAGE_DETAILS)
USAGE_SO_FAR = Shape({"output_tokens": COUNT}, {"input_tokens": COUNT, **USAGE_DETAILS})
MESSAGE = {"id": TEXT, "type": one_of("message"), "role": one_of("assistant"), "model": TEXT, "usage": USAGE}
EMPTY_LIST = Kind("[]", lambda value: value == [])
MESSAGE_START = Shape({**MESSAGE, "content": EMPTY_LIST, "stop_reason": NULL, "stop_sequence": NULL})

EVENTS = {
    "message_start": Shape({"message": OBJECT}),
    "content_block_start": Shape({"index": COUNT, "content_block": Shape({"type": TEXT})}),
    "content_block_delta": Shape({"index": COUNT, "delta": Shape({"type": TEXT})}),
    "content_block_stop": Shape({"index": COUNT}),
    "message_delta": Shape({"delta": Shape(optional={"stop_reason": TEXT, "stop_sequence": TEXT})}),
    "message_stop": Shape(),
    "ping": Shape(),
    "error": Shape({"error": ERROR}, {"request_id": TEXT}),
}

CALL = Shape({"id": TEXT, "name": TEXT, "input": OBJECT}, {"caller": OBJECT})
RESULT = Shape({"tool_use_id": TEXT, "content": ANYTHING}, {"caller": OBJECT})
BLOCKS = {
    "text": Shape({"text": TEXT}, {"citations": LIST}),
    "thinking": Shape({"thinking": TEXT, "signature": TEXT}),
    "redacted_thinking": Shape({"data": TEXT}),
    "tool_use": CALL,
    "server_tool_use": CALL,
    "web_search_tool_result": RESULT,
    "web_fetch_tool_result": RESULT,
    "code_execution_tool_result": RESULT,
    "bash_code_execution_tool_result": RESULT,
    "text_editor_code_execution_tool_result": RESULT,
    "tool_search_tool_result": RESULT,
    "container_upload": Shape({"file_id": TEXT}),
    "mcp_tool_use": Shape({**CALL.required, "server_name": TEXT}),
    "mcp_tool_result": Shape({**RESULT.required, "is_error": FLAG}),
    "advisor_tool_result": RESULT,
    "compaction": Shape(optional={"content": TEXT, "encrypted_content": TEXT}),
    "fallback": Shape({"from": ANYTHING, "to": ANYTHING, "trigger": ANYTHING}),
}
CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
ATOMIC = frozenset(
    {"redacted_thinking", "container_upload", *(kind for kind in BLOCKS if kind.endswith("_tool_result"))}
)

DELTAS = {
    "text_delta": Shape({"text": TEXT}),
    "citations_delta": Shape({"citation": Shape({"type": TEXT})}),
    "input_json_delta": Shape({"partial_json": TEXT}),
    "thinking_delta": Shape({"thinking": TEXT}),
    "signature_delta": Shape({"signature": TEXT}),
    "compaction_delta": Shape(optional={"content": TEXT, "encrypted_content": TEXT}),
}
TARGETS = {
    "text_delta": frozenset({"text"}),
    "citations_delta": frozenset({"text"}),
    "input_json_delta": CALLS,
    "thinking_delta": frozenset({"thinking"}),
    "signature_delta": frozenset({"thinking"}),
    "compaction_delta": frozenset({"compaction"}),
}
CITATIONS = {
    "char_location": Shape(
        {"cited_text": TEXT, "document_index": COUNT, "start_char_index": COUNT, "end_char_index": COUNT}
    ),
    "page_location": Shape(
        {"cited_text": TEXT, "document_index": COUNT, "start_page_number": COUNT, "end_page_number": COUNT}
    ),
    "content_block_location": Shape(
        {"cited_text": TEXT, "document_index": COUNT, "start_block_index": COUNT, "end_block_index": COUNT}
    ),
    "web_search_result_location": Shape({"cited_text": TEXT, "encrypted_index": TEXT, "url": TEXT}),
    "search_result_location": Shape(
        {
            "cited_text": TEXT,
            "search_result_index": COUNT,
            "source": TEXT,
            "start_block_index": COUNT,
            "end_block_index": COUNT,
        }
    ),
}


@dataclass(slots=True)
class _Block:
    """A block that has started."""

    kind: str
    has_input: bool = False
    pieces: list[str] = field(default_factory=list[str])
    is_signed: bool = False


class StreamChecker(Checker):
    """Checks one stream of Anthropic Messages."""

    rule_of_the_end = "A12"

    def __init__(self) -> None:
        super().__init__()
        self._is_started = False
        self._open: dict[int, _Block] = {}
        self._started = 0
        self._has_call = False
        self._ending: dict[str, Any] | None = None
        self._written = 0
        self._take_event = {
            "message_start": self._message_start,
            "content_block_start": self._block_start,
            "content_block_delta": self._block_delta,
            "content_block_stop": self._block_stop,
            "message_delta": self._message_delta,
            "message_stop": self._message_stop,
        }

    def take(self, data: dict[str, Any]) -> None:
        """Takes the JSON object of one event."""
        kind = data.get("type")
        if not self.fits(kind, TEXT, "type"):
            return
        if not self._is_started and kind not in ("message_start", "ping", "error"):
            # Said once: what follows is judged as if the message had started.
            self._is_started = True
            self.found("A1", "an event comes before message_start")
        if kind == "error":
            self.ended = "error"
        if kind in EVENTS and self.fits(data, EVENTS[kind], kind) and kind in self._take_event:
            self._take_event[kind](data)

    def _message_start(self, data: dict[str, Any]) -> None:
        if self._is_started:
            self.found("A1", "message_start is not the first event, or not the only one")
            return
        self._is_started = True
        message = data["message"]
        self.fits(message, MESSAGE_START, "message", "A2")
        self._count(message.get("usage"))

    def _block_start(self, data: dict[str, Any]) -> None:
        index, block = data["index"], data["content_block"]
        if self._ending is not None:
            self.found("A10", "a block starts after message_delta")
        if self._open:
            self.found("A5", "a block starts before the one before it has stopped")
        if index != self._started:
            self.found("A3", f"a block has the index {index} and not {self._started}")
        check_block(self, block, "content_block")
        kind = block["type"]
        given = block.get("input")
        if kind == "tool_use" and given and is_object(given):
            self.found("A7", "content_block.input must be {} at the start of a tool_use")
        self._open[index] = _Block(kind, has_input=bool(given))
        self._started += 1
        self._has_call |= kind == "tool_use"

    def _block_delta(self, data: dict[str, Any]) -> None:
        block, delta = self._open.get(data["index"]), data["delta"]
        kind = delta["type"]
        if block is None:
            self.found("A4", "a delta is for a block that is not open")
        elif block.kind in ATOMIC:
            self.found("A9", f"a {block.kind} has a delta")
        elif kind in DELTAS and self.fits(delta, DELTAS[kind], "delta") and block.kind in BLOCKS:
            self._grow(block, kind, delta)

    def _grow(self, block: _Block, kind: str, delta: dict[str, Any]) -> None:
        if block.kind not in TARGETS[kind]:
            self.found("A6", f"a {kind} is for a {block.kind}")
            return
        if block.is_signed:
            self.found("A9", f"a {kind} comes behind the signature of its block")
        if kind == "signature_delta":
            block.is_signed = True
        elif kind == "input_json_delta":
            block.pieces.append(delta["partial_json"])
        elif kind == "citations_delta":
            citation = delta["citation"]
            self.fits(citation, CITATIONS.get(citation["type"], OBJECT), "citation")

    def _block_stop(self, data: dict[str, Any]) -> None:
        block = self._open.pop(data["index"], None)
        if block is None:
            self.found("A4", "a stop is for a block that is not open")
            return
        text = "".join(block.pieces)
        if text and not _is_whole_object(text):
            self.found("A8", "the input of a block that has stopped is not one whole JSON object")
        elif text and block.has_input:
            self.found("A8", "the input of a block is given at its start and again in deltas")

    def _message_delta(self, data: dict[str, Any]) -> None:
        self._leave_none_open()
        self._ending = data["delta"]
        if "usage" not in data:
            self.found("A10", "message_delta.usage is missing")
        elif self.fits(data["usage"], USAGE_SO_FAR, "usage", "A10"):
            self._count(data["usage"])

    def _leave_none_open(self) -> None:
        for _ in self._open:
            self.found("A4", "a block has not stopped before the message ends")
        self._open.clear()

    def _count(self, usage: Any) -> None:
        """Checks the counts of a usage. What was read may be counted anew, as behind a compaction; what was written stays so."""
        if not is_object(usage):
            return
        written: Any = usage.get("output_tokens")
        if COUNT.holds(written):
            if written < self._written:
                self.found("A10", "usage.output_tokens sinks")
            self._written = written
        check_cache(self, usage)

    def _message_stop(self, _: dict[str, Any]) -> None:
        self._leave_none_open()
        self.ended, self.rule_of_the_end = "finished", "A11"
        if self._ending is None:
            self.found("A10", "message_stop comes without a message_delta")
            return
        check_ending(self, self._ending, has_call=self._has_call)


class BodyChecker(Checker):
    """Checks one message that was not streamed."""

    rule_of_the_end = "A12"

    def take(self, data: dict[str, Any]) -> None:
        """Takes the body."""
        if data.get("type") == "error":
            self.ended = "error"
            self.fits(data, EVENTS["error"], "error")
            return
        self.ended = "finished"
        self.fits(data, Shape({**MESSAGE, "content": LIST, "stop_sequence": nullable(TEXT)}), "message", "A2")
        check_cache(self, data.get("usage"))
        blocks: Iterable[Any] = data["content"] if isinstance(data.get("content"), list) else ()
        kinds = [self._block(block, position) for position, block in enumerate(blocks)]
        check_ending(self, data, has_call="tool_use" in kinds)

    def _block(self, block: Any, position: int) -> str:
        path = f"content[{position}]"
        if not self.fits(block, Shape({"type": TEXT}), path, "A7"):
            return ""
        check_block(self, block, path)
        citations: Any = block.get("citations")
        for citation in citations if LIST.holds(citations) else ():
            if self.fits(citation, Shape({"type": TEXT}), "citation"):
                self.fits(citation, CITATIONS.get(citation["type"], OBJECT), "citation")
        return block["type"]


def check_block(checker: Checker, block: dict[str, Any], path: str) -> None:
    """Checks the fields of a block by its type. A type that is not known may have any."""
    checker.fits(block, BLOCKS.get(block["type"], OBJECT), path, "A7")


def check_ending(checker: Checker, ending: Mapping[str, Any], *, has_call: bool) -> None:
    """Checks the stop reason, and what goes with it."""
    reason = ending.get("stop_reason")
    if not checker.fits(reason, STOP_REASON, "stop_reason", "A10"):
        return
    if reason == "tool_use" and not has_call:
        checker.found("A13", "stop_reason is tool_use without a tool_use block")
    if reason == "end_turn" and has_call:
        checker.found("A13", "stop_reason is end_turn with a tool_use block")
    if (reason == "stop_sequence") != (ending.get("stop_sequence") is not None):
        checker.found("A13", "stop_sequence is not given for the stop_reason stop_sequence alone")


def check_cache(checker: Checker, usage: Any) -> None:
    """Checks that what was written to the cache adds up."""
    if not is_object(usage):
        return
    whole, parts = usage.get("cache_creation_input_tokens"), usage.get("cache_creation")
    if COUNT.holds(whole) and is_object(parts) and sum(filter(COUNT.holds, parts.values())) > cast("int", whole):
        checker.found("A15", "usage.cache_creation is more than usage.cache_creation_input_tokens")


def _is_whole_object(text: str) -> bool:
    try:
        return is_object(strict_json(text))
    except StrictJsonError:
        return False
