"""Which tags in text mean what: the vocabulary that a stream is read with."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, TypeAlias, cast

from penstock import _core
from penstock.markers import Marker, captures_of, read_marker
from penstock.parameter_types import ParameterTypes, ValueRule, parameter_types

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["Element", "Grammar", "Pairs", "TagVocabulary", "Tags", "compiled", "grammar_of"]

Pairs: TypeAlias = tuple[tuple[str, str], ...]
Role: TypeAlias = Literal["thinking", "section", "call", "parameter", "results", "result", "failure", "ignored"]


class Element(NamedTuple):
    """Something that a marker opens and another closes, as the engines read it."""

    role: Role
    open: Marker
    close: Marker | None
    body: Literal["elements", "arguments", "json_calls"] = "elements"
    json_names: tuple[str, ...] = ()
    json_arguments: tuple[str, ...] = ()
    values: ValueRule = "raw"
    trims: bool = False
    call_id: str = ""


class Grammar(NamedTuple):
    """A vocabulary, or several, as the engines read it."""

    elements: tuple[Element, ...]
    stop: tuple[str, ...]
    prefill: str
    decodes_entities: bool
    unwraps_cdata: bool
    exempts_fences: bool
    ends_thinking: bool
    types: ParameterTypes


@dataclass(frozen=True)
class TagVocabulary:
    r"""The tags that a model writes into its text, and what they mean.

    A pair is the marker that opens and the one that closes; an empty closing marker means that there is none. How a marker is written is in
    `docs/tags.md`: `<invoke name="{name}">` is a tag with an attribute, `<function={name}>` is matched as it is written.

    Attributes:
        name: What it is called.
        thinking: Around reasoning.
        sections: Around calls.
        calls: Around one call; the opening marker has a `{name}`.
        parameters: Around one parameter of a call; the opening marker has a `{key}`.
        results: Around results of tools.
        result_items: Around one result; the opening marker may have an `{id}`.
        error_items: Around one result that is an error.
        ignored: Markers that say nothing.
        call_body: What a call holds: `parameters`, or its arguments as `json`.
        json_names: If sections hold calls as JSON objects: the names of the member with the tool's name.
        json_arguments: The names of the member with its arguments.
        values: What the text of a parameter is: a string as it stands (`raw`), or JSON if it is one value of JSON (`json`).
        line_ends: Whether one line end behind a parameter's opening marker and one before its closing marker are `trimmed`.
        call_id: The id of a call, made of what its marker has, such as `functions.{name}:{index}`; empty for ids that are made.
        prefix: Whether a tag may have `any` namespace prefix.
        call_in_thinking: Whether a call that begins inside of thinking `stays` thinking or `ends` it.
        code_fences: Whether tags in fenced code are `tags` or `text`.
        entities: Whether character references in values and attributes are `decoded`.
        cdata: Whether CDATA sections in values are `unwrapped`.
        stop: Texts that end the answer, wherever they stand in visible text.
        prefill: What the prompt ended in, of the answer: the text goes on from there.
        types: What the text of a parameter is, by tool and parameter; `with_tools` makes it from a request.

    Example:
        >>> from dataclasses import replace
        >>> from penstock import TagVocabulary, aggregate
        >>> notes = TagVocabulary("notes", thinking=(("<note>", "</note>"),))
        >>> aggregate(["Hi <note>be brief</note>there"], source="text", tags=notes).content
        'Hi there'
        >>> begun = replace(notes, prefill="<note>")
        >>> aggregate(["be brief</note>Hi"], source="text", tags=begun).thinking
        'be brief'
    """

    name: str
    thinking: Pairs = ()
    sections: Pairs = ()
    calls: Pairs = ()
    parameters: Pairs = ()
    results: Pairs = ()
    result_items: Pairs = ()
    error_items: Pairs = ()
    ignored: tuple[str, ...] = ()
    call_body: Literal["parameters", "json"] = "parameters"
    json_names: tuple[str, ...] = ()
    json_arguments: tuple[str, ...] = ("arguments",)
    values: ValueRule = "raw"
    line_ends: Literal["kept", "trimmed"] = "kept"
    call_id: str = ""
    prefix: Literal["none", "any"] = "none"
    call_in_thinking: Literal["stays", "ends"] = "stays"
    code_fences: Literal["tags", "text"] = "tags"
    entities: Literal["kept", "decoded"] = "kept"
    cdata: Literal["kept", "unwrapped"] = "kept"
    stop: tuple[str, ...] = ()
    prefill: str = ""
    types: ParameterTypes = ()

    def __post_init__(self) -> None:
        for each in fields(self):
            self._check(each.name, cast("object", getattr(self, each.name)))
        self._check_captures()
        self._check_places()

    def _check_captures(self) -> None:
        """Markers have the words that something is made of."""
        for role, needed in (("calls", "name"), ("parameters", "key")):
            for opening, _ in getattr(self, role):
                if needed not in captures_of(self._marker(opening)):
                    self._refuse(f"the marker {opening!r} of {role} must have a {{{needed}}}")
        known = {word for opening, _ in self.calls for word in captures_of(self._marker(opening))}
        for word in _WORDS.findall(self.call_id):
            if word not in known:
                self._refuse(f"call_id has {{{word}}}, and no marker of calls has")

    def _check_places(self) -> None:
        """Nothing is given that could not stand anywhere."""
        for role, place in _PLACES.items():
            if getattr(self, role) and not getattr(self, place):
                self._refuse(f"{role} stand in {place}, and there are none")
        if self.calls and self.call_body == "parameters" and not self.parameters:
            self._refuse('calls hold parameters, and there are none; if they hold JSON, call_body="json"')
        if self.parameters and self.call_body == "json":
            self._refuse('calls hold JSON, so there are no parameters; if they hold parameters, call_body="parameters"')

    def _refuse(self, reason: str) -> NoReturn:
        msg = f"{self.name}: {reason}"
        raise ValueError(msg)

    @classmethod
    def named(cls, name: str) -> TagVocabulary:
        """The preset of that name.

        Raises:
            ValueError: There is none.

        Example:
            >>> from penstock import TagVocabulary
            >>> TagVocabulary.named("think").thinking
            (('<think>', '</think>'),)
        """
        from penstock.vocabularies import PRESETS  # noqa: PLC0415 (the presets are vocabularies themselves)

        if name not in PRESETS:
            msg = f"tags must name a vocabulary ({', '.join(sorted(PRESETS))}), not {name!r}"
            raise ValueError(msg)
        return PRESETS[name]

    def with_tools(self, tools: Sequence[Mapping[str, Any]]) -> TagVocabulary:
        """The same, with the types of the parameters as the request's tools declare them.

        Where a schema allows strings, the text is one; where it does not, the text is JSON if it can be. Where it leaves that open,
        `values` says what the text is.

        Args:
            tools: The tools of the request, in the shape of any of the wire formats.

        Raises:
            TypeError: They are no list.
            ValueError: A tool is none of a request, or two have the same name.

        Example:
            >>> from penstock import TagVocabulary
            >>> schema = {"properties": {"zip": {"type": "string"}, "days": {"type": "integer"}}}
            >>> tools = [{"name": "forecast", "input_schema": schema}]
            >>> TagVocabulary.named("qwen3-coder").with_tools(tools).types
            (('forecast', 'zip', 'raw'), ('forecast', 'days', 'json'))
        """
        return replace(self, types=parameter_types(tools))

    def _marker(self, marker: str) -> Marker:
        return read_marker(marker, prefix=self.prefix == "any")

    def _check(self, field: str, value: object) -> None:
        expected = _EXPECTED.get(field)
        if isinstance(expected, tuple):
            is_right = value in expected
        elif field in _PAIRS:
            is_right = _is_pairs(value)
        elif field == "types":
            is_right = _is_types(value)
        elif expected is str:
            is_right = isinstance(value, str)
        else:
            is_right = _is_texts(value)
        if not is_right:
            msg = f"{field} of a vocabulary must be {_described(field)}, not {value!r}"
            raise ValueError(msg)

    def elements(self) -> Iterator[Element]:
        """The elements, as the engines read them."""
        body = "json_calls" if self.json_names else "elements"
        for pair in self.thinking:
            yield self._element("thinking", pair)
        for pair in self.sections:
            element = self._element("section", pair)
            yield element._replace(body=body, json_names=self.json_names, json_arguments=self.json_arguments)
        for pair in self.calls:
            element = self._element("call", pair)
            body_of_call = "arguments" if self.call_body == "json" else "elements"
            yield element._replace(body=body_of_call, call_id=self.call_id)
        for pair in self.parameters:
            element = self._element("parameter", pair)
            yield element._replace(values=self.values, trims=self.line_ends == "trimmed")
        for pair in self.results:
            yield self._element("results", pair)
        for pair in self.result_items:
            yield self._element("result", pair)._replace(trims=True)
        for pair in self.error_items:
            yield self._element("failure", pair)._replace(trims=True)
        for marker in self.ignored:
            yield self._element("ignored", (marker, ""))

    def _element(self, role: Role, pair: tuple[str, str]) -> Element:
        opening, closing = pair
        return Element(role, self._marker(opening), self._marker(closing) if closing else None)


# The vocabulary of text alone.
DEFAULT = "claude-xml"
Tags: TypeAlias = "str | TagVocabulary | Sequence[str | TagVocabulary]"

_PAIRS = frozenset({"thinking", "sections", "calls", "parameters", "results", "result_items", "error_items"})
# What stands only inside of something else.
_PLACES = {"parameters": "calls", "result_items": "results", "error_items": "results", "json_names": "sections"}
_WORDS = re.compile(r"\{(\w+)\}")
# By field: the words that it may be, or that it is a text; all other fields are tuples of texts.
_EXPECTED: dict[str, tuple[str, ...] | type[str]] = {
    "name": str,
    "call_id": str,
    "prefill": str,
    "call_body": ("parameters", "json"),
    "values": ("raw", "json"),
    "line_ends": ("kept", "trimmed"),
    "prefix": ("none", "any"),
    "call_in_thinking": ("stays", "ends"),
    "code_fences": ("tags", "text"),
    "entities": ("kept", "decoded"),
    "cdata": ("kept", "unwrapped"),
}
# What must be the same where several are read at once.
_SHARED = ("prefill", "call_in_thinking", "code_fences", "entities", "cdata")


def _is_texts(value: object) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(each, str) and each for each in cast("tuple[object, ...]", value)
    )


def _is_pairs(value: object) -> bool:
    return isinstance(value, tuple) and all(map(_is_pair, cast("tuple[object, ...]", value)))


def _is_pair(value: object) -> bool:
    match value:
        case (str(opening), str()) if isinstance(value, tuple):
            return bool(opening.strip())
        case _:
            return False


def _is_types(value: object) -> bool:
    return isinstance(value, tuple) and all(map(_is_type, cast("tuple[object, ...]", value)))


def _is_type(value: object) -> bool:
    match value:
        case (str(), str(), "raw" | "json"):
            return isinstance(value, tuple)
        case _:
            return False


def _described(field: str) -> str:
    expected = _EXPECTED.get(field)
    if isinstance(expected, tuple):
        return " or ".join(repr(word) for word in expected)
    if field in _PAIRS:
        return """a tuple of pairs of markers, such as (("<a>", "</a>"),)"""
    if field == "types":
        return "a tuple of tool, parameter and rule"
    return "a text" if expected is str else "a tuple of texts"


def compiled(tags: object, source: str, tag_bytes: int) -> _core.TagGrammar | None:
    """The tags of a stream as the core reads them, made ready once; None if it has none.

    Raises:
        TypeError: `tags` is no vocabulary, nor a list of them.
        ValueError: There is no preset of that name, or the vocabularies cannot be read, or not at once.
    """
    vocabularies = _vocabularies(tags, source)
    return _compiled(vocabularies, tag_bytes) if vocabularies else None


@lru_cache
def _compiled(vocabularies: tuple[TagVocabulary, ...], tag_bytes: int) -> _core.TagGrammar:
    return _core.TagGrammar(_joined(vocabularies), tag_bytes)


def grammar_of(tags: object, source: str) -> Grammar | None:
    """The tags of a stream, as elements and options; `compiled` says what it raises."""
    vocabularies = _vocabularies(tags, source)
    return _joined(vocabularies) if vocabularies else None


def _vocabularies(tags: object, source: str) -> tuple[TagVocabulary, ...]:
    """What to look for. Text alone has no other way to say more than text, so unless others are named it has the tags of Claude."""
    if tags is None:
        return (TagVocabulary.named(DEFAULT),) if source == "text" else ()
    given = cast("Iterable[object]", tags) if isinstance(tags, (list, tuple)) else [tags]
    return tuple(map(_vocabulary, given))


def _joined(vocabularies: tuple[TagVocabulary, ...]) -> Grammar:
    first = vocabularies[0]
    for other in vocabularies[1:]:
        for field in _SHARED:
            if getattr(first, field) != getattr(other, field):
                msg = f"{first.name} and {other.name} cannot be read at once: {field} differs"
                raise ValueError(msg)
    return Grammar(
        elements=tuple(each for one in vocabularies for each in one.elements()),
        stop=tuple(dict.fromkeys(text for one in vocabularies for text in one.stop)),
        prefill=first.prefill,
        decodes_entities=first.entities == "decoded",
        unwraps_cdata=first.cdata == "unwrapped",
        exempts_fences=first.code_fences == "text",
        ends_thinking=first.call_in_thinking == "ends",
        types=tuple(each for one in vocabularies for each in one.types),
    )


def _vocabulary(tags: object) -> TagVocabulary:
    if isinstance(tags, TagVocabulary):
        return tags
    if isinstance(tags, str):
        return TagVocabulary.named(tags)
    msg = f"tags must be the name of a vocabulary, a TagVocabulary, or a list of them, not {type(tags).__name__}"
    raise TypeError(msg)
