"""Each rule of OpenAI chat is found under its number when it alone is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import penstock
from legal_chat import COUNTED, FAILED, STREAMS, finished, said
from mutations import broken, insert, put, rules, sse, swap, take_out
from wire import frame

if TYPE_CHECKING:
    from collections.abc import Callable

CHOICE = ("choices", 0)
PART = (*CHOICE, "delta", "tool_calls", 0)
DETAILS = ("usage", "prompt_tokens_details")

# The positions in `text`: 0 role, 1 and 2 deltas, 3 finish; in `parallel_tools`: 0 role, 1 to 3 and 4 to 6 calls, 7 finish, 8 usage.
CASES = [
    *(("C1", "text_in_one", take_out(1, name)) for name in ("id", "object", "created", "model")),
    ("C1", "text", take_out(1, "choices")),
    ("C1", "usage", put(3, "object", to="chat.completion")),
    ("C1", "usage", put(3, "created", to="now")),
    ("C2", "text", put(1, "id", to="chatcmpl-2")),
    ("C3", "text", take_out(1, *CHOICE, "index")),
    ("C3", "text", take_out(1, *CHOICE, "delta")),
    ("C3", "text", put(1, *CHOICE, "delta", "content", to=["a"])),
    ("C3", "text", put(1, *CHOICE, "delta", "role", to="tool")),
    ("C3", "text", lambda events: events[1]["choices"].append(events[1]["choices"][0])),
    ("C4", "text", take_out(0)),
    ("C4", "text", insert(1, 0)),
    ("C4", "two_choices", take_out(1, *CHOICE, "delta", "role")),
    ("C5", "tool", take_out(1)),
    ("C5", "tool", take_out(2, *PART, "index")),
    ("C5", "tool", take_out(1, *PART, "id")),
    ("C5", "tool", take_out(1, *PART, "type")),
    ("C5", "tool", put(1, *PART, "function", "name", to="")),
    ("C5", "tool", lambda events: [put(at, *PART, "index", to=1)(events) for at in (1, 2, 3)]),
    ("C6", "tool", put(2, *PART, "id", to="call_0")),
    ("C6", "tool", put(2, *PART, "function", "name", to="tide")),
    ("C6", "tool", insert(2, 1)),
    ("C7", "parallel_tools", swap(3, 4)),
    ("C8", "text", put(3, *CHOICE, "finish_reason", to="tired")),
    ("C8", "text", put(3, *CHOICE, "finish_reason", to="tool_calls")),
    ("C8", "text", put(3, *CHOICE, "finish_reason", to="function_call")),
    ("C9", "text", insert(4, 3)),
    ("C9", "text", swap(2, 3)),
    ("C11", "usage", swap(2, 3)),
    ("C11", "usage", insert(4, 3)),
    ("C11", "text", put(3, "usage", to=COUNTED["usage"])),
    ("C11", "usage", take_out(3, "usage", "total_tokens")),
    ("C13", "error", take_out(1, "error", "message")),
    ("C13", "error", put(1, "error", to="later")),
    ("C13", "error", insert(2, finished())),
    ("C13", "error", lambda events: events.append(FAILED)),
    ("A15", "usage", put(3, *DETAILS, "cached_tokens", to=10)),
]


@pytest.mark.parametrize(
    ("rule", "name", "change"), [pytest.param(*case, id=f"{case[0]}-{i}") for i, case in enumerate(CASES)]
)
def test_a_stream_that_breaks_a_rule_is_found_under_its_number(
    rule: str, name: str, change: Callable[[list[dict]], object]
) -> None:
    assert broken("openai_chat", name, change) == {rule}


TEXT = sse("openai_chat", STREAMS["text"])
DONE = frame("[DONE]")


@pytest.mark.parametrize(
    ("rule", "data"),
    [
        ("C10", TEXT.replace(b'"finish_reason": "stop"', b'"finish_reason": null')),
        ("C10", DONE),
        ("T1", TEXT.replace(b"data: ", b"event: chunk\ndata: ", 1)),
        ("C12", TEXT.removesuffix(DONE)),
        ("C12", b""),
        ("C12", TEXT + DONE),
        ("C12", TEXT + frame('{"choices": []}')),
        ("C13", sse("openai_chat", STREAMS["error"]) + DONE),
    ],
)
def test_the_end_of_the_bytes_is_judged(rule: str, data: bytes) -> None:
    assert rules(penstock.check(data, "openai_chat")) == {rule}


def test_chunks_as_dicts_have_no_done_and_end_with_the_finish_of_all_choices() -> None:
    assert penstock.check(STREAMS["text"], "openai_chat").ended == "finished"
    cut = penstock.check(STREAMS["text"][:-1], "openai_chat")
    assert (rules(cut), cut.ended) == ({"C12"}, "truncated")
    assert penstock.check([*STREAMS["text"], "[DONE]"], "openai_chat") == []


def test_an_unknown_field_is_let_pass() -> None:
    events = [*STREAMS["text"]]
    events.insert(1, said(holograms=[1]) | {"weather": "fine"})
    assert penstock.check(events, "openai_chat") == []
