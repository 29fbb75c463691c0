"""Cost is linear: a stream ten times as long, in ten times the time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import own_streams
import pytest
from contenders import PROCESSORS, look_at_end

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNKS = 1500
STREAMS = {
    "text, word by word": own_streams.text,
    "one text block, one character per chunk": own_streams.single_characters,
    "one tool call, one character per chunk": own_streams.single_character_arguments,
}


@pytest.mark.parametrize("title", STREAMS)
@pytest.mark.parametrize("engine", PROCESSORS)
def test_ten_times_as_long(engine: str, title: str, run: Callable[[Any], Any], duel: Callable[..., None]) -> None:
    short, long = ([STREAMS[title](chunks)] for chunks in (CHUNKS, CHUNKS * 10))
    process = PROCESSORS[engine]
    once, ten_times = (lambda stream=stream: run(process(stream, look_at_end)) for stream in (short, long))
    duel("growth", f"{engine}: {title}", once, ten_times, unit=1e-3)
