"""What leaves: server-sent events, kept until they are handed out."""

from __future__ import annotations

from typing import Any

from penstock.reference.values import dump

__all__ = ["Output", "quoted"]

# Some readers end a line at these.
_SEPARATORS = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"})


class Output:
    """A buffer of events. If it coalesces, deltas of one part of a block that come before it is handed out share an event."""

    def __init__(self, *, coalesces: bool) -> None:
        self._coalesces = coalesces
        self._events: list[str] = []
        # The last delta, if it may take more text: what it grows, its event, and the pieces of its text.
        self._growing: tuple[object, int, str, str] | None = None
        self._pieces: list[str] = []

    def event(self, event: dict[str, Any]) -> None:
        """Writes an event, which is named by its type."""
        self._write_growing()
        self._write(event)

    def grow(self, part: object, index: int, kind: str, text: str) -> None:
        """Writes a delta; `part` is what it grows."""
        growing = (part, index, kind, _FIELDS[kind])
        if not self._coalesces or growing != self._growing:
            self._write_growing()
            self._growing = growing
        self._pieces.append(text)

    def take(self) -> bytes:
        """Hands out what was written."""
        self._write_growing()
        events, self._events = self._events, []
        return "".join(events).encode()

    def _write_growing(self) -> None:
        if self._growing is None:
            return
        _, index, kind, field = self._growing
        text = "".join(self._pieces)
        self._growing = None
        self._pieces.clear()
        self._write({"type": "content_block_delta", "index": index, "delta": {"type": kind, field: text}})

    def _write(self, event: dict[str, Any]) -> None:
        self._events.append(f"event: {event['type']}\ndata: {_json(event)}\n\n")


_FIELDS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}


def quoted(text: str) -> str:
    """The inside of a JSON string."""
    return _json(text)[1:-1]


def _json(value: Any) -> str:
    text = dump(value)
    return text if text.isascii() else text.translate(_SEPARATORS)
