"""Events of OpenAI Responses, written as briefly as a test wants them, and what the engine makes of them in every form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import feeding
from conftest import load
from splits import SPLITS
from wire import frame

if TYPE_CHECKING:
    from feeding import Outcome

Event = dict[str, Any]
Item = dict[str, Any]

CORE = load("core")


def event(name: str, /, **fields: Any) -> Event:
    """An event of a type under `response.`."""
    return {"type": f"response.{name}", **fields}


def response(*output: Item, **fields: Any) -> dict[str, Any]:
    """A response, or a whole body."""
    return {"id": "resp_1", "object": "response", "created_at": 7, "model": "m", "output": list(output), **fields}


def created() -> Event:
    """The first event."""
    return event("created", response=response(status="in_progress"))


def completed(*output: Item, **fields: Any) -> Event:
    """The last event, with the items as they are repeated in it."""
    return event("completed", response=response(*output, status="completed", **fields))


def message(*content: Item, **fields: Any) -> Item:
    """A message item."""
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": list(content), **fields}


def output_text(text: str, **fields: Any) -> Item:
    """A part with text."""
    return {"type": "output_text", "text": text, **fields}


def function_call(arguments: str = "", call: int = 1, **fields: Any) -> Item:
    """A function call item."""
    fields = {"name": "ls", "call_id": f"call_{call}", **fields}
    return {"type": "function_call", "id": f"fc_{call}", "arguments": arguments, **fields}


def added(item: Item, index: int = 0) -> Event:
    """An item begins."""
    return event("output_item.added", output_index=index, item=item)


def done(item: Item, index: int = 0) -> Event:
    """An item is whole."""
    return event("output_item.done", output_index=index, item=item)


def at(name: str, index: int = 0, /, **fields: Any) -> Event:
    """An event of an item."""
    return event(name, output_index=index, **fields)


def text_delta(delta: str, index: int = 0, part: int = 0, **fields: Any) -> Event:
    """More text."""
    return at("output_text.delta", index, content_index=part, delta=delta, **fields)


def arguments_delta(delta: str, index: int = 0) -> Event:
    """More arguments of a function call."""
    return at("function_call_arguments.delta", index, delta=delta)


def compact(value: Any) -> str:
    """JSON without spaces, as the engine spells what it serialises itself."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def sse(*events: Event) -> bytes:
    """Events as the vendor frames them."""
    return b"".join(frame(compact(each), each.get("type", "")) for each in events)


def forms(events: tuple[Event, ...]) -> dict[str, list[Any]]:
    """The same events as bytes in several splits, as dicts and as JSON text."""
    reads = {f"bytes-{split}": split(sse(*events)) for split in SPLITS}
    return {**reads, "dicts": list(events), "json": list(map(compact, events))}


def read(*events: Event, **options: Any) -> Outcome:
    """What a stream gives, which is the same in every form."""
    options = {"source": "openai_responses", **options}
    outcomes = {name: feeding.outcome(CORE, items, **options) for name, items in forms(events).items()}
    first = outcomes["dicts"]
    for name, outcome in outcomes.items():
        assert outcome.events == first.events, name
        assert outcome.quirks == first.quirks, name
        assert outcome.state == first.state, name
    return first


def blocks(*events: Event) -> list[Any]:
    """The blocks of a stream that has nothing to count."""
    outcome = read(*events)
    assert outcome.quirks == {}
    return outcome.state.blocks


def whole(*events: Event) -> list[Any]:
    """The blocks of a response between its first and last event."""
    return blocks(created(), *events, completed())


def only(*events: Event) -> Any:
    """The one block of a response."""
    (block,) = whole(*events)
    assert block.is_complete
    return block
