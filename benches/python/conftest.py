from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest
import sample as samples
from duel import TIMER, Duel, fight
from table import render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_duels: list[Duel] = []
_samples: dict[str, samples.Sample] = {}


@pytest.fixture(scope="session")
def sample_of() -> Callable[[str], samples.Sample]:
    """The streams of a format, read and converted once."""

    def load(source: str) -> samples.Sample:
        if source not in _samples:
            _samples[source] = samples.load(source)
        return _samples[source]

    return load


@pytest.fixture(scope="session")
def sample(sample_of: Callable[[str], samples.Sample]) -> samples.Sample:
    """The streams of chat."""
    return sample_of("openai_chat")


@pytest.fixture(scope="session")
def run() -> Iterator[Callable[[Any], Any]]:
    """Runs a coroutine, in one event loop for all of them."""
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture
def duel(benchmark: Any) -> Callable[..., None]:
    """Measures one row: `duel(group, title, core, other, unit=…)`. The groups are the tables of `table.py`."""

    def measure(
        group: str,
        title: str,
        core: Callable[[], object],
        other: Callable[[], object],
        *,
        unit: float,
        other_unit: float | None = None,
    ) -> None:
        _duels.append(Duel(group, title, unit, other_unit or unit, *fight(benchmark, core, other)))

    return measure


def pytest_configure(config: pytest.Config) -> None:
    # What others warn of when they are first used is theirs.
    config.addinivalue_line("filterwarnings", "ignore")
    # What a stream lacks is logged by one side of most rows.
    logging.getLogger("penstock").setLevel(logging.CRITICAL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.benchmark(timer=TIMER))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _duels:
        terminalreporter.ensure_newline()
        terminalreporter.write_line("")
        for line in render(list(_samples.values()), _duels):
            terminalreporter.write_line(line)
