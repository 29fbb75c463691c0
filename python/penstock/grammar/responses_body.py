"""OpenAI Responses that were not streamed, and what a response must have wherever it stands."""

from __future__ import annotations

from typing import Any

from penstock.grammar.finding import Checker
from penstock.grammar.responses_tables import DETAILS, ITEMS, PARTS, PARTS_OF, RESPONSE, USAGE
from penstock.grammar.shapes import OBJECT, TEXT, Shape

__all__ = ["BodyChecker", "check_details", "check_response"]


class BodyChecker(Checker):
    """Checks one response that was not streamed."""

    rule_of_the_end = "R9"

    def take(self, data: dict[str, Any]) -> None:
        """Takes the body."""
        if data.get("object") != "response" and data.get("error") is not None:
            self.ended = "error"
            self.fits(data["error"], Shape({"message": TEXT}, {"type": TEXT, "param": TEXT}), "error", "R9")
            return
        if not check_response(self, data):
            self.ended = "finished"
            return
        self.ended = "error" if data["status"] == "failed" else "finished"
        if data["status"] not in ("completed", "incomplete", "failed"):
            self.found("R9", "the status of a response is not one of its ends")
        check_details(self, data, data["status"])
        for position, item in enumerate(data["output"]):
            self._item(item, f"output[{position}]")

    def _item(self, item: dict[str, Any], path: str) -> None:
        if not self.fits(item, ITEMS.get(item["type"], OBJECT), path):
            return
        for name in ("content", "summary"):
            if (item["type"], f"{name}_index") in PARTS_OF:
                for part in item.get(name) or ():
                    self.fits(part, PARTS.get(part["type"], OBJECT), f"{path}.{name}")


def check_response(checker: Checker, response: dict[str, Any]) -> bool:
    """Checks the fields of a response and its token counts."""
    if not checker.fits(response, RESPONSE, "response"):
        return False
    usage = response.get("usage")
    if usage is not None and checker.fits(usage, USAGE, "response.usage"):
        checker.check_cached(usage, "input_tokens", "input_tokens_details")
    return True


def check_details(checker: Checker, response: dict[str, Any], status: str) -> None:
    """Checks that a response says why it failed, or why it is incomplete."""
    checker.fits(response, DETAILS.get(status, OBJECT), "response", "R9")
