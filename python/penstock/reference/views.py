"""Chunks shown in part: a copy along the path that changes, for dicts and for models alike. The caller's own object is left alone."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from penstock.reference.values import fields_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.blocks import StreamState
    from penstock.reference.decode import Path

__all__ = ["Places", "empty_chunk", "only", "without"]

# By the position of the choice in the chunk: paths inside that choice.
Places = dict[int, "list[Path]"]

_FRAME = frozenset({"index", "delta", "finish_reason"})


def without(chunk: Any, places: Places) -> Any:
    """The chunk without what stands in these places."""
    choices = list(fields_of(chunk, "the chunk")["choices"])
    for position, paths in places.items():
        choice = choices[position] = copy(choices[position])
        delta = copy(fields_of(choice, "a choice")["delta"])
        is_blank = fields_of(delta, "delta").get("content") == "" and paths == [("delta", "content")]
        for field, gone in _by_field(path[1:] for path in paths).items():
            value = fields_of(delta, "delta")[field]
            kept = [] if None in gone else [each for number, each in enumerate(value) if number not in gone]
            if kept:
                _put(delta, field, kept)
            else:
                _remove(delta, field)
        _put(choice, "delta", delta)
        if not is_blank:
            # What was refused must not reach the policy by the back door.
            _leave_out(choice, {"message", "text"})
    return _with_choices(chunk, choices)


def only(chunk: Any, places: Places, *, is_last: bool) -> Any:
    """The chunk's envelope and what stands in these places; usage and error stand in the last piece of a chunk."""
    if isinstance(chunk, str):
        # Text alone has one place: an earlier piece has shown it.
        return chunk if places else ""
    choices: list[Any] = []
    for position, choice in enumerate(fields_of(chunk, "the chunk")["choices"]):
        if position in places:
            choices.append(_only_of_choice(choice, places[position]))
    view = _with_choices(chunk, choices)
    if not is_last:
        for name in ("usage", "error", "x_groq"):
            if fields_of(view, "the chunk").get(name) is not None:
                _put(view, name, None)
    return view


def empty_chunk(state: StreamState, choice: int) -> dict[str, Any]:
    """A chunk that says nothing, for a completion that the wire has no chunk for."""
    return {
        "id": state.id,
        "object": "chat.completion.chunk",
        "created": state.extras.get("created", 0),
        "model": state.model,
        "choices": [{"index": choice, "delta": {}, "finish_reason": None}],
    }


def _only_of_choice(choice: Any, paths: list[Path]) -> Any:
    view = copy(choice)
    fields = fields_of(choice, "a choice")
    own = _by_field(path for path in paths if path[0] != "delta")
    # What a choice always has stays, and so does what is null, because it says nothing.
    _leave_out(
        view, {name for name, value in fields.items() if value is not None and name not in _FRAME and name not in own}
    )
    if "finish_reason" in fields and "finish_reason" not in own:
        _put(view, "finish_reason", None)
    if fields.get("delta") is not None:
        inner = _by_field(path[1:] for path in paths if path[0] == "delta")
        _put(view, "delta", _only_of_delta(fields["delta"], inner))
    return view


def _only_of_delta(delta: Any, kept: dict[str, set[int | None]]) -> Any:
    view = copy(delta)
    fields = fields_of(delta, "delta")
    _leave_out(view, fields.keys() - kept.keys())
    for name, numbers in kept.items():
        if None not in numbers:
            _put(view, name, [each for number, each in enumerate(fields[name]) if number in numbers])
    return view


def _by_field(paths: Iterable[Any]) -> dict[str, set[int | None]]:
    """By field: the numbers of its elements, or None for the field as a whole."""
    fields: dict[str, set[int | None]] = {}
    for field, *element in paths:
        fields.setdefault(field, set()).add(element[0] if element else None)
    return fields


def _leave_out(node: Any, names: set[str]) -> None:
    """A dict loses the fields; a model keeps them as None, because its users read them as attributes."""
    for name in names & fields_of(node, "a node").keys():
        if isinstance(node, dict):
            del node[name]
        else:
            setattr(node, name, None)


def _remove(node: Any, name: str) -> None:
    """The field is gone: `name not in node`, where the node is something that can be asked."""
    if isinstance(node, dict):
        del node[name]
    elif hasattr(node, "__contains__"):
        delattr(node, name)
    else:
        setattr(node, name, None)


def _put(node: Any, name: str, value: Any) -> None:
    if isinstance(node, dict):
        node[name] = value
    else:
        setattr(node, name, value)


def _with_choices(chunk: Any, choices: list[Any]) -> Any:
    view = copy(chunk)
    _put(view, "choices", choices)
    return view
