"""What the text of a parameter is, by the schemas of the tools: a string as it stands, or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from penstock.tools import declared_tools

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["ParameterTypes", "ValueRule", "parameter_types"]

ValueRule: TypeAlias = Literal["raw", "json"]
# Tool, parameter, and what its text is.
ParameterTypes: TypeAlias = tuple[tuple[str, str, ValueRule], ...]


def parameter_types(tools: Iterable[Mapping[str, Any]]) -> ParameterTypes:
    """What the tools of a request say of their parameters; nothing of one whose schema leaves open whether it may be a string.

    Raises:
        TypeError: `tools` is no list.
        ValueError: A tool is none of a request, or two have the same name.
    """
    return tuple(
        (tool.name, name, "raw" if allows else "json")
        for tool in declared_tools(tools).values()
        for name, declared in _members(tool.schema, "properties").items()
        if (allows := _allows_strings(declared, tool.schema)) is not None
    )


def _allows_strings(schema: object, root: object, followed: frozenset[str] = frozenset()) -> bool | None:
    """Whether a schema allows strings; None if it does not say. Of several keywords, each can forbid them."""
    if not isinstance(schema, dict):
        return None
    known = cast("dict[str, Any]", schema)
    said = {answer for keyword in known if (answer := _by_keyword(keyword, known[keyword], root, followed)) is not None}
    return all(said) if said else None


def _by_keyword(keyword: str, value: Any, root: object, followed: frozenset[str]) -> bool | None:
    """What one keyword says."""
    match keyword, value:
        case "type", str() | list():
            return value == "string" or (isinstance(value, list) and "string" in value)
        case "const", _:
            return isinstance(value, str)
        case "enum", list():
            return any(isinstance(each, str) for each in cast("list[object]", value))
        case (("anyOf" | "oneOf"), list()):
            branches = {_allows_strings(each, root, followed) for each in cast("list[object]", value)}
            return True if True in branches else False if branches == {False} else None
        case "allOf", list():
            parts = {_allows_strings(each, root, followed) for each in cast("list[object]", value)} - {None}
            return all(parts) if parts else None
        case "$ref", str() if value not in followed:
            return _allows_strings(_target(value, root), root, followed | {value})
        case _:
            return None


def _target(reference: str, root: object) -> object:
    """What a reference within a schema points at; None for any other."""
    names = reference.removeprefix("#/").split("/") if reference.startswith("#/") else [""]
    found = root
    for name in names:
        found = _members(found).get(name.replace("~1", "/").replace("~0", "~"))
    return found


def _members(value: object, name: str | None = None) -> dict[str, Any]:
    """An object, or the object that is its member; empty if that is none."""
    found = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return found if name is None else _members(found.get(name))
