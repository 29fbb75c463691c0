"""Texts with tags, generated: as models write them, and what a scanner likes least."""

from __future__ import annotations

import penstock

# One turn of a model that thinks, speaks in Markdown with a little HTML, and calls a tool.
TURN = """<thinking>The user asks for the tide. First I look up the station; if 3 < n, the nearest one counts.
There may be several; I take the first.</thinking>Let me look that up for you. The station is **Brest**, and its zone is <code>FR-29</code>.
In short: high water comes twice a day, a little later each time, and the range is largest around full and new moon.

<function_calls>
<invoke name="tide">
<parameter name="station">Brest</parameter>
<parameter name="days">3</parameter>
</invoke>
</function_calls>
"""
# The same turn at the length that answers have: paragraphs of thinking and of text between the tags.
LONG_TURN = TURN.replace(
    "There may be several; I take the first.", "There may be several; I take the first. " * 30
).replace(
    "In short:",
    "In short: the harbour office gives the times in local time, and so do I, unless you ask otherwise. " * 40,
)
TURNS = {"short turns": TURN, "long turns": LONG_TURN}
# How much is read, and how much of what a scanner likes least.
SIZE = 1 << 18
MILLION = 1 << 20
WORST = {
    "`<`, nothing but": "<" * MILLION,
    "`<thinking` that is never closed": ("<thinking" + "x" * 300) * (MILLION // 309),
}
# That many turns have more blocks and calls than an answer usually may.
LIMITS = penstock.Limits(blocks=1 << 20, calls=1 << 20)


def of_turns(turn: str, size: int = SIZE) -> str:
    """An answer of such turns, so many characters long."""
    return (turn * (size // len(turn) + 1))[:size]


def cut(text: str, size: int) -> list[str]:
    """The text as it comes, so many characters at a time."""
    return [text[start : start + size] for start in range(0, len(text), size)]
