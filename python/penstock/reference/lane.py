"""The blocks of an answer, in the order in which they leave."""

from __future__ import annotations

from typing import Literal, TypeAlias

from penstock import strict_json
from penstock.errors import InvalidArguments
from penstock.reference.values import is_whole_json

__all__ = ["WHITE_SPACE", "Entry", "EntryKind"]

EntryKind: TypeAlias = Literal["content", "thinking", "refusal", "function", "custom"]

WHITE_SPACE = " \t\n\f\r"
_FAULTS = {
    "number_too_long": "the arguments hold a number of more than 64 digits",
    "duplicate_name": "the arguments give a name twice",
    "too_deep": "the arguments are nested too deep",
    "too_many_names": "the arguments hold an object with too many names",
}


class Entry:
    """A block that has not been written to its end, with what waits to be written of it.

    Attributes:
        number: The block's; None for a block that no event names.
        is_open: Whether its beginning was written.
        is_complete: Whether the stream has gone on to another block.
        has_begun: Whether the chunk is over in which it began.
        notes: The names of what came with it and the target has no words for.
    """

    __slots__ = (
        "_arguments",
        "_first",
        "_is_whole",
        "data",
        "has_begun",
        "id",
        "is_complete",
        "is_open",
        "is_sealed",
        "kind",
        "name",
        "notes",
        "number",
        "signature",
        "text",
    )

    def __init__(self, number: int | None, kind: EntryKind, *, block_id: str = "", name: str = "") -> None:
        self.number = number
        self.kind: EntryKind = kind
        self.id = block_id
        self.name = name
        self.text: list[str] = []
        self.signature = ""
        self.data = ""
        self.notes: list[str] = []
        self.is_open = False
        self.is_complete = False
        self.has_begun = False
        self.is_sealed = False
        self._arguments: list[str] = []
        self._first = ""
        self._is_whole: bool | None = None

    @property
    def is_call(self) -> bool:
        """Whether the client is asked to run it."""
        return self.kind in ("function", "custom")

    def see(self, arguments: str) -> None:
        """Looks at arguments, whether they are kept or written at once."""
        self._arguments.append(arguments)
        self._first = self._first or arguments.lstrip(WHITE_SPACE)[:1]
        self._is_whole = None

    def keep(self, part: str, text: str) -> None:
        """Keeps what cannot be written yet."""
        match part:
            case "text" | "arguments":
                self.text.append(text)
            case "name":
                self.name += text
            case "signature":
                self.signature += text
            case _:  # "data"
                self.data += text

    def open(self) -> None:
        """Its beginning is about to be written, which depends on what there is of it."""
        self.is_open = True
        self.is_sealed = self.kind == "thinking" and bool(self.data) and not (self.text or self.signature)

    def take_kept(self) -> list[tuple[str, str]]:
        """What was kept, by part; nothing and null are arguments that say nothing."""
        text = "".join(self.text)
        if self.kind == "function" and text.strip(WHITE_SPACE) in ("", "null"):
            text = ""
        body = "arguments" if self.is_call else "text"
        kept = [(body, text), ("signature", self.signature), ("data", self.data)]
        self.text.clear()
        self.signature = self.data = ""
        return [(part, text) for part, text in kept if text]

    def may_open(self, *, calls_stream: bool) -> bool:
        """Whether its beginning can be written before it is complete."""
        if not self.is_call:
            # Reasoning that begins with sealed data may still be given a text: which of the two it is must be known.
            return bool(self.text) or (self.has_begun and not self.data)
        # A name may come in pieces until the arguments begin. Only of an object is it known that it is one.
        has_arguments = bool(self.text) if self.kind == "custom" else self._first == "{"
        return calls_stream and self.has_begun and has_arguments and bool(self.name)

    def is_over(self) -> bool:
        """Whether nothing can follow before the finish. A call goes on in turns with others until it is whole."""
        return self.is_complete and (self.kind != "function" or self._has_whole_json())

    def fault(self) -> str | None:
        """Why a call cannot be written to its end, if so; any other block can."""
        if not self.is_call:
            return None
        if not self.name:
            return "the upstream called a tool without a name"
        if self.kind == "custom" or not self._first:
            return None
        # Null is no object, but says the same as one without members.
        if self._first not in "{n" or not self._has_whole_json():
            return "the model ended inside a tool call, or called a tool with something that is not a JSON object"
        try:
            strict_json.load(self._arguments[0])
        except InvalidArguments as error:
            return _FAULTS.get(error.kind, "the arguments are not JSON that every reader reads the same way")
        return None

    def _has_whole_json(self) -> bool:
        if self._is_whole is None:
            self._arguments[:] = ["".join(self._arguments)]
            self._is_whole = is_whole_json(self._arguments[0])
        return self._is_whole
