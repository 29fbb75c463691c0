"""The gate over sources that take their time, and what was written before a policy failed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from guards import Broken, Judging
from upstream import CALLS, PROTOCOLS, recording

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def slowly(data: bytes, pauses: int) -> AsyncIterator[bytes]:
    """A stream event by event, with other things happening in between."""
    for frame in data.split(b"\n\n"):
        for _ in range(pauses):
            await asyncio.sleep(0)
        yield frame + b"\n\n"


async def passed(protocol: Any, policy: penstock.Policy, pauses: int) -> bytes:
    """What leaves."""
    reads = slowly(recording(protocol, streamed=True), pauses)
    return b"".join([out async for out in penstock.gate(reads, policy, source=protocol)])


@pytest.mark.parametrize("pauses", [0, 1, 3, 20])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_source_that_is_slower_than_its_judges_is_read_to_its_end(protocol: Any, pauses: int) -> None:
    policy = Judging()
    out = await passed(protocol, policy, pauses)
    assert penstock.check(out, protocol) == []
    assert policy.judged == CALLS
    assert policy.endings == ["finished"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_policy_that_fails_ends_a_stream_that_is_legal_up_to_there(protocol: Any) -> None:
    reads = [recording(protocol, streamed=True)]
    out = b"".join([out async for out in penstock.gate(reads, Broken(), source=protocol)])
    assert [str(finding) for finding in penstock.check(out, protocol)] == []
    assert b"the policy failed" in out
