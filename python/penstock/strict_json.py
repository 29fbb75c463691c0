"""JSON that every reader reads alike, or an error: what a verdict may be based on.

Readers differ where JSON is loose: on names given twice, on NaN, on lone surrogates, on depth. A judge that reads one thing
while the client reads another protects nobody, so all of these are refused.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from penstock.errors import InvalidArguments

__all__ = ["DEPTH", "NAMES_PER_OBJECT", "NUMBER_DIGITS", "StrictJson", "load"]

# Arrays and objects inside each other. No tool's schema comes near; some readers give up at 100.
DEPTH = 64
# Names of one object. A table by name has some hundreds at most.
NAMES_PER_OBJECT = 1024
# Digits of one number, its exponent included: four times what a double can tell apart.
NUMBER_DIGITS = 64
# Beyond these, a reader that has only doubles takes one integer for another.
SAFE_INTEGER = (1 << 53) - 1

_BRACKETS_AND_STRINGS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)
_DIGITS = re.compile("[0-9]")


@dataclass(frozen=True, slots=True)
class StrictJson:
    """A text that was read strictly.

    Attributes:
        value: What it says.
        has_big_integers: Whether it has integers that a reader with doubles alone would change.
    """

    value: Any
    has_big_integers: bool


def load(text: str) -> StrictJson:
    """Reads one JSON value.

    Raises:
        InvalidArguments: The text is not JSON, or readers would differ on it.
    """
    _check_depth(text)
    _check_surrogates(text)
    reader = _Reader()
    try:
        value = json.loads(
            text,
            object_pairs_hook=reader.read_object,
            parse_int=reader.read_integer,
            parse_float=reader.read_float,
            parse_constant=_refuse_constant,
        )
    except json.JSONDecodeError as error:
        # The message is one of the standard library's own; it quotes nothing.
        raise InvalidArguments("invalid_json", error.pos, error.msg) from None
    if "\\u" in text:
        # Escapes are where a lone surrogate can hide; the text itself was looked at above.
        _check_surrogates(json.dumps(value, ensure_ascii=False))
    return StrictJson(value, reader.has_big_integers)


class _Reader:
    """What the standard library's scanner asks about the values that it finds."""

    def __init__(self) -> None:
        self.has_big_integers = False

    def read_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # The names come unescaped, so that one spelt with escapes is the same name.
        if len(pairs) > NAMES_PER_OBJECT:
            raise InvalidArguments("too_many_names", None, f"an object has more than {NAMES_PER_OBJECT} names")
        found = dict(pairs)
        if len(found) != len(pairs):
            raise InvalidArguments("duplicate_name", None, "an object has the same name twice")
        return found

    def read_integer(self, digits: str) -> int:
        _check_digits(digits)
        number = int(digits)
        if abs(number) > SAFE_INTEGER:
            self.has_big_integers = True
        return number

    def read_float(self, digits: str) -> float:
        _check_digits(digits)
        number = float(digits)
        if not math.isfinite(number):
            raise InvalidArguments("not_finite", None, "a number is larger than any double")
        return number


def _check_depth(text: str) -> None:
    """Counts brackets, so that the scanner, which calls itself for each, never goes deep."""
    depth = 0
    for token in _BRACKETS_AND_STRINGS.finditer(text):
        match token[0]:
            case "[" | "{":
                depth += 1
                if depth > DEPTH:
                    raise InvalidArguments("too_deep", token.start(), f"more than {DEPTH} values inside each other")
            case "]" | "}":
                depth -= 1
            case _:
                pass


def _check_surrogates(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        detail = "half of a surrogate pair stands alone"
        raise InvalidArguments("lone_surrogate", None, detail) from None


def _check_digits(digits: str) -> None:
    if len(digits) > NUMBER_DIGITS and len(_DIGITS.findall(digits)) > NUMBER_DIGITS:
        raise InvalidArguments("number_too_long", None, f"a number has more than {NUMBER_DIGITS} digits")


def _refuse_constant(_name: str) -> NoReturn:
    raise InvalidArguments("not_finite", None, "NaN and Infinity are not JSON")
