"""What a gate costs beside plain translation: the same streams, an allow-all policy, the same target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock import ALLOW, Policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from sample import Sample

    from penstock import ToolCall, Verdict
    from penstock.policy import PolicyContext

# As it came, as a model sends it; and as a fast network delivers it.
FORMS = {"events": "one event per read", "reads": "16 KiB per read"}


class AllowEach(Policy):
    """Asked about every call, and allows it."""

    async def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
        """Allows it."""
        return ALLOW


POLICIES: dict[str, Callable[[], Policy]] = {"no hook": penstock.AllowAll, "a hook per call": AllowEach}


async def translate_all(streams: list[list[Any]]) -> None:
    """Plain translation."""
    for stream in streams:
        async for _ in penstock.translate(stream, source="openai_chat", target="anthropic_messages"):
            pass


async def gate_all(streams: list[list[Any]], policy: Policy) -> None:
    """The same behind a gate."""
    for stream in streams:
        async for _ in penstock.gate(
            stream, policy, source="openai_chat", target="anthropic_messages", audit=lambda record: None
        ):
            pass


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("policy", POLICIES)
def test_gate(policy: str, form: str, sample: Sample, run: Callable[[Any], Any], duel: Callable[..., None]) -> None:
    streams = sample.each(form)
    judge = POLICIES[policy]()
    duel(
        "gate",
        f"{FORMS[form]}, {policy}",
        lambda: run(translate_all(streams)),
        lambda: run(gate_all(streams, judge)),
        unit=sample.chunks * 1e-6,
    )
