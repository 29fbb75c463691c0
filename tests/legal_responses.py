"""Legal streams of OpenAI Responses, each with something that the others do not have."""

from __future__ import annotations

from typing import Any

from responses import Event, Item, added, at, done, event, function_call, message, output_text, response


def numbered(*events: Event) -> list[Event]:
    """The events with their sequence numbers."""
    return [{**each, "sequence_number": number} for number, each in enumerate(events)]


def begun(*, queued: bool = False) -> list[Event]:
    """The events before any item."""
    names = ("created", "queued", "in_progress") if queued else ("created", "in_progress")
    return [event(name, response=response(status="queued" if queued else "in_progress")) for name in names]


def ended(status: str, items: list[Item], **fields: Any) -> Event:
    """The last event."""
    usage = {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13, "input_tokens_details": {"cached_tokens": 3}}
    return event(status, response=response(*items, status=status, usage=usage, **fields))


def stream(*items: tuple[list[Event], Item], status: str = "completed", **fields: Any) -> list[Event]:
    """A whole stream of items, one after the other."""
    events = [each for streamed, _ in items for each in streamed]
    return numbered(*begun(), *events, ended(status, [item for _, item in items], **fields))


def text_part(text: str, part: int, item: str, index: int = 0, notes: list[Any] | None = None) -> list[Event]:
    """A part of a message, in two deltas."""
    place = {"item_id": item, "content_index": part}
    whole = output_text(text, annotations=notes or [])
    annotated = [
        at("output_text.annotation.added", index, **place, annotation_index=number, annotation=note)
        for number, note in enumerate(notes or [])
    ]
    return [
        at("content_part.added", index, **place, part=output_text("", annotations=[])),
        *(at("output_text.delta", index, **place, delta=half, logprobs=[]) for half in (text[:3], text[3:])),
        *annotated,
        at("output_text.done", index, **place, text=text, logprobs=[]),
        at("content_part.done", index, **place, part=whole),
    ]


def words(index: int = 0, *texts: str, notes: list[Any] | None = None) -> tuple[list[Event], Item]:
    """A message."""
    item, texts = f"msg_{index}", texts or ("High tide",)
    parts = [each for number, text in enumerate(texts) for each in text_part(text, number, item, index, notes)]
    whole = message(*(output_text(text, annotations=notes or []) for text in texts), id=item, status="completed")
    return [added(message(id=item, status="in_progress"), index), *parts, done(whole, index)], whole


def refusal(index: int = 0) -> tuple[list[Event], Item]:
    """A message that is a refusal."""
    place = {"item_id": "msg_0", "content_index": 0}
    part = {"type": "refusal", "refusal": "I will not."}
    whole = message(part, id="msg_0", status="completed")
    return [
        added(message(id="msg_0", status="in_progress"), index),
        at("content_part.added", index, **place, part={"type": "refusal", "refusal": ""}),
        *(at("refusal.delta", index, **place, delta=half) for half in ("I will", " not.")),
        at("refusal.done", index, **place, refusal="I will not."),
        at("content_part.done", index, **place, part=part),
        done(whole, index),
    ], whole


def thought(sort: str, texts: tuple[str, ...], index: int = 0, **fields: Any) -> tuple[list[Event], Item]:
    """A reasoning item with summaries, or with texts."""
    name, stem, number = {
        "summary_text": ("reasoning_summary_text", "reasoning_summary_part", "summary_index"),
        "reasoning_text": ("reasoning_text", "content_part", "content_index"),
    }[sort]
    events: list[Event] = []
    for position, text in enumerate(texts):
        place = {"item_id": "rs_0", number: position}
        events += [
            at(f"{stem}.added", index, **place, part={"type": sort, "text": ""}),
            *(at(f"{name}.delta", index, **place, delta=half) for half in (text[:3], text[3:])),
            at(f"{name}.done", index, **place, text=text),
            at(f"{stem}.done", index, **place, part={"type": sort, "text": text}),
        ]
    parts = [{"type": sort, "text": text} for text in texts]
    empty: Item = {"type": "reasoning", "id": "rs_0", "summary": []}
    whole = empty | ({"summary": parts} if sort == "summary_text" else {"content": parts}) | fields
    return [added(empty, index), *events, done(whole, index)], whole


def call(index: int = 0, number: int = 1) -> tuple[list[Event], Item]:
    """A function call in two deltas."""
    whole, place = function_call('{"port":"Brest"}', number, status="completed"), {"item_id": f"fc_{number}"}
    return [
        added(function_call("", number, status="in_progress"), index),
        *(at("function_call_arguments.delta", index, **place, delta=half) for half in ('{"port":', '"Brest"}')),
        at("function_call_arguments.done", index, **place, arguments='{"port":"Brest"}', name="ls"),
        done(whole, index),
    ], whole


def custom(index: int = 0) -> tuple[list[Event], Item]:
    """A call of a custom tool."""
    empty: Item = {"type": "custom_tool_call", "id": "ctc_0", "call_id": "call_0", "name": "sql", "input": ""}
    whole, place = empty | {"input": "select 1"}, {"item_id": "ctc_0"}
    return [
        added(empty, index),
        *(at("custom_tool_call_input.delta", index, **place, delta=half) for half in ("select", " 1")),
        at("custom_tool_call_input.done", index, **place, input="select 1"),
        done(whole, index),
    ], whole


def hosted(kind: str, *steps: Event, index: int = 0, **fields: Any) -> tuple[list[Event], Item]:
    """An item of a tool that the server runs. A step without a type is one that the tool tells."""
    item: Item = {"type": kind, "id": "ht_0", "status": "in_progress", **fields}
    whole = item | {"status": "completed"}
    events = [{**step, "item_id": "ht_0", "output_index": index} for step in steps]
    return [added(item, index), *events, done(whole, index)], whole


def told(kind: str, *steps: str) -> list[Event]:
    """What a hosted tool tells."""
    return [event(f"{kind}.{step}") for step in steps]


CODE = [
    event("code_interpreter_call.in_progress"),
    event("code_interpreter_call_code.delta", delta="1 "),
    event("code_interpreter_call_code.delta", delta="+ 1"),
    event("code_interpreter_call_code.done", code="1 + 1"),
    *told("code_interpreter_call", "interpreting", "completed"),
]
MCP = [
    event("mcp_call.in_progress"),
    event("mcp_call_arguments.delta", delta="{}"),
    event("mcp_call_arguments.done", arguments="{}"),
    event("mcp_call.completed"),
]
IMAGE = [
    *told("image_generation_call", "in_progress", "generating"),
    event("image_generation_call.partial_image", partial_image_b64="AA==", partial_image_index=0),
    event("image_generation_call.completed"),
]
SHELL = [
    event("shell_call_command.added", command_index=0, command=""),
    event("shell_call_command.delta", command_index=0, delta="ls"),
    event("shell_call_command.done", command_index=0, command="ls"),
]
CODE_CALL = {"container_id": "c", "code": "1 + 1"}
MCP_CALL = {"name": "tide", "arguments": "{}", "server_label": "sea"}
SHELL_CALL = {"call_id": "call_0", "action": {"commands": ["ls"]}}
NOTES = [{"type": "url_citation", "url": "https://tide.test", "title": "t", "start_index": 0, "end_index": 2}] * 2
CUT = message(output_text("High tide", annotations=[]), id="msg_0", status="incomplete")
FAILED = {"code": "server_error", "message": "later"}


def interleaved() -> list[Event]:
    """Two calls that take turns."""
    (first, one), (second, two) = call(0, 1), call(1, 2)
    turns = [each for pair in zip(first, second, strict=True) for each in pair]
    return numbered(*begun(), *turns, ended("completed", [one, two]))


STREAMS: dict[str, list[Event]] = {
    "text": stream(words()),
    "nothing": stream(),
    "two_parts": stream(words(0, "High tide", "at six")),
    "queued": numbered(*begun(queued=True), ended("completed", [])),
    "refusal": stream(refusal()),
    "summaries": stream(thought("summary_text", ("When is it?", "At six.")), words(1)),
    "raw_reasoning": stream(thought("reasoning_text", ("When is it?",)), words(1)),
    "encrypted": stream(thought("summary_text", (), encrypted_content="c2VhbGVk"), words(1)),
    "call": stream(words(), call(1)),
    "parallel_calls": stream(call(0, 1), call(1, 2)),
    "interleaved_calls": interleaved(),
    "custom_tool": stream(custom()),
    "web_search": stream(
        hosted("web_search_call", *told("web_search_call", "in_progress", "searching", "completed")),
        words(1, notes=NOTES),
    ),
    "code_interpreter": stream(hosted("code_interpreter_call", *CODE, **CODE_CALL)),
    "mcp": stream(hosted("mcp_call", *MCP, **MCP_CALL)),
    "image": stream(hosted("image_generation_call", *IMAGE, result="AA==")),
    "shell": stream(hosted("shell_call", *SHELL, **SHELL_CALL)),
    "incomplete": stream(
        ([*words()[0][:-1], done(CUT)], CUT), status="incomplete", incomplete_details={"reason": "max_output_tokens"}
    ),
    "unknown": stream(hosted("hologram", event("hologram.lit")), words(1)),
    "failed": numbered(*begun(), *words()[0][:3], ended("failed", [], error=FAILED)),
    "error": numbered(*begun(), *words()[0][:3], {"type": "error", "code": None, "message": "later", "param": None}),
    "error_first": numbered({"type": "error", "code": "server_error", "message": "later", "param": None}),
}

ERRORS = frozenset({"failed", "error", "error_first"})
