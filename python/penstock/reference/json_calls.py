"""A call that is written as a JSON object: `{"name": …, "arguments": …}`.

Its head, up to the name, is a marker like any other. Behind it the object is walked character by character, and its arguments are handed
on as they come, as the text that they are.
"""

from __future__ import annotations

import json
import re
from typing import TypeAlias

from penstock.reference.json_progress import JsonProgress

__all__ = ["JsonCall", "match_head"]

_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*+"', re.DOTALL)
_CUT_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*+\\?\Z', re.DOTALL)
_PLAIN = re.compile(r"[^\\\x00-\x1f]*")
_FIRST_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")
_SPACE = re.compile(r"[ \t\n\f\r]*")
_IN_NUMBER = "0123456789.eE+-"
# How long a name in the object may be, with its quotes: it is kept until it ends.
_LONGEST_WORD = 4096

# How long the head is and the name it has; 0 if there is none, None if the text ends too early to tell.
Head: TypeAlias = tuple[int | None, str | None]


def match_head(text: str, names: tuple[str, ...], arguments: tuple[str, ...]) -> Head:
    """An object up to the end of its name, or up to its arguments if these come first: then there is no name."""
    if not text.startswith("{"):
        return 0, None
    at = _behind_space(text, 1)
    while True:
        end = _string_end(text, at)
        if not end:
            return end, None
        member = _unquoted(text[at:end])
        colon = _behind_space(text, end)
        if member is None or text[colon : colon + 1] != ":":
            return (None if member is not None and colon == len(text) else 0), None
        if member in arguments and member not in names:
            return colon + 1, None
        start = _behind_space(text, colon + 1)
        end = _string_end(text, start) if member in names else _value_end(text, start)
        if not end:
            return end, None
        if member in names:
            name = _unquoted(text[start:end])
            return (end, name) if name else (0, None)
        comma = _behind_space(text, end)
        if text[comma : comma + 1] != ",":
            return (None if comma == len(text) else 0), None
        at = _behind_space(text, comma + 1)


def _behind_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _string_end(text: str, at: int) -> int | None:
    """Behind the string at a place; 0 if there is none, None if the text ends in it."""
    if at >= len(text):
        return None
    match = _STRING.match(text, at)
    if match:
        return match.end()
    return None if _CUT_STRING.match(text, at) else 0


def _value_end(text: str, at: int) -> int | None:
    progress = JsonProgress()
    for place in range(at, len(text)):
        if _has_ended(progress, text[place]):
            return place
        progress.step(text[place])
        if progress.is_broken:
            return 0
    return None


def _has_ended(progress: JsonProgress, character: str) -> bool:
    """Whether a value is over before this character. A number ends with what is behind it; anything else with its last character."""
    return progress.is_over or (progress.is_whole and character not in _IN_NUMBER)


def _unquoted(text: str) -> str | None:
    try:
        value = json.loads(text)
        value.encode()
    except ValueError:
        return None
    return value


def _unescaped(raw: str, *, is_last: bool) -> tuple[str, str | None]:
    """What the inside of a string says, and the escape at its end that is still coming; None if it is no JSON."""
    said: list[str] = []
    at = 0
    while at < len(raw):
        end = _PLAIN.match(raw, at)
        at = end.end() if end else at
        said.append(end[0] if end else "")
        escape = raw[at : at + 2]
        if not escape:
            break
        length = 12 if _FIRST_HALF.match(raw, at) else 6 if escape == "\\u" else 2
        if at + length > len(raw) and not is_last and escape[0] == "\\":
            return "".join(said), raw[at:]
        character = _unquoted(f'"{raw[at : at + length]}"')
        if character is None or escape[0] != "\\":
            return "".join(said), None
        said.append(character)
        at += length
    return "".join(said), ""


class JsonCall:
    """Walks an object from behind its head.

    `place` is where the walk is: `behind` a value, before a `key`, in a `key word`, before the `colon`, before a `value`, in a `value
    word`, in a `text` (arguments that are a string), in a `name word`, `done`, or `broken`.
    """

    def __init__(self, names: tuple[str, ...], arguments: tuple[str, ...], *, has_name: bool) -> None:
        self._names = names
        self._arguments = arguments
        self._has_name = has_name
        self._has_arguments = not has_name
        self._member = "" if has_name else "arguments"
        self._word = ""
        self._is_escaped = False
        self._progress = JsonProgress()
        self.place = "behind" if has_name else "value"

    @property
    def is_in_string(self) -> bool:
        """Whether the next character is inside a string."""
        return self.place in ("key word", "name word", "text") or (
            self.place == "value word" and self._progress.is_in_string
        )

    def push(self, text: str) -> tuple[int, list[tuple[str, str]]]:
        """Takes text up to the end of the object: how much that was, and the `name`, pieces of `arguments`, or what is `repeated`."""
        found: list[tuple[str, str]] = []
        at = 0
        while at < len(text) and self.place != "done":
            match self.place:
                case "value word":
                    at += self._in_value(text[at:], found)
                case "text" | "key word" | "name word":
                    at += self._in_string(text[at:], found)
                case "broken":
                    at = len(text)
                case _:
                    at += self._between(text[at])
        return at, found

    def _between(self, character: str) -> int:
        """A character between values; how many of it were taken, because a value begins with its first."""
        if character in " \t\n\f\r":
            return 1
        self._word, self._is_escaped = "", False
        match self.place, character:
            case "behind", ",":
                self.place = "key"
            case "behind", "}":
                self.place = "done"
            case "key", '"':
                self.place = "key word"
            case "colon", ":":
                self.place = "value"
            case "value", '"' if self._member in ("arguments", "name"):
                self.place = "text" if self._member == "arguments" else "name word"
            case "value", _:
                self.place = "value word"
                self._progress = JsonProgress()
                return 0
            case _:
                self.place = "broken"
        return 1

    def _in_value(self, text: str, found: list[tuple[str, str]]) -> int:
        length = len(text)
        for at, character in enumerate(text):
            if _has_ended(self._progress, character):
                length, self.place = at, "behind"
                break
            self._progress.step(character)
            if self._progress.is_broken:
                length, self.place = at, "broken"
                break
        if self._progress.is_over:
            self.place = "behind"
        if self._member == "arguments" and length:
            found.append(("arguments", text[:length]))
        return length

    def _in_string(self, text: str, found: list[tuple[str, str]]) -> int:
        end = None
        for at, character in enumerate(text):
            if character == '"' and not self._is_escaped:
                end = at
                break
            self._is_escaped = character == "\\" and not self._is_escaped
        self._word += text[:end]
        if self.place == "text":
            self._say(found, is_whole=end is not None)
        elif len(self._word.encode()) + (1 if end is None else len('""')) > _LONGEST_WORD:
            self.place = "broken"
        if end is None:
            return len(text)
        if self.place != "broken":
            self._end_string(found)
        return len(text) if self.place == "broken" else end + 1

    def _say(self, found: list[tuple[str, str]], *, is_whole: bool) -> None:
        """Hands on what a string of arguments says, as far as its escapes are whole."""
        said, rest = _unescaped(self._word, is_last=is_whole)
        found += [("arguments", said)] if said else []
        if rest is None:
            self.place = "broken"
        else:
            self._word = rest

    def _end_string(self, found: list[tuple[str, str]]) -> None:
        if self.place == "text":
            self.place = "behind"
            return
        word = _unquoted(f'"{self._word}"')
        if word is None:
            self.place = "broken"
        elif self.place == "name word":
            self._has_name = True
            found.append(("name", word))
            self.place = "behind"
        else:
            self._enter(word, found)

    def _enter(self, key: str, found: list[tuple[str, str]]) -> None:
        self.place = "colon"
        self._member = "name" if key in self._names else "arguments" if key in self._arguments else ""
        known = self._has_name if self._member == "name" else self._has_arguments
        if self._member and known:
            self._member = ""
            found.append(("repeated", key))
        self._has_arguments |= self._member == "arguments"
