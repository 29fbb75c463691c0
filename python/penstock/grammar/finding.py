"""What is found in a stream, and what all checkers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from penstock.grammar.shapes import COUNT, Expected, faults, is_object

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.grammar.framing import Event
    from penstock.protocols import Protocol

__all__ = ["Checker", "Ended", "Finding", "Report"]

Ended: TypeAlias = Literal["finished", "error", "truncated"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a stream breaks a rule.

    Attributes:
        rule: The number of the rule, such as `A4`.
        message: What is wrong, in one line without anything of the stream's content.
        event: The ordinal of the event that it was found at, from 0.

    Example:
        >>> from penstock import Finding
        >>> print(Finding("A4", "a delta is for no open block", 12))
        event 12: A4: a delta is for no open block
    """

    rule: str
    message: str
    event: int

    def __str__(self) -> str:
        return f"event {self.event}: {self.rule}: {self.message}"


class Report(list[Finding]):
    """The findings of a stream, in order: an empty list if it is legal.

    Attributes:
        format: The wire format that it was read as.
        ended: `finished`, `error` if an error event ended it, which is a legal end, or `truncated`.

    Example:
        >>> import penstock
        >>> report = penstock.check([{"error": {"message": "overloaded"}}], "openai_chat")
        >>> report, report.ended
        ([], 'error')
    """

    def __init__(self, findings: Iterable[Finding], *, format: Protocol, ended: Ended) -> None:  # noqa: A002 (as in `check`)
        super().__init__(findings)
        self.format = format
        self.ended = ended


class Checker(ABC):
    """Takes the events of one stream and keeps what it finds."""

    rule_of_the_end: str
    """The rule that an event after the end breaks, and a stream without an end."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.ended: Ended = "truncated"
        self.event = 0
        self._is_late = False

    def found(self, rule: str, message: str) -> None:
        """Keeps a finding at the event in hand."""
        self.findings.append(Finding(rule, message, self.event))

    def fits(self, value: Any, expected: Expected, path: str, rule: str = "T5") -> bool:
        """Whether a value is as expected; each place where it is not is a finding."""
        wrong = list(faults(value, expected, path))
        for message in wrong:
            self.found(rule, message)
        return not wrong

    def check_cached(self, usage: dict[str, Any], whole: str, details: str) -> None:
        """Checks that the cached tokens, which `details` has, are no more than all of the input."""
        parts = usage.get(details)
        cached: Any = parts.get("cached_tokens") if is_object(parts) else None
        if COUNT.holds(cached) and cached > usage[whole]:
            self.found("A15", f"usage.{details}.cached_tokens is more than usage.{whole}")

    def run(self, events: Iterable[Event]) -> None:
        """Takes all events, and then the end."""
        for ordinal, event in enumerate(events):
            self.event = ordinal
            for rule, message in event.problems:
                self.found(rule, message)
            self._take(event)
        self.take_end()

    def take_end(self) -> None:
        """Takes the end of the stream."""
        if self.ended == "truncated":
            self.found(self.rule_of_the_end, "the stream ends with neither its last event nor an error")

    def _take(self, event: Event) -> None:
        if event.is_done:
            self.take_done()
        elif event.data is None:
            return
        elif self.ended == "truncated":
            self.check_name(event.name, event.data)
            self.take(event.data)
        elif not self._is_late:
            self._is_late = True
            self.found(self.rule_of_the_end, "an event comes after the end")

    def check_name(self, name: str | None, data: dict[str, Any]) -> None:
        """Checks that the SSE name is the type, where the form of the stream has names."""
        if name is not None and name != data.get("type"):
            self.found("T1", "the name of an event is not its type")

    def take_done(self) -> None:
        """Takes `[DONE]`."""
        self.found("T3", "[DONE] is not of this format")

    @abstractmethod
    def take(self, data: dict[str, Any]) -> None:
        """Takes the JSON object of one event."""
