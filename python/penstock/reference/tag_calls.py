"""What a call in tags holds, made the arguments that a native call would have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from penstock.reference.json_progress import JsonProgress
from penstock.reference.values import dump

if TYPE_CHECKING:
    from penstock.reference.json_calls import JsonCall

__all__ = ["Arguments", "Call", "Parameters", "Trimmer", "Value"]

_SPACE = " \t\n\r"


class Trimmer:
    """Leaves out a line end that stands first, and one that stands last."""

    def __init__(self, *, is_on: bool) -> None:
        self._is_on = is_on
        self._has_begun = False
        self._line_end = ""

    def push(self, text: str) -> str:
        """The text without the line ends that belong to the markers, as far as that can be told."""
        if not (self._is_on and text):
            return text
        if not self._has_begun:
            self._has_begun = True
            text = text.removeprefix("\n")
            if not text:
                return ""
        text = self._line_end + text
        self._line_end = "\n" if text.endswith("\n") else ""
        return text.removesuffix("\n")

    def cut(self) -> str:
        """A line end at the end of a text that nothing closes."""
        return self._line_end


class Value:
    """The text of one parameter."""

    def __init__(self, rule: Literal["raw", "json"], *, trims: bool, longest: int) -> None:
        self._trimmer = Trimmer(is_on=trims)
        self._is_string = rule == "raw"
        self._undecided = ""
        self._progress = JsonProgress()
        self._room = longest
        self.begin = '"' if self._is_string else ""

    def push(self, text: str) -> str:
        """What a piece of the text adds to the arguments."""
        return self._write(self._trimmer.push(text))

    def _write(self, text: str) -> str:
        if self._is_string:
            return dump(text)[1:-1]
        self._undecided += text
        self._progress.push(text)
        self._room -= len(text.encode())
        return self._decide() if self._progress.is_broken or self._room < 0 else ""

    def _decide(self) -> str:
        """It is a string."""
        if self._is_string:
            return ""
        self._is_string = True
        return dump(self._undecided)[:-1]

    def close(self) -> str:
        """The end of a value that is whole."""
        if not self._is_string and self._progress.is_whole:
            return self._undecided.strip(_SPACE)
        return self._decide() + '"'

    def cut(self) -> str:
        """What there is of a value that is not whole, as a string that does not end."""
        return self._write(self._trimmer.cut()) + self._decide()


class Parameters:
    """A call with a parameter for each argument."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self.value: Value | None = None
        self.is_in_cdata = False
        self.has_stray_text = False
        self.has_stray = False

    def name(self, name: str) -> tuple[str, bool]:
        """The beginning of a parameter, and whether the call has had one of that name."""
        begin = ("," if self._names else "{") + dump(name) + ":"
        is_repeated = name in self._names
        self._names.add(name)
        return begin, is_repeated


class Arguments:
    """A call whose arguments stand there as JSON."""

    def __init__(self) -> None:
        self.progress = JsonProgress()
        self._has_begun = False

    def push(self, text: str, *, until_whole: bool) -> tuple[int, str]:
        """How much of the text belongs to the arguments, and that, without white space around the value."""
        start = 0 if self._has_begun else len(text) - len(text.lstrip(_SPACE))
        self._has_begun = start < len(text)
        at = start
        while at < len(text) and not self.progress.is_over:
            self.progress.step(text[at])
            at += 1
        if until_whole and self.progress.is_over:
            return at, text[start:at]
        behind = text[at:].lstrip(_SPACE)
        self.progress.push(behind)
        return len(text), text[start:at] + behind


class Call:
    """A call that is open."""

    def __init__(self, name: str, inside: Parameters | Arguments | JsonCall) -> None:
        self.name = name
        self.inside = inside
        self.has_arguments = False
        self.has_tag = False
