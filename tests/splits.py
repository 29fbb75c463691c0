"""Ways to cut bytes into reads. Each prints itself, so that a failing test names its seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

Split: TypeAlias = Callable[[bytes], list[bytes]]


@dataclass(frozen=True)
class Whole:
    """All bytes in one read."""

    def __call__(self, data: bytes) -> list[bytes]:
        return [data]

    def __str__(self) -> str:
        return "whole"


@dataclass(frozen=True)
class Bytewise:
    """Each byte in a read of its own."""

    def __call__(self, data: bytes) -> list[bytes]:
        return [data[i : i + 1] for i in range(len(data))]

    def __str__(self) -> str:
        return "bytewise"


@dataclass(frozen=True)
class SeededRandom:
    """Reads of 0 to `longest` bytes, the same for the same seed."""

    seed: int
    longest: int = 64

    def __call__(self, data: bytes) -> list[bytes]:
        chance = random.Random(self.seed)
        reads: list[bytes] = []
        start = 0
        while start < len(data):
            size = chance.randrange(self.longest + 1)
            reads.append(data[start : start + size])
            start += size
        return reads

    def __str__(self) -> str:
        return f"random-{self.seed}"


@dataclass(frozen=True)
class AsReceived:
    """The reads in which a recorder received the bytes."""

    sizes: tuple[int, ...] = field(repr=False)

    def __call__(self, data: bytes) -> list[bytes]:
        reads: list[bytes] = []
        start = 0
        for size in self.sizes:
            reads.append(data[start : start + size])
            start += size
        return [*reads, data[start:]]

    def __str__(self) -> str:
        return "as-received"


whole = Whole()
bytewise = Bytewise()
seeded_random = SeededRandom(20240611)
SPLITS = (whole, bytewise, seeded_random)


def two_way_cuts(data: bytes) -> Iterator[list[bytes]]:
    """Each way to cut the bytes in two, an empty side included."""
    for cut in range(len(data) + 1):
        yield [data[:cut], data[cut:]]
