"""The events of a stream as objects: dicts, or what the vendors' SDKs and LiteLLM make of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from penstock import _core
from penstock.extras import imported

if TYPE_CHECKING:
    from penstock.protocols import Target

__all__ = ["EventReader", "Shape"]

Shape: TypeAlias = Literal["dict", "sdk", "litellm"]
Make: TypeAlias = Callable[[dict[str, Any]], Any]


class EventReader:
    """Reads back what was written, event by event. The bytes stay the source of truth: an object says what they say."""

    def __init__(self, target: Target, shape: Shape) -> None:
        if shape not in get_args(Shape):
            msg = f"shape must be {' or '.join(map(repr, get_args(Shape)))}, not {shape!r}"
            raise ValueError(msg)
        if shape == "litellm" and target != "openai_chat":
            msg = f'LiteLLM has objects for "openai_chat" only, not for {target!r}'
            raise ValueError(msg)
        self._framer = _core.SseFramer()
        self._make: Make = dict if shape == "dict" else _makers(target, shape)
        # The SDKs keep signs of life to themselves.
        self._shows_pings = shape == "dict"

    def read(self, out: bytes) -> list[Any]:
        """The events of what was written. A terminator and a comment are none."""
        found = [json.loads(event.data) for event in self._framer.feed(out) if event.data != "[DONE]"]
        return [self._make(event) for event in found if self._shows_pings or event.get("type") != "ping"]


def _makers(target: Target, shape: Shape) -> Make:
    match target:
        case "openai_chat":
            model = _chat_chunk() if shape == "sdk" else _litellm_chunk()
            return _ChatChunks(model)
        case "anthropic_messages":
            return _by_type(_messages_events())
        case "openai_responses":
            return _by_type(_responses_events())


class _ChatChunks:
    """Chunks as objects. An error has no class of its own: it is a chunk without choices, in the envelope of the chunks before it."""

    def __init__(self, model: Make) -> None:
        self._model = model
        self._envelope: dict[str, Any] = {"id": "", "created": 0, "model": "", "object": "chat.completion.chunk"}

    def __call__(self, chunk: dict[str, Any]) -> Any:
        if "error" in chunk:
            return self._model({**self._envelope, "choices": [], **chunk})
        self._envelope = {name: chunk[name] for name in self._envelope}
        return self._model(chunk)


def _by_type(classes: dict[str, Any]) -> Make:
    def make(event: dict[str, Any]) -> Any:
        return classes[event["type"]].construct(**event)

    return make


def _own(package: str, module: str) -> Any:
    """A module of the package whose objects were asked for."""
    lacking = f'these objects are {package}\'s own, and {package} is not installed; shape="dict" needs nothing'
    return imported(f"{package}.{module}", lacking)


def _chat_chunk() -> Make:
    model = _own("openai", "types.chat").ChatCompletionChunk
    return lambda chunk: model.construct(**chunk)


def _litellm_chunk() -> Make:
    model = _own("litellm", "types.utils").ModelResponseStream
    return lambda chunk: model(**chunk)


@cache
def _messages_events() -> dict[str, Any]:
    types = _own("anthropic", "types")
    return {**_members(types.RawMessageStreamEvent), "error": types.ErrorResponse}


@cache
def _responses_events() -> dict[str, Any]:
    return _members(_own("openai", "types.responses").ResponseStreamEvent)


def _members(union: Any) -> dict[str, Any]:
    """The classes of an annotated union, by the `type` that each has."""
    classes = get_args(get_args(union)[0])
    return {get_args(each.model_fields["type"].annotation)[0]: each for each in classes}
