"""The result of a run in Markdown, as the README shows it."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duel import Duel
    from sample import Sample

_HEADS = {
    "reference": ("µs per chunk", "core", "reference", "ratio", "middle half"),
    "reader": ("the reader of blocks, µs per KiB", "core", "reference", "ratio", "middle half"),
    "tags": ("tags → blocks, µs per KiB of text", "core", "reference", "ratio", "middle half"),
    "worst": ("what a scanner likes least, µs per KiB", "ordinary text", "this", "ratio", "middle half"),
    "peers": ("beside others, µs per chunk", "core, same input", "the other", "ratio", "middle half"),
    "formats": ("µs per event", "core", "the SDK", "ratio", "middle half"),
    "bytes": ("ns per byte, bytes → blocks", "chat", "this format", "ratio", "middle half"),
    "translation": ("translation, µs per chunk", "core", "the other", "ratio", "middle half"),
    "gate": ("a gate beside plain translation, µs per chunk", "translation", "gate", "ratio", "middle half"),
    "growth": ("ten times as many chunks, ms", "once", "ten times", "ratio", "middle half"),
}


def render(samples: list[Sample], duels: list[Duel]) -> Iterator[str]:
    """The lines of all tables."""
    for sample in samples:
        yield f"{sample.chunks:,} chunks of {len(sample.streams)} streams: {sample.title}."
    yield _machine()
    for group, head in _HEADS.items():
        rows = [duel for duel in duels if duel.group == group]
        if rows:
            yield ""
            yield _line(head)
            yield _line(("---", "--:", "--:", "--:", "--:"))
            yield from map(_row, rows)


def _row(duel: Duel) -> str:
    low, high = map(_ratio, duel.spread)
    core, other = map(_number, duel.costs)
    return _line((duel.title, core, other, f"**{_ratio(duel.ratio)}**", f"{low}–{high}"))


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    """Three digits are more than a run can vouch for, two are too few below ten."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _ratio(value: float) -> str:
    return f"{value:.1f}" if value >= 2 else f"{value:.2f}"


def _machine() -> str:
    return f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs."
