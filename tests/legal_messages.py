"""Legal streams of Anthropic Messages, each with something that the others do not have."""

from __future__ import annotations

from typing import Any

from messages import END, PING, Event, delta, opened, partial, start, stop, text

USAGE = {"input_tokens": 9, "output_tokens": 1}


def begun(**usage: Any) -> Event:
    """`message_start` with all that is required."""
    return opened(stop_sequence=None, usage={**USAGE, **usage})


def ended(reason: str = "end_turn", sequence: str | None = None, **fields: Any) -> list[Event]:
    """`message_delta` and `message_stop`."""
    ending = {"stop_reason": reason, "stop_sequence": sequence, **fields}
    return [{"type": "message_delta", "delta": ending, "usage": {"output_tokens": 7}}, END]


def words(index: int = 0) -> list[Event]:
    """A text block."""
    return [start("text", index, text=""), text("High ", index), text("tide", index), stop(index)]


def thought(index: int = 0) -> list[Event]:
    """A signed thinking block."""
    return [
        start("thinking", index, thinking="", signature=""),
        delta("thinking_delta", index, thinking="When "),
        delta("thinking_delta", index, thinking="is it?"),
        delta("signature_delta", index, signature="c2lnbmVk"),
        stop(index),
    ]


def call(index: int = 0, kind: str = "tool_use", **fields: Any) -> list[Event]:
    """A call with arguments in two pieces."""
    return [
        start(kind, index, id=f"toolu_{index}", name="tide", input={}, **fields),
        partial('{"port": ', index),
        partial('"Brest"}', index),
        stop(index),
    ]


def whole(kind: str, index: int = 0, **fields: Any) -> list[Event]:
    """A block without deltas."""
    return [start(kind, index, **fields), stop(index)]


FAILED: Event = {"type": "error", "error": {"type": "overloaded_error", "message": "later"}}
CITED = {
    "type": "web_search_result_location",
    "cited_text": "at six",
    "encrypted_index": "x",
    "url": "https://tide.test",
}
CACHED = {
    "cache_creation_input_tokens": 5,
    "cache_creation": {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 3},
}

STREAMS: dict[str, list[Event]] = {
    "text": [begun(), *words(), *ended()],
    "nothing": [begun(), *ended()],
    "ping": [PING, begun(), PING, *words(), *ended()],
    "thinking": [begun(), *thought(), *words(1), *ended()],
    "redacted": [begun(), *whole("redacted_thinking", data="c2VhbGVk"), *words(1), *ended()],
    "tool": [begun(), *words(), *call(1), *ended("tool_use")],
    "tool_without_arguments": [begun(), *whole("tool_use", id="toolu_0", name="now", input={}), *ended("tool_use")],
    "parallel_tools": [begun(), *call(0), *call(1), *ended("tool_use")],
    "tool_cut_by_length": [begun(), *call(0), *words(1), *ended("max_tokens")],
    "server_tool": [
        begun(),
        *call(0, "server_tool_use"),
        *whole("web_search_tool_result", 1, tool_use_id="toolu_0", content=[]),
        start("text", 2, text=""),
        text("At six.", 2),
        delta("citations_delta", 2, citation=CITED),
        stop(2),
        *ended(),
    ],
    "mcp": [
        begun(),
        *call(0, "mcp_tool_use", server_name="sea"),
        *whole("mcp_tool_result", 1, tool_use_id="toolu_0", content="six", is_error=False),
        *ended("pause_turn"),
    ],
    "upload": [begun(), *whole("container_upload", file_id="file_1"), *ended()],
    "compaction": [
        begun(),
        start("compaction"),
        delta("compaction_delta", content="before"),
        stop(),
        *ended("compaction"),
    ],
    "refusal": [begun(), *words(), *ended("refusal", stop_details={"type": "refusal"})],
    "stop_sequence": [begun(), *words(), *ended("stop_sequence", "\n\n")],
    "cached": [begun(**CACHED), *words(), *ended()],
    "unknown": [
        begun(),
        {"type": "weather"},
        start("hologram", 0, light=1),
        delta("hologram_delta", 0, light=2),
        stop(0),
        *words(1),
        *ended(),
    ],
    "error": [begun(), *words()[:2], FAILED],
    "error_first": [FAILED],
}

ERRORS = frozenset({"error", "error_first"})
