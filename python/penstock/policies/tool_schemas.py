"""Holds calls to what the request declares: known tools, and arguments after their schemas."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from penstock.extras import imported
from penstock.policy import Policy, PolicyContext
from penstock.tools import DeclaredTool, declared_tools
from penstock.verdicts import ALLOW, Verdict, deny

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.calls import ToolCall

__all__ = ["ToolSchemas"]

# Server tools under these types have names that only their server knows.
REMOTE_TYPES = frozenset({"mcp", "mcp_toolset"})


class ToolSchemas(Policy):
    """Denies calls of tools that the request does not declare, and arguments that do not satisfy the tool's JSON schema.

    It needs the package `jsonschema`: `pip install penstock[schema]`. A schema that refers to another address is not followed: the
    call is denied.

    Args:
        tools: The tools, in the shape of a chat, Messages or Responses request; by default those of the stream's context.

    Raises:
        ModuleNotFoundError: `jsonschema` is not installed.

    Example:
        >>> import asyncio, penstock
        >>> from penstock.policies import ToolSchemas
        >>> schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
        >>> policy = ToolSchemas([{"name": "read_file", "input_schema": schema}])
        >>> call = penstock.ToolCall(id="call_1", name="read_file", arguments='{"path": 7}')
        >>> asyncio.run(penstock.judge(policy, call, penstock.PolicyContext())).verdict.reason
        'the arguments do not satisfy the schema of read_file: type at /path'
    """

    def __init__(self, tools: Sequence[Mapping[str, Any]] | None = None) -> None:
        _jsonschema()
        self._fixed = None if tools is None else _Schemas(tools)

    def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
        """Denies what the request does not provide for."""
        schemas = self._fixed or context.own(self, lambda: _Schemas(context.tools))
        problem = schemas.problem_of(call)
        return deny(problem) if problem else ALLOW


class _Schemas:
    """The declared tools with their validators, each made once."""

    def __init__(self, tools: Sequence[Mapping[str, Any]]) -> None:
        self._tools = declared_tools(tools)
        self._validators = {tool.name: _validator(tool) for tool in self._tools.values() if tool.input == "json"}

    def problem_of(self, call: ToolCall) -> str:
        """Why the call is not what was declared; empty if it is."""
        tool = self._tools.get(call.name)
        if tool is None or tool.input == "provider":
            return "" if self._is_the_providers(call, tool) else "the request declares no such tool"
        if (tool.input == "text") != (call.kind == "custom"):
            return f"{tool.name} was called with another sort of input than it takes"
        return self._problem_of_arguments(tool, call) if tool.input == "json" else ""

    def _problem_of_arguments(self, tool: DeclaredTool, call: ToolCall) -> str:
        error = next(self._validators[tool.name].iter_errors(call.parsed), None)
        if error is None:
            return ""
        place = "/" + "/".join(str(part) for part in error.absolute_path)
        return f"the arguments do not satisfy the schema of {tool.name}: {error.validator} at {place}"

    def _is_the_providers(self, call: ToolCall, tool: DeclaredTool | None) -> bool:
        if tool is not None:
            return True
        if call.kind not in {"builtin", "server"}:
            return False
        # Responses names such a call after its type: `web_search_call` for `web_search` or `web_search_preview`.
        base = call.name.removesuffix("_call")
        own = [each.name for each in self._tools.values() if each.input == "provider"]
        if any(name == base or name.startswith(f"{base}_") for name in own):
            return True
        return call.has_run and not REMOTE_TYPES.isdisjoint(own)


def _validator(tool: DeclaredTool) -> Any:
    kind = _jsonschema().validators.validator_for(tool.schema, default=_jsonschema().Draft202012Validator)
    kind.check_schema(tool.schema)
    # An empty registry: the default one would fetch whatever address a schema names.
    return kind(tool.schema, registry=importlib.import_module("referencing").Registry())


def _jsonschema() -> Any:
    return imported("jsonschema", "ToolSchemas needs the package jsonschema: pip install penstock[schema]")
