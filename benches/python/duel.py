"""Two contenders, timed in turn: whatever else the machine does meanwhile, it does to both."""

from __future__ import annotations

import gc
import statistics
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# CPU time: every contender is one busy thread, and what other processes take of the machine is not its doing.
TIMER = time.process_time
# How long a row may take, where its rounds are short. All forty or so take four minutes.
SECONDS = 4.0
MIN_ROUNDS = 7
MAX_ROUNDS = 200


@dataclass(frozen=True)
class Duel:
    """One row of the table: the seconds that each side took, round by round."""

    group: str
    title: str
    unit: float  # what the table shows as 1, in seconds
    other_unit: float  # the same of the other side, where that does another amount of work
    core: list[float]
    other: list[float]

    @property
    def ratios(self) -> list[float]:
        """By how much the other side took longer for the same work, in each round."""
        work = self.unit / self.other_unit
        return [other / core * work for core, other in zip(self.core, self.other, strict=True)]

    @property
    def ratio(self) -> float:
        """The median of the ratios."""
        return statistics.median(self.ratios)

    @property
    def spread(self) -> tuple[float, float]:
        """The middle half of the ratios."""
        low, _, high = statistics.quantiles(self.ratios, n=4)
        return low, high

    @property
    def costs(self) -> tuple[float, float]:
        """The median of the times of each side, in its unit."""
        return statistics.median(self.core) / self.unit, statistics.median(self.other) / self.other_unit


def fight(benchmark: Any, core: Callable[[], object], other: Callable[[], object]) -> tuple[list[float], list[float]]:
    """The seconds that each side takes, round by round.

    In a round each side has a turn. The faster one runs as often as fills the turn of the slower one: what a side finds in caches and in
    the allocator is then what it left there itself, mostly, and not what the other did.

    pytest-benchmark times the turns of the core; the other side's is right before each of them.
    """
    others: list[float] = []
    with _collected():
        paces = [min(_timed(side, 1), _timed(side, 1)) for side in (core, other)]
        runs, other_runs = (max(1, round(max(paces) / pace)) for pace in paces)
        rounds = round(min(max(SECONDS / (2 * max(paces)), MIN_ROUNDS), MAX_ROUNDS))
        benchmark.extra_info["runs in a turn"] = runs
        benchmark.pedantic(
            _repeat, args=(core, runs), setup=lambda: others.append(_timed(other, other_runs)), rounds=rounds
        )
    return [turn / runs for turn in benchmark.stats.stats.data], others


def _repeat(side: Callable[[], object], runs: int) -> None:
    for _ in range(runs):
        side()


def _timed(side: Callable[[], object], runs: int) -> float:
    """How long a run takes, of so many in a row."""
    start = TIMER()
    _repeat(side, runs)
    return (TIMER() - start) / runs


@contextmanager
def _collected() -> Iterator[None]:
    """No garbage collection in the middle of a round: it would look at all inputs, and bill whoever allocates next."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()
