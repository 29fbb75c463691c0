"""The tables of OpenAI Responses: its events, items and parts, and which events belong to which of them."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.grammar.shapes import (
    ANYTHING,
    COUNT,
    FLAG,
    LIST,
    NUMBER,
    OBJECT,
    TEXT,
    ListOf,
    Shape,
    one_of,
)

__all__ = [
    "CALLS",
    "DETAILS",
    "EVENTS",
    "ITEMS",
    "LOGPROBS",
    "PARTS",
    "PARTS_OF",
    "RESPONSE",
    "STATUSES",
    "TEXTS",
    "USAGE",
    "TextFamily",
]

_FIELDS = {
    "annotation_index": COUNT,
    "arguments": TEXT,
    "code": TEXT,
    "command": TEXT,
    "command_index": COUNT,
    "content_index": COUNT,
    "delta": TEXT,
    "input": TEXT,
    "item": Shape({"type": TEXT}),
    "item_id": TEXT,
    "logprobs": LIST,
    "message": TEXT,
    "output": LIST,
    "output_index": COUNT,
    "part": Shape({"type": TEXT}),
    "partial_image_b64": TEXT,
    "partial_image_index": COUNT,
    "refusal": TEXT,
    "response": OBJECT,
    "summary_index": COUNT,
    "text": TEXT,
}


def _event(fields: str) -> Shape:
    return Shape({name: _FIELDS[name] for name in fields.split()})


_ITEM = "item_id output_index"
_CONTENT = f"{_ITEM} content_index"
_SUMMARY = f"{_ITEM} summary_index"
_COMMAND = "output_index command_index"

_STEPS = {
    "mcp_call": ("in_progress", "completed", "failed"),
    "mcp_list_tools": ("in_progress", "completed", "failed"),
    "web_search_call": ("in_progress", "searching", "completed"),
    "file_search_call": ("in_progress", "searching", "completed"),
    "code_interpreter_call": ("in_progress", "interpreting", "completed"),
    "image_generation_call": ("in_progress", "generating", "partial_image", "completed"),
}
_STAGES = {"in_progress": 0, "completed": 2, "failed": 2}

STATUSES = {
    f"response.{family}.{step}": (family, _STAGES.get(step, 1)) for family, steps in _STEPS.items() for step in steps
}
"""By event: the item that it is of, and the stage that it tells: 0 begun, 1 at work, 2 over."""

EVENTS = {
    "response.created": _event("response"),
    "response.queued": _event("response"),
    "response.in_progress": _event("response"),
    "response.completed": _event("response"),
    "response.incomplete": _event("response"),
    "response.failed": _event("response"),
    "error": Shape({"message": TEXT}, {"code": TEXT, "param": TEXT}),
    "response.output_item.added": _event("item output_index"),
    "response.output_item.done": _event("item output_index"),
    "response.content_part.added": _event(f"{_CONTENT} part"),
    "response.content_part.done": _event(f"{_CONTENT} part"),
    "response.output_text.annotation.added": Shape(
        _event(f"{_CONTENT} annotation_index").required, {"annotation": OBJECT}
    ),
    "response.output_text.delta": _event(f"{_CONTENT} delta"),
    "response.output_text.done": _event(f"{_CONTENT} text"),
    "response.refusal.delta": _event(f"{_CONTENT} delta"),
    "response.refusal.done": _event(f"{_CONTENT} refusal"),
    "response.reasoning_summary_part.added": _event(f"{_SUMMARY} part"),
    "response.reasoning_summary_part.done": _event(f"{_SUMMARY} part"),
    "response.reasoning_summary_text.delta": _event(f"{_SUMMARY} delta"),
    "response.reasoning_summary_text.done": _event(f"{_SUMMARY} text"),
    "response.reasoning_text.delta": _event(f"{_CONTENT} delta"),
    "response.reasoning_text.done": _event(f"{_CONTENT} text"),
    "response.function_call_arguments.delta": _event(f"{_ITEM} delta"),
    # Its name is asked for by R6.
    "response.function_call_arguments.done": _event(f"{_ITEM} arguments"),
    "response.custom_tool_call_input.delta": _event(f"{_ITEM} delta"),
    "response.custom_tool_call_input.done": _event(f"{_ITEM} input"),
    "response.mcp_call_arguments.delta": _event(f"{_ITEM} delta"),
    "response.mcp_call_arguments.done": _event(f"{_ITEM} arguments"),
    "response.code_interpreter_call_code.delta": _event(f"{_ITEM} delta"),
    "response.code_interpreter_call_code.done": _event(f"{_ITEM} code"),
    **{name: _event(_ITEM) for name in STATUSES},
    "response.image_generation_call.partial_image": _event(f"{_ITEM} partial_image_b64 partial_image_index"),
    "response.shell_call_command.added": _event(f"{_COMMAND} command"),
    "response.shell_call_command.delta": _event(f"{_COMMAND} delta"),
    "response.shell_call_command.done": _event(f"{_COMMAND} command"),
    "response.shell_call_output_content.delta": Shape({**_event(f"{_COMMAND} item_id").required, "delta": OBJECT}),
    "response.shell_call_output_content.done": _event(f"{_COMMAND} item_id output"),
    "response.audio.delta": _event("delta"),
    "response.audio.done": Shape(),
    "response.audio.transcript.delta": _event("delta"),
    "response.audio.transcript.done": Shape(),
}
LOGPROBS = {name: _event("logprobs") for name in ("response.output_text.delta", "response.output_text.done")}
"""Beside the fields that an event cannot be understood without, what these must have."""


@dataclass(frozen=True, slots=True)
class TextFamily:
    """Events that stream one text: deltas, and a done that has the whole.

    Attributes:
        rule: The rule of their order.
        item: The type of item that they are of.
        whole: The field of the done event, and of the item where there is no part, that has the whole text.
        index: The field that numbers the text within its item, if there are several.
        part: The type of part that has the text, if there are parts.
    """

    rule: str
    item: str
    whole: str
    index: str = ""
    part: str = ""


TEXTS = {
    "output_text": TextFamily("R4", "message", "text", "content_index", "output_text"),
    "refusal": TextFamily("R4", "message", "refusal", "content_index", "refusal"),
    "reasoning_text": TextFamily("R5", "reasoning", "text", "content_index", "reasoning_text"),
    "reasoning_summary_text": TextFamily("R5", "reasoning", "text", "summary_index", "summary_text"),
    "function_call_arguments": TextFamily("R6", "function_call", "arguments"),
    "custom_tool_call_input": TextFamily("R6", "custom_tool_call", "input"),
    "mcp_call_arguments": TextFamily("R8", "mcp_call", "arguments"),
    "code_interpreter_call_code": TextFamily("R8", "code_interpreter_call", "code"),
    "shell_call_command": TextFamily("R8", "shell_call", "command", "command_index"),
}
CALLS = {family.item: family.whole for family in TEXTS.values() if family.rule == "R6"}
"""By item: the field with the arguments of a call that the client runs."""

PARTS = {
    "output_text": Shape({"text": TEXT, "annotations": LIST}, {"logprobs": LIST}),
    "refusal": Shape({"refusal": TEXT}),
    "reasoning_text": Shape({"text": TEXT}),
    "summary_text": Shape({"text": TEXT}),
}

PARTS_OF = {
    ("message", "content_index"): ("output_text", "refusal"),
    ("reasoning", "content_index"): ("reasoning_text",),
    ("reasoning", "summary_index"): ("summary_text",),
}
"""By item, and the field that numbers them: the types of its parts."""

_STATUS = one_of("in_progress", "completed", "incomplete")
_CALL = {"id": TEXT, "call_id": TEXT}
ITEMS = {
    "message": Shape(
        {"id": TEXT, "role": one_of("assistant"), "status": _STATUS, "content": ListOf(Shape({"type": TEXT}))}
    ),
    "reasoning": Shape(
        {"id": TEXT, "summary": ListOf(Shape({"type": TEXT}))},
        {"content": ListOf(Shape({"type": TEXT})), "encrypted_content": TEXT},
    ),
    "function_call": Shape({**_CALL, "name": TEXT, "arguments": TEXT}, {"status": _STATUS}),
    "custom_tool_call": Shape({**_CALL, "name": TEXT, "input": TEXT}),
    "web_search_call": Shape({"id": TEXT, "status": TEXT}),
    "file_search_call": Shape({"id": TEXT, "status": TEXT, "queries": LIST}),
    "computer_call": Shape({**_CALL, "status": TEXT, "pending_safety_checks": LIST}),
    "code_interpreter_call": Shape({"id": TEXT, "status": TEXT, "container_id": TEXT}, {"code": TEXT, "outputs": LIST}),
    "image_generation_call": Shape({"id": TEXT, "status": TEXT}, {"result": TEXT}),
    "local_shell_call": Shape({**_CALL, "action": OBJECT, "status": TEXT}),
    "shell_call": Shape({**_CALL, "action": OBJECT, "status": TEXT}),
    "apply_patch_call": Shape({**_CALL, "operation": OBJECT, "status": TEXT}),
    "mcp_call": Shape({"id": TEXT, "name": TEXT, "arguments": TEXT, "server_label": TEXT}),
    "mcp_list_tools": Shape({"id": TEXT, "server_label": TEXT, "tools": LIST}),
    "mcp_approval_request": Shape({"id": TEXT, "name": TEXT, "arguments": TEXT, "server_label": TEXT}),
    "mcp_approval_response": Shape({"id": TEXT, "approval_request_id": TEXT, "approve": FLAG}),
    "tool_search_call": Shape({"id": TEXT, "arguments": ANYTHING, "execution": TEXT, "status": TEXT}),
    "tool_search_output": Shape({"id": TEXT, "tools": LIST, "execution": TEXT, "status": TEXT}),
    "compaction": Shape({"id": TEXT, "encrypted_content": TEXT}),
    "program": Shape({**_CALL, "code": TEXT, "fingerprint": TEXT}),
    "program_output": Shape({**_CALL, "result": ANYTHING, "status": TEXT}),
    "additional_tools": Shape({"id": TEXT, "role": TEXT, "tools": LIST}),
    "function_call_output": Shape({**_CALL, "output": ANYTHING, "status": TEXT}),
    "custom_tool_call_output": Shape({**_CALL, "output": ANYTHING}),
    "computer_call_output": Shape({**_CALL, "output": ANYTHING, "status": TEXT}),
    "local_shell_call_output": Shape({"id": TEXT, "output": ANYTHING}),
    "shell_call_output": Shape({**_CALL, "output": ANYTHING, "status": TEXT}),
    "apply_patch_call_output": Shape({**_CALL, "status": TEXT}),
}

RESPONSE = Shape(
    {
        "id": TEXT,
        "object": one_of("response"),
        "created_at": NUMBER,
        "model": TEXT,
        "output": ListOf(Shape({"type": TEXT})),
        "status": one_of("completed", "failed", "in_progress", "cancelled", "queued", "incomplete"),
    },
    {"usage": OBJECT, "incomplete_details": OBJECT, "error": OBJECT},
)
USAGE = Shape(
    {"input_tokens": COUNT, "output_tokens": COUNT, "total_tokens": COUNT},
    {"input_tokens_details": OBJECT, "output_tokens_details": OBJECT},
)

DETAILS = {
    "failed": Shape({"error": Shape({"code": TEXT, "message": TEXT})}),
    "incomplete": Shape({"incomplete_details": Shape({"reason": one_of("max_output_tokens", "content_filter")})}),
}
"""By status: what a response must say about it."""
