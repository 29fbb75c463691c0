"""What was decided in a stream: one record, with digests and times, and without content unless it is asked for."""

from __future__ import annotations

import inspect
import json
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from penstock.asking import ask, discard
from penstock.engine import check_type
from penstock.judging import replaced
from penstock.tools import declared_tools

if TYPE_CHECKING:
    from penstock.calls import ToolCall
    from penstock.judges import Judged
    from penstock.judging import JudgementState
    from penstock.policy import PolicyContext
    from penstock.verdicts import Decision, Verdict

__all__ = ["Audit", "AuditRecord", "AuditSink", "CallRecord"]

log = logging.getLogger("penstock.audit")

# A record is written at the end of a stream, when the client waits for its connection to be closed.
SINK_SECONDS = 10.0

Ending: TypeAlias = Literal["open", "finished", "interrupted", "failed", "cancelled"]


@dataclass
class CallRecord:
    """What was decided of one tool call.

    Attributes:
        digest: The call's digest.
        choice: Which of the answers side by side it belongs to.
        index: Its number among the calls of its choice.
        kind: `function`, `custom`, `builtin` or `server`.
        decision: What was done: `allow`, `deny` or `replace`.
        state: Who decided: `allowed`, `denied`, `error-denied`, `not-run`.
        seconds: How long the policy took.
        waited: How long the call waited for its turn.
        detail: What decided, without content.
        replaced_by: For a replacement, the digest of what left; the call was then made by a policy, not by the model.
        name: The tool's name, if the request declares it; a name that the model made up is content.
        content: With `audit_content`, the id, name and arguments, the reason, and what left in the call's place.
    """

    digest: str
    choice: int
    index: int
    kind: str
    decision: Decision
    state: JudgementState
    seconds: float
    waited: float
    detail: str
    replaced_by: str | None = None
    name: str | None = None
    content: dict[str, Any] | None = None


@dataclass
class AuditRecord:
    """What was decided in one stream.

    Attributes:
        stream_id: The stream.
        started: When it began, in seconds since 1970.
        seconds: How long it took.
        ending: How it ended: `finished`, `interrupted`, `failed` or `cancelled`; `open` while it runs.
        calls: Its tool calls, in the order of their judgements.
        failures: What else failed, without content: `on_text_delta raised ValueError …`.
    """

    stream_id: str
    started: float
    seconds: float = 0.0
    ending: Ending = "open"
    # Not `list[CallRecord]`, which takes ten times as long to make a list.
    calls: list[CallRecord] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def count(self, state: JudgementState) -> int:
        """How many calls have this state."""
        return sum(call.state == state for call in self.calls)


AuditSink: TypeAlias = Callable[[AuditRecord], Awaitable[None] | None]


class Audit:
    """Keeps the record of one stream, and hands it over at the end.

    Args:
        context: The stream.
        sink: Takes the record, sync or async. Without one it is logged under `penstock.audit`, as a line of JSON.
        audit_content: Whether to record what the calls say.
    """

    def __init__(self, context: PolicyContext, sink: AuditSink | None = None, *, audit_content: bool = False) -> None:
        if sink is not None and not callable(sink):
            msg = f"audit must be a function or None, not {type(sink).__name__}"
            raise TypeError(msg)
        check_type("audit_content", audit_content, bool, "True or False")
        self.record = AuditRecord(context.stream_id, started=time.time())
        self._since = time.monotonic()
        self._sink = sink
        self._with_content = audit_content
        self._tools = context.tools

    def note(self, judged: Judged, digest: str | None = None) -> None:
        """A block was judged; calls are recorded, with the digest that the verdict was bound to if there was one."""
        call, judgement = judged.call, judged.judgement
        if call is None:
            return
        is_replaced = judgement.verdict.decision == "replace"
        is_declared = bool(self._tools) and call.name in self._declared
        self.record.calls.append(
            CallRecord(
                digest=call.digest if digest is None else digest,
                choice=call.choice,
                index=call.index,
                kind=call.kind,
                decision=judgement.verdict.decision,
                state=judgement.state,
                seconds=judgement.seconds,
                waited=judged.waited,
                detail=judgement.detail,
                replaced_by=replaced(call, judgement.verdict).digest if is_replaced else None,
                name=call.name if is_declared else None,
                content=_content(call, judgement.verdict) if self._with_content else None,
            )
        )

    @cached_property
    def _declared(self) -> frozenset[str]:
        try:
            return frozenset(declared_tools(self._tools))
        except ValueError:
            # What the request declares is not understood, so no name is known to be its own.
            return frozenset()

    def note_failure(self, failure: str) -> None:
        """Something else than a verdict failed."""
        self.record.failures.append(failure)

    def end(self, ending: Ending) -> None:
        """The stream is over."""
        self.record.ending = ending
        self.record.seconds = time.monotonic() - self._since

    async def hand_over(self) -> None:
        """Gives the record to the sink. A sink that fails loses nothing: the record is logged instead."""
        if self._sink is None:
            _write(self.record)
            return
        answer = await ask(self._sink, self.record, deadline=SINK_SECONDS)
        failure = answer.failure
        if answer.value is not None and (inspect.isawaitable(answer.value) or inspect.isasyncgen(answer.value)):
            # Nobody will run it, so the record went nowhere.
            discard(answer.value)
            failure = f"returned {type(answer.value).__name__}"
        if failure:
            log.error("the audit sink failed (%s); the record follows", failure)
            _write(self.record)


def _content(call: ToolCall, verdict: Verdict) -> dict[str, Any]:
    said = {"id": call.id, "name": call.name, "arguments": call.arguments}
    match verdict.decision:
        case "allow":
            return said
        case "deny":
            return {**said, "reason": verdict.reason}
        case "replace":
            left = replaced(call, verdict)
            return {**said, "replaced_by": {"name": left.name, "arguments": left.arguments}}


def _write(record: AuditRecord) -> None:
    is_bad = bool(record.failures) or record.count("error-denied") > 0
    level = logging.WARNING if is_bad else logging.INFO
    # A line that nobody reads is not written: it would cost as much as a short stream.
    if log.isEnabledFor(level):
        # ASCII: no character of a call can begin a line of its own in the log.
        log.log(level, "%s", json.dumps(asdict(record)))
