"""Strict JSON, read character by character and without hurry: what the reader of arguments is compared with."""

from __future__ import annotations

import re
from typing import Any

ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
WORDS = {"true": True, "false": False, "null": None}


class Refused(Exception):
    """The text is not strict JSON."""


class Oracle:
    """Reads one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def read(self) -> Any:
        value = self.value(0)
        self.blank()
        if self.at != len(self.text):
            raise Refused
        return value

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self, expected: str) -> None:
        if not self.text.startswith(expected, self.at):
            raise Refused
        self.at += len(expected)

    def blank(self) -> None:
        while self.peek() and self.peek() in " \t\r\n":
            self.at += 1

    def value(self, depth: int) -> Any:
        self.blank()
        match self.peek():
            case "{":
                return self.object(depth + 1)
            case "[":
                return self.array(depth + 1)
            case '"':
                return self.string()
            case _:
                return self.scalar()

    def scalar(self) -> Any:
        for word, value in WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value
        match = NUMBER.match(self.text, self.at)
        if match is None or sum(map(str.isdigit, match[0])) > 64:
            raise Refused
        self.at = match.end()
        number = float(match[0]) if match[2] or match[3] else int(match[0])
        if number in {float("inf"), float("-inf")}:
            raise Refused
        return number

    def items(self, depth: int, opening: str, closing: str, read: Any) -> list[Any]:
        if depth > 64:
            raise Refused
        self.take(opening)
        self.blank()
        found: list[Any] = []
        while self.peek() != closing:
            if found:
                self.take(",")
            found.append(read())
            self.blank()
        self.take(closing)
        return found

    def array(self, depth: int) -> Any:
        return self.items(depth, "[", "]", lambda: self.value(depth))

    def object(self, depth: int) -> Any:
        pairs = self.items(depth, "{", "}", lambda: self.pair(depth))
        names = [name for name, _ in pairs]
        if len(names) > 1024 or len(set(names)) != len(names):
            raise Refused
        return dict(pairs)

    def pair(self, depth: int) -> tuple[str, Any]:
        self.blank()
        name = self.string()
        self.blank()
        self.take(":")
        return name, self.value(depth)

    def string(self) -> str:
        self.take('"')
        units: list[int] = []
        while (each := self.peek()) != '"':
            if not each or each < " ":
                raise Refused
            self.at += 1
            units.append(self.escape() if each == "\\" else ord(each))
        self.take('"')
        return joined(units)

    def escape(self) -> int:
        each = self.peek()
        self.at += 1
        if each != "u":
            if each not in ESCAPES:
                raise Refused
            return ord(ESCAPES[each])
        digits = self.text[self.at : self.at + 4]
        if re.fullmatch("[0-9a-fA-F]{4}", digits) is None:
            raise Refused
        self.at += 4
        return int(digits, 16)


def joined(units: list[int]) -> str:
    """Text of code points, some of which are halves of pairs."""
    raw = b"".join(chr(unit).encode("utf-16-le", "surrogatepass") for unit in units)
    try:
        return raw.decode("utf-16-le")
    except UnicodeDecodeError:
        raise Refused from None
