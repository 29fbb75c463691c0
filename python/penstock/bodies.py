"""A stream of the target's own events as the one answer that it amounts to: the body that is sent when nothing is streamed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.protocols import Target

__all__ = ["BodyFold"]

Json = dict[str, Any]


class _Growing(list[str]):
    """A text that comes in pieces. They are joined once, so that the cost is that of the text."""


def _joined(value: Any) -> Any:
    """The same data, with each growing text as one string."""
    match value:
        case _Growing():
            return "".join(value)
        case list():
            return [_joined(each) for each in cast("list[Any]", value)]
        case dict():
            return {name: _joined(each) for name, each in cast("Json", value).items()}
        case _:
            return value


class _MessagesFold:
    """Messages events to a message."""

    def __init__(self) -> None:
        self.body: Json = {}
        self._input = _Growing()

    def add(self, event: Json) -> None:
        match event["type"]:
            case "message_start":
                self.body = event["message"]
            case "content_block_start":
                self._start(event["content_block"])
            case "content_block_delta":
                self._grow(self.body["content"][-1], event["delta"])
            case "content_block_stop" if self._input:
                self.body["content"][-1]["input"] = json.loads(_joined(self._input))
            case "message_delta":
                self._end(event)
            case "error":
                self.body = event
            case _:
                pass

    def _start(self, block: Json) -> None:
        for name in ("text", "thinking"):
            if block["type"] == name:
                block[name] = _Growing([block[name]])
        self.body["content"].append(block)
        self._input = _Growing()

    def _grow(self, block: Json, delta: Json) -> None:
        match delta:
            case {"type": "input_json_delta", "partial_json": text}:
                self._input.append(text)
            case {"type": "text_delta", "text": text}:
                block["text"].append(text)
            case {"type": "thinking_delta", "thinking": text}:
                block["thinking"].append(text)
            case {"type": "citations_delta", "citation": citation}:
                block.setdefault("citations", []).append(citation)
            case _:
                # A signature, or a kind that was kept raw: each delta says anew what it says.
                block.update((name, value) for name, value in delta.items() if name != "type")

    def _end(self, event: Json) -> None:
        self.body.update(event["delta"])
        self.body["usage"].update(event["usage"])
        if "error" in event:
            self.body["error"] = event["error"]


class _ChatFold:
    """Chat chunks to a completion."""

    def __init__(self) -> None:
        self.body: Json = {}
        self._choices: dict[int, _ChatChoice] = {}

    def add(self, chunk: Json) -> None:
        if "error" in chunk:
            self.body = {"error": chunk["error"]}
            return
        if not self.body:
            envelope = {name: chunk[name] for name in ("id", "created", "model")}
            self.body = {**envelope, "object": "chat.completion", "choices": []}
        for said in chunk["choices"]:
            self._choice(said["index"]).add(said)
        if "usage" in chunk:
            self.body["usage"] = chunk["usage"]

    def _choice(self, index: int) -> _ChatChoice:
        if index not in self._choices:
            self._choices[index] = _ChatChoice(index)
            self.body["choices"] = [self._choices[known].whole for known in sorted(self._choices)]
        return self._choices[index]


class _ChatChoice:
    """One choice: its message grows."""

    def __init__(self, index: int) -> None:
        self.message: Json = {"role": "assistant", "content": None}
        self.whole: Json = {"index": index, "message": self.message, "finish_reason": None}
        self._reasoning: list[Json] = []

    def add(self, said: Json) -> None:
        for name in ("finish_reason", "error_info"):
            if said.get(name) is not None:
                self.whole[name] = said[name]
        if "logprobs" in said:
            _extend(self.whole.setdefault("logprobs", {}), said["logprobs"])
        for name, value in said["delta"].items():
            self._grow(name, value)

    def _grow(self, name: str, value: Any) -> None:
        match name:
            case "role":
                pass
            case "content":
                self._add_content(value)
            case "tool_calls":
                for part in value:
                    self._add_call(part)
            case "reasoning_details":
                for detail in value:
                    self._add_detail(detail)
            case "audio":
                self._add_audio(value)
            case _ if isinstance(value, list):
                self.message.setdefault(name, []).extend(value)
            case _:
                self.message.setdefault(name, _Growing()).append(value)
                if name == "reasoning_content":
                    self._add_reasoning(value)

    def _add_content(self, text: str) -> None:
        # The first chunk says an empty text beside the role; an answer without text has null.
        if text and self.message["content"] is None:
            self.message["content"] = _Growing()
        if text:
            self.message["content"].append(text)

    def _add_reasoning(self, text: str) -> None:
        # What comes behind a signature is another block's.
        if not self._reasoning or self._reasoning[-1].keys() != {"type", "text"}:
            self._reasoning.append({"type": "reasoning.text", "text": _Growing()})
        self._reasoning[-1]["text"].append(text)

    def _add_detail(self, detail: Json) -> None:
        """A signature or sealed reasoning. In a stream a signature follows its text; in a body it stands beside it."""
        detail = {name: value for name, value in detail.items() if name != "index"}
        self.message["reasoning_details"] = self._reasoning
        if "signature" in detail and self._reasoning and self._reasoning[-1].keys() == {"type", "text"}:
            self._reasoning[-1]["signature"] = detail["signature"]
        else:
            self._reasoning.append(detail)

    def _add_audio(self, more: Json) -> None:
        audio: Json = self.message.setdefault("audio", {})
        for name, value in more.items():
            if name in ("data", "transcript") and isinstance(value, str):
                audio.setdefault(name, _Growing()).append(value)
            else:
                audio[name] = value

    def _add_call(self, part: Json) -> None:
        calls: list[Json] = self.message.setdefault("tool_calls", [])
        kind, field = ("custom", "input") if "custom" in part else ("function", "arguments")
        if part["index"] == len(calls):
            tool = {**part[kind], field: _Growing([part[kind][field]])}
            calls.append({"id": part["id"], "type": part["type"], kind: tool})
        else:
            cast("_Growing", calls[part["index"]][kind][field]).append(part[kind][field])


def _extend(known: Json, more: Json) -> None:
    for name, values in more.items():
        if isinstance(values, list) and isinstance(known.get(name), list):
            known[name] += cast("list[Any]", values)
        elif values is not None or name not in known:
            known[name] = values


class _ResponsesFold:
    """Responses events to a response: the last event has all of it."""

    def __init__(self) -> None:
        self.body: Json = {}

    def add(self, event: Json) -> None:
        self.body = event.get("response", self.body)


_FOLDS: dict[Target, type[_MessagesFold | _ChatFold | _ResponsesFold]] = {
    "openai_chat": _ChatFold,
    "anthropic_messages": _MessagesFold,
    "openai_responses": _ResponsesFold,
}


class BodyFold:
    """The body that a stream of a format amounts to: an error body if the stream ends with an error.

    The events are those that penstock writes: whole, and in order.
    """

    def __init__(self, target: Target) -> None:
        self._fold = _FOLDS[target]()

    def add(self, events: Iterable[Json]) -> None:
        """Takes the next events."""
        for event in events:
            self._fold.add(event)

    @property
    def body(self) -> Json:
        """What the events so far amount to."""
        return _joined(self._fold.body)
