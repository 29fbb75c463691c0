"""An event loop whose clock jumps to the next timer instead of waiting for it."""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine


class _JumpingSelector(selectors.DefaultSelector):
    """Takes the time that it is asked to wait as waited."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "everything waits, and nothing is set to wake it"
        self.now += max(0.0, timeout)
        return super().select(0)


class _PatientLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def run_patiently(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Runs a coroutine that may sleep for hours, at once."""
    with asyncio.Runner(loop_factory=_PatientLoop) as runner:
        return runner.run(coroutine)
