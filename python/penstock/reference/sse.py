"""Bytes to server-sent events, after the WHATWG rules.

Rules. (1) A line ends with CR, LF or CRLF, and with nothing else. (2) A blank line ends an event; one without a data line is nothing.
(3) However the bytes are cut into reads, the events are the same. (4) Bytes are kept only from the start of the unfinished event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from penstock.errors import LimitExceeded
from penstock.sse import SseEvent

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Frame", "SseFramer"]

_BOM = b"\xef\xbb\xbf"


class Frame(NamedTuple):
    """One event as its bytes. `data` is None if only an `error` field came, which is no part of the standard."""

    type: bytes
    data: bytes | None
    error: bytes | None
    offset: int


class SseFramer:
    """Cuts the bytes of one stream into server-sent events."""

    def __init__(self, limit_bytes: int = 8 << 20) -> None:
        self._limit = limit_bytes
        self._pieces: list[bytes] = []  # the line that is not finished
        self._pieces_size = 0
        self._is_first_line = True
        self._is_after_cr = False
        self._position = 0  # of the next line's first byte
        self._start = 0  # of the event's first byte
        self._type = b""
        self._data: list[bytes] = []
        self._error: bytes | None = None
        self._last_id = b""

    def feed(self, read: bytes) -> list[SseEvent]:
        """The events that `read` completes."""
        return [self._event(frame) for frame in self.frames(read) if frame.data is not None]

    def finish(self) -> SseEvent | None:
        """The event that the end of the input cut short of its blank line, if it has a data line."""
        frame = self.finish_frame()
        return None if frame is None or frame.data is None else self._event(frame)

    def frames(self, read: bytes) -> Iterator[Frame]:
        """The events that `read` completes, as bytes; those before an event that is too long are given before the error."""
        for line in self._lines(read):
            end = self._position + len(line)
            content = line.rstrip(b"\r\n")
            # A comment too: whether it came in one read must not decide.
            if self._position + len(content) - self._start > self._limit:
                raise LimitExceeded("frame_bytes", self._limit)
            if not content:
                frame = self._dispatch()
                self._position = self._start = end
                if frame is not None:
                    yield frame
                continue
            self._position = end
            self._take_line(content)
            if end - self._start > self._limit:
                raise LimitExceeded("frame_bytes", self._limit)
        if self._position + self._pieces_size - self._start > self._limit:
            raise LimitExceeded("frame_bytes", self._limit)

    def finish_frame(self) -> Frame | None:
        """What the end of the input cut short of its blank line, as bytes."""
        if self._pieces:
            line = self._join(b"")
            if line:
                self._take_line(line)
        return self._dispatch()

    def _lines(self, read: bytes) -> list[bytes]:
        """The lines that `read` ends, with their line ends; what follows the last one is kept."""
        if self._is_after_cr and read:
            self._is_after_cr = False
            if read.startswith(b"\n"):
                # The line was given when its CR came; this LF is the second half of the same line end.
                read = read[1:]
                if self._start == self._position:
                    self._start += 1
                self._position += 1
        if not read:
            return []
        lines = read.splitlines(keepends=True)
        self._is_after_cr = read.endswith(b"\r")
        rest = b"" if read.endswith((b"\r", b"\n")) else lines.pop()
        if lines and (self._pieces or self._is_first_line):
            lines[0] = self._join(lines[0])
        if rest:
            self._pieces.append(rest)
            self._pieces_size += len(rest)
        return lines

    def _join(self, end: bytes) -> bytes:
        """The unfinished line with its end. A byte order mark counts only at the very start of the stream."""
        self._pieces.append(end)
        line = b"".join(self._pieces)
        self._pieces.clear()
        self._pieces_size = 0
        if self._is_first_line:
            self._is_first_line = False
            if line.startswith(_BOM):
                self._position = self._start = len(_BOM)
                return line[len(_BOM) :]
        return line

    def _take_line(self, line: bytes) -> None:
        if line.startswith(b"data: "):
            self._data.append(line[6:])
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._type = value
        elif name == b"id" and b"\0" not in value:
            self._last_id = value
        elif name == b"error":
            self._error = value
        elif name not in (b"id", b"retry") and not (self._data or self._type or self._error):
            # Comments keep a silent stream alive. They are no part of the event that comes next.
            self._start = self._position

    def _dispatch(self) -> Frame | None:
        data, error = self._data, self._error
        frame = None
        if data or error is not None:
            joined = b"\n".join(data) if data else None
            frame = Frame(self._type, joined, error, self._start)
            self._data, self._error = [], None
        self._type = b""
        return frame

    def _event(self, frame: Frame) -> SseEvent:
        kind, data, last_id = (part.decode(errors="replace") for part in (frame.type, frame.data or b"", self._last_id))
        return SseEvent(kind or "message", data, last_id)
