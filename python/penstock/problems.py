"""What is said of chunks that were skipped: where and why, never what was in them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock import _core

__all__ = ["report_problems"]

log = logging.getLogger("penstock")


def report_problems(engine: _core.StreamProcessor) -> None:
    """Logs each malformed chunk that the engine has skipped since the last call."""
    for problem in engine.take_problems():
        log.warning("skipped a malformed chunk: %s", problem)
