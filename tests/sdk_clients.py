"""The official SDKs as clients: what each shows of an answer, streamed or not."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import anthropic
import openai
from openai.lib.streaming.chat import ChatCompletionStreamState

ERRORS = (openai.APIError, anthropic.APIError)


@dataclass(frozen=True)
class Seen:
    """What a client was shown."""

    text: str
    calls: list[tuple[str, Any]]
    ids: list[str]


def request(protocol: str, model: str = "m", **fields: Any) -> dict[str, Any]:
    """A request, as the SDK takes it."""
    asked = [{"role": "user", "content": "Clean up."}]
    match protocol:
        case "openai_chat":
            return {"model": model, "messages": asked, **fields}
        case "anthropic_messages":
            return {"model": model, "messages": asked, "max_tokens": 64, **fields}
        case _:
            return {"model": model, "input": "Clean up.", **fields}


def ask(client: Any, protocol: str, *, streamed: bool, model: str = "m") -> Seen:
    """Asks through a client that cannot await."""
    asked = request(protocol, model)
    match protocol, streamed:
        case "openai_chat", False:
            return _chat(client.chat.completions.create(**asked))
        case "openai_chat", True:
            state = ChatCompletionStreamState()
            for chunk in client.chat.completions.create(**asked, stream=True):
                state.handle_chunk(chunk)
            return _chat(state.current_completion_snapshot)
        case "anthropic_messages", False:
            return _message(client.messages.create(**asked))
        case "anthropic_messages", True:
            with client.messages.stream(**asked) as stream:
                return _message(stream.get_final_message())
        case _, False:
            return _response(client.responses.create(**asked))
        case _:
            return _events(list(client.responses.create(**asked, stream=True)))


async def ask_async(client: Any, protocol: str, *, streamed: bool, model: str = "m") -> Seen:
    """Asks through a client that awaits."""
    asked = request(protocol, model)
    match protocol, streamed:
        case "openai_chat", False:
            return _chat(await client.chat.completions.create(**asked))
        case "openai_chat", True:
            state = ChatCompletionStreamState()
            async for chunk in await client.chat.completions.create(**asked, stream=True):
                state.handle_chunk(chunk)
            return _chat(state.current_completion_snapshot)
        case "anthropic_messages", False:
            return _message(await client.messages.create(**asked))
        case "anthropic_messages", True:
            async with client.messages.stream(**asked) as stream:
                return _message(await stream.get_final_message())
        case _, False:
            return _response(await client.responses.create(**asked))
        case _:
            stream = await client.responses.create(**asked, stream=True)
            return _events([event async for event in stream])


def _chat(completion: Any) -> Seen:
    message = completion.choices[0].message
    calls = message.tool_calls or []
    named = [(call.function.name, json.loads(call.function.arguments)) for call in calls]
    return Seen(message.content or "", named, [call.id for call in calls])


def _message(message: Any) -> Seen:
    calls = [block for block in message.content if block.type == "tool_use"]
    text = "".join(block.text for block in message.content if block.type == "text")
    return Seen(text, [(call.name, call.input) for call in calls], [call.id for call in calls])


def _response(response: Any) -> Seen:
    if response.status == "failed":
        raise openai.APIError(response.error.message, request=None, body=None)  # type: ignore[arg-type]
    calls = [item for item in response.output if item.type == "function_call"]
    named = [(call.name, json.loads(call.arguments)) for call in calls]
    return Seen(response.output_text, named, [call.call_id for call in calls])


def _events(events: list[Any]) -> Seen:
    """The calls of all the places that they stand in: each must say the same."""
    seen = _response(
        next(event.response for event in events if event.type in {"response.completed", "response.failed"})
    )
    items = [event.item for event in events if event.type == "response.output_item.done"]
    assert [(item.name, json.loads(item.arguments)) for item in items if item.type == "function_call"] == seen.calls
    assert {event.output_index for event in events if event.type.startswith("response.function_call")} == {
        number for number, item in enumerate(items) if item.type == "function_call"
    }
    return seen
