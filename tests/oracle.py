"""A naive reading of a chat stream: lines, `json.loads`, dicts. It knows the wire and nothing of penstock.

It reads what all blocks of a sort add up to, in whatever order they came, and keeps what follows the finish of a choice apart.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Call:
    """A tool call as it adds up."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    index: int | None = None


@dataclass
class Answer:
    """What one choice adds up to."""

    text: str = ""
    thinking: str = ""
    signatures: str = ""
    refusal: str = ""
    calls: list[Call] = field(default_factory=list[Call])
    finish_reason: str | None = None
    late: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


@dataclass
class Reading:
    """What a stream adds up to."""

    answers: dict[int, Answer] = field(default_factory=dict[int, Answer])
    usage: dict[str, Any] | None = None
    errors: list[Any] = field(default_factory=list[Any])
    unreadable: int = 0


def chunks_of_sse(data: bytes) -> list[str]:
    """The data of all events before the terminator. No recording has data on more than one line."""
    lines = data.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    chunks = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
    return chunks[: chunks.index("[DONE]")] if "[DONE]" in chunks else chunks


def read(chunks: list[str]) -> Reading:
    """Reads chunks given as JSON text."""
    reading = Reading()
    for text in chunks:
        try:
            read_chunk(reading, json.loads(text))
        except json.JSONDecodeError:
            reading.unreadable += 1
    return reading


def read_chunk(reading: Reading, chunk: dict[str, Any]) -> None:
    """Adds one chunk."""
    for choice in chunk.get("choices") or []:
        answer = reading.answers.setdefault(choice["index"], Answer())
        delta = choice.get("delta") or {}
        if answer.finish_reason:
            answer.late.append(delta)
        else:
            read_delta(answer, delta)
        answer.finish_reason = answer.finish_reason or choice.get("finish_reason") or None
    reading.usage = chunk.get("usage") or (chunk.get("x_groq") or {}).get("usage") or reading.usage
    if chunk.get("error") is not None:
        reading.errors.append(chunk["error"])


def read_delta(answer: Answer, delta: dict[str, Any]) -> None:
    """Adds the delta of one choice."""
    read_content(answer, delta.get("content"))
    answer.thinking += plain_thinking(delta)
    answer.signatures += signatures(delta)
    answer.refusal += delta.get("refusal") or ""
    for part in delta.get("tool_calls") or []:
        body = part.get("function") or part.get("custom") or {}
        read_call(answer, part.get("index"), part.get("id") or "", body)
    if delta.get("function_call"):
        read_function_call(answer, delta["function_call"])


def read_content(answer: Answer, content: Any) -> None:
    """Adds content that is a string or a list of parts."""
    if isinstance(content, str):
        answer.text += content
    for part in content if isinstance(content, list) else []:
        if part["type"] == "text":
            answer.text += part["text"]
        elif part["type"] == "thinking":
            inner = part["thinking"]
            answer.thinking += inner if isinstance(inner, str) else "".join(each["text"] for each in inner)


def plain_thinking(delta: dict[str, Any]) -> str:
    """The reasoning of a delta. Providers repeat the same text under several names; one of them is taken."""
    details = delta.get("reasoning_details") or []
    blocks = delta.get("thinking_blocks") or []
    spellings = [
        delta.get("reasoning_content"),
        delta.get("reasoning"),
        "".join(each.get("text") or each.get("summary") or "" for each in details),
        "".join(each.get("thinking") or "" for each in blocks),
    ]
    found = {spelling for spelling in spellings if spelling}
    assert len(found) <= 1, "a delta has different reasoning under different names"
    return found.pop() if found else ""


def signatures(delta: dict[str, Any]) -> str:
    """The signatures of a delta, one after the other."""
    structured = [*(delta.get("thinking_blocks") or []), *(delta.get("reasoning_details") or [])]
    return "".join(each.get("signature") or "" for each in structured)


def read_call(answer: Answer, index: int | None, call_id: str, body: dict[str, Any]) -> None:
    """Adds to the newest call with this index (or this id, where there is no index), or to a new one."""
    same = [each for each in answer.calls if (each.index == index if index is not None else each.id == call_id)]
    is_new = not same or (call_id and same[-1].id and call_id != same[-1].id)
    if is_new:
        answer.calls.append(Call(id=call_id, index=index))
    target = answer.calls[-1] if is_new else same[-1]
    target.name = target.name or body.get("name") or ""
    target.arguments += body.get("arguments") or body.get("input") or ""


def read_function_call(answer: Answer, body: dict[str, Any]) -> None:
    """Adds to the one call that the legacy form can have."""
    if not answer.calls:
        answer.calls.append(Call())
    answer.calls[-1].name = answer.calls[-1].name or body.get("name") or ""
    answer.calls[-1].arguments += body.get("arguments") or ""
