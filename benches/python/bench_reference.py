"""Core and reference, on the same chunks in every form."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from contenders import ENGINES, PROCESSORS, read_blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from sample import Sample

FORMS = {
    "reads": "bytes, 16 KiB per read",
    "events": "bytes, one event per read",
    "dicts": "dicts",
    "litellm_objects": "LiteLLM objects",
}


@pytest.mark.parametrize("form", FORMS)
def test_to_blocks(form: str, sample: Sample, duel: Callable[..., None]) -> None:
    streams = sample.each(form)
    core, other = (partial(read_blocks, engine, streams) for engine in ENGINES.values())
    duel("reference", f"{FORMS[form]} → blocks", core, other, unit=sample.chunks * 1e-6)


@pytest.mark.parametrize("form", ["events", "litellm_objects"])
def test_process_with_a_policy(form: str, sample: Sample, run: Callable[[Any], Any], duel: Callable[..., None]) -> None:
    streams = sample.each(form)
    core, other = (lambda process=process: run(process(streams)) for process in PROCESSORS.values())
    duel("reference", f"`process()`, no-op policy, {FORMS[form]}", core, other, unit=sample.chunks * 1e-6)
