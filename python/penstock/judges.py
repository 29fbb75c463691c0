"""Judges the blocks of one stream side by side, while the stream goes on.

Rules. (1) A hook is called when it is the block's turn; if it answers at once, that is the judgement. (2) No more hooks are awaited at a
time than the limit says; the other blocks wait in order. (3) Every block gets one judgement, and one that was not judged is denied.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Self

from penstock.asking import Answer, Asked, call, cancel, in_time
from penstock.errors import StreamClosed
from penstock.judging import (
    FAILURE_REASON,
    VERDICT_SECONDS,
    Judgement,
    judged_by_default,
    judgement_of,
    kind_of,
    settled_by_rules,
)
from penstock.limits import checked_count
from penstock.policy import context_due_at
from penstock.verdicts import deny

if TYPE_CHECKING:
    from types import TracebackType

    from penstock.blocks import StreamBlock
    from penstock.calls import BlockView, ToolCall
    from penstock.policy import Hook, Policy, PolicyContext

__all__ = ["Judged", "Judges"]

# A judge that asks a model is bounded by that model's rate; a stream with more calls than this at once is rare.
CONCURRENT_JUDGES = 8


@dataclass(slots=True)
class Judged:
    """A block with its judgement.

    Attributes:
        ticket: What the gate calls the held block.
        call: The call that was judged; None for a block of another type.
        judgement: What came of it.
        waited: The seconds that it waited for its turn.
    """

    ticket: int
    call: ToolCall | None
    judgement: Judgement
    waited: float = 0.0


@dataclass(slots=True, eq=False)
class _Hearing:
    """A block that has no judgement yet."""

    ticket: int
    hook: Hook
    subject: tuple[Any, ...]
    call: ToolCall | None
    created: float
    started: float = 0.0
    # What its judge is doing; None while it waits for its turn.
    asked: Asked | None = None


class Judges:
    """Judges blocks as they become whole. Used with `async with`: at its end, no task is left.

    Args:
        policy: Who is asked.
        context: The stream that the calls belong to.
        deadline: The seconds for each verdict, from its turn on; None for as long as it likes.
        max_concurrent: How many calls are judged at once. The others wait for their turn.

    Example:
        >>> import asyncio, penstock
        >>> from penstock.judges import Judges
        >>> async def main():
        ...     async with Judges(penstock.AllowAll(), penstock.PolicyContext()) as judges:
        ...         judges.start(7, penstock.ToolCall(id="call_1", name="bash", arguments="{}"))
        ...         await judges.wait()
        ...         return [(each.ticket, each.judgement.verdict.decision) for each in judges.take()]
        >>> asyncio.run(main())
        [(7, 'allow')]
    """

    def __init__(
        self,
        policy: Policy,
        context: PolicyContext,
        *,
        deadline: float | None = VERDICT_SECONDS,
        max_concurrent: int = CONCURRENT_JUDGES,
    ) -> None:
        self._policy = policy
        self._context = context
        self._deadline = deadline
        self._free = checked_count("max_concurrent", max_concurrent)
        self._clock = asyncio.get_running_loop().time
        self._hearings: dict[int, _Hearing] = {}
        self._queue: deque[_Hearing] = deque()
        self._judged: list[Judged] = []
        self._news = asyncio.Event()
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def pending(self) -> int:
        """How many blocks have no judgement yet."""
        return len(self._hearings)

    def start(self, ticket: int, call: ToolCall) -> None:
        """Has a call judged, by the rules first.

        Raises:
            StreamClosed: The stream is over.
            ValueError: A block with this ticket is being judged.
        """
        self._start(ticket, "on_tool_call", (call,), call, settled_by_rules(self._policy, call))

    def start_checked(self, ticket: int, call: ToolCall) -> None:
        """Has a call judged that the rules leave to the policy."""
        self._start(ticket, "on_tool_call", (call,), call)

    def start_thinking(self, ticket: int, text: str, block: BlockView) -> None:
        """Has a thinking block judged."""
        self._start(ticket, "on_thinking", (text, block), None, self._default("on_thinking", "thinking"))

    def start_block(self, ticket: int, block: StreamBlock) -> None:
        """Has a block of a type without a hook of its own judged."""
        self._start(ticket, "on_block", (block,), None, self._default("on_block", kind_of(self._policy, block)))

    def _default(self, hook: Hook, type_or_kind: str) -> Judgement | None:
        return None if hook in self._policy.hooks else judged_by_default(self._policy, type_or_kind)

    def _start(
        self,
        ticket: int,
        hook: Hook,
        subject: tuple[Any, ...],
        call: ToolCall | None,
        settled: Judgement | None = None,
    ) -> None:
        if self._is_closed:
            msg = "nothing more is judged: the stream is over"
            raise StreamClosed(msg)
        if ticket in self._hearings:
            msg = f"the ticket {ticket} is being judged already"
            raise ValueError(msg)
        now = self._clock()
        hearing = self._hearings[ticket] = _Hearing(ticket, hook, subject, call, now, now)
        if settled is not None:
            self._settle(hearing, settled)
        elif self._free:
            self._begin(hearing)
        else:
            self._queue.append(hearing)

    def _begin(self, hearing: _Hearing) -> None:
        """It is the block's turn."""
        due = None if self._deadline is None else hearing.started + self._deadline
        # A context of its own, as a task has one: what a hook sets is not the stream's.
        context = context_due_at(inf if due is None else due)
        outcome = context.run(call, getattr(self._policy, hearing.hook), (*hearing.subject, self._context))
        if isinstance(outcome, Answer):
            self._conclude(hearing, outcome)
            return
        self._free -= 1
        on_answer = partial(self._hear, hearing)
        hearing.asked = Asked(outcome, on_answer, due=due, deadline=self._deadline, context=context)

    def _hear(self, hearing: _Hearing, answer: Answer) -> None:
        """A judge that was awaited has answered, and the next block has its turn."""
        self._free += 1
        self._conclude(hearing, answer)
        while self._queue and self._free:
            following = self._queue.popleft()
            following.started = self._clock()
            self._begin(following)

    def _conclude(self, hearing: _Hearing, answer: Answer) -> None:
        now, due = self._clock(), hearing.started + (inf if self._deadline is None else self._deadline)
        if now > due:
            answer = in_time(answer, now, due, self._deadline)
        self._settle(hearing, judgement_of(hearing.hook, hearing.subject, answer, now - hearing.started))

    def _settle(self, hearing: _Hearing, judgement: Judgement) -> None:
        del self._hearings[hearing.ticket]
        self._judged.append(Judged(hearing.ticket, hearing.call, judgement, hearing.started - hearing.created))
        self._news.set()

    @property
    def has_news(self) -> bool:
        """Whether there is a judgement to take."""
        return self._news.is_set()

    async def wait(self) -> None:
        """Returns when there is a judgement to take, or when it is woken."""
        await self._news.wait()

    def wake(self) -> None:
        """Has `wait` return, whether or not there is a judgement."""
        self._news.set()

    def take(self) -> list[Judged]:
        """The blocks that were judged since the last look, in the order in which their judgements came."""
        self._news.clear()
        judged, self._judged = self._judged, []
        return judged

    async def close(self) -> None:
        """Cancels what still runs. Each block without a judgement is denied, and can be taken as such."""
        self._is_closed = True
        self._queue.clear()
        try:
            await cancel([each.asked for each in self._hearings.values() if each.asked is not None])
        finally:
            for hearing in list(self._hearings.values()):
                self._settle(hearing, _cancelled(hearing))


def _cancelled(hearing: _Hearing) -> Judgement:
    """The judgement on a block that the end of the stream found without one."""
    if hearing.asked is not None and hearing.asked.has_begun:
        return Judgement(deny(FAILURE_REASON), "error-denied", detail="cancelled while it was judged")
    return Judgement(deny(FAILURE_REASON), "not-run", detail="cancelled before its turn came")
