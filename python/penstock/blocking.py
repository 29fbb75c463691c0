"""The gate for code that cannot await: each step waits until its verdicts are there.

Rules. (1) Policies are async, so they run on a loop of their own, in one thread for the whole process: what a policy keeps between
streams, such as a connection, belongs to one loop. (2) The caller waits, whatever loop it may itself be called from. (3) A policy that
calls back into a blocking gate would wait for itself, and is refused.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from penstock.errors import ReentrancyError
from penstock.gating import Gate
from penstock.options import BlockingGateOptions, check_options

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from penstock.audit import Ending
    from penstock.policy import Policy
    from penstock.translator import FailureKind

__all__ = ["BlockingGate", "run_blocking"]

T = TypeVar("T")

# A loop that does not end when the interpreter does is left to its daemon thread.
STOP_SECONDS = 1.0


class _LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="penstock-gate", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs it there, and waits for what it gives."""
        if threading.current_thread() is self._thread:
            work.close()
            msg = "a policy cannot wait for a blocking gate: it would wait for itself"
            raise ReentrancyError(msg)
        running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result()
        except BaseException:
            # The wait was ended from outside, by Ctrl-C for one: nothing goes on that nobody waits for.
            running.cancel()
            raise

    def stop(self) -> None:
        """Ends the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STOP_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()


class _Shared:
    """The one loop of the process, made when it is first needed. A fork gets one of its own: threads are not copied."""

    def __init__(self) -> None:
        self.forget()
        atexit.register(self.stop)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        self._lock = threading.Lock()
        self._thread: _LoopThread | None = None

    def get(self) -> _LoopThread:
        with self._lock:
            if self._thread is None:
                self._thread = _LoopThread()
            return self._thread

    def stop(self) -> None:
        with self._lock:
            if self._thread is not None:
                self._thread.stop()
                self._thread = None


_shared = _Shared()


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine on the loop of the blocking gates, and waits for what it gives.

    Raises:
        ReentrancyError: It is called from that loop.
    """
    return _shared.get().run(work)


class BlockingGate:
    r"""As `Gate`, for code that cannot await: `feed` and `finish` return when every verdict that they asked for is there.

    Used with `with`. While a judge thinks, the caller waits.

    Args:
        policy: Who judges.
        options: As for `Gate`.

    Example:
        >>> import penstock
        >>> class NoShell(penstock.Policy):
        ...     async def on_tool_call(self, call, context):
        ...         return penstock.deny("shell is off") if call.name == "bash" else penstock.ALLOW
        >>> chunk = b'data: {"id": "1", "choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\n'
        >>> with penstock.BlockingGate(NoShell(), source="openai_chat") as gate:
        ...     out = gate.feed(chunk) + gate.finish()
        >>> b'"content":"Hi"' in out
        True
    """

    def __init__(self, policy: Policy, **options: Unpack[BlockingGateOptions]) -> None:
        check_options("BlockingGate", options, BlockingGateOptions)
        self._gate = run_blocking(_made(policy, options))

    @property
    def is_over(self) -> bool:
        """Whether the answer has been written to its end, or to its error."""
        return self._gate.is_over

    @property
    def failure(self) -> tuple[FailureKind, str] | None:
        """The kind and the message of the error that the answer was ended with; None if there is none."""
        return self._gate.failure

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close("cancelled" if error[0] is not None and not self.is_over else None)

    def feed(self, item: Any) -> bytes:
        """Takes a read of bytes, or a chunk as JSON text, dict or object; gives what may be written, when all of it is judged."""
        return run_blocking(_fed(self._gate, item))

    def finish(self) -> bytes:
        """The input is over; gives the rest."""
        return run_blocking(_finished(self._gate))

    def interrupt(self, error: object) -> bytes:
        """The source cannot go on: gives the end that says so."""
        return run_blocking(_interrupted(self._gate, error))

    def close(self, ending: Ending | None = None) -> None:
        """Ends what still runs, tells the policy that the stream is over, and hands over its record."""
        run_blocking(self._gate.close(ending))


async def _made(policy: Policy, options: BlockingGateOptions) -> Gate:
    return Gate(policy, **options)


async def _fed(gate: Gate, item: Any) -> bytes:
    out = await gate.feed(item)
    while gate.waits and not gate.is_over:
        out += await gate.settle()
    return out


async def _finished(gate: Gate) -> bytes:
    out = await gate.finish()
    while not gate.is_over:
        out += await gate.settle()
    return out


async def _interrupted(gate: Gate, error: object) -> bytes:
    return gate.interrupt(error)
