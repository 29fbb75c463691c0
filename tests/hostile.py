"""Hostile streams, one row each: the bytes, and what must come of them behind a gate that allows, and behind one that denies."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import messages as m
import responses as r
import wire as w

if TYPE_CHECKING:
    from penstock.protocols import Protocol

Outcome: TypeAlias = Literal["ends", "finishes"]

# No other text of a row has these in it, so that they can be looked for in what was written.
LS, RM = "list_zq", "delete_zq"
SAFE, EVIL = {"path": "/srv/zq_safe"}, {"path": "/zq_evil"}
SAFE_JSON, EVIL_JSON = json.dumps(SAFE), json.dumps(EVIL)

Call: TypeAlias = tuple[str, Any]
LS_SAFE: Call = (LS, SAFE)
RM_EVIL: Call = (RM, EVIL)


@dataclass(frozen=True)
class Row:
    """One hostile stream.

    Attributes:
        id: Its number in the list of threats, and what is odd about it.
        source: The wire format.
        data: The bytes.
        outcome: How it ends for the client.
        calls: What the client has if the judge allows everything: these calls and no others.
        before: Calls that were whole and judged before the stream turned out to be bad; they may have left by then.
        shown: The formats that have words for the calls; clients of the others have none, though the judge is asked all the same.
        asked: How often the judge is asked, where that is fixed.
        options: Of the gate.
    """

    id: str
    source: Protocol
    data: bytes
    outcome: Outcome
    calls: tuple[Call, ...] = ()
    before: tuple[Call, ...] = ()
    shown: tuple[str, ...] = ("openai_chat", "anthropic_messages", "openai_responses")
    asked: int | None = None
    options: dict[str, Any] = field(default_factory=dict[str, Any])


def chat(*chunks: Any) -> bytes:
    """A chat stream: its chunks, a finish, and the terminator."""
    return w.sse({**w.text("Hello."), "id": "1", "model": "m"}, *chunks, w.finish("tool_calls"), w.DONE)


def call(arguments: str = SAFE_JSON, name: str = LS, **fields: Any) -> Any:
    """A whole call in one chunk."""
    return w.call(arguments, **{"index": 0, "id": "call_1", **fields, "name": name})


def more(arguments: str, **fields: Any) -> Any:
    """More arguments of a call."""
    return w.call(arguments, **{"index": 0, **fields})


def tool_use(name: str = LS, index: int = 0, **fields: Any) -> Any:
    """The beginning of a call in Messages."""
    return m.start(
        fields.pop("kind", "tool_use"), index, **{"id": f"toolu_{index}", "input": {}, **fields, "name": name}
    )


def used(arguments: str = SAFE_JSON, name: str = LS, index: int = 0, **fields: Any) -> list[Any]:
    """A whole call in Messages."""
    return [tool_use(name, index, **fields), m.partial(arguments, index), m.stop(index)]


def message(*events: Any) -> bytes:
    """A Messages stream around these events."""
    return m.sse([m.opened(), *events, m.ending("tool_use"), m.END])


def item(arguments: str = SAFE_JSON, name: str = LS, call: int = 1, **fields: Any) -> Any:
    """A call of Responses as its item is at its end."""
    return r.function_call(arguments, call, **{"name": name, "status": "completed", **fields})


def streamed(arguments: str = SAFE_JSON, name: str = LS, call: int = 1, index: int = 0) -> list[Any]:
    """A whole call in Responses."""
    begun = {**item("", name, call), "status": "in_progress"}
    return [
        r.added(begun, index),
        r.at("function_call_arguments.delta", index, item_id=f"fc_{call}", delta=arguments),
        r.at("function_call_arguments.done", index, item_id=f"fc_{call}", arguments=arguments),
        r.done(item(arguments, name, call), index),
    ]


def response(*events: Any, output: tuple[Any, ...] = ()) -> bytes:
    """A Responses stream around these events; what its last event repeats has to be given."""
    return r.sse(r.created(), *events, r.completed(*output))
