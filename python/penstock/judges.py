"""Judges the blocks of one stream side by side, while the stream goes on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias, cast

from penstock.errors import StreamClosed
from penstock.judging import FAILURE_REASON, VERDICT_SECONDS, Judgement, judge, judge_block, judge_thinking
from penstock.verdicts import deny

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    from penstock.blocks import StreamBlock
    from penstock.calls import BlockView, ToolCall
    from penstock.policy import Policy, PolicyContext

__all__ = ["Judged", "Judges"]

Judging: TypeAlias = "Callable[[], Awaitable[Judgement]]"

# A judge that asks a model is bounded by that model's rate; a stream with more calls than this at once is rare.
CONCURRENT_JUDGES = 8


@dataclass(frozen=True, slots=True)
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
        given = cast("object", max_concurrent)
        if not isinstance(given, int) or given < 1:
            msg = f"max_concurrent must be a whole number above 0, not {given!r}"
            raise ValueError(msg)
        self._policy = policy
        self._context = context
        self._deadline = deadline
        self._turns = asyncio.Semaphore(given)
        self._tasks: set[asyncio.Task[None]] = set()
        self._judged: list[Judged] = []
        self._unjudged: dict[int, ToolCall | None] = {}
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
        return len(self._unjudged)

    def start(self, ticket: int, call: ToolCall) -> None:
        """Has a call judged.

        Raises:
            StreamClosed: The stream is over.
            ValueError: A block with this ticket is being judged.
        """
        self._start(ticket, call, lambda: judge(self._policy, call, self._context, deadline=self._deadline))

    def start_thinking(self, ticket: int, text: str, block: BlockView) -> None:
        """Has a thinking block judged."""
        self._start(
            ticket, None, lambda: judge_thinking(self._policy, text, block, self._context, deadline=self._deadline)
        )

    def start_block(self, ticket: int, block: StreamBlock) -> None:
        """Has a block of a type without a hook of its own judged."""
        self._start(ticket, None, lambda: judge_block(self._policy, block, self._context, deadline=self._deadline))

    def _start(self, ticket: int, call: ToolCall | None, judging: Judging) -> None:
        if self._is_closed:
            msg = "nothing more is judged: the stream is over"
            raise StreamClosed(msg)
        if ticket in self._unjudged:
            msg = f"the ticket {ticket} is being judged already"
            raise ValueError(msg)
        self._unjudged[ticket] = call
        task = asyncio.create_task(self._run(ticket, call, judging))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

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
        if not (self._tasks or self._unjudged):
            return
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # A call whose task ended before its turn came: without a judgement it would be held for ever.
        for ticket, call in list(self._unjudged.items()):
            judgement = Judgement(deny(FAILURE_REASON), "not-run", detail="cancelled before its turn came")
            self._settle(Judged(ticket, call, judgement))

    async def _run(self, ticket: int, call: ToolCall | None, judging: Judging) -> None:
        clock = asyncio.get_running_loop().time
        created = clock()
        async with self._turns:
            started = clock()
            judgement = Judgement(deny(FAILURE_REASON), "error-denied", detail="cancelled while it was judged")
            try:
                judgement = await judging()
            finally:
                self._settle(Judged(ticket, call, judgement, started - created))

    def _settle(self, judged: Judged) -> None:
        del self._unjudged[judged.ticket]
        self._judged.append(judged)
        self._news.set()
