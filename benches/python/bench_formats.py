"""The other formats: the core beside the official SDK on the same bytes, and the time per byte beside that of chat."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from contenders import ENGINES, read_blocks
from sdks import SDKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from sample import Sample

TITLES = {"anthropic_messages": "Anthropic Messages", "openai_responses": "OpenAI Responses"}
PACKAGES = {"anthropic_messages": "`anthropic`", "openai_responses": "`openai`"}


@pytest.mark.parametrize("source", TITLES)
def test_beside_the_official_sdk(source: str, sample_of: Callable[[str], Sample], duel: Callable[..., None]) -> None:
    sample = sample_of(source)
    core = partial(read_blocks, ENGINES["core"], sample.each("reads"))
    sdk = partial(SDKS[source], [stream.body for stream in sample.streams])
    title = f"{TITLES[source]}, bytes → blocks, beside {PACKAGES[source]}"
    duel("formats", title, core, sdk, unit=sample.chunks * 1e-6)


@pytest.mark.parametrize("source", TITLES)
def test_time_per_byte(source: str, sample_of: Callable[[str], Sample], duel: Callable[..., None]) -> None:
    chat, other = sample_of("openai_chat"), sample_of(source)
    sides = (partial(read_blocks, ENGINES["core"], sample.each("reads")) for sample in (chat, other))
    duel("bytes", TITLES[source], *sides, unit=chat.bytes * 1e-9, other_unit=other.bytes * 1e-9)
