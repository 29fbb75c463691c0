"""How much of one JSON value a text is that is still growing."""

from __future__ import annotations

import re

__all__ = ["JsonProgress"]

# Most readers stop at or above this depth.
_DEPTH = 128
_SPACE = " \t\n\r"
_ESCAPES = '"\\/bfnrt'
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_BEGINNING_OF_NUMBER = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.(?:[0-9]+(?:[eE][+-]?[0-9]*)?)?|[eE][+-]?[0-9]*)?)?")
_LITERALS = {"t": "true", "f": "false", "n": "null"}


class JsonProgress:
    """Takes a text character by character.

    `state` says what may come next: a `value`, a `value or end`, a `name`, a `name or end`, a `colon`, what comes `next`; the rest of a
    `string`, of an `escape`, of a `literal` or of a `number`; or that it is `broken`.
    """

    __slots__ = ("_brackets", "_is_name", "_scalar", "state")

    def __init__(self) -> None:
        self.state = "value"
        self._brackets: list[str] = []
        self._is_name = False
        self._scalar = ""

    @property
    def is_whole(self) -> bool:
        """Whether the text so far is one whole value."""
        if self._brackets:
            return False
        return self.state == "next" or (self.state == "number" and _NUMBER.fullmatch(self._scalar) is not None)

    @property
    def is_broken(self) -> bool:
        """Whether no continuation can make this JSON."""
        return self.state == "broken"

    @property
    def is_over(self) -> bool:
        """Whether a whole value cannot get longer, as a number can."""
        return self.is_whole and self.state == "next"

    @property
    def is_in_string(self) -> bool:
        """Whether the next character is inside a string."""
        return self.state in ("string", "escape")

    def push(self, text: str) -> None:
        """Takes the next piece of the text."""
        for character in text:
            self.step(character)

    def step(self, character: str) -> None:
        """Takes the next character."""
        match self.state:
            case "string":
                self._in_string(character)
            case "escape":
                self._in_escape(character)
            case "literal":
                self._scalar += character
                word = _LITERALS[self._scalar[0]]
                self.state = (
                    "next" if self._scalar == word else "literal" if word.startswith(self._scalar) else "broken"
                )
            case "number":
                self._in_number(character)
            case "broken":
                pass
            case _:
                if character not in _SPACE:
                    self._between(character)

    def _in_string(self, character: str) -> None:
        if character == '"':
            self.state = "colon" if self._is_name else "next"
        elif character == "\\":
            self.state, self._scalar = "escape", ""
        elif character < " ":
            self.state = "broken"

    def _in_escape(self, character: str) -> None:
        self._scalar += character
        if self._scalar[0] == "u":
            is_right = len(self._scalar) == 1 or character in "0123456789abcdefABCDEF"
            length = 5
        else:
            is_right, length = character in _ESCAPES, 1
        if not is_right:
            self.state = "broken"
        elif len(self._scalar) == length:
            self.state = "string"

    def _in_number(self, character: str) -> None:
        if _BEGINNING_OF_NUMBER.fullmatch(self._scalar + character):
            self._scalar += character
        elif _NUMBER.fullmatch(self._scalar):
            self.state = "next"
            self.step(character)
        else:
            self.state = "broken"

    def _between(self, character: str) -> None:
        expects_value = self.state in ("value", "value or end")
        if character == '"' and (expects_value or self.state in ("name", "name or end")):
            self._is_name = not expects_value
            self.state = "string"
        elif expects_value and character in "{[":
            self._open(character)
        elif expects_value and character in _LITERALS:
            self.state, self._scalar = "literal", character
        elif expects_value and character in "-0123456789":
            self.state, self._scalar = "number", character
        elif self.state == "colon" and character == ":":
            self.state = "value"
        elif self.state == "next" and character == "," and self._brackets:
            self.state = "name" if self._brackets[-1] == "{" else "value"
        elif character == "}" and self.state in ("next", "name or end"):
            self._close("{")
        elif character == "]" and self.state in ("next", "value or end"):
            self._close("[")
        else:
            self.state = "broken"

    def _open(self, bracket: str) -> None:
        if len(self._brackets) >= _DEPTH:
            self.state = "broken"
            return
        self._brackets.append(bracket)
        self.state = "name or end" if bracket == "{" else "value or end"

    def _close(self, bracket: str) -> None:
        is_right = bool(self._brackets) and self._brackets.pop() == bracket
        self.state = "next" if is_right else "broken"
