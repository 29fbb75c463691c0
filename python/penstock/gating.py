"""The gate: every block is judged before it leaves, on every wire format, streamed or not.

Rules. (1) What is written comes from the blocks that were judged; the core holds them, and a verdict is bound to the digest of its
call. (2) Judges run while the stream goes on, several at once. (3) Whatever fails, the client gets a legal stream that says so, and no
call that was not allowed. (4) At the end, however it comes, no task is left, the source is closed, and the record is handed over.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, Unpack

from penstock.audit import Audit
from penstock.engine import check_type, log
from penstock.errors import PenstockError, PolicyFailed, StreamClosed
from penstock.gate_core import WATCHING, core_for, limited
from penstock.judges import CONCURRENT_JUDGES, Judged, Judges
from penstock.judging import (
    FAILURE_REASON,
    VERDICT_SECONDS,
    Judgement,
    judged_by_default,
    replaced,
    settled_by_rules,
    text_of,
)
from penstock.limits import checked_count
from penstock.options import TranslatorOptions, check_options
from penstock.policy import Policy, PolicyContext
from penstock.timeouts import checked_seconds
from penstock.verdicts import deny
from penstock.watching import Watcher

if TYPE_CHECKING:
    from penstock.audit import AuditSink, Ending
    from penstock.calls import ToolCall
    from penstock.policy import Hook
    from penstock.protocols import Protocol, Source, Target
    from penstock.translator import FailureKind

__all__ = ["Gate", "OnDeny"]

OnDeny: TypeAlias = Literal["replace", "end"]


class Gate:
    """One stream that is judged as it passes. `gate` runs it over a source; take this where you read the source yourself.

    Used with `async with`. What `feed`, `finish` and `settle` return may be written at once. After `finish`, or once `has_ended`, there
    is no more to feed: call `settle` until `is_over`.

    Args:
        policy: Who judges.
        source: The wire format to read, or `auto` to tell it from the first event.
        target: The wire format to write; the source's own if this is None, which then has to be named.
        context: What the policy knows of the stream; made, if it is not given.
        on_deny: What becomes of a call that is denied. `replace`: a text with the reason stands in its place, and the answer goes on.
            `end`: the answer ends there with an error.
        verdict_timeout: The seconds for each verdict and each hook; then it is a denial, or the end. None for as long as it likes.
        max_concurrent: How many blocks are judged at once.
        audit: Takes the record of the stream at its end, sync or async; by default it is logged under `penstock.audit`.
        audit_content: Whether the record has what the calls say.
        options: As for `Translator`: `strict`, `limits`, `tags`, `coalesce`, `on_interrupt`, `text_after_calls`, `model`, `message_id`,
            `created`.
    """

    def __init__(  # noqa: PLR0913 (options by name)
        self,
        policy: Policy,
        *,
        source: Source = "auto",
        target: Target | None = None,
        context: PolicyContext | None = None,
        on_deny: OnDeny = "replace",
        verdict_timeout: float | None = VERDICT_SECONDS,
        max_concurrent: int = CONCURRENT_JUDGES,
        audit: AuditSink | None = None,
        audit_content: bool = False,
        **options: Unpack[TranslatorOptions],
    ) -> None:
        check_options("Gate", options, TranslatorOptions)
        check_type("policy", policy, Policy, "a penstock.Policy")
        if context is not None:
            check_type("context", context, PolicyContext, "a penstock.PolicyContext or None")
        if on_deny not in {"replace", "end"}:
            msg = f'on_deny must be "replace" or "end", not {on_deny!r}'
            raise ValueError(msg)
        self.policy = policy
        self.context = PolicyContext() if context is None else context
        self._hooks = policy.hooks
        self._on_deny = on_deny
        self._deadline = checked_seconds("verdict_timeout", verdict_timeout)
        self._max_concurrent = checked_count("max_concurrent", max_concurrent)
        self._audit = Audit(self.context, audit, audit_content=audit_content)
        self._core = core_for(policy, source, target, limited(options, self.context.request))
        self._watches = not policy.hooks.isdisjoint(WATCHING)
        self._own_judges: Judges | None = None
        self._own_watcher: Watcher | None = None
        self._tickets = 0
        # What is being judged, or was and waits to be carried out: the block of each ticket. A call that went on growing is judged anew
        # while its first judge may still think.
        self._asked: dict[int, int] = {}
        self._is_drained = False
        self._was_refused = False
        self._is_closed = False

    @property
    def source(self) -> Protocol | None:
        """The wire format that is read, as it was named or told from the first event; None while it could be any."""
        return self._core.source

    @property
    def target(self) -> Target:
        """The wire format that is written."""
        return self._core.target

    @property
    def is_over(self) -> bool:
        """Whether the answer has been written to its end, or to its error."""
        return self._core.is_over

    @property
    def failure(self) -> tuple[FailureKind, str] | None:
        """The kind and the message of the error that the answer was ended with; None if there is none."""
        return self._core.failure

    @property
    def has_ended(self) -> bool:
        """Whether the stream has said its end: nothing behind it is read, so nothing more has to be fed."""
        return self._core.has_ended

    @property
    def took_event(self) -> bool:
        """Whether what was fed last has brought an event: a comment has not, nor a part of an event. For whoever has an idle limit."""
        return self._core.took_event

    @property
    def waiting(self) -> int:
        """How many blocks have no verdict yet."""
        return self._judges.pending if self._asked else 0

    @property
    def waits(self) -> bool:
        """Whether a judge is still thinking."""
        return bool(self._asked) and self._judges.pending > 0

    # Most streams ask nothing, and those need neither of these. A lock, which a cached property has, would cost more than both.

    @property
    def _judges(self) -> Judges:
        judges = self._own_judges
        if judges is None:
            judges = Judges(self.policy, self.context, deadline=self._deadline, max_concurrent=self._max_concurrent)
            self._own_judges = judges
        return judges

    @property
    def _watcher(self) -> Watcher:
        watcher = self._own_watcher
        if watcher is None:
            watcher = self._own_watcher = Watcher(self.policy, self.context, self._core, deadline=self._deadline)
        return watcher

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close("cancelled" if error[0] is not None and not self.is_over else None)

    async def feed(self, item: Any) -> bytes:
        """Takes a read of bytes, or a chunk as JSON text, dict or object; gives what may be written by now."""
        try:
            out = self._core.feed(item)
        except PenstockError as error:
            return await self._fail(error)
        # Most reads ask nothing.
        if not (self._core.has_asks or self._watches or self._asked):
            return out
        return await self._respond(out, item)

    async def finish(self) -> bytes:
        """The input is over; gives what may be written by now. While `waits`, go on with `settle`."""
        self._is_drained = True
        try:
            out = self._core.finish()
        except PenstockError as error:
            return await self._fail(error)
        if not (self._core.has_asks or self._watches or self._asked):
            return out
        return await self._respond(out)

    async def settle(self, seconds: float | None = None) -> bytes:
        """Waits for a verdict, or to be woken, and gives what that sets free; after `seconds` without one, a sign of life."""
        if self._is_drained and not self._asked:
            return self._give_up()
        await self._let_judges_begin()
        if not self._judges.has_news:
            try:
                async with asyncio.timeout(seconds):
                    await self._judges.wait()
            except TimeoutError:
                return self._core.ping()
        return self._apply()

    async def _let_judges_begin(self) -> None:
        """A judge that waits for nothing has its verdict after one turn of the loop: nothing else has to be set up for that."""
        if not self._judges.has_news:
            await asyncio.sleep(0)

    def _give_up(self) -> bytes:
        """Nothing more can come, and the answer is not over: what is left in it must not leave."""
        log.error("a gated stream waits for a verdict that nobody was asked for, and was ended")
        self._was_refused = True
        return self._core.interrupt("the answer could not be checked", "api_error")

    def wake(self, *_: object) -> None:
        """Has `settle` return: there is something else to do."""
        self._judges.wake()

    def interrupt(self, error: object) -> bytes:
        """The source cannot go on: gives the end that says so."""
        is_late = isinstance(error, TimeoutError)
        message = "the upstream took too long" if is_late else "the connection to the upstream failed"
        return self._core.interrupt(message, "timeout_error" if is_late else "api_error")

    async def close(self, ending: Ending | None = None) -> None:
        """Ends what still runs, tells the policy that the stream is over, and hands over its record."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._asked:
            await self._judges.close()
            for judged in self._judges.take():
                self._audit.note(judged)
        self._audit.end(ending or self._ending())
        if "on_end" in self._hooks:
            await self._tell_end()
        await self._audit.hand_over()

    async def _tell_end(self) -> None:
        try:
            await self._watcher.tell("on_end", self._audit.record)
        except PolicyFailed as error:
            log.error("a policy failed at the end of a stream: %s", error)
            self._audit.note_failure(str(error))

    def _ending(self) -> Ending:
        if not self._core.is_over:
            return "cancelled"
        if self._core.failure is None:
            return "finished"
        return "failed" if self._was_refused else "interrupted"

    async def _respond(self, written: bytes, item: Any = None) -> bytes:
        """All that the policy has to say to a step of the core. Whatever fails ends the answer with an error."""
        # What the core has given out is written, whatever comes then: the end that tells of it goes on from there.
        out = [written]
        try:
            if self._watches:
                await self._watcher.hear(item)
            while self._core.has_asks:
                judged = len(self._asked)
                for what, block, subject in self._core.take_asks():
                    is_call = what == "call"
                    out.append(
                        self._judge_call(block, *subject) if is_call else await self._answer(what, block, subject)
                    )
                if len(self._asked) > judged and not any(out):
                    await self._let_judges_begin()
            if self._asked:
                out.append(self._apply())
        except PenstockError as error:
            out.append(await self._fail(error))
        return b"".join(out)

    async def _answer(self, what: str, block: int, subject: Any) -> bytes:
        match what:
            case "thinking" | "block":
                return self._judge_block(what, block, *subject)
            case "text":
                return await self._rewrite(block, "on_text_delta", subject)
            case _:
                whole = self._watcher.text(block) if "on_text" in self._hooks else ""
                return await self._rewrite(block, "on_text", whole) + self._core.end_text(block)
        return b""

    def _judge_call(self, block: int, call: ToolCall, fault: str | None) -> bytes:
        # The core has read the arguments of functions strictly.
        settled = settled_by_rules(self.policy, call, is_sound=not fault and call.kind == "function")
        if fault and (settled is None or settled.verdict.decision != "deny"):
            settled = Judgement(deny(fault), "not-run", detail="the call is not sound")
        if settled is not None:
            return self._decide(block, Judged(block, call, settled))
        self._judges.start_checked(self._ticket(block), call)
        return b""

    def _ticket(self, block: int) -> int:
        if self._is_closed:
            msg = "nothing more is judged: the stream is over"
            raise StreamClosed(msg)
        self._tickets += 1
        self._asked[self._tickets] = block
        return self._tickets

    def _judge_block(self, what: str, block: int, block_type: str, kind: str) -> bytes:
        hook: Hook = "on_thinking" if what == "thinking" else "on_block"
        if hook not in self._hooks:
            settled = judged_by_default(self.policy, kind if kind in self.policy.inert else block_type)
            return self._decide(block, Judged(block, None, settled))
        ticket = self._ticket(block)
        if what == "thinking":
            self._judges.start_thinking(ticket, self._watcher.text(block), self._watcher.view(block))
        else:
            self._judges.start_block(ticket, self._watcher.state.blocks[block])
        return b""

    async def _rewrite(self, block: int, hook: Literal["on_text", "on_text_delta"], text: str) -> bytes:
        if hook in self._hooks:
            view = self._watcher.view(block)
            text = await text_of(self.policy, hook, text, view, self.context, deadline=self._deadline)
        elif hook == "on_text":
            return b""
        return self._core.write_text(block, text)

    def _apply(self) -> bytes:
        """Carries out the verdicts that have come."""
        return b"".join([self._decide(self._asked.pop(judged.ticket), judged) for judged in self._judges.take()])

    def _decide(self, block: int, judged: Judged) -> bytes:
        call = judged.call
        if call is None:
            return self._carry_out(block, judged, "")[1]
        # Of the call as it is now: a policy may have got at its fields.
        digest = call.digest
        is_taken, out = self._carry_out(block, judged, digest)
        self._audit.note(judged if is_taken else _superseded(judged), digest)
        return out

    def _carry_out(self, block: int, judged: Judged, digest: str) -> tuple[bool, bytes]:
        """Tells the core a verdict, which takes it only if the call is still the one that was judged."""
        verdict, call = judged.judgement.verdict, judged.call
        match verdict.decision:
            case "allow":
                return self._core.allow(block, digest)
            case "replace" if call is not None:
                left = replaced(call, verdict)
                return self._core.replace(block, digest, left.name, left.arguments)
            case "deny" if call is not None and self._on_deny == "end" and self._core.waits_for(block, digest):
                self._was_refused = True
                return True, self._core.interrupt(f"a tool call was denied: {verdict.reason}", "permission_error")
            case _:
                return self._core.deny(block, digest, verdict.reason)

    async def _tell_error(self, error: Exception) -> None:
        """Tells the policy that the stream broke. A policy that fails at that has failed already."""
        try:
            await self._watcher.tell("on_error", error)
        except PolicyFailed as failure:
            self._audit.note_failure(str(failure))

    async def _fail(self, error: PenstockError) -> bytes:
        """Ends the answer with an error: the policy failed, or the stream cannot be passed on."""
        await self._tell_error(error)
        log.warning("a gated stream was ended with an error: %s", error)
        self._audit.note_failure(str(error))
        self._was_refused = True
        message = (
            "the policy failed" if isinstance(error, PolicyFailed) else "the upstream's stream cannot be passed on"
        )
        return self._core.interrupt(message, "api_error")


def _superseded(judged: Judged) -> Judged:
    """A judgement that came too late: nothing was done after it, whatever it says."""
    detail = f"{judged.judgement.detail}; the call was another by then"
    return replace(judged, judgement=Judgement(deny(FAILURE_REASON), "not-run", judged.judgement.seconds, detail))
