"""What a value of the wire must look like, as data: the kinds of values, and objects made of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = [
    "ANYTHING",
    "COUNT",
    "FLAG",
    "LIST",
    "NULL",
    "NUMBER",
    "OBJECT",
    "TEXT",
    "Expected",
    "Kind",
    "ListOf",
    "Shape",
    "faults",
    "is_object",
    "nullable",
    "one_of",
]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: how a message names it, and whether a value is one."""

    named: str
    holds: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Shape:
    """An object: the fields it must have, and those it may have. Null in the latter says nothing."""

    required: Mapping[str, Expected] = field(default_factory=dict[str, "Expected"])
    optional: Mapping[str, Expected] = field(default_factory=dict[str, "Expected"])


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose elements all look alike."""

    element: Expected


Expected: TypeAlias = Kind | Shape | ListOf


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a value is a JSON object."""
    return isinstance(value, dict)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


ANYTHING = Kind("anything", lambda _: True)
NULL = Kind("null", lambda value: value is None)
TEXT = Kind("a string", lambda value: isinstance(value, str))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
NUMBER = Kind("a number", _is_number)
COUNT = Kind("a whole number from 0", _is_count)
OBJECT = Kind("an object", is_object)
LIST = Kind("a list", lambda value: isinstance(value, list))


def nullable(kind: Kind) -> Kind:
    """The kind, or null."""
    return Kind(f"{kind.named} or null", lambda value: value is None or kind.holds(value))


def one_of(*words: str) -> Kind:
    """One of these words."""
    return Kind(" or ".join(f'"{word}"' for word in words), lambda value: isinstance(value, str) and value in words)


def faults(value: Any, expected: Expected, path: str) -> Iterator[str]:
    """One line for each place where a value is not as expected. It names fields of the tables alone, never what is in the value."""
    match expected:
        case Kind():
            if not expected.holds(value):
                yield f"{path} must be {expected.named}"
        case ListOf():
            yield from _list_faults(value, expected, path)
        case Shape():
            yield from _object_faults(value, expected, path)


def _list_faults(value: Any, expected: ListOf, path: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{path} must be a list"
        return
    for position, element in enumerate(cast("list[Any]", value)):
        yield from faults(element, expected.element, f"{path}[{position}]")


def _object_faults(value: Any, expected: Shape, path: str) -> Iterator[str]:
    if not is_object(value):
        yield f"{path} must be an object"
        return
    for name, each in expected.required.items():
        if name in value:
            yield from faults(value[name], each, f"{path}.{name}")
        else:
            yield f"{path}.{name} is missing"
    for name, each in expected.optional.items():
        if value.get(name) is not None:
            yield from faults(value[name], each, f"{path}.{name}")
