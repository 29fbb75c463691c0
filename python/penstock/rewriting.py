"""Rewrites text as it streams, over a window that slides with it.

Rules. (1) Text is decided from left to right, once. (2) A place is decided when `hold` characters from it on are there, or the text is
over; what is decided is given out at once. (3) A match sees `hold` characters from its first, and all before it that it looks back at
within `hold`. (4) So how the text was cut never matters, and a pattern that needs no more than that gives what it gives on the whole text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

from penstock.engine import check_text
from penstock.errors import LimitExceeded
from penstock.limits import checked_count
from penstock.patterns import compiled

if TYPE_CHECKING:
    import re

__all__ = ["Finder", "Overlong", "TextRewriter"]

Finder: TypeAlias = Callable[[str, int], tuple[int, int] | None]
Overlong: TypeAlias = Literal["replace", "stop"]

# Keys, tokens, numbers of cards and accounts are below this; a signed token is not, and wants more.
HOLD_CHARACTERS = 256
# Some patterns take a time that grows with the square of what they see, so they never see much more than the hold.
STEP_CHARACTERS = 256


class TextRewriter:
    """Replaces what a pattern matches, wherever the text was cut. It does no I/O: text in, text out.

    Args:
        pattern: A regular expression; or a function `(text, start) -> (start, end) | None` that finds the first place from `start` on.
        replacement: What is written in place of a match: text as it is, or a function of the matched text.
        hold: How many characters a match may look at from its first on; so many wait at most. A match that only
            shows itself further on is not seen: choose it above the longest match.
        prefix: What every match begins with, if that is known. Then text that cannot be a beginning does not wait.
        overlong: What to do with a match that fills the whole hold, and may go on: `replace` replaces what is there and
            looks at the rest anew; `stop` raises.

    Example:
        >>> from penstock import TextRewriter
        >>> rewriter = TextRewriter(r"sk-[a-z0-9]{8}", "[key]", hold=16)
        >>> rewriter.feed("The key is s") + rewriter.feed("k-12ab") + rewriter.feed("34cd. Keep it.") + rewriter.flush()
        'The key is [key]. Keep it.'
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
        self._find = _finder(pattern)
        self._replacement = replacement
        self._hold = checked_count("hold", hold)
        self._prefixes = (prefix,) if isinstance(prefix, str) else prefix
        self._overlong = _checked_overlong(overlong)
        if any(not each or len(each) > hold for each in self._prefixes):
            msg = "a prefix must not be empty, nor longer than the hold"
            raise ValueError(msg)
        self._window = ""
        self._decided = 0

    def feed(self, text: str) -> str:
        """Takes more text, and gives what is decided of it and of what waited.

        Raises:
            TypeError: It is no text.
            LimitExceeded: With `overlong="stop"`, a match is longer than the hold.
        """
        check_text(text)
        step = max(self._hold, STEP_CHARACTERS)
        return "".join(self._take(text[start : start + step]) for start in range(0, len(text), step))

    def flush(self) -> str:
        """The text is over: gives all that waited. The next text is a new one.

        Raises:
            LimitExceeded: With `overlong="stop"`, a match is longer than the hold.
        """
        written = self._decide(len(self._window))
        self._window, self._decided = "", 0
        return written

    def _take(self, text: str) -> str:
        self._window += text
        written = self._decide(self._undecided_from())
        self._slide()
        return written

    def _undecided_from(self) -> int:
        """The first place that what is still to come could decide."""
        last = max(self._decided, len(self._window) - self._hold + 1)
        if not self._prefixes:
            return last
        return min((_possible_start(self._window, each, last) for each in self._prefixes), default=last)

    def _decide(self, end: int) -> str:
        """Decides all places before `end`."""
        written: list[str] = []
        while self._decided < end:
            match = self._next_match(end)
            if match is None:
                written.append(self._window[self._decided : end])
                self._decided = end
                break
            start, stop = match
            written += self._window[self._decided : start], self._replaced(self._window[start:stop])
            self._decided = stop
        return "".join(written)

    def _next_match(self, end: int) -> tuple[int, int] | None:
        start = self._decided
        while (found := self._find(self._window, start)) is not None and found[0] < end:
            if found[0] < start:
                msg = "the function found a place before the one that it was to start from"
                raise ValueError(msg)
            match = self._seen_from(found[0])
            if match is not None:
                return self._checked(match)
            start = found[0] + 1
        return None

    def _seen_from(self, start: int) -> tuple[int, int] | None:
        """The match that begins here, without what stands beyond the hold, which is there only by the luck of the cut."""
        first = max(0, start - self._hold)
        view = self._window[first : start + self._hold]
        found = self._find(view, start - first)
        if found is None or found[0] != start - first or not found[0] < found[1] <= len(view):
            return None
        return start, first + found[1]

    def _checked(self, match: tuple[int, int]) -> tuple[int, int]:
        start, stop = match
        if stop - start >= self._hold and self._overlong == "stop":
            limit = "hold"
            raise LimitExceeded(limit, self._hold)
        if self._prefixes and not self._window.startswith(self._prefixes, start):
            msg = "the pattern matched something that does not begin with the prefix"
            raise ValueError(msg)
        return match

    def _replaced(self, matched: str) -> str:
        return self._replacement if isinstance(self._replacement, str) else self._replacement(matched)

    def _slide(self) -> None:
        """Forgets what nothing looks back at any more."""
        # Not each time: each slide copies the window.
        if self._decided > 2 * self._hold:
            keep = self._decided - self._hold
            self._window, self._decided = self._window[keep:], self._hold


def _possible_start(window: str, prefix: str, last: int) -> int:
    """The first place from `last` on at which a match could begin: the prefix stands there, or the text ends in its beginning."""
    whole = window.find(prefix, last)
    if whole >= 0:
        return whole
    for start in range(max(last, len(window) - len(prefix) + 1), len(window)):
        if prefix.startswith(window[start:]):
            return start
    return len(window)


def _finder(pattern: str | re.Pattern[str] | Finder) -> Finder:
    if callable(pattern):
        return pattern
    search = compiled("pattern", pattern, "a regular expression or a function").search
    if search("") is not None:
        msg = "the pattern matches nothing at all, so it would match everywhere"
        raise ValueError(msg)

    def find(text: str, start: int) -> tuple[int, int] | None:
        match = search(text, start)
        return None if match is None else match.span()

    return find


def _checked_overlong(overlong: Overlong) -> Overlong:
    if overlong not in {"replace", "stop"}:
        msg = f'overlong must be "replace" or "stop", not {overlong!r}'
        raise ValueError(msg)
    return overlong
