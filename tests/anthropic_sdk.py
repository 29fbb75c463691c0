"""What Anthropic's own SDK makes of a stream, and penstock's blocks in the same shape."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

from messages import sse

if TYPE_CHECKING:
    from penstock.blocks import StreamBlock
    from recorded import Recording

CALLS = {"function": "tool_use", "server": "server_tool_use"}


def as_sse(recording: Recording) -> bytes:
    """The recording as the SDK wants it: each event with its name and its blank line, and no terminator."""
    if not recording.is_sse:
        return sse(map(json.loads, recording.lines))
    return recording.data.replace(b"data: [DONE]", b"") + b"\n\n"


@functools.cache
def read(data: bytes) -> tuple[list[Any], list[Any], Any]:
    """The raw events, the events of the SDK's helper, and the message that the SDK accumulates from them."""
    import anthropic  # noqa: PLC0415 (it takes a second to import)
    import httpx2  # noqa: PLC0415

    def respond(_: Any) -> Any:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=data)

    http = httpx2.Client(transport=httpx2.MockTransport(respond))
    asked: Any = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}
    with anthropic.Anthropic(api_key="none", base_url="http://test", http_client=http) as client:
        with client.beta.messages.create(**asked, stream=True) as raw:
            events = list(raw)
        with client.beta.messages.stream(**asked) as helped:
            helper_events = list(helped)
            message = helped.current_message_snapshot
    return events, helper_events, message


def content_of(message: Any) -> list[Any]:
    """The content of the SDK's message as plain data. A field that is null says nothing."""
    return without_nulls(message.to_dict()["content"])


def content_shown(blocks: list[StreamBlock]) -> list[Any]:
    """Blocks in the shape of a message's content."""
    return [without_nulls(_shown(block)) for block in blocks]


def _shown(block: Any) -> dict[str, Any]:
    extras = {name: values[-1] for name, values in block.extras.items() if name != "citations"}
    match block.type:
        case "content":
            citations = block.extras.get("citations")
            return {"type": "text", "text": block.content, "citations": citations} | extras
        case "thinking" if block.data:
            return {"type": "redacted_thinking", "data": block.data} | extras
        case "thinking":
            return {"type": "thinking", "thinking": block.content, "signature": block.signature} | extras
        case "tool_call":
            return _call_shown(block) | extras
        case "tool_result":
            return {"type": block.kind, "tool_use_id": block.tool_call_id, "content": block.raw[0]} | extras
        case _:
            first, *deltas = block.raw
            return functools.reduce(lambda whole, each: whole | each | {"type": block.kind}, deltas, first)


def _call_shown(block: Any) -> dict[str, Any]:
    arguments = block.arguments or "{}"
    arguments = json.loads(arguments) if block.arguments_complete else arguments
    return {"type": CALLS[block.kind], "id": block.id, "name": block.name, "input": arguments}


NOTHING = (("citations", []), ("signature", ""))


def without_nulls(value: Any) -> Any:
    """Plain data without fields that say nothing: null, no citations, no signature."""
    if isinstance(value, dict):
        given = {name: each for name, each in value.items() if each is not None and (name, each) not in NOTHING}
        return {name: without_nulls(each) for name, each in given.items()}
    if isinstance(value, list):
        return [without_nulls(each) for each in value]
    return value
