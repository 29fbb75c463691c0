"""The reader of blocks on text with tags: core and reference, each behind the same Python class with the same callbacks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from sample import READ_BYTES
from turns import LIMITS, SIZE, TURNS, cut, of_turns

import penstock
from penstock import reference

if TYPE_CHECKING:
    from collections.abc import Callable


class ReferenceReader(penstock.BlockReader):
    """The reader on the engine in plain Python."""

    def _new_engine(self, source: Any, *, first_index: int) -> Any:
        return reference.BlockReader(
            source=source, strict=self._strict, limits=self._limits, tags=self._tags, first_index=first_index
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


@pytest.mark.parametrize(("title", "piece"), [("4 characters at a time", 4), ("16 KiB at a time", READ_BYTES)])
@pytest.mark.parametrize("turn", TURNS)
def test_tags_to_callbacks(turn: str, title: str, piece: int, duel: Callable[..., None]) -> None:
    pieces = cut(of_turns(TURNS[turn]), piece)
    core, other = (partial(read, reader, pieces) for reader in READERS.values())
    duel("reader", f"text with tags, {turn}, {title}", core, other, unit=SIZE / 1024 * 1e-6)
