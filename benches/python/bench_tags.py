"""Tags in large reads, to blocks: core and reference; and what a scanner likes least, beside ordinary text."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from contenders import ENGINES
from own_streams import pieces
from sample import READ_BYTES
from turns import LIMITS, MILLION, SIZE, TURNS, WORST, cut, of_turns

if TYPE_CHECKING:
    from collections.abc import Callable


def to_blocks(engine: str, source: str, reads: list[Any]) -> None:
    """Reads a stream with tags into its blocks, which stay with the engine."""
    processor = ENGINES[engine](source=source, emit="nothing", tags="claude-xml", limits=LIMITS)
    for read in reads:
        processor.feed(read)
    processor.finish()


@pytest.mark.parametrize("turn", TURNS)
def test_text_to_blocks(turn: str, duel: Callable[..., None]) -> None:
    reads = cut(of_turns(TURNS[turn]), READ_BYTES)
    core, other = (partial(to_blocks, engine, "text", reads) for engine in ENGINES)
    duel("tags", f"text, {turn}, 16 KiB per read", core, other, unit=SIZE / 1024 * 1e-6)


@pytest.mark.parametrize("turn", TURNS)
def test_events_to_blocks(turn: str, duel: Callable[..., None]) -> None:
    body = b"".join(pieces(cut(of_turns(TURNS[turn]), 4)))
    reads = [body[start : start + READ_BYTES] for start in range(0, len(body), READ_BYTES)]
    core, other = (partial(to_blocks, engine, "openai_chat", reads) for engine in ENGINES)
    duel("tags", f"chat events of 4 characters, {turn}, 16 KiB per read", core, other, unit=SIZE / 1024 * 1e-6)


@pytest.mark.parametrize("title", WORST)
def test_worst_cases(title: str, duel: Callable[..., None]) -> None:
    ordinary, worst = (
        partial(to_blocks, "core", "text", cut(text, READ_BYTES))
        for text in (of_turns(TURNS["long turns"], MILLION), WORST[title])
    )
    duel("worst", title, ordinary, worst, unit=MILLION / 1024 * 1e-6)
