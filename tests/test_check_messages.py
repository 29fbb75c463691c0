"""Each rule of Anthropic Messages is found under its number when it alone is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from legal_messages import words
from messages import END, PING, delta, partial, text
from mutations import broken, insert, put, swap, take_out, together

if TYPE_CHECKING:
    from collections.abc import Callable

# The positions in `text`: 0 message_start, 1 start, 2 and 3 deltas, 4 stop, 5 message_delta, 6 message_stop.
CASES = [
    ("A1", "text", take_out(0)),
    ("A1", "text", insert(1, 0)),
    ("A1", "text", insert(0, {"type": "weather"})),
    ("A2", "text", put(0, "message", "content", to=[{"type": "text", "text": "x"}])),
    ("A2", "text", put(0, "message", "stop_reason", to="end_turn")),
    ("A2", "text", put(0, "message", "role", to="user")),
    *(("A2", "text", take_out(0, "message", name)) for name in ("id", "type", "role", "content", "model", "usage")),
    *(("A2", "text", take_out(0, "message", name)) for name in ("stop_reason", "stop_sequence")),
    *(("A2", "text", take_out(0, "message", "usage", name)) for name in ("input_tokens", "output_tokens")),
    ("A3", "text", lambda events: [event.update(index=1) for event in events if "index" in event]),
    ("A3", "parallel_tools", lambda events: [event.update(index=0) for event in events if "index" in event]),
    ("A4", "text", take_out(1)),
    ("A4", "text", take_out(4)),
    ("A4", "text", insert(5, 4)),
    ("A4", "text", put(2, "index", to=3)),
    ("A4", "text", swap(3, 4)),
    ("A5", "parallel_tools", swap(4, 5)),
    ("A6", "text", put(2, "delta", to=delta("input_json_delta", partial_json="{}")["delta"])),
    ("A6", "tool", insert(6, text("a", 1))),
    ("A6", "thinking", put(2, "delta", to=text("a")["delta"])),
    ("A6", "compaction", put(2, "delta", to=delta("signature_delta", signature="x")["delta"])),
    ("A7", "text", take_out(1, "content_block", "text")),
    ("A7", "text", put(1, "content_block", "text", to=None)),
    ("A7", "thinking", take_out(1, "content_block", "thinking")),
    ("A7", "thinking", take_out(1, "content_block", "signature")),
    ("A7", "redacted", take_out(1, "content_block", "data")),
    *(("A7", "tool_without_arguments", take_out(1, "content_block", name)) for name in ("id", "name", "input")),
    ("A7", "tool_without_arguments", put(1, "content_block", "input", to={"port": "Brest"})),
    ("A7", "tool_without_arguments", put(1, "content_block", "input", to="{}")),
    *(("A7", "server_tool", take_out(5, "content_block", name)) for name in ("tool_use_id", "content")),
    ("A7", "mcp", take_out(1, "content_block", "server_name")),
    ("A7", "mcp", take_out(5, "content_block", "is_error")),
    ("A7", "upload", take_out(1, "content_block", "file_id")),
    ("A8", "tool", take_out(7)),
    ("A8", "tool", swap(6, 7)),
    ("A8", "tool", insert(7, 7)),
    ("A8", "tool", together(take_out(7), put(6, "delta", "partial_json", to="[1]"))),
    ("A8", "tool", together(take_out(7), put(6, "delta", "partial_json", to='{"port": "Brest", "port": "Rome"}'))),
    ("A8", "server_tool", put(1, "content_block", "input", to={"port": "Brest"})),
    ("A9", "thinking", swap(3, 4)),
    ("A9", "thinking", insert(4, 4)),
    ("A9", "redacted", insert(2, text("a"))),
    ("A9", "server_tool", insert(6, partial("{}", 1))),
    ("A9", "upload", insert(2, text("a"))),
    ("A10", "text", take_out(5)),
    ("A10", "text", take_out(5, "usage")),
    ("A10", "text", take_out(5, "usage", "output_tokens")),
    ("A10", "text", take_out(5, "delta", "stop_reason")),
    ("A10", "text", put(5, "delta", "stop_reason", to="tired")),
    ("A10", "text", put(5, "usage", "output_tokens", to=0)),
    ("A10", "text", together(insert(6, 5), put(6, "delta", "stop_reason", to=None))),
    ("A10", "thinking", lambda events: events.insert(6, events.pop(-2))),
    ("A11", "text", insert(6, END)),
    ("A11", "text", lambda events: events.append(PING)),
    ("A12", "text", take_out(6)),
    ("A12", "error", lambda events: events.append(PING)),
    ("A12", "error", lambda events: events.extend(words()[2:])),
    ("A13", "text", put(5, "delta", "stop_reason", to="tool_use")),
    ("A13", "tool", put(-2, "delta", "stop_reason", to="end_turn")),
    ("A13", "server_tool", put(-2, "delta", "stop_reason", to="tool_use")),
    ("A13", "text", put(5, "delta", "stop_sequence", to="x")),
    ("A13", "stop_sequence", put(5, "delta", "stop_sequence", to=None)),
    ("A15", "cached", put(0, "message", "usage", "cache_creation_input_tokens", to=4)),
    ("T5", "text", take_out(1, "index")),
    ("T5", "error", take_out(-1, "error", "message")),
    ("T5", "error", put(-1, "error", "type", to="sorrow")),
    ("T5", "text", take_out(5, "delta")),
    ("T5", "text", take_out(2, "delta", "text")),
    *(
        ("T5", "server_tool", take_out(9, "delta", "citation", name))
        for name in ("cited_text", "url", "encrypted_index")
    ),
]
# What else an event that cannot be understood brings with it.
ALSO = {"T5": {"A4", "A10"}}


@pytest.mark.parametrize(
    ("rule", "name", "change"), [pytest.param(*case, id=f"{case[0]}-{i}") for i, case in enumerate(CASES)]
)
def test_a_stream_that_breaks_a_rule_is_found_under_its_number(
    rule: str, name: str, change: Callable[[list[dict]], object]
) -> None:
    found = broken("anthropic_messages", name, change)
    assert rule in found
    assert found <= {rule} | ALSO.get(rule, set())


@pytest.mark.parametrize("name", ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"])
def test_what_was_read_may_be_counted_anew_at_the_end(name: str) -> None:
    begun = put(0, "message", "usage", name, to=60385)
    assert not broken("anthropic_messages", "text", together(begun, put(5, "usage", name, to=612)))
