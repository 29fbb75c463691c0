"""The core beside what else reads the same chunks. They do less or other work: this is for a sense of scale."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from contenders import (
    ENGINES,
    PARSERS,
    accumulate_with_litellm,
    accumulate_with_openai,
    parse,
    process_with_core,
    process_with_nothing,
    read_blocks,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from sample import Sample


@pytest.mark.parametrize("parser", PARSERS)
def test_parsers(parser: str, sample: Sample, duel: Callable[..., None]) -> None:
    core = partial(read_blocks, ENGINES["core"], sample.each("events"))
    other = partial(parse, PARSERS[parser], sample.each("payloads"))
    duel("peers", parser, core, other, unit=sample.chunks * 1e-6)


def test_openai_stream_state(sample: Sample, duel: Callable[..., None]) -> None:
    streams = sample.each("openai_objects")
    core = partial(read_blocks, ENGINES["core"], streams)
    title = "`openai` `ChatCompletionStreamState`"
    duel("peers", title, core, partial(accumulate_with_openai, streams), unit=sample.chunks * 1e-6)


def test_litellm_chunk_builder(sample: Sample, duel: Callable[..., None]) -> None:
    streams = sample.each("litellm_objects")
    core = partial(read_blocks, ENGINES["core"], streams)
    title = "`litellm.stream_chunk_builder`"
    duel("peers", title, core, partial(accumulate_with_litellm, streams), unit=sample.chunks * 1e-6)


def test_bare_loop(sample: Sample, run: Callable[[Any], Any], duel: Callable[..., None]) -> None:
    streams = sample.each("litellm_objects")
    title = "`async for` and `await` of a no-op, beside `process()`"
    duel(
        "peers",
        title,
        lambda: run(process_with_core(streams)),
        lambda: run(process_with_nothing(streams)),
        unit=sample.chunks * 1e-6,
    )
