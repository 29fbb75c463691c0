"""The core behind a gate, made for what the policy looks at and no more."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from penstock.engine import check_limits
from penstock.limits import Limits
from penstock.translator import new_core

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock import _core
    from penstock.options import TranslatorOptions
    from penstock.policy import Hook, Policy
    from penstock.protocols import Source, Target

__all__ = ["WATCHING", "core_for", "limited", "target_of"]

WATCHING: frozenset[Hook] = frozenset(
    {"on_chunk", "on_thinking_delta", "on_tool_call_delta", "on_finish", "on_usage", "on_error"}
)
TEXT: frozenset[Hook] = frozenset({"on_text", "on_text_delta"})
# Hooks that are given a block, or what is known of one.
LOOKING: frozenset[Hook] = frozenset({"on_text", "on_text_delta", "on_thinking", "on_block"})


def limited(options: TranslatorOptions, request: Mapping[str, Any]) -> TranslatorOptions:
    """The options, with no more answers side by side than the request asked for."""
    asked = request.get("n") or (1 if "messages" in request else None)
    if not isinstance(asked, int):
        return options
    limits = options.get("limits") or Limits()
    check_limits(limits)
    return {**options, "limits": replace(limits, choices=min(asked, limits.choices))}


def core_for(policy: Policy, source: Source, target: Target | None, options: TranslatorOptions) -> _core.Translator:
    """A core that asks what the policy has hooks for."""
    asks, emit = _needs(policy.hooks, "thinking" in policy.inert, policy.is_buffered)
    return new_core(source=source, target=target_of(source, target), gate=asks, emit=emit, **options)


# The same for every stream of a policy, and nearly so for every policy.
@cache
def _needs(hooks: frozenset[Hook], thinking_is_inert: bool, is_buffered: bool) -> tuple[list[str], str]:  # noqa: FBT001 (a key)
    """What the core asks about besides calls, and what it keeps for the policy to look at."""
    asks = [
        *(["text"] if hooks & TEXT else []),
        *(["thinking"] if "on_thinking" in hooks or not thinking_is_inert else []),
        *(["everything"] if is_buffered else []),
    ]
    emit = "state" if hooks & LOOKING else "nothing"
    if hooks & WATCHING:
        emit = "chunks" if "on_chunk" in hooks else "events"
    return asks, emit


def target_of(source: Source, target: Target | None) -> Target:
    """The wire format to write, which is the source's own where none is named.

    Raises:
        ValueError: Neither is named.
    """
    if target is not None:
        return target
    if source in {"auto", "text"}:
        msg = f"target must be named where the source is {source!r}"
        raise ValueError(msg)
    return cast("Target", source)
