"""Options that are handed on by name: which there are, for type checkers, and one line about one that there is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.audit import AuditSink
    from penstock.gating import OnDeny
    from penstock.integrations.routes import Routes
    from penstock.limits import Limits
    from penstock.policy import PolicyContext
    from penstock.protocols import Source, Target
    from penstock.translator import OnInterrupt, TextAfterCalls
    from penstock.vocabulary import Tags

__all__ = [
    "BlockingGateOptions",
    "GateOptions",
    "GatedOptions",
    "GuardOptions",
    "JudgingOptions",
    "TranslateOptions",
    "TranslatorOptions",
    "check_options",
]


class TranslatorOptions(TypedDict, total=False):
    """The options of `Translator`, but for the wire formats."""

    strict: bool
    limits: Limits | None
    tags: Tags | None
    coalesce: bool
    on_interrupt: OnInterrupt
    text_after_calls: TextAfterCalls
    model: str | None
    message_id: str | None
    created: int | None


class TranslateOptions(TranslatorOptions, total=False):
    """The options of `translate`, but for the wire formats."""

    chunk_timeout: float | None
    total_timeout: float | None


class JudgingOptions(TranslatorOptions, total=False):
    """The options of `Gate` that may be the same for many streams."""

    on_deny: OnDeny
    verdict_timeout: float | None
    max_concurrent: int
    audit: AuditSink | None
    audit_content: bool


class GateOptions(JudgingOptions, total=False):
    """The options of `Gate`, but for the wire formats."""

    context: PolicyContext | None


class GatedOptions(GateOptions, total=False):
    """The options of `gate`, but for the wire formats."""

    chunk_timeout: float | None
    total_timeout: float | None
    ping_seconds: float | None


class BlockingGateOptions(GateOptions, total=False):
    """The options of `BlockingGate`."""

    source: Source
    target: Target | None


class GuardOptions(JudgingOptions, total=False):
    """The options of what stands between a client and its upstream, for the answers of many requests."""

    routes: Routes | None
    chunk_timeout: float | None
    total_timeout: float | None
    ping_seconds: float | None


def check_options(function: str, options: Mapping[str, object], known: type[Any]) -> None:
    """Names an option that there is not, and the function that was called with it: further in, nobody knows that any more.

    Raises:
        TypeError: There is one.
    """
    for name in options:
        if name not in known.__optional_keys__:
            msg = f"{function}() got an unexpected keyword argument {name!r}"
            raise TypeError(msg)
