"""Where recordings are: the project's own, and those of others, which are not part of the project."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from splits import AsReceived

TESTS = Path(__file__).parent
OWN = TESTS / "recordings"
CORPUS = Path(os.environ.get("PENSTOCK_CORPUS") or TESTS.parent.parent / "shared" / "corpus")
VECTORS = CORPUS.parent / "vectors"


@dataclass(frozen=True)
class Recording:
    """One recorded stream."""

    path: Path

    def __str__(self) -> str:
        return self.path.name

    @property
    def data(self) -> bytes:
        """The bytes as they were recorded."""
        return self.path.read_bytes()

    @property
    def is_sse(self) -> bool:
        """Whether the recording has its SSE framing."""
        return self.path.suffix == ".sse"

    @property
    def lines(self) -> list[str]:
        """The chunks of a recording that has one JSON text per line."""
        return [line for line in self.data.decode().split("\n") if line.strip()]

    @property
    def as_received(self) -> AsReceived | None:
        """The reads of the recorder, where it kept them."""
        sizes = _index().get(str(self.path.relative_to(CORPUS)), {}).get("network_chunks")
        return AsReceived(tuple(sizes)) if sizes else None


@cache
def _index() -> dict[str, Any]:
    rows = map(json.loads, (CORPUS / "INDEX.jsonl").read_text().splitlines())
    return {row["path"]: row for row in rows}


def own(name: str) -> Recording:
    """A recording of the project."""
    return Recording(OWN / name)


def of_others(*patterns: str) -> list[Any]:
    """Recordings of the corpus as parameters; where there is no corpus, one parameter that is skipped."""
    if not CORPUS.is_dir():
        return [_absent(CORPUS)]
    return [Recording(path) for pattern in patterns for path in sorted(CORPUS.glob(pattern))]


def sse_vectors() -> list[Any]:
    """The cases of SSE parsing as parameters; where they are not there, one parameter that is skipped."""
    return _vectors("sse.json")


def tag_vectors() -> list[Any]:
    """Texts with tags as parameters; where they are not there, one parameter that is skipped."""
    return _vectors("tag-inputs.json")


def _vectors(name: str) -> list[Any]:
    path = VECTORS / name
    if not path.is_file():
        return [_absent(path)]
    return [pytest.param(case, id=case["name"]) for case in json.loads(path.read_text())]


def tag_texts() -> list[Any]:
    """Texts with tags as parameters; where they are not there, one parameter that is skipped."""
    path = VECTORS / "tag-inputs.json"
    if not path.is_file():
        return [_absent(path)]
    return [pytest.param(case["input"], id=case["name"]) for case in json.loads(path.read_text())]


def _absent(path: Path) -> Any:
    reason = f"no recordings at {path}; PENSTOCK_CORPUS names the folder that has them"
    return pytest.param(None, marks=pytest.mark.skip(reason=reason), id="absent")
