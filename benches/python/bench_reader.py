"""The reader of blocks on text with tags: core and reference, each behind the same Python class with the same callbacks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock import reference

if TYPE_CHECKING:
    from collections.abc import Callable

# One turn of a model that thinks, speaks in Markdown with a little HTML, and calls a tool.
TURN = """<thinking>The user asks for the tide. First I look up the station; if 3 < n, the nearest one counts.
There may be several; I take the first.</thinking>Let me look that up for you. The station is **Brest**, and its zone is <code>FR-29</code>.
In short: high water comes twice a day, a little later each time, and the range is largest around full and new moon.

<function_calls>
<invoke name="tide">
<parameter name="station">Brest</parameter>
<parameter name="days">3</parameter>
</invoke>
</function_calls>
"""
# The same turn at the length that answers have: paragraphs of thinking and of text between the tags.
LONG_TURN = TURN.replace(
    "There may be several; I take the first.", "There may be several; I take the first. " * 30
).replace(
    "In short:",
    "In short: the harbour office gives the times in local time, and so do I, unless you ask otherwise. " * 40,
)
SIZE = 1 << 18
WORST = {
    "`<`, nothing but": "<" * SIZE,
    "`<thinking` that is never closed": ("<thinking" + "x" * 300) * (SIZE // 309),
}
LIMITS = penstock.Limits(blocks=1 << 20, calls=1 << 20)


class ReferenceReader(penstock.BlockReader):
    """The reader on the engine in plain Python."""

    def _new_engine(self, source: Any, *, first_index: int) -> Any:
        return reference.BlockReader(
            source=source, strict=self._strict, limits=self._limits, tags=self._tags_of(source), first_index=first_index
        )


READERS = {"core": penstock.BlockReader, "reference": ReferenceReader}


def read(reader: type[penstock.BlockReader], pieces: list[str]) -> None:
    """Reads a text as an app does that speaks it."""
    spoken: list[str] = []

    def on_chunk(text: str, meta: penstock.ChunkMeta) -> None:
        if meta.visible:
            spoken.append(text)

    def on_block(event: penstock.BlockEvent) -> None:
        pass

    reading = reader(on_chunk, on_block, source="text", tags="claude-xml", limits=LIMITS)
    for piece in pieces:
        reading.feed(piece)
    reading.flush()


def cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


@pytest.mark.parametrize(("title", "size"), [("4 characters at a time", 4), ("16 KiB at a time", 1 << 14)])
@pytest.mark.parametrize(("turn", "what"), [(TURN, "short turns"), (LONG_TURN, "long turns")], ids=["short", "long"])
def test_tags_to_callbacks(turn: str, what: str, title: str, size: int, duel: Callable[..., None]) -> None:
    answer = (turn * (SIZE // len(turn) + 1))[:SIZE]
    core, other = (partial(read, reader, cut(answer, size)) for reader in READERS.values())
    duel("reader", f"text with tags, {what}, {title}", core, other, unit=SIZE / 1024 * 1e-6)


@pytest.mark.parametrize("title", WORST)
def test_worst_cases(title: str, duel: Callable[..., None]) -> None:
    core, other = (partial(read, reader, cut(WORST[title], 1 << 14)) for reader in READERS.values())
    duel("reader", f"{title}, 16 KiB at a time", core, other, unit=SIZE / 1024 * 1e-6)
