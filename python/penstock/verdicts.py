"""What a policy decides of a block: allow, deny with a reason, or replace."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias, cast, final

__all__ = ["ALLOW", "REASON_CHARACTERS", "Decision", "Verdict", "deny", "replace"]

Decision: TypeAlias = Literal["allow", "deny", "replace"]

# A reason is shown in place of the call, so it is a sentence or two; what is longer is more likely an echo of the call itself.
REASON_CHARACTERS = 500

DEFAULT_REASON = "this call is not allowed"

# Control characters, line and paragraph separators, marks that turn the direction of writing, and lone surrogates:
# none of them has a place in a sentence, and each has been used to forge a log line or a prompt.
_UNPRINTABLE = re.compile("[\x00-\x20\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")


@final
@dataclass(frozen=True, slots=True)
class Verdict:
    r"""A policy's decision. Take `ALLOW`, or make one with `deny` or `replace`.

    Attributes:
        decision: `allow`, `deny` or `replace`.
        reason: For a denial, what the client is told. It is one line of at most 500 characters.
        name: For a replacement, the tool's new name; None to keep it.
        arguments: For a replacement, the new arguments as they will be written; None to keep them.

    Example:
        >>> from penstock import ALLOW, deny, replace
        >>> ALLOW.decision
        'allow'
        >>> deny("no shell\nhere").reason
        'no shell here'
        >>> replace(arguments={"path": "/tmp"}).arguments
        '{"path":"/tmp"}'
    """

    decision: Decision
    reason: str = ""
    name: str | None = None
    arguments: str | None = None

    def __post_init__(self) -> None:
        problem = _problem(self)
        if problem:
            raise ValueError(problem)
        if self.decision == "deny":
            object.__setattr__(self, "reason", _clean(self.reason))

    def __bool__(self) -> NoReturn:
        """A verdict is neither true nor false: a denial that counts as true would be an allowance."""
        msg = "a verdict is neither true nor false; look at its decision"
        raise TypeError(msg)


def deny(reason: str = DEFAULT_REASON) -> Verdict:
    """The verdict that a block must not leave. The client is told the reason instead.

    Example:
        >>> deny("shell is off").decision
        'deny'
    """
    return Verdict("deny", reason=reason)


def replace(*, name: str | None = None, arguments: Any = None) -> Verdict:
    """The verdict that another call leaves in place of this one.

    Args:
        name: The tool's new name; None to keep it.
        arguments: The new arguments: text that is written as it is, or a value that is written as JSON; None to keep them.

    Example:
        >>> replace(name="list_files").name
        'list_files'
    """
    text = arguments if arguments is None or isinstance(arguments, str) else _as_json(arguments)
    return Verdict("replace", name=name, arguments=text)


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _problem(verdict: Verdict) -> str:
    """What is wrong with a verdict; nothing, if nothing is."""
    decision, reason, name, arguments = cast("tuple[object, ...]", (
        verdict.decision, verdict.reason, verdict.name, verdict.arguments,
    ))  # fmt: skip
    if decision not in {"allow", "deny", "replace"}:
        return f'decision must be "allow", "deny" or "replace", not {decision!r}'
    if not isinstance(reason, str):
        return f"reason must be text, not {type(reason).__name__}"
    if any(each is not None and not isinstance(each, str) for each in (name, arguments)):
        return "name and arguments must be text or None"
    is_replacement = decision == "replace"
    if is_replacement != (name is not None or arguments is not None):
        return "a replacement, and nothing else, has a new name or new arguments"
    if name == "":
        return "the name of a replacement must not be empty"
    return ""


def _clean(reason: str) -> str:
    # Twice the bound is enough to fill it, and a reason of a megabyte is not searched for nothing.
    line = _UNPRINTABLE.sub(" ", reason[: 2 * REASON_CHARACTERS]).strip() or DEFAULT_REASON
    return line if len(line) <= REASON_CHARACTERS else line[: REASON_CHARACTERS - 1] + "…"


ALLOW = Verdict("allow")
