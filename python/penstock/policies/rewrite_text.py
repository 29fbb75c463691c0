"""Masks or rewrites the text that the user is meant to see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.policy import Policy, PolicyContext
from penstock.rewriting import HOLD_CHARACTERS, Finder, Overlong, TextRewriter

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from penstock.calls import BlockView

__all__ = ["RewriteText"]


class RewriteText(Policy):
    """Replaces what a pattern matches in text and refusals, across the borders of chunks.

    Each block is a text of its own. Thinking is left alone: it passes whole or not at all. Tool calls are not looked at, so
    beside this there has to be a policy for them.

    Args:
        pattern: A regular expression, or a function that finds places: see `penstock.TextRewriter`, which has the other options too.
        replacement: What is written in place of a match: text as it is, or a function of the matched text.
        hold: How many characters a match may look at.
        prefix: What every match begins with, if that is known.
        overlong: What to do with a match that fills the hold.

    Example:
        >>> from penstock import all_of
        >>> from penstock.policies import RewriteText, ToolRules
        >>> policy = all_of(RewriteText(r"sk-[A-Za-z0-9]{20}", "[key]", prefix="sk-"), ToolRules(allow=["read_*"]))
        >>> sorted(policy.hooks)
        ['on_text', 'on_text_delta', 'on_tool_call']
    """

    def __init__(
        self,
        pattern: str | re.Pattern[str] | Finder,
        replacement: str | Callable[[str], str],
        *,
        hold: int = HOLD_CHARACTERS,
        prefix: str | tuple[str, ...] = (),
        overlong: Overlong = "replace",
    ) -> None:
        def new_rewriter() -> TextRewriter:
            return TextRewriter(pattern, replacement, hold=hold, prefix=prefix, overlong=overlong)

        # Wrong options are the fault of whoever gives them, not of the first stream.
        new_rewriter()
        self._new_rewriter = new_rewriter

    def on_text_delta(self, delta: str, block: BlockView, context: PolicyContext) -> str:
        """Gives what is decided."""
        rewriters = context.own(self, dict[int, TextRewriter])
        if block.number not in rewriters:
            rewriters[block.number] = self._new_rewriter()
        return rewriters[block.number].feed(delta)

    def on_text(self, text: str, block: BlockView, context: PolicyContext) -> str:
        """Gives what waited."""
        rewriter = context.own(self, dict[int, TextRewriter]).pop(block.number, None)
        return "" if rewriter is None else rewriter.flush()
