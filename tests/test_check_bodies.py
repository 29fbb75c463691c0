"""Answers that were not streamed."""

from __future__ import annotations

import json
from typing import Any

import pytest

import penstock
from legal_chat import USAGE as CHAT_USAGE
from legal_messages import CITED
from legal_messages import USAGE as MESSAGES_USAGE
from mutations import put, rules, take_out

TOOL = {"id": "call_0", "type": "function", "function": {"name": "tide", "arguments": "{}"}}
BODIES: dict[str, dict[str, Any]] = {
    "anthropic_messages": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [
            {"type": "thinking", "thinking": "When?", "signature": "c2lnbmVk"},
            {"type": "text", "text": "Let me see.", "citations": [CITED]},
            {"type": "tool_use", "id": "toolu_0", "name": "tide", "input": {"port": "Brest"}},
            {"type": "hologram"},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": MESSAGES_USAGE,
    },
    "openai_chat": {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 7,
        "model": "m",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "Six.", "refusal": None}, "finish_reason": "stop"},
            {
                "index": 1,
                "message": {"role": "assistant", "content": None, "tool_calls": [TOOL]},
                "finish_reason": "tool_calls",
            },
        ],
        "usage": CHAT_USAGE,
    },
    "openai_responses": {
        "id": "resp_1",
        "object": "response",
        "created_at": 7,
        "model": "m",
        "status": "completed",
        "output": [
            {"type": "reasoning", "id": "rs_0", "summary": [{"type": "summary_text", "text": "When?"}]},
            {
                "type": "message",
                "id": "msg_0",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "Six.", "annotations": []}],
            },
            {"type": "hologram"},
        ],
        "usage": {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13},
    },
}
ERRORS = {
    "anthropic_messages": {"type": "error", "error": {"type": "api_error", "message": "later"}},
    "openai_chat": {"error": {"message": "later", "type": "server_error", "code": None}},
    "openai_responses": {"error": {"message": "later", "type": "server_error", "code": None}},
}


@pytest.mark.parametrize("form", BODIES)
def test_a_legal_body_is_legal_as_a_dict_and_as_json(form: str) -> None:
    body = BODIES[form]
    for given in (body, json.dumps(body), json.dumps(body).encode()):
        report = penstock.check_body(given)
        assert (report, report.ended, report.format) == ([], "finished", form)


@pytest.mark.parametrize("form", ERRORS)
def test_an_error_is_a_legal_body(form: Any) -> None:
    report = penstock.check_body(ERRORS[form], form)
    assert (report, report.ended) == ([], "error")


CASES = [
    *(("A2", "anthropic_messages", take_out(0, name)) for name in ("id", "role", "model", "content", "usage")),
    ("A7", "anthropic_messages", take_out(0, "content", 0, "signature")),
    ("A7", "anthropic_messages", put(0, "content", 2, "input", to="{}")),
    ("A7", "anthropic_messages", take_out(0, "content", 3, "type")),
    ("T5", "anthropic_messages", take_out(0, "content", 1, "citations", 0, "url")),
    ("A10", "anthropic_messages", put(0, "stop_reason", to=None)),
    ("A13", "anthropic_messages", put(0, "stop_reason", to="end_turn")),
    (
        "A15",
        "anthropic_messages",
        put(0, "usage", to={**MESSAGES_USAGE, "cache_creation_input_tokens": 1, "cache_creation": {"x": 2}}),
    ),
    *(("C1", "openai_chat", take_out(0, name)) for name in ("id", "created", "model", "choices")),
    ("C3", "openai_chat", take_out(0, "choices", 0, "message", "content")),
    ("C3", "openai_chat", take_out(0, "choices", 0, "finish_reason")),
    ("C3", "openai_chat", take_out(0, "choices", 1, "message", "tool_calls", 0, "id")),
    ("C5", "openai_chat", take_out(0, "choices", 1, "message", "tool_calls", 0, "function", "arguments")),
    ("C8", "openai_chat", put(0, "choices", 0, "finish_reason", to="tool_calls")),
    ("C10", "openai_chat", put(0, "choices", to=[])),
    ("C11", "openai_chat", take_out(0, "usage", "total_tokens")),
    ("A15", "openai_chat", put(0, "usage", "prompt_tokens_details", "cached_tokens", to=99)),
    *(("T5", "openai_responses", take_out(0, name)) for name in ("id", "model", "created_at", "output", "status")),
    ("T5", "openai_responses", take_out(0, "output", 1, "role")),
    ("T5", "openai_responses", take_out(0, "output", 1, "content", 0, "annotations")),
    ("T5", "openai_responses", take_out(0, "output", 0, "summary", 0, "text")),
    ("R9", "openai_responses", put(0, "status", to="in_progress")),
    ("R9", "openai_responses", put(0, "status", to="incomplete")),
    ("R9", "openai_responses", put(0, "status", to="failed")),
]


@pytest.mark.parametrize(
    ("rule", "form", "change"), [pytest.param(*case, id=f"{case[0]}-{i}") for i, case in enumerate(CASES)]
)
def test_a_body_that_breaks_a_rule_is_found_under_its_number(rule: str, form: Any, change: Any) -> None:
    (body,) = bodies = [json.loads(json.dumps(BODIES[form]))]
    change(bodies)
    report = penstock.check_body(body, form)
    assert rules(report) == {rule} | ({"A13"} if rule == "A2" and "content" not in body else set())
    assert all(finding.event == 0 for finding in report)


def test_a_body_that_is_not_json_is_found() -> None:
    assert rules(penstock.check_body(b"<html>", "openai_chat")) == {"T2", "C12"}
    assert rules(penstock.check_body('{"id": 1, "id": 2}', "anthropic_messages")) == {"T2", "A12"}


def test_what_is_no_body_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a body as a dict or as JSON, not list"):
        penstock.check_body([], "openai_chat")  # type: ignore[arg-type]
    for body in ({}, "{}", b"<html>"):
        with pytest.raises(ValueError, match=r"\Athe format cannot be told from the body\Z"):
            penstock.check_body(body)
