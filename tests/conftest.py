"""What all tests share: the engines, the ways to feed them, and where the recordings of others are."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import feeding
import messages
from feeding import WAYS, Engine, Outcome, Run, Way

ENGINES = {"core": "penstock._core", "reference": "penstock.reference"}


def load(name: str) -> Engine:
    """The engine of that name."""
    module = importlib.import_module(ENGINES[name])
    return Engine(name, module.StreamProcessor, module.SseFramer)


@pytest.fixture(params=ENGINES, scope="session")
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn."""
    return load(request.param)


@pytest.fixture(scope="session")
def core() -> Engine:
    """The engine in Rust."""
    return load("core")


@pytest.fixture(scope="session")
def reference() -> Engine:
    """The engine in plain Python."""
    return load("reference")


@pytest.fixture(params=WAYS, ids=str)
def way(request: pytest.FixtureRequest) -> Way:
    """Each way to feed the same chunks: SSE bytes in several splits, dicts, JSON text."""
    return request.param


@pytest.fixture
def run(engine: Engine, way: Way) -> Run:
    """Feeds the given chunks to one engine in one way."""

    def run_chunks(*chunks: dict[str, Any], **options: Any) -> Outcome:
        return feeding.outcome(engine, way.items(list(chunks)), **options)

    return run_chunks


@pytest.fixture(params=messages.WAYS, ids=str)
def read_messages(core: Engine, request: pytest.FixtureRequest) -> Run:
    """Feeds the given events of Anthropic's Messages in one way."""
    way: Way = request.param

    def run_events(*events: dict[str, Any], **options: Any) -> Outcome:
        return feeding.outcome(core, way.items(list(events)), source="anthropic_messages", **options)

    return run_events
