"""An OpenAI chat chunk to deltas: what it says, in order, and where in the chunk it says so.

Rules. (1) Nothing is kept from chunk to chunk. (2) A chunk is read whole before any of it counts: what cannot be read raises `Malformed`.
(3) Null says nothing, wherever it stands. (4) Every delta has its path inside its choice, so that a chunk can be shown in part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from penstock.reference.values import Malformed, dump, fields_of, is_list, is_object, plain, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["CallDelta", "Chunk", "Decoder", "Delta", "Path", "RawDelta"]

Path: TypeAlias = tuple[str | int, ...]

# A plain tuple of kind, value and path, because there is one for each token. By kind, the value is:
#   role, content, thinking, refusal, signature, data, finish: the text
#   tool_call: a CallDelta         raw: a RawDelta
#   note, extra: (name, JSON value); an extra that comes again unchanged says nothing
#   blank: None, for `content: ""`         repeat: None, for a field that says again what another one has said
Delta: TypeAlias = tuple[str, Any, Path]


class CallDelta(NamedTuple):
    """What a chunk says of one tool call."""

    wire_index: int | None
    wire_id: str
    name: str
    arguments: str
    was_object: bool
    kind: str
    is_legacy: bool
    notes: list[tuple[str, Any]]


class RawDelta(NamedTuple):
    """A value of a kind that the block model does not know; `is_whole` if it is a block of its own."""

    kind: str
    value: Any
    is_whole: bool


class Chunk(NamedTuple):
    """What a chunk says: of the response, of each choice (its number and deltas), and at the end."""

    envelope: list[tuple[str, Any]]
    notes: list[tuple[str, Any]]
    choices: list[tuple[int, list[Delta]]]
    usage: dict[str, Any] | None
    error: Any


_CONTENT: Path = ("delta", "content")
_CHUNK_FIELDS = frozenset({"id", "model", "created", "object", "choices", "usage", "error", "x_groq", "obfuscation"})
_CHOICE_FIELDS = frozenset({"index", "delta", "finish_reason", "logprobs", "obfuscation"})
# Beside a delta, these say again what it says, or all that was said so far.
_CHOICE_FIELDS_BESIDE_DELTA = _CHOICE_FIELDS | {"message", "text"}
_CALL_FIELDS = frozenset({"index", "id", "type", "function", "custom", "obfuscation"})
_FUNCTION_FIELDS = frozenset({"name", "arguments", "obfuscation"})
# By the type of a detail: the name under which it has its text.
_DETAIL_TEXTS = {"reasoning.text": "text", "reasoning.summary": "summary", "reasoning.encrypted": ""}
_PLAIN_THINKING = ("reasoning_content", "reasoning")
_THINKING_FIELDS = frozenset({"thinking_blocks", "reasoning_details", *_PLAIN_THINKING})
_RARE_FIELDS = frozenset({"refusal", "audio", "images"})
_CALLING_FIELDS = frozenset({"tool_calls", "function_call"})
_DELTA_FIELDS = _THINKING_FIELDS | _RARE_FIELDS | _CALLING_FIELDS | {"role", "content", "annotations", "obfuscation"}


class Decoder:
    """Reads chunks; `keep` makes what is kept as it came the stream's own."""

    def __init__(self, keep: Callable[[Any], Any] = plain) -> None:
        self._keep = keep

    def decode(self, chunk: Any) -> Chunk:
        """What `chunk` says: a dict, or a model that has the same fields."""
        fields = fields_of(chunk, "the chunk")
        keep = self._keep
        envelope = [("id", _text(fields, "id")), ("model", _text(fields, "model")), ("created", fields.get("created"))]
        notes = self._extras(fields, _CHUNK_FIELDS)
        usage = self._usage(fields.get("usage"))
        if (groq := fields.get("x_groq")) is not None:
            notes.append(("x_groq", keep(groq)))
            if usage is None and is_object(groq):
                usage = self._usage(groq.get("usage"))
        choices = [
            self._choice(each, position) for position, each in enumerate(_list(fields.get("choices"), "choices"))
        ]
        return Chunk(envelope, notes, choices, usage, keep(fields.get("error")))

    def _usage(self, value: Any) -> dict[str, Any] | None:
        if value is None:
            return None
        usage = self._keep(value)
        if not is_object(usage):
            raise Malformed("wrong_shape", "usage is not an object")
        return usage

    def _choice(self, choice: Any, position: int) -> tuple[int, list[Delta]]:
        fields = fields_of(choice, "a choice")
        number = _index(fields)
        deltas: list[Delta] = []
        known = _CHOICE_FIELDS
        if (delta := fields.get("delta")) is not None:
            self._delta(fields_of(delta, "delta"), deltas)
            known = _CHOICE_FIELDS_BESIDE_DELTA
        if (logprobs := fields.get("logprobs")) is not None:
            deltas.append(("note", ("logprobs", self._keep(logprobs)), ("logprobs",)))
        for name, value in self._extras(fields, known):
            deltas.append(("extra", (name, value), (name,)))
        if finish := _text(fields, "finish_reason"):
            deltas.append(("finish", finish, ("finish_reason",)))
        return position if number is None else number, deltas

    def _delta(self, delta: dict[str, Any], out: list[Delta]) -> None:
        if role := _text(delta, "role"):
            out.append(("role", role, ("delta", "role")))
        strange = [] if _THINKING_FIELDS.isdisjoint(delta) else self._thinking(delta, out)
        content = delta.get("content")
        if content:
            self._content(content, out)
        elif content not in ("", None, []):
            raise Malformed("wrong_shape", "content is neither text nor a list")
        if not _RARE_FIELDS.isdisjoint(delta):
            self._rare(delta, out)
        if not _CALLING_FIELDS.isdisjoint(delta):
            out += self._calls(delta)
        if content == "":
            # Behind the tool calls: whether an empty text is an artefact of the tool phase is known only now.
            out.append(("blank", None, _CONTENT))
        out += strange
        for number, each in enumerate(_list(delta.get("annotations"), "annotations")):
            out.append(("note", ("annotations", self._keep(each)), ("delta", "annotations", number)))
        for name, value in self._extras(delta, _DELTA_FIELDS):
            out.append(("extra", (name, value), ("delta", name)))

    def _content(self, content: Any, out: list[Delta]) -> None:
        if isinstance(content, str):
            out.append(("content", whole(content), _CONTENT))
            return
        for number, part in enumerate(_list(content, "content")):
            out.append((*self._part(part), ("delta", "content", number)))

    def _thinking(self, delta: dict[str, Any], out: list[Delta]) -> list[Delta]:
        """Adds the thinking, of which the first field that has any counts; gives back the details of unknown types."""
        sources = [_thinking_blocks(delta), self._reasoning_details(delta)]
        strange = [each for each in sources[1] if each[0] == "note"]
        for field in _PLAIN_THINKING:
            text = _text(delta, field)
            sources.append([("thinking", text, ("delta", field))] if text else [])
        # Of each kind the first field that has it counts, and text comes before what is said about it.
        owners: dict[str, list[Delta]] = {}
        for source in sources:
            for kind, _, _ in source:
                owners.setdefault(kind, source)
        speaking = owners.get("thinking", [])
        repeats: list[Delta] = []
        for source in (speaking, *(other for other in sources if other is not speaking)):
            for each in source:
                if owners[each[0]] is not source:
                    repeats.append(("repeat", None, each[2]))
                elif each[0] != "note":
                    out.append(each)
        out += repeats
        return strange

    def _reasoning_details(self, delta: dict[str, Any]) -> list[Delta]:
        deltas: list[Delta] = []
        for number, detail in enumerate(_list(delta.get("reasoning_details"), "reasoning_details")):
            fields = fields_of(detail, "a reasoning detail")
            path = ("delta", "reasoning_details", number)
            name = _DETAIL_TEXTS.get(_text(fields, "type"))
            if name is None:
                given = {name: self._keep(value) for name, value in fields.items() if value is not None}
                deltas.append(("note", ("reasoning_details", given), path))
                continue
            said = (
                ("thinking", _text(fields, name)),
                ("signature", _text(fields, "signature")),
                ("data", _text(fields, "data")),
            )
            deltas += [(kind, text, path) for kind, text in said if text]
        return deltas

    def _part(self, part: Any) -> tuple[str, Any]:
        """Kind and value of one element of a `content` that is a list; what cannot be read otherwise is kept raw."""
        try:
            fields = fields_of(part, "a content part")
            kind = _text(fields, "type")
        except Malformed:
            return "raw", RawDelta("part", self._keep(part), is_whole=True)
        value = fields.get(kind)
        if kind == "thinking" and is_list(value):
            value = _joined(value)
        if kind in ("text", "thinking", "refusal") and isinstance(value, str):
            return "content" if kind == "text" else kind, whole(value)
        return "raw", RawDelta(kind or "part", self._keep(part), is_whole=True)

    def _rare(self, delta: dict[str, Any], out: list[Delta]) -> None:
        if refusal := _text(delta, "refusal"):
            out.append(("refusal", refusal, ("delta", "refusal")))
        if (audio := delta.get("audio")) is not None:
            out.append(("raw", RawDelta("audio", self._keep(audio), is_whole=False), ("delta", "audio")))
        for number, image in enumerate(_list(delta.get("images"), "images")):
            out.append(("raw", RawDelta("image", self._keep(image), is_whole=True), ("delta", "images", number)))

    def _calls(self, delta: dict[str, Any]) -> Iterator[Delta]:
        for number, call in enumerate(_list(delta.get("tool_calls"), "tool_calls")):
            yield "tool_call", self._call(fields_of(call, "a tool call")), ("delta", "tool_calls", number)
        if (legacy := delta.get("function_call")) is not None:
            function = fields_of(legacy, "function_call")
            notes = self._extras(function, _FUNCTION_FIELDS)
            call = CallDelta(None, "", *_function(function, "arguments"), "function", is_legacy=True, notes=notes)
            yield "tool_call", call, ("delta", "function_call")

    def _call(self, fields: dict[str, Any]) -> CallDelta:
        kind = "custom" if _text(fields, "type") == "custom" else "function"
        said, name = fields.get("function"), "arguments"
        if (custom := fields.get("custom")) is not None:
            kind, said, name = "custom", custom, "input"
        function = {} if said is None else fields_of(said, kind)
        notes = self._extras(fields, _CALL_FIELDS)
        return CallDelta(
            _index(fields), _text(fields, "id"), *_function(function, name), kind, is_legacy=False, notes=notes
        )

    def _extras(self, fields: dict[str, Any], known: frozenset[str]) -> list[tuple[str, Any]]:
        """What came in fields that have no place in the block model."""
        if known.issuperset(fields):
            return []
        return [(name, self._keep(value)) for name, value in fields.items() if value is not None and name not in known]


def _thinking_blocks(delta: dict[str, Any]) -> list[Delta]:
    deltas: list[Delta] = []
    for number, block in enumerate(_list(delta.get("thinking_blocks"), "thinking_blocks")):
        fields = fields_of(block, "a thinking block")
        said = [(kind, _text(fields, kind)) for kind in ("thinking", "signature", "data")]
        deltas += [(kind, text, ("delta", "thinking_blocks", number)) for kind, text in said if text]
    return deltas


def _joined(parts: list[Any]) -> str | None:
    """The text of parts that are all text."""
    said = [fields_of(each, "a thinking part").get("text") for each in parts]
    texts = [text for text in said if isinstance(text, str)]
    return "".join(texts) if len(texts) == len(said) else None


def _function(fields: dict[str, Any], name: str) -> tuple[str, str, bool]:
    """The name, the arguments, and whether these came as an object; the free text of a custom tool never does."""
    arguments = fields.get(name)
    if name == "input" or arguments is None or isinstance(arguments, str):
        return _text(fields, "name"), _text(fields, name), False
    return _text(fields, "name"), dump(plain(fields_of(arguments, name))), True


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if isinstance(value, str):
        return whole(value)
    raise Malformed("wrong_shape", f"{name} is not a string")


def _list(value: Any, name: str) -> list[Any]:
    if value is None:
        return []
    if is_list(value):
        return value
    raise Malformed("wrong_shape", f"{name} is not a list")


def _index(fields: dict[str, Any]) -> int | None:
    value = fields.get("index")
    # A bool is an int to Python, but not to JSON.
    if value is None or (type(value) is int and value >= 0):
        return value
    raise Malformed("wrong_shape", "index is not a number from 0 up")
