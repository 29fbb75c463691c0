"""A stream as the events that are judged: from bytes of server-sent events, from reads of them, or from events as dicts.

Rules. (1) The bytes are read here and not by the core: a judge that shares the reader shares its leniency. (2) What cannot be read is a
problem of its event, with the number of the rule; it never stops the reading. (3) JSON is read strictly: what readers may
disagree on is a fault.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from penstock.grammar.shapes import is_object

__all__ = ["DONE", "CheckedStream", "Event", "StrictJsonError", "body_of", "events_of", "strict_json"]


DONE = "[DONE]"

CheckedStream: TypeAlias = bytes | bytearray | memoryview | Iterable[Any]
_Problems: TypeAlias = list[tuple[str, str]]

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"
_STREAM = "bytes, or an iterable of reads or events"
_EVENT = "an event as a dict, or as a name and a dict"
_BODY = "a body as a dict or as JSON"
_SETTINGS = frozenset({"id", "retry"})


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream.

    Attributes:
        name: Its SSE name, empty if it has none; None in a stream of dicts, which has no names.
        data: The JSON object; None if that cannot be read, or if the event is `[DONE]`.
        is_done: Whether it is `[DONE]`.
        problems: What is wrong with it as it came: numbers of rules, and a line each.
    """

    name: str | None
    data: dict[str, Any] | None
    is_done: bool = False
    problems: tuple[tuple[str, str], ...] = ()


def events_of(stream: CheckedStream) -> Iterator[Event]:
    """The events of a stream in any of its forms.

    Raises:
        TypeError: It is none of them.
    """
    if isinstance(stream, (bytes, bytearray, memoryview)):
        return _framed(bytes(stream))
    if isinstance(stream, (str, Mapping)) or not isinstance(cast("object", stream), Iterable):
        raise _unexpected(_STREAM, cast("object", stream))
    return _of_items(iter(stream))


def _of_items(items: Iterator[Any]) -> Iterator[Event]:
    first = next(items, None)
    if first is None:
        return
    if isinstance(first, (bytes, bytearray, memoryview)):
        yield from _framed(b"".join([cast("bytes", first), *items]))
        return
    yield _as_given(first)
    for item in items:
        yield _as_given(item)


def _as_given(item: object) -> Event:
    match item:
        case (str(name), dict()):
            return Event(name, cast("tuple[str, dict[str, Any]]", item)[1])
        case _ if is_object(item):
            return Event(None, item)
        case "[DONE]":
            return Event(None, None, is_done=True)
        case _:
            raise _unexpected(_EVENT, item)


def body_of(body: Mapping[str, Any] | bytes | str) -> Event:
    """A body that was not streamed, as one event without a name.

    Raises:
        TypeError: It is neither an object nor JSON.
    """
    if isinstance(body, Mapping):
        return Event(None, dict(body))
    if not isinstance(cast("object", body), (bytes, str)):
        raise _unexpected(_BODY, body)
    problems: _Problems = []
    data = _object_in(body if isinstance(body, str) else _decoded(body, problems), problems)
    return Event(None, data, problems=tuple(problems))


def _unexpected(expected: str, given: object) -> TypeError:
    return TypeError(f"expected {expected}, not {given.__class__.__name__}")


# Bytes.


def _framed(data: bytes) -> Iterator[Event]:
    """The events of bytes, each with the problems of its own lines."""
    frame = _Frame()
    *lines, rest = _LINE_END.split(data.removeprefix(_BOM))
    for line in lines:
        if line:
            frame.add(line)
        elif not frame.is_empty:
            yield frame.event()
            frame = _Frame()
    if rest:
        frame.add(rest)
    if not frame.is_empty:
        yield frame.cut()


class _Frame:
    """The lines of one event."""

    def __init__(self) -> None:
        self._name = ""
        self._data: list[str] = []
        self._problems: _Problems = []
        self.is_empty = True

    def add(self, line: bytes) -> None:
        """Takes a line."""
        if line.startswith(b":"):
            return
        name, _, value = _decoded(line, self._problems).partition(":")
        value = value.removeprefix(" ")
        # What sets the id or the time to retry is no event by itself.
        self.is_empty = self.is_empty and name in _SETTINGS and not self._problems
        match name:
            case "event":
                self._name = value
            case "data":
                self._data.append(value)
            case _ if name not in _SETTINGS:
                self._problems.append(("T4", "a line is of no field that server-sent events have"))
            case _:
                pass

    def event(self) -> Event:
        """The event, which a blank line has ended."""
        text = "\n".join(self._data)
        if text == DONE:
            return Event(self._name, None, is_done=True, problems=tuple(self._problems))
        if not self._data:
            self._problems.append(("T4", "an event has no data"))
            return Event(self._name, None, problems=tuple(self._problems))
        data = _object_in(text, self._problems)
        return Event(self._name, data, problems=tuple(self._problems))

    def cut(self) -> Event:
        """The event that the end of the bytes has cut. Whole JSON in it is taken; anything less is lost to every reader."""
        before = [*self._problems, ("T4", "the last event does not end with a blank line")]
        event = self.event()
        return Event(event.name, event.data, is_done=event.is_done, problems=tuple(before))


def _decoded(line: bytes, problems: _Problems) -> str:
    if b"\0" in line:
        problems.append(("T4", "there is a NUL in the bytes"))
    try:
        return line.decode()
    except UnicodeDecodeError:
        problems.append(("T4", "the bytes are not UTF-8"))
        return line.decode(errors="replace")


def _object_in(text: str, problems: _Problems) -> dict[str, Any] | None:
    try:
        value = strict_json(text)
    except StrictJsonError as error:
        problems.append(("T2", f"the data is not JSON that all readers agree on: {error}"))
        return None
    if is_object(value):
        return value
    problems.append(("T2", "the data is JSON but not an object"))
    return None


# JSON.


class StrictJsonError(ValueError):
    """A text is not JSON, or readers disagree on what it says."""


def strict_json(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        StrictJsonError: It is not JSON, or readers disagree on it: a name twice, a number that is not finite, half a surrogate pair.
    """
    try:
        value = _DECODER.decode(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except StrictJsonError:
        raise
    except UnicodeEncodeError as error:
        msg = "half of a surrogate pair"
        raise StrictJsonError(msg) from error
    except (ValueError, RecursionError) as error:
        msg = "it does not parse"
        raise StrictJsonError(msg) from error
    return value


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        msg = "an object has a name twice"
        raise StrictJsonError(msg)
    return made


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        msg = "a number is not finite"
        raise StrictJsonError(msg)
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_object_of, parse_float=_finite, parse_constant=_finite)
