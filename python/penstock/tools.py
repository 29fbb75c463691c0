"""The tools that a request declares, whichever wire format it is written in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

__all__ = ["DeclaredTool", "declared_tools"]

Input: TypeAlias = Literal["json", "text", "provider"]


@dataclass(frozen=True)
class DeclaredTool:
    """A tool of the request.

    Attributes:
        name: Its name.
        input: What it takes: `json` after a schema, free `text`, or what the `provider` has defined.
        schema: The JSON schema of its arguments.
    """

    name: str
    input: Input
    schema: Any = None


def declared_tools(tools: Iterable[Mapping[str, Any]]) -> dict[str, DeclaredTool]:
    """The tools by their names, from the `tools` of a chat, Messages or Responses request, or the old `functions` of chat.

    Raises:
        TypeError: `tools` is no list.
        ValueError: A tool is not in any of these shapes, or two have the same name.

    Example:
        >>> from penstock.tools import declared_tools
        >>> sorted(declared_tools([{"name": "read", "input_schema": {"type": "object"}}, {"type": "custom", "name": "patch"}]))
        ['patch', 'read']
    """
    given = cast("object", tools)
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        msg = f"tools must be a list of tools, not {type(tools).__name__}"
        raise TypeError(msg)
    declared: dict[str, DeclaredTool] = {}
    for number, tool in enumerate(tools):
        found = _declared(number, tool)
        # A provider's tools may repeat: two servers of the same protocol are two tools of one type.
        if found.name in declared and found.input != "provider":
            msg = f"tools[{number}] has the name of a tool before it"
            raise ValueError(msg)
        declared[found.name] = found
    return declared


def _declared(number: int, tool: Any) -> DeclaredTool:
    match tool:
        case {"function": {"name": str(name), **rest}}:
            return DeclaredTool(name, "json", _or_nothing(rest.get("parameters")))
        case {"type": "custom", "custom": {"name": str(name)}}:
            return DeclaredTool(name, "text")
        case {"name": str(name), "input_schema": schema}:
            return DeclaredTool(name, "json", schema)
        case {"type": "custom", "name": str(name)}:
            return DeclaredTool(name, "text")
        case {"type": "function", "name": str(name), **rest}:
            return DeclaredTool(name, "json", _or_nothing(rest.get("parameters")))
        case {"type": str(kind), **rest}:
            # A tool of the provider's own: Messages names it, Responses has only its type.
            return DeclaredTool(cast("str", rest.get("name", kind)), "provider")
        case {"name": str(name), **rest}:
            return DeclaredTool(name, "json", _or_nothing(rest.get("parameters")))
        case _:
            msg = f"tools[{number}] must be a tool of a chat, Messages or Responses request, not {type(tool).__name__}"
            raise ValueError(msg)


# A function that declares no parameters takes none.
_NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


def _or_nothing(schema: Any) -> Any:
    return _NOTHING if schema is None else schema
