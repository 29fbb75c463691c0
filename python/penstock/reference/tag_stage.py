"""Between the decoder and the machine: what the text of a stream says in tags becomes deltas like any other.

Rules. (1) The text of each choice has a scanner of its own. (2) A block that a tag opens completes where a tag closes it. (3) Any other
delta that makes or ends a block of the choice ends the text before it: what was held is released, what is open is closed. (4) Everything
else passes as it is.

The kinds of deltas that are made here, and their values: `open` (type, name and id of a block), `grow` (part and text), `note_on` (name and
value), `close` and `announced` (None), `quirk` (its name), `finish_as` (the reason and the wire's own word).
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from penstock.reference.lexemes import lexicon
from penstock.reference.machine import finish_reason
from penstock.reference.tags import TagScanner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.limits import Limits
    from penstock.reference.decode import Delta, Path
    from penstock.reference.tag_content import Op
    from penstock.vocabulary import Grammar

__all__ = ["TagStage"]

_ENDS_TEXT = frozenset({"thinking", "refusal", "signature", "data", "tool_call", "raw"})
# What does not count behind a stop sequence.
_LATE = _ENDS_TEXT | {"content", "note", "extra", "blank"}


class _Text:
    """One text: its scanner, and whether a text block is open."""

    def __init__(self, scanner: TagScanner) -> None:
        self.scanner = scanner
        self.has_plain = False


class _Choice:
    """What is known of one of the answers side by side."""

    def __init__(self) -> None:
        self.text: _Text | None = None
        self.has_begun = False
        self.has_calls = False
        self.is_finished = False
        self.is_stopped = False


class TagStage:
    """Reads tags out of the deltas of one stream."""

    def __init__(self, grammar: Grammar, limits: Limits) -> None:
        self._grammar = grammar
        self._lexicon = lexicon(grammar, limits.tag_bytes)
        self._longest_value = limits.argument_bytes
        self._choices: dict[int, _Choice] = {}
        self.call_count = 0
        self._ids: set[str] = set()

    def read(self, number: int, deltas: list[Delta]) -> list[Delta]:
        """What the deltas of a choice say."""
        choice = self._choices.setdefault(number, _Choice())
        return _joined([made for delta in deltas for made in self._read_one(choice, delta)])

    def _read_one(self, choice: _Choice, delta: Delta) -> Iterator[Delta]:
        kind, value, path = delta
        if choice.is_finished:
            yield delta
        elif choice.is_stopped and kind in _LATE:
            yield "repeat", None, path
        elif kind == "content" and value:
            yield from self._feed(choice, value, path)
        elif kind == "finish":
            yield from self._end_text(choice)
            choice.is_finished = True
            yield "finish_as", (self._reason(choice, finish_reason(value)), value), path
        else:
            if kind in _ENDS_TEXT:
                yield from self._end_text(choice)
            yield delta

    def finish(self) -> list[tuple[int, list[Delta]]]:
        """Ends every text."""
        return self._for_each(lambda choice: list(self._end_text(choice)))

    def release(self) -> list[tuple[int, list[Delta]]]:
        """The input is over although nothing has finished it: releases what is held, and leaves open what is open."""
        return self._for_each(self._release)

    def _for_each(self, make: Callable[[_Choice], list[Delta]]) -> list[tuple[int, list[Delta]]]:
        made = [(number, make(choice)) for number, choice in sorted(self._choices.items())]
        return [(number, deltas) for number, deltas in made if deltas]

    def _release(self, choice: _Choice) -> list[Delta]:
        text = choice.text
        made = list(self._make(choice, text, text.scanner.release(), ())) if text else []
        if choice.is_stopped and not choice.is_finished:
            choice.is_finished = True
            made.append(("finish_as", (self._reason(choice, "stop"), ""), ()))
        return made

    def _reason(self, choice: _Choice, reason: str) -> str:
        """A choice with calls has finished for them, and one that came to a stop sequence for that."""
        reason = "stop" if choice.is_stopped else reason
        return "tool_calls" if reason == "stop" and choice.has_calls else reason

    def _feed(self, choice: _Choice, value: str, path: Path) -> Iterator[Delta]:
        ops: list[Op] = []
        if choice.text is None:
            choice.text = _Text(TagScanner(self._grammar, self._lexicon, self._longest_value))
            ops += choice.text.scanner.begin("" if choice.has_begun else self._grammar.prefill)
            choice.has_begun = True
        ops += choice.text.scanner.feed(value)
        choice.is_stopped = choice.text.scanner.is_stopped
        made = self._make(choice, choice.text, ops, path)
        first = next(made, None)
        if first is None:
            # What says nothing yet is shown all the same.
            yield "announced", None, path
        else:
            yield first
            yield from made

    def _end_text(self, choice: _Choice) -> Iterator[Delta]:
        text, choice.text = choice.text, None
        if text is not None:
            ops = [*text.scanner.release(), *text.scanner.unwind(), ("end_text",)]
            yield from self._make(choice, text, ops, ())

    def _make(self, choice: _Choice, text: _Text, ops: list[Op], path: Path) -> Iterator[Delta]:
        """The deltas of what a text has come to. The first has the place of the text, so that a chunk shows it once."""
        for op in ops:
            for kind, value in self._deltas(choice, text, op):
                yield kind, value, path
                path = ()

    def _deltas(self, choice: _Choice, text: _Text, op: Op) -> Iterator[tuple[str, Any]]:
        kind, *said = op
        if kind in ("open", "end_text", "stopped"):
            if kind == "stopped" and text.has_plain:
                yield "note_on", ("stop_sequence", *said)
            yield from _end_plain(text)
        match kind:
            case "text":
                if not text.has_plain:
                    text.has_plain = True
                    yield "open", ("content", "", None)
                yield "grow", ("text", *said)
            case "open":
                block_type, name, given = said
                choice.has_calls |= block_type == "tool_call"
                yield "open", (block_type, name, self._call_id(given) if block_type == "tool_call" else given)
            case "close":
                yield "close", None
            case "note" | "grow":
                yield ("note_on" if kind == "note" else kind), tuple(said)
            case "quirk":
                yield "quirk", said[0]
            case _:  # "end_text", "stopped"
                pass

    def _call_id(self, given: str | None) -> str:
        """The id that the text gives a call, or one that is made; never the same twice."""
        stem = made = given or f"tag_call_{self.call_count}"
        self.call_count += 1
        suffix = 0
        while made in self._ids:
            suffix += 1
            made = f"{stem}_{suffix}"
        self._ids.add(made)
        return made


def _end_plain(text: _Text) -> Iterator[tuple[str, Any]]:
    if text.has_plain:
        text.has_plain = False
        yield "close", None


def _joined(deltas: list[Delta]) -> list[Delta]:
    """The deltas, with one for what a chunk adds to a part, however many markers were looked for in it."""
    joined: list[Delta] = []
    for part, run in groupby(deltas, lambda delta: delta[1][0] if delta[0] == "grow" else None):
        same = list(run)
        if part is None or len(same) == 1:
            joined += same
        else:
            joined.append(("grow", (part, "".join(text for _, (_, text), _ in same)), same[0][2]))
            # The other places of the chunk have said it, too.
            joined += [("announced", None, path) for _, _, path in same[1:] if path]
    return joined
