"""The grammar of OpenAI chat: rules C1 to C13, and the shape of its chunks.

What is written is held to more than readers need: a role once, calls one after the other. Those are promises of penstock's own writer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.grammar.finding import Checker
from penstock.grammar.shapes import (
    COUNT,
    LIST,
    NUMBER,
    OBJECT,
    TEXT,
    Kind,
    ListOf,
    Shape,
    nullable,
    one_of,
)

__all__ = ["BodyChecker", "StreamChecker"]


FINISH_REASON = one_of("stop", "length", "tool_calls", "content_filter", "function_call")
ENVELOPE = {"id": TEXT, "created": NUMBER, "model": TEXT}
CHUNK = Shape(
    {**ENVELOPE, "object": one_of("chat.completion.chunk"), "choices": LIST},
    {"service_tier": TEXT, "system_fingerprint": TEXT},
)
FUNCTION_CALL = Shape(optional={"name": TEXT, "arguments": TEXT})
DELTA = Shape(
    optional={
        "role": one_of("assistant"),
        "content": TEXT,
        "refusal": TEXT,
        "tool_calls": ListOf(OBJECT),
        "function_call": FUNCTION_CALL,
    }
)
CHOICE = Shape({"index": COUNT, "delta": DELTA}, {"finish_reason": TEXT, "logprobs": OBJECT})
CALL_PART = Shape(
    {"index": COUNT},
    {
        "id": TEXT,
        "type": one_of("function", "custom"),
        "function": FUNCTION_CALL,
        "custom": Shape(optional={"name": TEXT, "input": TEXT}),
    },
)
USAGE = Shape(
    {"prompt_tokens": COUNT, "completion_tokens": COUNT, "total_tokens": COUNT},
    {"prompt_tokens_details": OBJECT, "completion_tokens_details": OBJECT},
)
ERROR = Shape({"message": TEXT}, {"type": TEXT, "param": TEXT})

FILLED = Kind("a string that is not empty", lambda value: isinstance(value, str) and value != "")
FUNCTION = Shape({"name": FILLED, "arguments": TEXT})
CUSTOM = Shape({"name": FILLED, "input": TEXT})
MESSAGE = Shape(
    {"role": one_of("assistant"), "content": nullable(TEXT)},
    {"refusal": TEXT, "tool_calls": ListOf(Shape({"id": FILLED, "type": one_of("function", "custom")}))},
)
BODY = Shape(
    {**ENVELOPE, "object": one_of("chat.completion"), "choices": LIST},
    {"service_tier": TEXT, "system_fingerprint": TEXT},
)
BODY_CHOICE = Shape({"index": COUNT, "message": MESSAGE, "finish_reason": FINISH_REASON}, {"logprobs": OBJECT})


@dataclass(slots=True)
class _Choice:
    """A choice that has begun: the number of its calls, and whether it has finished."""

    calls: int = 0
    has_function_call: bool = False
    is_finished: bool = False


class StreamChecker(Checker):
    """Checks one stream of chat chunks."""

    rule_of_the_end = "C12"

    def __init__(self) -> None:
        super().__init__()
        self._id: str | None = None
        self._choices: dict[int, _Choice] = {}
        self._has_usage = False
        self._is_framed = False

    def check_name(self, name: str | None, data: dict[str, Any]) -> None:  # noqa: ARG002 (chunks have no type)
        """Checks that a chunk has no SSE name."""
        self._is_framed = name is not None
        if name:
            self.found("T1", "a chat chunk has an event name")

    def take(self, data: dict[str, Any]) -> None:
        """Takes one chunk."""
        if data.get("error") is not None:
            self._error(data["error"])
            return
        self.fits(data, CHUNK, "chunk", "C1")
        self._envelope(data)
        choices: list[Any] = data["choices"] if LIST.holds(data.get("choices")) else []
        seen: set[int] = set()
        for choice in choices:
            if self.fits(choice, CHOICE, "choice", "C3"):
                self._choice(choice, seen)
        if data.get("usage") is not None:
            self._usage(data["usage"], is_alone=not choices)

    def take_done(self) -> None:
        """Takes `[DONE]`."""
        match self.ended:
            case "error":
                self.found("C13", "[DONE] comes after an error")
            case "finished":
                self.found("C12", "[DONE] comes twice")
            case "truncated":
                self.ended = "finished"
                if not self._is_all_finished():
                    self.found("C10", "the stream ends before every choice has finished")

    def take_end(self) -> None:
        """Takes the end of the stream. Chunks as dicts have no `[DONE]`: there it is the finish of all choices."""
        if not self._is_framed and self.ended == "truncated" and self._is_all_finished():
            self.ended = "finished"
        super().take_end()

    def _is_all_finished(self) -> bool:
        return bool(self._choices) and all(choice.is_finished for choice in self._choices.values())

    def _error(self, error: Any) -> None:
        self.ended, self.rule_of_the_end = "error", "C13"
        self.fits(error, ERROR, "error", "C13")

    def _envelope(self, chunk: dict[str, Any]) -> None:
        given = chunk.get("id")
        if self._id is None:
            self._id = given
        elif given is not None and given != self._id:
            self.found("C2", "the id of a chunk is not that of the first")

    def _choice(self, wire: dict[str, Any], seen: set[int]) -> None:
        index, delta, reason = wire["index"], wire["delta"], wire.get("finish_reason")
        if index in seen:
            self.found("C3", "a choice comes twice in one chunk")
        seen.add(index)
        self._role(delta, is_first=index not in self._choices)
        choice = self._choices.setdefault(index, _Choice())
        if choice.is_finished:
            self.found("C9", "a choice goes on after its finish")
            return
        if delta.get("function_call") is not None:
            choice.has_function_call = True
        for part in delta.get("tool_calls") or ():
            if self.fits(part, CALL_PART, "tool_call", "C5"):
                self._call_part(choice, part)
        if reason is not None:
            self._finish(choice, reason)

    def _role(self, delta: dict[str, Any], *, is_first: bool) -> None:
        if is_first and delta.get("role") is None:
            self.found("C4", "the first delta of a choice has no role")
        if not is_first and delta.get("role") is not None:
            self.found("C4", "a delta that is not the first of its choice has a role")

    def _call_part(self, choice: _Choice, part: dict[str, Any]) -> None:
        index: int = part["index"]
        body: dict[str, Any] = part.get("function") or part.get("custom") or {}
        is_start = index >= choice.calls
        if is_start and index > choice.calls:
            self.found("C5", f"a call has the index {index} and not {choice.calls}")
        if is_start:
            choice.calls = index + 1
            if not (part.get("id") and part.get("type") and body.get("name")):
                self.found("C5", "a call starts without an id, a type or a name")
            return
        if any(value is not None for value in (part.get("id"), part.get("type"), body.get("name"))):
            self.found("C6", "a call has an id, a type or a name after its start")
        if index != choice.calls - 1:
            self.found("C7", "a call goes on after a later one has started")

    def _finish(self, choice: _Choice, reason: str) -> None:
        choice.is_finished = True
        if not self.fits(reason, FINISH_REASON, "finish_reason", "C8"):
            return
        if reason == "tool_calls" and not choice.calls:
            self.found("C8", "finish_reason is tool_calls without a call")
        if reason == "function_call" and not choice.has_function_call:
            self.found("C8", "finish_reason is function_call without one")

    def _usage(self, usage: Any, *, is_alone: bool) -> None:
        if not is_alone or not self._is_all_finished():
            self.found("C11", "usage is not in a chunk of its own after every finish")
        if self._has_usage:
            self.found("C11", "usage comes twice")
        self._has_usage = True
        check_usage(self, usage)


class BodyChecker(Checker):
    """Checks one completion that was not streamed."""

    rule_of_the_end = "C12"

    def check_name(self, name: str | None, data: dict[str, Any]) -> None:
        """A body has no name."""

    def take(self, data: dict[str, Any]) -> None:
        """Takes the body."""
        if data.get("error") is not None:
            self.ended = "error"
            self.fits(data["error"], ERROR, "error", "C13")
            return
        self.ended = "finished"
        if not self.fits(data, BODY, "body", "C1"):
            return
        if not data["choices"]:
            self.found("C10", "a body has no choice")
        for choice in data["choices"]:
            if self.fits(choice, BODY_CHOICE, "choice", "C3"):
                self._choice(choice)
        if data.get("usage") is not None:
            check_usage(self, data["usage"])

    def _choice(self, choice: dict[str, Any]) -> None:
        calls = choice["message"].get("tool_calls") or ()
        for call in calls:
            kind = call["type"]
            self.fits(call.get(kind), FUNCTION if kind == "function" else CUSTOM, f"tool_call.{kind}", "C5")
        if choice["finish_reason"] == "tool_calls" and not calls:
            self.found("C8", "finish_reason is tool_calls without a call")


def check_usage(checker: Checker, usage: Any) -> None:
    """Checks the counts of a usage."""
    if checker.fits(usage, USAGE, "usage", "C11"):
        checker.check_cached(usage, "prompt_tokens", "prompt_tokens_details")
