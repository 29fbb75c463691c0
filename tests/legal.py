"""Asserts that a stream is legal, for every test that writes one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import penstock
from penstock.grammar.framing import events_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.grammar import Finding, Report

AROUND = 2
LONGEST = 300


def assert_legal(stream: bytes | Iterable[Any], format: str) -> Report:  # noqa: A002 (as in `check`)
    """Fails with the findings and the events around them; else gives the report, whose `ended` says how the stream ended."""
    stream = stream if isinstance(stream, bytes) else list(stream)
    report = penstock.check(stream, format)
    assert not report, shown(report, [str(event.data or "[DONE]") for event in events_of(stream)])
    return report


def shown(findings: list[Finding], events: list[str]) -> str:
    """Each finding, with the events before and after it."""
    return "\n\n".join(f"{finding}\n{_around(finding.event, events)}" for finding in findings)


def _around(at: int, events: list[str]) -> str:
    places = range(max(at - AROUND, 0), min(at + AROUND + 1, len(events)))
    return "\n".join(f"{'>' if place == at else ' '} {place:4} {events[place][:LONGEST]}" for place in places)
