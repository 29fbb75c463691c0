"""The project's own streams of Messages and Responses: reasoning, text and a tool call, as many deltas as are asked for."""

from __future__ import annotations

import json
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

from own_streams import ARGUMENT_TOKENS, TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MODEL = "mill-large-2025-06-01"


def messages(deltas: int) -> list[bytes]:
    """A stream of Messages."""
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": _MODEL, "content": [], "stop_reason": None}
    usage = {"input_tokens": 210, "output_tokens": 1}
    blocks = [
        ({"type": "thinking", "thinking": "", "signature": ""}, "thinking", _tokens(deltas // 3)),
        ({"type": "text", "text": ""}, "text", _tokens(deltas - deltas // 3)),
        ({"type": "tool_use", "id": "toolu_1", "name": "open_gate", "input": {}}, "input_json", ARGUMENT_TOKENS),
    ]
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start | {"usage": usage}}]
    for index, (head, kind, tokens) in enumerate(blocks):
        events += _message_block(index, head, kind, tokens)
    stop = {"stop_reason": "tool_use", "stop_sequence": None}
    events += [{"type": "message_delta", "delta": stop, "usage": {"output_tokens": 640}}, {"type": "message_stop"}]
    return [*map(_event, events)]


def _message_block(index: int, head: dict[str, Any], kind: str, tokens: Iterable[str]) -> Iterator[dict[str, Any]]:
    field = "partial_json" if kind == "input_json" else kind
    yield {"type": "content_block_start", "index": index, "content_block": head}
    for token in tokens:
        yield {"type": "content_block_delta", "index": index, "delta": {"type": f"{kind}_delta", field: token}}
    yield {"type": "content_block_stop", "index": index}


def responses(deltas: int) -> list[bytes]:
    """A stream of Responses: one message, one call of a function."""
    tokens, arguments = list(_tokens(deltas)), "".join(ARGUMENT_TOKENS)
    text = {"type": "output_text", "text": "".join(tokens), "annotations": []}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
    call = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "open_gate", "arguments": arguments}
    response = {"id": "resp_1", "object": "response", "created_at": 1750000000, "model": _MODEL, "status": "completed"}
    response |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    of_text = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    of_call = {"item_id": "fc_1", "output_index": 1}
    events = [
        ("response.created", {"response": response | {"status": "in_progress", "output": []}}),
        ("response.output_item.added", {"output_index": 0, "item": message | {"status": "in_progress", "content": []}}),
        ("response.content_part.added", of_text | {"part": text | {"text": ""}}),
        *(("response.output_text.delta", of_text | {"delta": token, "logprobs": []}) for token in tokens),
        ("response.output_text.done", of_text | {"text": text["text"], "logprobs": []}),
        ("response.content_part.done", of_text | {"part": text}),
        ("response.output_item.done", {"output_index": 0, "item": message}),
        ("response.output_item.added", {"output_index": 1, "item": call | {"arguments": ""}}),
        *(("response.function_call_arguments.delta", of_call | {"delta": token}) for token in ARGUMENT_TOKENS),
        ("response.function_call_arguments.done", of_call | {"arguments": arguments, "name": "open_gate"}),
        ("response.output_item.done", {"output_index": 1, "item": call}),
        ("response.completed", {"response": response | {"output": [message, call]}}),
    ]
    return [_event({"type": kind, "sequence_number": at} | event) for at, (kind, event) in enumerate(events)]


def _tokens(count: int) -> Iterator[str]:
    return islice(cycle(TOKENS), count)


def _event(event: dict[str, Any]) -> bytes:
    data = json.dumps(event, separators=(",", ":"), ensure_ascii=False)
    return f"event: {event['type']}\ndata: {data}\n\n".encode()
