"""Thinking behind a gate (A-15): it leaves byte for byte with its signature, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

import messages as m
import penstock
from gate_runs import TARGETS, Gated, run
from legal import assert_legal
from penstock import ALLOW, AllowAll, BlockView, Policy, PolicyContext, ToolCall, Verdict, all_of, deny, policies
from splits import SPLITS

THOUGHT = 'Secrets: sk-1234 \u2028 \u00e4\U0001f600 "quoted" \\u0041 </thinking> '
SIGNATURE = "c2lnbmF0dXJl+/=="
SEALED = "c2VhbGVk+/=="
TEXT = "The key is sk-1234."


def blocks() -> list[Any]:
    pieces = [m.delta("thinking_delta", thinking=THOUGHT[at : at + 3]) for at in range(0, len(THOUGHT), 3)]
    signed = m.delta("signature_delta", signature=SIGNATURE)
    return [
        *(m.start("thinking", thinking="", signature=""), *pieces, signed, m.stop()),
        *(m.start("redacted_thinking", 1, data=SEALED), m.stop(1)),
        *(m.start("text", 2, text=""), m.text(TEXT, 2), m.stop(2)),
        *(m.start("tool_use", 3, id="toolu_1", name="ls", input={}), m.partial("{}", 3), m.stop(3)),
    ]


STREAM = m.sse([m.opened(), *blocks(), m.ending("tool_use"), m.END])


class Masks(Policy):
    """Rewrites every text, at once and at its end."""

    def on_text_delta(self, delta: str, block: BlockView, context: PolicyContext) -> str:
        return delta.upper()

    def on_text(self, text: str, block: BlockView, context: PolicyContext) -> str:
        return "!"

    def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
        return ALLOW


class Judges(Policy):
    """Says the same of all thinking, and keeps it."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self.thoughts: list[str] = []

    def on_thinking(self, text: str, block: BlockView, context: PolicyContext) -> Verdict:
        self.thoughts.append(text)
        return self.verdict

    def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
        return ALLOW


class NotInert(AllowAll):
    """Has no hook for thinking, and does not list it as harmless."""

    inert = frozenset()


def thinking(gated: Gated) -> list[tuple[str, str, str]]:
    """What a reader of the written stream has of thinking: text, signature and sealed data of each block."""
    processor = penstock.StreamProcessor(lambda *_: None, source=gated.target)
    engine = processor._engine
    list(engine.feed(gated.out))
    list(engine.finish())
    blocks = [block for block in engine.state.blocks if isinstance(block, penstock.ThinkingStreamBlock)]
    return [(block.content, block.signature or "", block.data or "") for block in blocks]


def gates(policy: Any, target: str) -> list[Gated]:
    results = [run(split(STREAM), policy(), source="anthropic_messages", target=target) for split in SPLITS]
    for gated in results:
        assert_legal(gated.out, target)
        assert gated.ended == "finished"
    return results


WHOLE = [(THOUGHT, SIGNATURE, ""), ("", "", SEALED)]
every_target = pytest.mark.parametrize("target", TARGETS)


@every_target
@pytest.mark.parametrize("verdict", [ALLOW, deny()], ids=["allowed", "denied"])
def test_a_15_thinking_leaves_byte_for_byte_or_not_at_all(verdict: Verdict, target: str) -> None:
    for gated in gates(lambda: Judges(verdict), target):
        assert joined(thinking(gated)) == joined(WHOLE if verdict is ALLOW else [])
        if verdict is not ALLOW:
            assert SIGNATURE.encode() not in gated.out
            assert SEALED.encode() not in gated.out


def joined(blocks: list[tuple[str, str, str]]) -> tuple[str, ...]:
    """Text, signatures and data, each as one: a target may have them in blocks of their own."""
    return tuple("".join(parts) for parts in zip(*blocks, strict=True)) if blocks else ("", "", "")


@every_target
@pytest.mark.parametrize(
    "policy", [Masks, lambda: all_of(policies.RewriteText(r"sk-[0-9]{4}", "[key]"), AllowAll())], ids=["hooks", "rules"]
)
def test_a_15_no_policy_for_text_changes_thinking(policy: Any, target: str) -> None:
    for gated in gates(policy, target):
        assert joined(thinking(gated)) == joined(WHOLE)
        assert TEXT.encode() not in gated.out


@every_target
def test_a_15_thinking_that_nobody_judges_and_nobody_calls_harmless_does_not_leave(target: str) -> None:
    for gated in gates(NotInert, target):
        assert thinking(gated) == []
        assert SIGNATURE.encode() not in gated.out


@every_target
def test_the_judge_is_shown_what_leaves(target: str) -> None:
    policy = Judges(ALLOW)
    run([STREAM], policy, source="anthropic_messages", target=target)
    assert policy.thoughts == [THOUGHT, ""]
