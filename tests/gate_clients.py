"""The tool calls that the official clients make of a stream: what a program behind them would run."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

# Without it LiteLLM looks for a list of prices on the network when it is imported.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import anthropic
import httpx
import httpx2
import litellm
import openai
from openai import OpenAI
from openai._streaming import Stream
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent

# It prints where its list of providers is when it does not know a model.
litellm.suppress_debug_info = True


class Seen(NamedTuple):
    """A tool call as a client has it: its arguments as canonical JSON, or the text of a custom tool."""

    name: str
    arguments: str


def canonical(arguments: Any) -> str:
    """One spelling for equal arguments."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:
            return arguments
    return json.dumps({} if arguments is None else arguments, sort_keys=True, separators=(",", ":"))


@cache
def _openai() -> OpenAI:
    return OpenAI(api_key="none")


def _events(data: bytes, model: Any) -> list[Any]:
    """What the OpenAI SDK gives until it ends or raises."""
    answer = httpx.Response(200, content=data, request=httpx.Request("POST", "https://localhost"))
    events: list[Any] = []
    with suppress(openai.APIError):
        events.extend(Stream(cast_to=model, response=answer, client=_openai()))
    return events


def _openai_chat(data: bytes) -> list[Seen]:
    calls: dict[tuple[int, int], list[str]] = {}
    for chunk in _events(data, ChatCompletionChunk):
        for choice in chunk.choices:
            assert choice.delta.function_call is None
            for part in choice.delta.tool_calls or ():
                tool = part.function or getattr(part, "custom", None) or {}
                tool = tool if isinstance(tool, dict) else tool.model_dump()
                call = calls.setdefault((choice.index, part.index), ["", ""])
                call[0] += tool.get("name") or ""
                call[1] += tool.get("arguments") or tool.get("input") or ""
    return [Seen(name, canonical(arguments)) for name, arguments in calls.values()]


def _litellm_chat(data: bytes) -> list[Seen]:
    chunks = [litellm.ModelResponseStream(**chunk.model_dump()) for chunk in _events(data, ChatCompletionChunk)]
    # It builds one answer: of several choices the first.
    own = [chunk for chunk in chunks if all(choice.index == 0 for choice in chunk.choices)]
    built = litellm.stream_chunk_builder(own) if own else None
    calls = [] if built is None else built.choices[0].message.tool_calls or []
    return [_litellm_seen(call) for call in calls]


def _litellm_seen(call: Any) -> Seen:
    if call.type == "custom":
        return Seen(call.custom.name, canonical(call.custom.input))
    return Seen(call.function.name, canonical(call.function.arguments))


class _Replay(httpx2.BaseTransport):
    data = b""

    def handle_request(self, request: Any) -> Any:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=self.data)


@cache
def _anthropic() -> tuple[_Replay, anthropic.Anthropic]:
    replay = _Replay()
    http = httpx2.Client(transport=replay)
    return replay, anthropic.Anthropic(api_key="none", base_url="http://test", http_client=http, max_retries=0)


def _anthropic_messages(data: bytes) -> list[Seen]:
    replay, client = _anthropic()
    replay.data = data
    asked: Any = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}
    calls: list[Seen] = []
    with client.beta.messages.stream(**asked) as stream:
        try:
            for event in stream:
                block = getattr(event, "content_block", None)
                if event.type == "content_block_stop" and block is not None and "tool_use" in block.type:
                    calls.append(Seen(block.name, canonical(block.input)))
        except anthropic.APIError:
            pass
    return calls


CALLS = ("function_call", "custom_tool_call")


def _openai_responses(data: bytes) -> list[Seen]:
    events = _events(data, ResponseStreamEvent)
    done = [event.item for event in events if event.type == "response.output_item.done"]
    calls = _items_seen(done)
    added = [event.item for event in events if event.type == "response.output_item.added"]
    assert [item.type for item in added][: len(done)] == [item.type for item in done]
    for event in events:
        if event.type in ("response.completed", "response.incomplete"):
            assert _items_seen(event.response.output) == calls
    return calls


def _items_seen(items: Any) -> list[Seen]:
    return [
        Seen(item.name, canonical(getattr(item, "arguments", None) or getattr(item, "input", "")))
        for item in items
        if item.type in CALLS
    ]


CLIENTS = {
    "openai_chat": {"openai": _openai_chat, "litellm": _litellm_chat},
    "anthropic_messages": {"anthropic": _anthropic_messages},
    "openai_responses": {"openai": _openai_responses},
}


def seen_by_clients(data: bytes, target: str) -> dict[str, list[Seen]]:
    """The calls that each client of a format has, by the client's name."""
    return {name: read(data) for name, read in CLIENTS[target].items()}


def seen(data: bytes, target: str) -> list[Seen]:
    """The calls that every client of a format has, which are the same; LiteLLM alone knows one choice only."""
    calls = seen_by_clients(data, target)
    first, *others = calls.values()
    for other in others:
        assert other == first[: len(other)], calls
    return first
