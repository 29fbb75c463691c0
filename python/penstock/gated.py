"""A source behind the gate: as bytes, as events, as a body. The rules are those of `gating`."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Unpack

from penstock import sources
from penstock.bodies import BodyFold
from penstock.engine import check_readable, log
from penstock.gate_core import target_of
from penstock.gating import Gate
from penstock.options import GatedOptions, GateOptions, check_options
from penstock.shapes import EventReader, Shape
from penstock.timeouts import ItemsInTime, checked_seconds

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable

    from penstock.policy import Policy
    from penstock.protocols import Source, Target
    from penstock.sources import Incoming

__all__ = ["gate", "gate_body", "gate_events"]

# Clients give up on a silent stream after half a minute at the earliest.
PING_SECONDS = 10.0

END = object()


async def gate(
    incoming: Incoming,
    policy: Policy,
    *,
    source: Source = "auto",
    target: Target | None = None,
    chunk_timeout: float | None = 30.0,
    total_timeout: float | None = 600.0,
    ping_seconds: float | None = PING_SECONDS,
    **options: Unpack[GateOptions],
) -> AsyncGenerator[bytes]:
    """Judges a stream as it comes, and gives what may be written.

    Text streams on. A tool call is held until it is whole and its verdict is there; what comes behind it waits, what came before does not.

    Args:
        incoming: Reads or chunks, from an async iterable, a plain iterable, or an `asyncio.Queue` that is ended by None or shut down.
        policy: Who judges.
        source: The wire format to read, or `auto` to tell it from the first event.
        target: The wire format to write; the source's own if this is None, which then has to be named.
        chunk_timeout: How long to wait for the next event, in seconds; None for ever. A comment is none.
        total_timeout: How long the source may take as a whole, in seconds; None for ever.
        ping_seconds: After how many silent seconds the client gets a sign of life while a judge thinks; None for never.
        **options: As for `Gate`: `context`, `on_deny`, `verdict_timeout`, `max_concurrent`, `audit`, `audit_content`; and as for
            `Translator`: `strict`, `limits`, `tags`, `coalesce`, `on_interrupt`, `text_after_calls`, `model`, `message_id`, `created`.

    Yields:
        Bytes of the target's stream, never empty.

    Example:
        >>> import asyncio, penstock
        >>> class NoShell(penstock.Policy):
        ...     async def on_tool_call(self, call, context):
        ...         return penstock.deny("shell is off") if call.name == "bash" else penstock.ALLOW
        >>> async def main(reads):
        ...     async for out in penstock.gate(reads, NoShell(), source="openai_chat", target="anthropic_messages"):
        ...         print(out.decode(), end="")
    """
    check_options("gate", options, GateOptions)
    chunk, total = checked_seconds("chunk_timeout", chunk_timeout), checked_seconds("total_timeout", total_timeout)
    pause = checked_seconds("ping_seconds", ping_seconds)
    async with Gate(policy, source=source, target=target, **options) as judged, sources.opened(incoming) as items:
        flow = _Flow(ItemsInTime(items, chunk=chunk, total=total), judged, pause)
        try:
            while not judged.is_over:
                if out := await flow.step():
                    yield out
        finally:
            await flow.close()


class _Flow:
    """Takes turns between a source and the verdicts on what it gave."""

    def __init__(self, items: ItemsInTime, judged: Gate, pause: float | None) -> None:
        self._items = items
        self._judged = judged
        self._pause = pause
        self._is_drained = False
        # The next item, if a judge thinks while it is waited for.
        self._reading: asyncio.Future[Any] | None = None

    async def close(self) -> None:
        """Ends a wait for the source that nobody needs any more."""
        if self._reading is not None:
            self._reading.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._reading

    async def step(self) -> bytes:
        """Waits for the source or for a verdict, and gives what that sets free."""
        judged = self._judged
        try:
            if self._is_drained:
                return await judged.settle(self._pause)
            if judged.waits and not self._begin_reading().done():
                return await judged.settle(self._pause)
            item = await self._next()
            if item is END:
                return await self._drain()
            out = await judged.feed(item)
            if not out and not judged.took_event:
                self._items.keep_waiting()
            return out + await self._drain() if judged.has_ended else out
        except Exception as error:  # noqa: BLE001 - whatever the source raises, the client is told that the answer was cut.
            log.warning("a gated stream was ended with an error: %s", type(error).__name__)
            return judged.interrupt(error)

    def _begin_reading(self) -> asyncio.Future[Any]:
        """The next item, which comes while a judge thinks."""
        if self._reading is None:
            self._reading = asyncio.ensure_future(anext(self._items, END))
            self._reading.add_done_callback(self._judged.wake)
        return self._reading

    def _next(self) -> Awaitable[Any]:
        reading, self._reading = self._reading, None
        return anext(self._items, END) if reading is None else reading

    async def _drain(self) -> bytes:
        """There is no more to read."""
        self._is_drained = True
        return b"" if self._judged.is_over else await self._judged.finish()


async def gate_events(
    incoming: Incoming,
    policy: Policy,
    *,
    source: Source = "auto",
    target: Target | None = None,
    shape: Shape = "dict",
    **options: Unpack[GatedOptions],
) -> AsyncGenerator[Any]:
    """As `gate`, but gives events instead of bytes.

    Args:
        incoming: As for `gate`.
        policy: Who judges.
        source: The wire format to read, or `auto` to tell it from the first event.
        target: The wire format to write; the source's own if this is None, which then has to be named.
        shape: What an event is: `dict`, `sdk` or `litellm`; see `EventTranslator`.
        **options: As for `gate`.

    Yields:
        The events of the target's stream.
    """
    check_options("gate_events", options, GatedOptions)
    reader = EventReader(target_of(source, target), shape)
    async with aclosing(gate(incoming, policy, source=source, target=target, **options)) as reads:
        async for read in reads:
            for event in reader.read(read):
                yield event


async def gate_body(
    body: Any,
    policy: Policy,
    *,
    source: Source = "auto",
    target: Target | None = None,
    **options: Unpack[GatedOptions],
) -> dict[str, Any]:
    """Judges an answer that was not streamed.

    It is a stream of one chunk: what is said of streams holds for it. An answer that cannot be passed on gives the target's own error body.

    Args:
        body: The answer: bytes or text of JSON, a dict, or an object of an SDK or of LiteLLM. The bytes of a whole stream do as well.
        policy: Who judges.
        source: The wire format to read, or `auto` to tell it from the body.
        target: The wire format to write; the source's own if this is None, which then has to be named.
        **options: As for `gate`.

    Raises:
        TypeError: The body is none of these.

    Example:
        >>> import asyncio, penstock
        >>> from penstock.policies import ToolRules
        >>> call = {"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        >>> choice = {"index": 0, "message": {"content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}
        >>> answer = {"id": "1", "object": "chat.completion", "model": "m", "choices": [choice]}
        >>> judged = asyncio.run(penstock.gate_body(answer, ToolRules(deny=["bash"]), source="openai_chat"))
        >>> judged["choices"][0]["message"]
        {'role': 'assistant', 'content': 'a rule denies this call'}
    """
    check_options("gate_body", options, GatedOptions)
    check_readable(body)
    fold = BodyFold(target_of(source, target))
    async with aclosing(gate_events([body], policy, source=source, target=target, **options)) as events:
        async for event in events:
            fold.add([event])
    return fold.body
