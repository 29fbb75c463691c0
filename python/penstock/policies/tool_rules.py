"""Lists of tools that may be called, and of tools that may not, by name and by arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from penstock.engine import check_type
from penstock.patterns import compiled
from penstock.policy import Policy
from penstock.verdicts import ALLOW, Verdict, deny

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.calls import ToolCall
    from penstock.policy import PolicyContext

__all__ = ["ToolRule", "ToolRules"]

Rules: TypeAlias = "Iterable[str | ToolRule]"

_MISSING = object()


@dataclass(frozen=True)
class ToolRule:
    """Calls of some tools, or some calls of them.

    Attributes:
        name: The tool's name, or a pattern with `*`, `?` and `[…]`. It is compared byte for byte: case and look-alikes count.
        arguments: Regular expressions by the place of the value that they are about: a JSON pointer (`/files/0/path`) or the same with dots
            (`files.0.path`); `""` is the whole. A value that is no string is compared as compact JSON.
    """

    name: str
    arguments: Mapping[str, str | re.Pattern[str]] = field(default_factory=dict[str, "str | re.Pattern[str]"])

    def __post_init__(self) -> None:
        check_type("name", self.name, str, "text")
        check_type("arguments", self.arguments, Mapping, "patterns by place")
        for place, pattern in self.arguments.items():
            _pattern(place, pattern)


class ToolRules(Policy):
    r"""Judges calls by lists.

    A rule to deny applies if its patterns are found anywhere in their values; a rule to allow, if they fit their values from end to
    end, and each of the values is there. Denials go first. With `allow`, what no rule allows is denied.

    Args:
        allow: Rules, or names alone. Without it, all is allowed that is not denied; an empty list allows nothing.
        deny: Rules, or names alone.

    Example:
        >>> import asyncio, penstock
        >>> from penstock.policies import ToolRule, ToolRules
        >>> policy = ToolRules(allow=["read_*", ToolRule("bash", {"command": "ls( -l)?"})], deny=[ToolRule("*", {"path": r"\.ssh"})])
        >>> def decide(name, arguments):
        ...     call = penstock.ToolCall(id="call_1", name=name, arguments=arguments)
        ...     return asyncio.run(penstock.judge(policy, call, penstock.PolicyContext())).verdict.decision
        >>> decide("read_file", '{"path": "/srv/a"}'), decide("read_file", '{"path": "/home/kim/.ssh/id"}')
        ('allow', 'deny')
        >>> decide("bash", '{"command": "ls -l"}'), decide("bash", '{"command": "ls; rm -rf /"}')
        ('allow', 'deny')
    """

    def __init__(self, *, allow: Rules | None = None, deny: Rules | None = None) -> None:
        if allow is None and deny is None:
            msg = "expected rules to allow or to deny"
            raise ValueError(msg)
        self._allowed = None if allow is None else _compiled("allow", allow)
        self._denied = _compiled("deny", () if deny is None else deny)

    def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
        """Denies what a rule denies, and what none allows."""
        if any(rule.denies(call) for rule in self._denied):
            return deny("a rule denies this call")
        if self._allowed is None or any(rule.allows(call) for rule in self._allowed):
            return ALLOW
        return deny("no rule allows this call")


@dataclass(frozen=True)
class _Rule:
    name: re.Pattern[str]
    arguments: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]

    def allows(self, call: ToolCall) -> bool:
        if self.name.fullmatch(call.name) is None:
            return False
        whole = _whole(call)
        texts = ((pattern, _text_at(whole, path)) for path, pattern in self.arguments)
        return all(text is not None and pattern.fullmatch(text) is not None for pattern, text in texts)

    def denies(self, call: ToolCall) -> bool:
        if self.name.fullmatch(call.name) is None:
            return False
        whole = _whole(call)
        if isinstance(whole, str) and any(path for path, _ in self.arguments):
            # Free text has no places in it, so nothing shows that what the rule is about is not there.
            return True
        texts = ((pattern, _text_at(whole, path)) for path, pattern in self.arguments)
        return all(text is not None and pattern.search(text) is not None for pattern, text in texts)


def _whole(call: ToolCall) -> Any:
    """The arguments as a value; as text, where they are no JSON."""
    return call.arguments if call.invalid is not None else call.parsed


def _text_at(value: Any, path: tuple[str, ...]) -> str | None:
    for name in path:
        value = _member(value, name)
    if value is _MISSING:
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _member(value: Any, name: str) -> Any:
    match value:
        case dict():
            return cast("dict[str, Any]", value).get(name, _MISSING)
        case list() if name.isdecimal() and name.isascii() and int(name) < len(cast("list[Any]", value)):
            return cast("list[Any]", value)[int(name)]
        case _:
            return _MISSING


def _compiled(option: str, rules: Rules) -> list[_Rule]:
    if isinstance(rules, str):
        msg = f'{option} must be a list of names and rules, not text: {option}=["{rules}"]'
        raise TypeError(msg)
    return [_compile(option, rule) for rule in rules]


def _compile(option: str, rule: object) -> _Rule:
    match rule:
        case str():
            return _compile(option, ToolRule(rule))
        case ToolRule():
            patterns = [(_path(place), _pattern(place, pattern)) for place, pattern in rule.arguments.items()]
            return _Rule(re.compile(translate(rule.name)), tuple(patterns))
        case _:
            msg = f"{option} must have names and rules, not {type(rule).__name__}"
            raise TypeError(msg)


def _pattern(place: str, pattern: object) -> re.Pattern[str]:
    return compiled(f"the pattern of {place}", pattern, "a regular expression")


def _path(path: str) -> tuple[str, ...]:
    if not path:
        return ()
    if path.startswith("/"):
        return tuple(part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/"))
    return tuple(path.split("."))
