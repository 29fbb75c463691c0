"""A long read keeps nobody waiting (M-09): other threads and tasks go on while it is worked off. Decided by counting, not by a clock."""

from __future__ import annotations

import asyncio
import operator
import sys
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from gate_runs import allow_all
from penstock import _core
from penstock.timeouts import SLICE_BYTES
from wire import DONE, finish, sse, text

if TYPE_CHECKING:
    from collections.abc import Iterator

READ = sse(*[text("All work and no play. ")] * 20_000)
LONGEST_WAIT = 100.0
ATTEMPTS = 200


def translator(**options: Any) -> Any:
    return _core.Translator(target="openai_chat", id="1", created=0, source="openai_chat", **options)


ENGINES = {
    "translator": translator,
    "gate": partial(translator, gate=[]),
    "gate_with_state": partial(translator, gate=[], emit="state"),
    "gate_with_events": partial(translator, gate=[], emit="events"),
    "state": partial(_core.StreamProcessor, emit="nothing"),
    "events": partial(_core.StreamProcessor, emit="events"),
    "reader": _core.BlockReader,
}
# They make no object of Python while they read, so they need no lock at all.
WITHOUT_LOCK = ("translator", "gate")


@pytest.fixture
def turns() -> Iterator[list[None]]:
    """A list that grows by one for each turn that another thread has."""
    turns: list[None] = []
    is_over = threading.Event()

    def take_turns() -> None:
        while not is_over.is_set():
            turns.append(None)
            time.sleep(0)

    other = threading.Thread(target=take_turns)
    usual = sys.getswitchinterval()
    other.start()
    yield turns
    sys.setswitchinterval(usual)
    is_over.set()
    other.join()


def turns_during(turns: list[None], work: Any) -> int:
    """How many turns the other thread has while a function of the extension runs: no Python is run in between that could give it one."""
    before, _, after = tuple(map(operator.call, (turns.__len__, work, turns.__len__)))
    turns.clear()
    return after - before


def has_turns(turns: list[None], name: str, read: bytes, attempts: int) -> bool:
    return any(turns_during(turns, partial(ENGINES[name]().feed, read)) for _ in range(attempts))


@pytest.mark.parametrize("name", ENGINES)
def test_m_09_another_thread_goes_on_during_a_long_read(name: str, turns: list[None]) -> None:
    # Whoever asks for the lock gets it at the first occasion; without asking, only who finds it free.
    sys.setswitchinterval(LONGEST_WAIT if name in WITHOUT_LOCK else 1e-6)
    assert has_turns(turns, name, READ, ATTEMPTS)


@pytest.mark.parametrize("name", WITHOUT_LOCK)
def test_m_09_a_read_of_16_kib_keeps_the_lock_and_one_byte_more_does_not(name: str, turns: list[None]) -> None:
    sys.setswitchinterval(LONGEST_WAIT)
    comment = b":" * (16 << 10)
    assert not has_turns(turns, name, comment, 20)
    assert has_turns(turns, name, comment + b":", ATTEMPTS * 20)


class Taking(list[int]):
    """What is given, and how many turns another task had by then."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = 0

    async def take_turns(self) -> None:
        while True:
            self.turns += 1
            await asyncio.sleep(0)


@pytest.mark.parametrize("judged", [True, False], ids=["gate", "translate"])
async def test_m_09_another_task_goes_on_between_the_slices_of_a_long_read(judged: bool) -> None:  # noqa: FBT001
    taking = Taking()
    other = asyncio.create_task(taking.take_turns())
    reads = [READ + sse(finish(), DONE)]
    formats: Any = {"source": "openai_chat", "target": "openai_chat"}
    stream = penstock.gate(reads, allow_all(), **formats) if judged else penstock.translate(reads, **formats)
    out = b"".join([out async for out in stream])
    other.cancel()
    assert penstock.check(out, "openai_chat").ended == "finished"
    assert taking.turns >= len(READ) // SLICE_BYTES


async def test_slices_say_what_the_read_said() -> None:
    formats: Any = {"source": "openai_chat", "target": "anthropic_messages", "coalesce": False, "message_id": "1"}
    reads = READ + sse(finish(), DONE)
    whole = penstock.Translator(**formats)
    expected = whole.feed(reads) + whole.finish()
    assert b"".join([out async for out in penstock.translate([reads], **formats)]) == expected
