"""Blocks to Messages events.

The last `message_delta` waits for the end of the stream, because it has the usage, which others send behind their finish.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.reference.output import quoted
from penstock.usage import Usage

if TYPE_CHECKING:
    from penstock.reference.failure import Failure
    from penstock.reference.lane import Entry
    from penstock.reference.output import Output

__all__ = ["Answer", "Encoder"]

_ID_PREFIXES = ("chatcmpl-", "msg_", "resp_")
_STOP_REASONS = {
    "stop": "end_turn",
    "tool_calls": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
    "pause": "pause_turn",
}


@dataclass(slots=True)
class Answer:
    """What is known of an answer besides its blocks."""

    id: str
    model: str
    has_id: bool = False
    usage: Usage = field(default_factory=Usage)


class Encoder:
    """Writes Messages events. It hears of one block at a time: opened, grown, closed."""

    def __init__(self, answer: Answer, out: Output) -> None:
        self._answer = answer
        self._out = out
        self._has_begun = False
        self._begun_usage = answer.usage
        self._index = 0  # of the open block, or of the next one
        self._has_calls = False
        self._has_refusal = False
        self._has_input = False  # whether the input of a custom tool was begun
        # What is written when the open block ends: its signature must be the last, and sealed reasoning is a block of its own.
        self._signature = ""
        self._data = ""

    def begin(self) -> None:
        """The answer begins, if it has not."""
        if self._has_begun:
            return
        self._has_begun = True
        answer = self._answer
        self._begun_usage = usage = answer.usage
        message: dict[str, Any] = {
            "id": f"msg_{_stem(answer.id)}",
            "type": "message",
            "role": "assistant",
            "model": answer.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {
                "input_tokens": _fresh_input(usage) or 0,
                **_cached(usage),
                "output_tokens": usage.output_tokens or 0,
            },
        }
        self._out.event({"type": "message_start", "message": message})

    def open(self, entry: Entry) -> None:
        """A block begins. What it has is told by `grow`."""
        self.begin()
        match entry.kind:
            case "content" | "refusal":
                self._has_refusal |= entry.kind == "refusal"
                self._start({"type": "text", "text": ""})
            case "thinking":
                if not entry.is_sealed:
                    self._start({"type": "thinking", "thinking": "", "signature": ""})
            case "function" | "custom":
                self._has_calls = True
                self._has_input = False
                self._start({"type": "tool_use", "id": entry.id, "name": entry.name, "input": {}})

    def grow(self, entry: Entry, part: str, text: str) -> None:
        """A part of the open block grows."""
        match part:
            case "text":
                kind = "thinking_delta" if entry.kind == "thinking" else "text_delta"
                self._out.grow((entry.number, part), self._index, kind, text)
            case "arguments":
                self._grow_input(entry, self._custom_input(text) if entry.kind == "custom" else text)
            case "signature":
                self._signature += text
            case _:  # "data"
                self._data += text

    def close(self, entry: Entry) -> None:
        """The open block ends."""
        if entry.kind == "custom":
            self._grow_input(entry, '"}' if self._has_input else '{"input":""}')
        if self._signature:
            self._out.grow((entry.number, "signature"), self._index, "signature_delta", self._signature)
            self._signature = ""
        if not entry.is_sealed:
            self._stop()
        if self._data:
            self._start({"type": "redacted_thinking", "data": self._data})
            self._stop()
            self._data = ""

    def end(self, finish_reason: str | None) -> str | None:
        """The answer ends as it should; if it cannot, says why."""
        self.begin()
        if finish_reason is None:
            return "the upstream ended its stream without a finish reason"
        reason = self._stop_reason(finish_reason)
        if reason is None:
            return "the upstream gave a finish reason that cannot be passed on"
        self._message_delta(reason)
        self._out.event({"type": "message_stop"})
        return None

    def fail(self, failure: Failure) -> None:
        """The answer ends with an error."""
        self._out.event({"type": "error", "error": _error(failure)})

    def cut(self, failure: Failure) -> None:
        """The answer ends as if it had been cut by a limit, for clients that take no error."""
        self.begin()
        self._message_delta("max_tokens", error=_error(failure))
        self._out.event({"type": "message_stop"})

    def ping(self) -> None:
        """A sign of life."""
        self._out.event({"type": "ping"})

    def _start(self, block: dict[str, Any]) -> None:
        self._out.event({"type": "content_block_start", "index": self._index, "content_block": block})

    def _stop(self) -> None:
        self._out.event({"type": "content_block_stop", "index": self._index})
        self._index += 1

    def _grow_input(self, entry: Entry, text: str) -> None:
        self._out.grow((entry.number, "arguments"), self._index, "input_json_delta", text)

    def _custom_input(self, text: str) -> str:
        """The format's tools take an object: free text is its one member."""
        head = "" if self._has_input else '{"input":"'
        self._has_input = True
        return head + quoted(text)

    def _stop_reason(self, word: str) -> str | None:
        """The format's word. Whether a tool is called is told by what was written, not by what the source says."""
        if word in ("stop", "tool_calls"):
            if self._has_calls:
                return "tool_use"
            if self._has_refusal:
                return "refusal"
        return _STOP_REASONS.get(word)

    def _message_delta(self, reason: str, **error: Any) -> None:
        usage = self._answer.usage
        counts: dict[str, Any] = {}
        if _input(usage) != _input(self._begun_usage):
            fresh = _fresh_input(usage)
            counts = {**({} if fresh is None else {"input_tokens": fresh}), **_cached(usage)}
        counts["output_tokens"] = usage.output_tokens or 0
        if usage.reasoning_tokens is not None:
            counts["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
        delta = {"stop_reason": reason, "stop_sequence": None}
        self._out.event({"type": "message_delta", "delta": delta, "usage": counts, **error})


def _stem(message_id: str) -> str:
    """An id without what its format puts before it."""
    prefix = next((prefix for prefix in _ID_PREFIXES if message_id.startswith(prefix)), "")
    return message_id.removeprefix(prefix)


def _error(failure: Failure) -> dict[str, str]:
    return {"type": failure.kind, "message": failure.message}


def _fresh_input(usage: Usage) -> int | None:
    """The input that neither came from the cache nor went there: the format counts those apart."""
    if usage.input_tokens is None:
        return None
    return max(usage.input_tokens - (usage.cache_read_tokens or 0) - (usage.cache_write_tokens or 0), 0)


def _cached(usage: Usage) -> dict[str, int]:
    counts = {
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
    }
    return {name: count for name, count in counts.items() if count is not None}


def _input(usage: Usage) -> tuple[int | None, ...]:
    return _fresh_input(usage) or 0, usage.cache_read_tokens, usage.cache_write_tokens
