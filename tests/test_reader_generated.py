"""Generated chat streams with results of tools in between: both engines call the same, and every block is heard whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from reading import READERS, CoreReader, Heard, check
from splits import SeededRandom
from test_generated import ends, generated, streams
from wire import sse

if TYPE_CHECKING:
    from penstock import BlockReader
    from penstock.items import Item

results = st.sets(st.integers(0, 6), max_size=2)


def hear(reader: type[BlockReader], stream: list[Any], interruptions: set[int]) -> tuple[list[Item], bool]:
    heard = Heard()
    reading = reader(heard.on_chunk, heard.on_block)
    for number, item in enumerate(stream):
        reading.feed(item)
        if number in interruptions:
            reading.tool_result(f"call_{number}", "done")
    reading.flush()
    return heard.items, reading.state.interrupted


@generated
@given(stream=streams, interruptions=results)
def test_both_engines_call_the_same_for_any_stream(stream: list[Any], interruptions: set[int]) -> None:
    core, reference = (hear(reader, stream, interruptions) for reader in READERS.values())
    assert core == reference
    items, is_cut = core
    # A choice that was not finished leaves its block open, although the stream as a whole was ended.
    check(items, is_cut=is_cut or "error" in str(stream))


@generated
@given(stream=streams, seed=st.integers(0, 99), end=ends)
def test_the_split_of_the_bytes_changes_nothing(stream: list[Any], seed: int, end: list[str]) -> None:
    data = sse(*stream, *end)
    assert hear(CoreReader, [b"", *SeededRandom(seed)(data)], set()) == hear(CoreReader, [data], set())
