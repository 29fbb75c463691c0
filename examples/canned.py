"""What a model says in the examples, where there is no key and no network: a text, and two calls, one of which nobody should make."""

from __future__ import annotations

import json
from typing import Any

from penstock import collect_sync

CALLS = {"list_files": {"path": "/srv"}, "bash": {"command": "rm -rf /srv"}}


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def _call(index: int, name: str) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(CALLS[name])}
    return {"index": index, "id": f"call_{index}", "type": "function", "function": function}


CHUNKS = [
    _chunk({"role": "assistant", "content": "Let me clean up."}),
    *(_chunk({"tool_calls": [_call(index, name)]}) for index, name in enumerate(CALLS)),
    _chunk({}, "tool_calls"),
]
CHAT = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in CHUNKS) + b"data: [DONE]\n\n"
MESSAGE = json.dumps(collect_sync(CHUNKS, source="openai_chat", target="anthropic_messages")).encode()

if __name__ == "__main__":
    print(*(f"{name}({arguments})" for name, arguments in CALLS.items()))
