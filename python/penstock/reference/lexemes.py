"""The markers of a vocabulary, and whether one stands at a place in a text.

Each marker is two expressions: one for the whole of it, one for as much of it as a text may end in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from penstock.reference.json_calls import match_head

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.markers import Marker, Piece
    from penstock.vocabulary import Element, Grammar

__all__ = ["Found", "Lexeme", "Lexicon", "Scope", "decoded", "lexicon"]

Scope: TypeAlias = Literal["text", "section", "results", "value"]

_SPACE = r"[ \t\n\f\r]"
_PREFIX = r"[A-Za-z0-9_.-]"
_NOT_IN_WORD = r"\x00-\x20\x7f<>\[\]{}()\"'`|,;="
_NAME = r"[^=>/<\"' \t\n\f\r]++"
_UNQUOTED = r"(?:[^<\"'=/> \t\n\f\r]|/(?!>))++"
_VALUE = rf"\"[^\"]*+\"|'[^']*+'|{_UNQUOTED}"
_ATTRIBUTE = rf"(?>{_SPACE}++{_NAME}(?:{_SPACE}*+={_SPACE}*+(?:{_VALUE}))?)"
_TAG_REST = rf"(?P<attributes>{_ATTRIBUTE}*){_SPACE}*+(?P<slash>/?)>"
_CUT_ATTRIBUTE = rf"{_SPACE}++{_NAME}(?:{_SPACE}*+(?:={_SPACE}*+(?:\"[^\"]*+|'[^']*+)?)?)?"
_TAG_REST_CUT = rf"{_ATTRIBUTE}*(?:{_SPACE}*+/?|{_CUT_ATTRIBUTE})"
_ATTRIBUTES = re.compile(rf"{_SPACE}++({_NAME})(?:{_SPACE}*+={_SPACE}*+({_VALUE}))?")
_ENTITY = re.compile(r"&([A-Za-z0-9#]{0,8});")
_ENTITY_CUT = re.compile(r"&[A-Za-z0-9#]{0,8}\Z")
_CHARACTERS = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_SURROGATES = range(0xD800, 0xE000)
_LAST_CHARACTER = 0x10FFFF


@dataclass
class Found:
    """A marker that was found: how long it is, and what it has in it."""

    lexeme: Lexeme
    length: int
    captures: dict[str, str] = field(default_factory=dict[str, str])
    is_self_closing: bool = False
    has_repeated: bool = False

    @property
    def seen(self) -> int:
        """How much of the text had to be seen to find it."""
        return self.length + self.lexeme.is_open_ended


class Lexeme:
    """A marker, and what it does: `element`, `stop`, `fence`, `cdata open`, `cdata close`, `entity` or `json call`."""

    def __init__(self, marker: Marker, meaning: str) -> None:
        self.marker = marker
        self.meaning = meaning
        self.opens: list[int] = []
        self.closes: list[int] = []
        self.starts_with_word = marker[0][0] == "capture"
        # Whether it is over only when something else is seen behind it.
        self.is_open_ended = marker[-1][0] in ("capture", "space")
        self._kept = dict(kept for _, _, attributes in marker for kept in attributes)
        self._full = re.compile(_full(marker) + ("(?=.)" if self.is_open_ended else ""), re.DOTALL)
        self._cut = re.compile(rf"(?:{'|'.join(_cuts(marker))})\Z")

    @property
    def first(self) -> str:
        """What the first character may be, as the inside of a character class."""
        return f"^{_NOT_IN_WORD}" if self.starts_with_word else re.escape(self.marker[0][1][0])

    def find(self, text: str) -> Found | None:
        """The marker at the beginning of a text."""
        match = self._full.match(text)
        if match is None:
            return None
        found = Found(self, match.end())
        groups = match.groupdict()
        found.captures = {name[2:]: value for name, value in groups.items() if name.startswith("c_")}
        found.is_self_closing = bool(groups.get("slash"))
        for name, value in _ATTRIBUTES.findall(groups.get("attributes") or ""):
            capture = self._kept.get(name)
            if capture is None or not value:
                continue
            if capture in found.captures:
                found.has_repeated = True
            else:
                found.captures[capture] = value[1:-1] if value[0] in "\"'" else value
        return found

    def may_come(self, text: str) -> bool:
        """Whether the text ends too early to tell."""
        return self._cut.match(text) is not None


class JsonHead(Lexeme):
    """A call as a JSON object, up to its name."""

    def __init__(self, element: Element) -> None:
        super().__init__((("literal", "{", ()),), "json call")
        self.names = (element.json_names, element.json_arguments)

    def find(self, text: str) -> Found | None:
        """The head at the beginning of a text."""
        length, name = match_head(text, *self.names)
        if not length:
            return None
        return Found(self, length, {} if name is None else {"name": name})

    def may_come(self, text: str) -> bool:
        """Whether the text ends too early to tell."""
        return match_head(text, *self.names)[0] is None


class Entity(Lexeme):
    """A character reference."""

    def __init__(self) -> None:
        super().__init__((("literal", "&", ()),), "entity")

    def find(self, text: str) -> Found | None:
        """The reference at the beginning of a text, if it stands for something."""
        match = _ENTITY.match(text)
        character = match and _character(match[1])
        return Found(self, match.end(), {"character": character}) if match and character else None

    def may_come(self, text: str) -> bool:
        """Whether the text ends too early to tell."""
        return _ENTITY_CUT.match(text) is not None


class Lexicon:
    """All markers of a vocabulary."""

    def __init__(self, grammar: Grammar, tag_bytes: int) -> None:
        self.elements = grammar.elements
        self.tag_bytes = tag_bytes
        self._all: list[Lexeme] = []
        for number, element in enumerate(grammar.elements):
            self._of_marker(element.open).opens.append(number)
            if element.close is not None:
                self._of_marker(element.close).closes.append(number)
            if element.body == "json_calls":
                self._all.append(JsonHead(element))
        options = [(text, "stop") for text in grammar.stop]
        options += [("```", "fence")] if grammar.exempts_fences else []
        options += [("<![CDATA[", "cdata open"), ("]]>", "cdata close")] if grammar.unwraps_cdata else []
        self._all += [Lexeme((("literal", text, ()),), meaning) for text, meaning in options]
        if grammar.decodes_entities:
            self._all.append(Entity())
        for lexeme in self._all:
            _check(lexeme.marker, tag_bytes)
        scopes: tuple[Scope, ...] = ("text", "section", "results", "value")
        self._scopes = {scope: [each for each in self._all if self._belongs(each, scope)] for scope in scopes}
        self._starts = {scope: re.compile(_starts(lexemes)) for scope, lexemes in self._scopes.items()}
        # Where a stop sequence would end nothing.
        self._without_stops = {
            scope: [each for each in lexemes if each.meaning != "stop"] for scope, lexemes in self._scopes.items()
        }

    def _of_marker(self, marker: Marker) -> Lexeme:
        known = next((each for each in self._all if each.marker == marker and each.meaning == "element"), None)
        if known is None:
            known = Lexeme(marker, "element")
            self._all.append(known)
        return known

    def _belongs(self, lexeme: Lexeme, scope: Scope) -> bool:
        if lexeme.starts_with_word or lexeme.meaning == "json call":
            return scope == "section"
        if lexeme.meaning == "stop":
            return scope in ("text", "section")
        if lexeme.meaning == "element":
            # `<result>` is a word of many languages: only inside results is it a marker.
            roles = {self.elements[number].role for number in (*lexeme.opens, *lexeme.closes)}
            return scope == "results" or not roles <= {"result", "failure"}
        return scope == ("text" if lexeme.meaning == "fence" else "value")

    def next_start(self, scope: Scope, text: str, at: int) -> int | None:
        """The next place at or behind `at` where a marker may begin."""
        match = self._starts[scope].search(text, at)
        return match and match.start()

    def look(
        self, scope: Scope, text: str, place: int, *, is_last: bool, own: int | None = None, may_stop: bool = False
    ) -> Found | bool:
        """The marker at a place; True if more of the text must come to tell, False if there is none.

        Of several, the one that is known first; of these a stop sequence, or else the first of the vocabulary. An element's own closing
        marker comes before all others, inside of which it may stand.
        """
        window = text[place : place + self.tag_bytes + 1]
        may_wait = not is_last and len(text) - place < self.tag_bytes and len(window.encode()) < self.tag_bytes
        closing = next((each for each in self._all if own in each.closes), None)
        groups = [[closing]] if closing else []
        for lexemes in (*groups, (self._scopes if may_stop else self._without_stops)[scope]):
            found = [match for each in lexemes if (match := self._find(each, window))]
            if found:
                return min(found, key=_rank) if len(found) > 1 else found[0]
            if may_wait and any(each.may_come(window) for each in lexemes):
                return True
        return False

    def _find(self, lexeme: Lexeme, window: str) -> Found | None:
        found = lexeme.find(window)
        if found is None:
            return None
        seen = len(window[: found.length].encode()) + lexeme.is_open_ended
        return found if seen <= self.tag_bytes else None


def _rank(found: Found) -> tuple[int, bool]:
    return found.seen, found.lexeme.meaning != "stop"


@lru_cache
def lexicon(grammar: Grammar, tag_bytes: int) -> Lexicon:
    """The markers of a vocabulary, made ready once."""
    return Lexicon(grammar, tag_bytes)


def decoded(text: str) -> str:
    """The text, in which each reference is the character that it stands for."""
    return _ENTITY.sub(lambda match: _character(match[1]) or match[0], text)


def _character(name: str) -> str | None:
    if name in _CHARACTERS:
        return _CHARACTERS[name]
    digits = name.removeprefix("#")
    if digits == name:
        return None
    try:
        number = int(digits[1:], 16) if digits[:1] in "xX" and digits else int(digits)
    except ValueError:
        return None
    return None if number > _LAST_CHARACTER or number in _SURROGATES else chr(number)


def _starts(lexemes: list[Lexeme]) -> str:
    firsts = sorted({each.first for each in lexemes})
    return "|".join(f"[{first}]" for first in firsts) or r"(?!)"


def _full(pieces: Marker, count: int | None = None) -> str:
    """The expression of a marker, or of its first pieces."""
    return "".join(_full_piece(piece, _behind(pieces, number)) for number, piece in enumerate(pieces[:count]))


def _behind(pieces: Marker, number: int) -> str:
    """The first character of the literal behind a piece, which ends a word."""
    behind = pieces[number + 1] if number + 1 < len(pieces) else ("", "", ())
    return re.escape(behind[1][0]) if behind[0] == "literal" else ""


def _full_piece(piece: Piece, end: str) -> str:
    match piece:
        case ("literal", text, _):
            return re.escape(text)
        case ("space", _, _):
            return rf"{_SPACE}*+"
        case ("prefix", _, _):
            return rf"(?>(?:{_PREFIX}++:)?)"
        case ("capture", name, _):
            group = f"(?P<c_{name}>" if name else "(?:"
            return rf"{group}[^{_NOT_IN_WORD}{end}]++)"
        case _:
            return _TAG_REST


def _cuts(pieces: Marker) -> Iterator[str]:
    """Each way in which a text may end inside of a marker: the pieces before one, and a beginning of that one."""
    for number, piece in enumerate(pieces):
        before = re.sub(r"\?P<\w+>", "?:", _full(pieces, number))
        yield before + _cut_piece(piece, _behind(pieces, number)) + r"\Z"


def _cut_piece(piece: Piece, end: str) -> str:
    match piece:
        case ("literal", text, _):
            return "".join(f"(?:{re.escape(each)}" for each in text[:-1]) + ")?" * (len(text) - 1)
        case ("space", _, _):
            return rf"{_SPACE}*+"
        case ("prefix", _, _):
            return rf"{_PREFIX}*+"
        case ("capture", _, _):
            return rf"[^{_NOT_IN_WORD}{end}]*+"
        case _:
            return _TAG_REST_CUT


def _check(marker: Marker, tag_bytes: int) -> None:
    """Refuses what could never be found.

    Raises:
        ValueError: The marker has no characters of its own, or too many.
    """
    if marker[0][0] not in ("literal", "capture"):
        msg = "a marker of a vocabulary must begin with characters of its own"
        raise ValueError(msg)
    if (
        sum(len(text.encode()) if kind == "literal" else kind in ("capture", "attributes") for kind, text, _ in marker)
        > tag_bytes
    ):
        msg = f"a marker of a vocabulary must not be longer than tag_bytes = {tag_bytes}"
        raise ValueError(msg)
