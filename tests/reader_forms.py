"""Two conversations, in every form in which a model can say them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import messages as m
import responses as r
import wire
from reading import call_block, result_block, text_block
from splits import SPLITS

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.items import Item

QUERY = '{"query":"weather"}'
HALVES = ('{"query":', '"weather"}')


@dataclass(frozen=True)
class Form:
    """A conversation as one format has it: what is fed for each answer of the model.

    Attributes:
        is_whole: Whether each answer came whole, so that a block is one chunk.
        engines: Which engines read the format.
    """

    name: str
    turns: list[list[Any]]
    source: str
    is_whole: bool = False
    engines: tuple[str, ...] = ("core",)

    def __str__(self) -> str:
        return self.name


def _forms(name: str, turns: list[list[Any]], frame: Callable[[list[Any]], bytes], **fields: Any) -> list[Form]:
    """The same turns as dicts, as JSON text, and as bytes in several splits."""
    ways = {"dicts": turns, "json": [[json.dumps(each) for each in turn] for turn in turns]}
    ways |= {f"bytes-{split}": [split(frame(turn)) for turn in turns] for split in SPLITS}
    return [Form(f"{name}-{way}", fed, **fields) for way, fed in ways.items()]


def _bodies(name: str, bodies: list[Any], **fields: Any) -> list[Form]:
    ways = {"dict": [[body] for body in bodies], "json": [[r.compact(body)] for body in bodies]}
    ways |= {f"bytes-{split}": [split(r.compact(body).encode()) for body in bodies] for split in SPLITS}
    return [Form(f"{name}-body-{way}", fed, is_whole=True, **fields) for way, fed in ways.items()]


def chat_body(message: dict[str, Any], reason: str = "stop") -> dict[str, Any]:
    """A chat completion that was not streamed."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice]}


CHAT: dict[str, Any] = {"source": "openai_chat", "engines": ("core", "reference")}
MESSAGES: dict[str, Any] = {"source": "anthropic_messages"}
RESPONSES: dict[str, Any] = {"source": "openai_responses"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}


def _response(*events: Any) -> list[Any]:
    return [r.created(), *events, r.completed()]


def _response_text(index: int, *texts: str) -> list[Any]:
    item = r.message(id=f"msg_{index}")
    part = r.output_text("".join(texts))
    return [
        r.added(item, index),
        r.at("content_part.added", index, content_index=0, part=r.output_text("")),
        *(r.text_delta(text, index) for text in texts),
        r.at("content_part.done", index, content_index=0, part=part),
        r.done(r.message(part, id=f"msg_{index}"), index),
    ]


def _chat_sse(turn: list[Any]) -> bytes:
    return wire.sse(*turn, wire.DONE)


# "Hello <thinking>let me think</thinking>The answer is 42."
THINKING: list[Item] = [
    *text_block(0, "Hello "),
    *text_block(1, "let me think", kind="thinking", visible=False),
    *text_block(2, "The answer is 42."),
]

THINKING_FORMS = [
    *_forms(
        "chat",
        [
            [
                wire.text("Hello "),
                wire.delta(reasoning_content="let me think"),
                wire.text("The answer is 42."),
                wire.finish(),
            ]
        ],
        _chat_sse,
        **CHAT,
    ),
    *_forms(
        "messages",
        [
            m.streamed(
                *(m.start("text", 0, text=""), m.text("Hello ", 0), m.stop(0)),
                m.start("thinking", 1, thinking="", signature=""),
                m.delta("thinking_delta", 1, thinking="let me think"),
                m.delta("signature_delta", 1, signature="sig"),
                m.stop(1),
                *(m.start("text", 2, text=""), m.text("The answer is 42.", 2), m.stop(2)),
            )
        ],
        m.sse,
        **MESSAGES,
    ),
    *_bodies(
        "messages",
        [
            m.body(
                {"type": "text", "text": "Hello "},
                {"type": "thinking", "thinking": "let me think", "signature": "sig"},
                {"type": "text", "text": "The answer is 42."},
            )
        ],
        **MESSAGES,
    ),
    *_forms(
        "responses",
        [
            _response(
                *_response_text(0, "Hello "),
                r.added(REASONING, 1),
                r.at("reasoning_summary_part.added", 1, summary_index=0, part={"type": "summary_text", "text": ""}),
                r.at("reasoning_summary_text.delta", 1, summary_index=0, delta="let me think"),
                r.done({**REASONING, "summary": [{"type": "summary_text", "text": "let me think"}]}, 1),
                *_response_text(2, "The answer is 42."),
            )
        ],
        lambda turn: r.sse(*turn),
        **RESPONSES,
    ),
    *_bodies(
        "responses",
        [
            r.response(
                r.message(r.output_text("Hello ")),
                {**REASONING, "summary": [{"type": "summary_text", "text": "let me think"}]},
                r.message(r.output_text("The answer is 42."), id="msg_2"),
                status="completed",
            )
        ],
        **RESPONSES,
    ),
]


def tool_trace(*pieces: str) -> list[Item]:
    """The conversation with a tool, its input in these pieces."""
    return [
        *text_block(0, "Let me check."),
        *call_block(1, "search", "tool_123", {"query": "weather"}, *pieces),
        *result_block(2, "tool_123", "Results: ..."),
        *text_block(3, "Found it!"),
    ]


CHAT_CALL = {"id": "tool_123", "type": "function", "function": {"name": "search", "arguments": QUERY}}
MESSAGES_CALL = {"type": "tool_use", "id": "tool_123", "name": "search"}
RESPONSES_CALL = r.function_call(name="search", call_id="tool_123")

TOOL_FORMS = [
    *_forms(
        "chat",
        [
            [
                wire.text("Let me check."),
                wire.call("", index=0, id="tool_123", name="search"),
                *(wire.call(half, index=0) for half in HALVES),
                wire.finish("tool_calls"),
            ],
            [wire.text("Found it!"), wire.finish()],
        ],
        _chat_sse,
        **CHAT,
    ),
    *_forms(
        "messages",
        [
            m.streamed(
                *(m.start("text", 0, text=""), m.text("Let me check.", 0), m.stop(0)),
                m.start(kind="tool_use", index=1, id="tool_123", name="search", input={}),
                *(m.partial(half, 1) for half in ("", *HALVES)),
                m.stop(1),
            ),
            m.streamed(m.start("text", 0, text=""), m.text("Found it!", 0), m.stop(0)),
        ],
        m.sse,
        **MESSAGES,
    ),
    *_forms(
        "responses",
        [
            _response(
                *_response_text(0, "Let me check."),
                r.added(RESPONSES_CALL, 1),
                *(r.arguments_delta(half, 1) for half in HALVES),
                r.at("function_call_arguments.done", 1, arguments=QUERY),
                r.done({**RESPONSES_CALL, "arguments": QUERY}, 1),
            ),
            _response(*_response_text(0, "Found it!")),
        ],
        lambda turn: r.sse(*turn),
        **RESPONSES,
    ),
    *_bodies(
        "chat",
        [
            chat_body({"content": "Let me check.", "tool_calls": [CHAT_CALL]}, "tool_calls"),
            chat_body({"content": "Found it!"}),
        ],
        source="openai_chat",
    ),
    *_bodies(
        "messages",
        [
            m.body({"type": "text", "text": "Let me check."}, {**MESSAGES_CALL, "input": {"query": "weather"}}),
            m.body({"type": "text", "text": "Found it!"}),
        ],
        **MESSAGES,
    ),
    *_bodies(
        "responses",
        [
            r.response(
                r.message(r.output_text("Let me check.")), {**RESPONSES_CALL, "arguments": QUERY}, status="completed"
            ),
            r.response(r.message(r.output_text("Found it!")), status="completed"),
        ],
        **RESPONSES,
    ),
]


def per_engine(forms: list[Form]) -> list[tuple[str, Form]]:
    """Each form with each engine that reads it."""
    return [(engine, form) for form in forms for engine in form.engines]
