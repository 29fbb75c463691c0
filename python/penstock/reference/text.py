"""Plain text as a source of its own: reads, which may end inside a character, and what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.reference.decode import Chunk
from penstock.reference.values import Malformed, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TextReads", "end_of_text", "said_by"]


def said_by(text: object) -> Chunk:
    """What a piece of text says."""
    if not isinstance(text, str):
        raise Malformed("wrong_shape", "an object, expected text")
    return Chunk([], [], [(0, [("content", whole(text, "invalid_utf8"), ("text",))])], None, None)


def end_of_text() -> Chunk:
    """What the end says: nothing is missing, and nobody gave a reason."""
    return Chunk([], [], [(0, [("finish", "", ("text",))])], None, None)


class TextReads:
    """Bytes to text."""

    def __init__(self) -> None:
        self._bytes = b""
        self._offset = 0

    def feed(self, read: bytes) -> Iterator[str | int]:
        """The text of a read; for bytes that are no UTF-8, their offset."""
        self._bytes += read
        while self._bytes:
            length = len(self._bytes)
            try:
                yield self._bytes.decode()
            except UnicodeDecodeError as error:
                if error.start:
                    length = error.start
                    yield self._bytes[:length].decode()
                elif error.reason == "unexpected end of data":
                    return
                else:
                    length = error.end
                    yield self._offset
            self._bytes = self._bytes[length:]
            self._offset += length

    def finish(self) -> int | None:
        """The offset of a character that was cut, if one was."""
        return self._offset if self._bytes else None
