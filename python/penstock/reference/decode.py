"""An OpenAI chat chunk to deltas: what it says, in order, and where in the chunk it says so.

Rules. (1) Nothing is kept from chunk to chunk. (2) A chunk is read whole before any of it counts: what cannot be read raises `Malformed`.
(3) Null says nothing, wherever it stands. (4) Every delta has its path inside its choice, so that a chunk can be shown in part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from penstock.reference.values import Malformed, dump, fields_of, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["CallDelta", "Chunk", "Decoder", "Delta", "Path"]

Path: TypeAlias = tuple[str | int, ...]

# A plain tuple of kind, value and path, because there is one for each token. By kind, the value is:
#   role, content, thinking, refusal, signature, data, finish: the text, never empty
#   audio: the JSON value         part: (kind, JSON value)         tool_call: a CallDelta         note: (name, JSON value)
#   blank: None, for `content: ""`         repeat: None, for a field that says again what another one has said
Delta: TypeAlias = tuple[str, Any, Path]


class CallDelta(NamedTuple):
    """What a chunk says of one tool call."""

    index: int | None
    id: str
    name: str
    arguments: str
    kind: str
    is_legacy: bool
    was_object: bool
    notes: list[tuple[str, Any]]


class Chunk(NamedTuple):
    """What a chunk says: of the response, of each choice (its number and deltas), and at the end."""

    notes: list[tuple[str, Any]]
    choices: list[tuple[int, list[Delta]]]
    usage: dict[str, Any] | None
    error: Any


_CONTENT: Path = ("delta", "content")
# Padding against the guessing of lengths, and what every chunk of this format says of itself.
_UNSAID = frozenset({"obfuscation", "object"})
_CHOICE_FIELDS = frozenset({"index", "delta", "finish_reason", "obfuscation"})
# Beside a delta, these say again what it says, or all that was said so far.
_CHOICE_FIELDS_BESIDE_DELTA = _CHOICE_FIELDS | {"message", "text"}
_CALL_FIELDS = frozenset({"index", "id", "type", "function", "custom", "obfuscation"})
_FUNCTION_FIELDS = frozenset({"name", "arguments", "obfuscation"})
_CUSTOM_FIELDS = frozenset({"name", "input", "obfuscation"})
# By field and by the type of its elements: which kinds of delta they hold, under which name.
_STRUCTURED_THINKING: dict[str, dict[str, tuple[tuple[str, str], ...]]] = {
    "thinking_blocks": {
        "thinking": (("thinking", "thinking"), ("signature", "signature")),
        "redacted_thinking": (("data", "data"),),
    },
    "reasoning_details": {
        "reasoning.text": (("thinking", "text"), ("signature", "signature")),
        "reasoning.summary": (("thinking", "summary"),),
        "reasoning.encrypted": (("data", "data"),),
    },
}
_PLAIN_THINKING = ("reasoning_content", "reasoning")
_THINKING_FIELDS = frozenset({*_STRUCTURED_THINKING, *_PLAIN_THINKING})
_RARE_FIELDS = frozenset({"refusal", "audio", "images"})
_CALLING_FIELDS = frozenset({"tool_calls", "function_call"})
_DELTA_FIELDS = _THINKING_FIELDS | _RARE_FIELDS | _CALLING_FIELDS | {"role", "content", "obfuscation"}


class Decoder:
    """Reads chunks; `keep` makes what is kept as it came the stream's own."""

    def __init__(self, keep: Callable[[Any], Any] = plain) -> None:
        self._keep = keep

    def decode(self, chunk: Any) -> Chunk:
        """What `chunk` says: a dict, or a model that has the same fields."""
        notes: list[tuple[str, Any]] = []
        choices: list[Any] = []
        usage = error = None
        for name, value in fields_of(chunk, "the chunk").items():
            if value is None or name in _UNSAID:
                continue
            if name == "choices":
                choices = _list(value, name)
            elif name == "usage":
                usage = self._usage(value)
            elif name == "error":
                error = self._keep(value)
            elif name in ("id", "model") and not isinstance(value, str):
                raise Malformed("wrong_shape", f"{name} is not a string")
            else:
                notes.append((name, self._keep(value)))
                if name == "x_groq" and usage is None and isinstance(value, dict):
                    usage = self._usage(value.get("usage"))
        return Chunk(notes, [self._choice(choice) for choice in choices], usage, error)

    def _usage(self, value: Any) -> dict[str, Any] | None:
        if value is None:
            return None
        usage = self._keep(value)
        if not isinstance(usage, dict):
            raise Malformed("wrong_shape", "usage is not an object")
        for name in ("prompt_tokens_details", "completion_tokens_details"):
            if not isinstance(usage.get(name), (dict, type(None))):
                raise Malformed("wrong_shape", f"{name} is not an object")
        return usage

    def _choice(self, choice: Any) -> tuple[int, list[Delta]]:
        fields = fields_of(choice, "a choice")
        number = _index(fields)
        deltas: list[Delta] = []
        said = fields.get("delta")
        if said is None:
            deltas += self._notes(fields, _CHOICE_FIELDS, ())
        else:
            delta = fields_of(said, "delta")
            self._content(delta, deltas)
            deltas += self._notes(fields, _CHOICE_FIELDS_BESIDE_DELTA, ())
            deltas += self._notes(delta, _DELTA_FIELDS, ("delta",))
        if finish := _text(fields, "finish_reason"):
            deltas.append(("finish", finish, ("finish_reason",)))
        return number or 0, deltas

    def _content(self, delta: dict[str, Any], out: list[Delta]) -> None:
        if role := _text(delta, "role"):
            out.append(("role", role, ("delta", "role")))
        strange: list[Delta] = []
        if not _THINKING_FIELDS.isdisjoint(delta):
            strange = self._thinking(delta, out)
        content = delta.get("content")
        if isinstance(content, str):
            if content:
                out.append(("content", content, _CONTENT))
        elif content is not None:
            for number, part in enumerate(_list(content, "content")):
                out += self._part(part, ("delta", "content", number))
        if not _RARE_FIELDS.isdisjoint(delta):
            self._rare(delta, out)
        if not _CALLING_FIELDS.isdisjoint(delta):
            out += self._calls(delta)
        if content == "":
            out.append(("blank", None, _CONTENT))
        out += strange

    def _thinking(self, delta: dict[str, Any], out: list[Delta]) -> list[Delta]:
        """Adds the thinking, of which the first field that has any counts; gives back the details of unknown types."""
        sources = [self._structured(delta, field) for field in _STRUCTURED_THINKING if delta.get(field) is not None]
        strange = [each for source in sources for each in source if each[0] == "note"]
        for field in _PLAIN_THINKING:
            if text := _text(delta, field):
                sources.append([("thinking", text, ("delta", field))])
        speaking = [source for source in sources if any(each[0] == "thinking" for each in source)]
        signing = [source for source in sources if any(each[0] in ("signature", "data") for each in source)]
        if speaking[:1] == signing[:1]:
            out += [each for source in speaking[:1] for each in source if each[0] != "note"]
        else:
            out += [each for source in speaking[:1] for each in source if each[0] == "thinking"]
            out += [each for source in signing[:1] for each in source if each[0] in ("signature", "data")]
        out += [("repeat", None, path) for source in speaking[1:] for kind, _, path in source if kind == "thinking"]
        return strange

    def _structured(self, delta: dict[str, Any], field: str) -> list[Delta]:
        deltas: list[Delta] = []
        for number, element in enumerate(_list(delta[field], field)):
            fields = fields_of(element, f"an element of {field}")
            path = ("delta", field, number)
            parts = _STRUCTURED_THINKING[field].get(_text(fields, "type"))
            if parts is None:
                deltas.append(("note", (field, self._keep(element)), path))
                continue
            for kind, name in parts:
                if text := _text(fields, name):
                    deltas.append((kind, text, path))
        return deltas

    def _part(self, part: Any, path: Path) -> Iterator[Delta]:
        """One element of a `content` that is a list."""
        fields = fields_of(part, "a content part")
        kind = _text(fields, "type")
        if kind == "thinking":
            text = fields.get("thinking")
            if isinstance(text, list):
                text = "".join(_text(fields_of(each, "a thinking part"), "text") for each in text)
            elif text is not None:
                text = _text(fields, "thinking")
        elif kind in ("text", "refusal"):
            text = _text(fields, kind)
            kind = "content" if kind == "text" else kind
        else:
            yield "part", (kind or "unknown", self._keep(part)), path
            return
        if text:
            yield kind, text, path

    def _rare(self, delta: dict[str, Any], out: list[Delta]) -> None:
        if refusal := _text(delta, "refusal"):
            out.append(("refusal", refusal, ("delta", "refusal")))
        if (audio := delta.get("audio")) is not None:
            out.append(("audio", self._keep(audio), ("delta", "audio")))
        for number, image in enumerate(_list(delta.get("images"), "images")):
            out.append(("part", ("image", self._keep(image)), ("delta", "images", number)))

    def _calls(self, delta: dict[str, Any]) -> Iterator[Delta]:
        for number, call in enumerate(_list(delta.get("tool_calls"), "tool_calls")):
            yield "tool_call", self._call(fields_of(call, "a tool call")), ("delta", "tool_calls", number)
        if (legacy := delta.get("function_call")) is not None:
            call = self._call({"function": legacy}, is_legacy=True)
            yield "tool_call", call, ("delta", "function_call")

    def _call(self, fields: dict[str, Any], *, is_legacy: bool = False) -> CallDelta:
        is_custom = fields.get("custom") is not None or _text(fields, "type") == "custom"
        body, argument, known = ("custom", "input", _CUSTOM_FIELDS) if is_custom else ("function", "arguments", _FUNCTION_FIELDS)
        said = fields.get(body)
        function = {} if said is None else fields_of(said, body)
        arguments = function.get(argument)
        was_object = not isinstance(arguments, (str, type(None)))
        notes = [value for _, value, _ in self._notes(fields, _CALL_FIELDS, ())]
        notes += [value for _, value, _ in self._notes(function, known, ())]
        return CallDelta(
            index=_index(fields),
            id=_text(fields, "id"),
            name=_text(function, "name"),
            arguments=dump(plain(arguments)) if was_object else arguments or "",
            kind="custom" if is_custom else "function",
            is_legacy=is_legacy,
            was_object=was_object,
            notes=notes,
        )

    def _notes(self, fields: dict[str, Any], known: frozenset[str], prefix: Path) -> Iterator[Delta]:
        """What came in fields that have no place in the block model."""
        for name, value in fields.items():
            if value is None or name in known:
                continue
            if name == "annotations":
                for number, each in enumerate(_list(value, name)):
                    yield "note", (name, self._keep(each)), (*prefix, name, number)
            else:
                yield "note", (name, self._keep(value)), (*prefix, name)


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise Malformed("wrong_shape", f"{name} is not a string")


def _list(value: Any, name: str) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, list):
        return value
    raise Malformed("wrong_shape", f"{name} is not a list")


def _index(fields: dict[str, Any]) -> int | None:
    value = fields.get("index")
    # A bool is an int to Python, but not to JSON.
    if value is None or (type(value) is int and value >= 0):
        return value
    raise Malformed("wrong_shape", "index is not a number from 0 up")
