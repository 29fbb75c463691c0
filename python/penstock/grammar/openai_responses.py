"""The grammar of OpenAI Responses: rules R1 to R11."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.grammar.finding import Checker
from penstock.grammar.responses_body import check_details, check_response
from penstock.grammar.responses_tables import (
    CALLS,
    EVENTS,
    ITEMS,
    LOGPROBS,
    PARTS,
    PARTS_OF,
    STATUSES,
    TEXTS,
    TextFamily,
)
from penstock.grammar.shapes import COUNT, OBJECT, TEXT

__all__ = ["StreamChecker"]


# Where a response is in its beginning: which events may bring it there, and from where.
_BEGINNING = {"response.created": ((0,), 1), "response.queued": ((1,), 2), "response.in_progress": ((1, 2), 3)}
_UNDER_WAY = 3
_LAST = ("response.completed", "response.incomplete", "response.failed")
_PART_EVENTS = {
    "response.content_part": "content_index",
    "response.reasoning_summary_part": "summary_index",
}
_ANNOTATION = "response.output_text.annotation.added"


@dataclass(slots=True)
class _Text:
    """A text that is streamed: its deltas, and the whole once that was said."""

    pieces: list[str] = field(default_factory=list[str])
    whole: str | None = None


@dataclass(slots=True)
class _Part:
    kind: str
    text: _Text = field(default_factory=_Text)
    annotations: list[Any] = field(default_factory=list[Any])
    is_done: bool = False


@dataclass(slots=True)
class _Item:
    added: dict[str, Any]
    parts: dict[str, list[_Part]] = field(default_factory=lambda: {"content_index": [], "summary_index": []})
    texts: dict[tuple[str, int], _Text] = field(default_factory=dict[tuple[str, int], _Text])
    stage: int | None = None
    done: dict[str, Any] | None = None

    @property
    def kind(self) -> str:
        return self.added["type"]

    @property
    def rule(self) -> str:
        """The rule of the order of its parts."""
        return "R5" if self.kind == "reasoning" else "R4"


class StreamChecker(Checker):
    """Checks one stream of OpenAI Responses."""

    rule_of_the_end = "R9"

    def __init__(self) -> None:
        super().__init__()
        self._beginning = 0
        self._last_number = -1
        self._id: str | None = None
        self._items: dict[int, _Item] = {}

    def take(self, data: dict[str, Any]) -> None:
        """Takes the JSON object of one event."""
        kind: Any = data.get("type")
        if not self.fits(kind, TEXT, "type"):
            return
        self._number(data, is_known=kind in EVENTS)
        if kind not in _BEGINNING:
            self._under_way(kind)
        if kind == "error":
            self.ended = "error"
        if kind in EVENTS and self.fits(data, EVENTS[kind], kind):
            self._known(kind, data)
        if kind in LOGPROBS:
            self.fits(data, LOGPROBS[kind], kind)

    def _known(self, kind: str, data: dict[str, Any]) -> None:
        if kind in _BEGINNING:
            self._begin(kind, data["response"])
        elif kind in _LAST:
            self._end(kind.removeprefix("response."), data["response"])
        elif kind == "response.output_item.added":
            self._item_added(data["output_index"], data["item"])
        elif "output_index" in EVENTS[kind].required:
            item = self._item(data)
            if item is not None:
                self._of_item(item, kind, data)

    def _number(self, data: dict[str, Any], *, is_known: bool) -> None:
        number: Any = data.get("sequence_number")
        if not COUNT.holds(number):
            if is_known or number is not None:
                self.found("R2", "an event has no sequence_number")
            return
        if number <= self._last_number:
            self.found("R2", "a sequence_number is not above the one before")
        elif self._last_number < 0 < number:
            self.found("R2", "the first sequence_number is not 0")
        self._last_number = max(self._last_number, number)

    # The response.

    def _begin(self, kind: str, response: dict[str, Any]) -> None:
        before, after = _BEGINNING[kind]
        if self._beginning not in before:
            self.found("R1", f"{kind} is out of turn")
        self._beginning = max(self._beginning, after)
        self._response(response)

    def _under_way(self, kind: str) -> None:
        is_early = self._beginning < (1 if kind == "response.failed" else _UNDER_WAY)
        if is_early and kind != "error":
            # Said once: what follows is judged as if the response had begun.
            self._beginning = _UNDER_WAY
            self.found("R1", "an event comes before response.created and response.in_progress")

    def _response(self, response: dict[str, Any]) -> bool:
        if not check_response(self, response):
            return False
        if self._id is not None and response["id"] != self._id:
            self.found("R1", "the id of the response changes")
        self._id = self._id or response["id"]
        return True

    def _end(self, status: str, response: dict[str, Any]) -> None:
        self.ended = "error" if status == "failed" else "finished"
        if status != "failed":
            for _ in filter(lambda item: item.done is None, self._items.values()):
                self.found("R3", "an item is not done before the response ends")
        if not self._response(response):
            return
        if response["status"] != status:
            self.found("R9", "the status of the response is not that of its last event")
        check_details(self, response, status)
        self._output(response["output"])

    def _output(self, output: list[Any]) -> None:
        done = [item.done for _, item in sorted(self._items.items()) if item.done is not None]
        if len(output) != len(done):
            self.found("R7", f"the last output has {len(output)} items, and {len(done)} were done")
            return
        for position, (repeated, item) in enumerate(zip(output, done, strict=True)):
            if _unsealed(repeated) != _unsealed(item):
                self.found("R7", f"response.output[{position}] is not the item as it was done")

    # Items.

    def _item_added(self, index: int, item: dict[str, Any]) -> None:
        if index != len(self._items):
            self.found("R3", f"an item has the output_index {index} and not {len(self._items)}")
        self.fits(item, ITEMS.get(item["type"], OBJECT), "item")
        whole = CALLS.get(item["type"])
        if whole and item.get(whole):
            self.found("R6", f"item.{whole} must be empty when a call is added")
        self._items[index] = _Item(item)

    def _item(self, data: dict[str, Any]) -> _Item | None:
        """The item that an event is of."""
        item = self._items.get(data["output_index"])
        if item is None:
            self.found("R3", "an event names an output_index that was not added")
            return None
        if item.done is not None:
            self.found("R3", "an event comes for an item that is done")
            return None
        if "item_id" in data and data["item_id"] != item.added.get("id"):
            self.found("R3", "the item_id of an event is not the id of the item at its output_index")
        return item

    def _of_item(self, item: _Item, kind: str, data: dict[str, Any]) -> None:
        stem, _, step = kind.rpartition(".")
        family = stem.removeprefix("response.")
        if kind == "response.output_item.done":
            self._item_done(item, data["item"])
        elif stem in _PART_EVENTS:
            self._part(item, _PART_EVENTS[stem], step, data)
        elif kind == _ANNOTATION:
            self._annotation(item, data)
        elif kind in STATUSES:
            self._status(item, *STATUSES[kind])
        elif family in TEXTS:
            self._text(item, family, step, data)

    def _item_done(self, item: _Item, done: dict[str, Any]) -> None:
        item.done = done
        if done["type"] != item.kind or done.get("id") != item.added.get("id"):
            self.found("R3", "the type or the id of an item is another when it is done")
            return
        if not self.fits(done, ITEMS.get(item.kind, OBJECT), "item"):
            return
        self._parts_done(item, done)
        self._texts_done(item, done)
        if item.kind in CALLS:
            self._call_done(item, done)
        if item.stage in (0, 1):
            self.found("R8", "an item is done before its tool is completed or failed")

    def _parts_done(self, item: _Item, done: dict[str, Any]) -> None:
        for index, name in (("content_index", "content"), ("summary_index", "summary")):
            parts = item.parts[index]
            if not all(part.is_done for part in parts):
                self.found(item.rule, "an item is done before all its parts")
            streamed = [(part.kind, _joined(part.text)) for part in parts]
            if (item.kind, index) in PARTS_OF and [_said(part) for part in done.get(name) or ()] != streamed:
                self.found("R7", f"item.{name} is not what was streamed")

    def _texts_done(self, item: _Item, done: dict[str, Any]) -> None:
        for (name, _), text in item.texts.items():
            family = TEXTS[name]
            if text.whole is None:
                self.found(family.rule, f"an item is done before its {family.whole} is")
            if not family.index and done.get(family.whole) != _joined(text):
                self.found("R7", f"item.{family.whole} is not what was streamed")

    def _call_done(self, item: _Item, done: dict[str, Any]) -> None:
        if not item.texts:
            self.found("R6", f"an item is done before its {CALLS[item.kind]} is")
        if any(done.get(name) != item.added.get(name) for name in ("name", "call_id")):
            self.found("R6", "the name or the call_id of a call is another when it is done")

    # Parts and texts.

    def _part(self, item: _Item, index_name: str, step: str, data: dict[str, Any]) -> None:
        part, parts = data["part"], item.parts[index_name]
        kinds = PARTS_OF.get((item.kind, index_name))
        if kinds is None:
            if item.kind in ITEMS:
                self.found(item.rule, "a part is for an item that has none of its sort")
        elif part["type"] in PARTS and part["type"] not in kinds:
            self.found(item.rule, "a part is of a type that its item does not have")
        elif self.fits(part, PARTS.get(part["type"], OBJECT), "part"):
            take = self._part_added if step == "added" else self._part_done
            take(item.rule, parts, data[index_name], part)

    def _part_added(self, rule: str, parts: list[_Part], index: int, part: dict[str, Any]) -> None:
        if index != len(parts):
            self.found(rule, f"a part has the index {index} and not {len(parts)}")
        if parts and not parts[-1].is_done:
            self.found(rule, "a part is added before the one before it is done")
        kind, text = _said(part)
        parts.append(_Part(kind, _Text([text])))

    def _part_done(self, rule: str, parts: list[_Part], index: int, done: dict[str, Any]) -> None:
        part = parts[index] if index < len(parts) else None
        if part is None or part.is_done:
            self.found(rule, "a part is done that is not open")
            return
        part.is_done = True
        if part.kind in PARTS and part.text.whole is None:
            self.found(rule, "a part is done before its text is")
        if _said(done) != (part.kind, _joined(part.text)):
            self.found("R7", "a part is not what was streamed")
        if part.annotations and part.annotations != done.get("annotations"):
            self.found("R7", "part.annotations is not what was streamed")

    def _text(self, item: _Item, family: str, step: str, data: dict[str, Any]) -> None:
        text = self._text_of(item, family, data, is_start=step == "added")
        if text is None:
            return
        rule, whole = TEXTS[family].rule, TEXTS[family].whole
        if text.whole is not None:
            self.found(rule, "more of a text comes after its done")
            return
        if step != "done":
            text.pieces.append(data["delta"] if step == "delta" else data[whole])
            return
        text.whole = data[whole]
        if text.whole != "".join(text.pieces):
            self.found("R7", f"{family}.done is not what was streamed")
        if family == "function_call_arguments" and data.get("name") != item.added.get("name"):
            self.found("R6", "function_call_arguments.done does not have the name of its call")

    def _text_of(self, item: _Item, family: str, data: dict[str, Any], *, is_start: bool) -> _Text | None:
        """The text that an event is of."""
        row = TEXTS[family]
        if item.kind != row.item:
            if item.kind in ITEMS:
                self.found(row.rule, f"an event of {family} is for an item of another type")
            return None
        index = data[row.index] if row.index else 0
        if not row.part:
            is_missing = row.index and not is_start and (family, index) not in item.texts
            if is_missing:
                self.found(row.rule, f"an event of {family} is for none that was added")
            return None if is_missing else item.texts.setdefault((family, index), _Text())
        part = self._open_part(item, row, index)
        return part and part.text

    def _open_part(self, item: _Item, row: TextFamily, index: int) -> _Part | None:
        parts = item.parts[row.index]
        part = parts[index] if index < len(parts) else None
        if part is None or part.is_done or part.kind != row.part:
            self.found(row.rule, f"an event is for no open part of type {row.part}")
            return None
        return part

    def _annotation(self, item: _Item, data: dict[str, Any]) -> None:
        if item.kind not in ITEMS:
            return
        part = self._open_part(item, TEXTS["output_text"], data["content_index"])
        if part is None:
            return
        if data["annotation_index"] != len(part.annotations):
            self.found("R4", f"an annotation has the index {data['annotation_index']} and not {len(part.annotations)}")
        part.annotations.append(data.get("annotation"))

    def _status(self, item: _Item, kind: str, stage: int) -> None:
        if item.kind != kind:
            if item.kind in ITEMS:
                self.found("R8", f"an event of {kind} is for an item of another type")
            return
        is_next = stage == 0 if item.stage is None else (item.stage, stage) in ((0, 1), (0, 2), (1, 1), (1, 2))
        if not is_next:
            self.found("R8", f"an event of {kind} is out of turn")
        item.stage = stage


def _said(part: dict[str, Any]) -> tuple[str, str]:
    """The type of a part and its text, whatever the field is called. A part of an unknown type may have something else there."""
    kind = part["type"]
    text = part.get("refusal" if kind == "refusal" else "text")
    return kind, text if isinstance(text, str) else ""


def _unsealed(item: dict[str, Any]) -> dict[str, Any]:
    """An item without what is encrypted, which vendors encrypt anew in each event: of that, only whether it is there."""
    return {**item, "encrypted_content": item.get("encrypted_content") is not None}


def _joined(text: _Text) -> str:
    return "".join(text.pieces) if text.whole is None else text.whole
