"""What the text of a parameter is, by the schemas of the tools: a string as it stands, or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from penstock.tools import declared_tools

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from penstock.tools import DeclaredTool

__all__ = ["ParameterTypes", "ValueRule", "parameter_types"]

ValueRule: TypeAlias = Literal["raw", "json"]
# Tool, parameter, and what its text is.
ParameterTypes: TypeAlias = tuple[tuple[str, str, ValueRule], ...]


def parameter_types(tools: Iterable[Mapping[str, Any]]) -> ParameterTypes:
    """What the tools of a request say of their parameters; nothing of one whose schema leaves open whether it may be a string.

    Raises:
        TypeError: `tools` is no list.
        ValueError: A tool is none of a request, two have the same name, or a schema is nested too deeply.
    """
    return tuple(
        (tool.name, name, "raw" if allows else "json")
        for tool in declared_tools(tools).values()
        for name, allows in _Schema(tool).parameters()
        if allows is not None
    )


class _Schema:
    """The schema of one tool."""

    def __init__(self, tool: DeclaredTool) -> None:
        self._tool = tool
        # What is behind each reference. One that is being followed says nothing more; one that was is not followed again, for
        # each that names two others would double the work.
        self._behind: dict[str, bool | None] = {}

    def parameters(self) -> Iterator[tuple[str, bool | None]]:
        """Each parameter, and whether it may be a string; None if the schema does not say."""
        try:
            for name, declared in _members(self._tool.schema, "properties").items():
                yield name, self._allows_strings(declared)
        except RecursionError:
            msg = f"the schema of the tool {self._tool.name!r} is nested too deeply"
            raise ValueError(msg) from None

    def _allows_strings(self, schema: object) -> bool | None:
        """Of several keywords, each can forbid them."""
        if not isinstance(schema, dict):
            return None
        known = cast("dict[str, Any]", schema)
        said = {self._by_keyword(keyword, value) for keyword, value in known.items()} - {None}
        return all(said) if said else None

    def _by_keyword(self, keyword: str, value: Any) -> bool | None:
        match keyword, value:
            case "type", str() | list():
                return value == "string" or (isinstance(value, list) and "string" in value)
            case "const", _:
                return isinstance(value, str)
            case "enum", list():
                return any(isinstance(each, str) for each in cast("list[object]", value))
            case (("anyOf" | "oneOf"), list()):
                branches = set(map(self._allows_strings, cast("list[object]", value)))
                return True if True in branches else False if branches == {False} else None
            case "allOf", list():
                parts = set(map(self._allows_strings, cast("list[object]", value))) - {None}
                return all(parts) if parts else None
            case "$ref", str():
                return self._follow(value)
            case _:
                return None

    def _follow(self, reference: str) -> bool | None:
        if reference not in self._behind:
            self._behind[reference] = None
            self._behind[reference] = self._allows_strings(_target(reference, self._tool.schema))
        return self._behind[reference]


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
