"""JSON values: as text, and as the dicts, lists and models that callers have."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, TypeGuard

__all__ = ["Malformed", "dump", "fields_of", "is_list", "is_object", "is_whole_json", "load", "plain", "whole"]


# How deep JSON may be nested to count as whole: most readers stop at or above this depth.
_JSON_DEPTH = 128


class Malformed(Exception):
    """A chunk cannot be read: `kind` is `invalid_utf8`, `invalid_json` or `wrong_shape`."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(kind, detail)
        self.kind = kind
        self.detail = detail


def _refuse_constant(name: str) -> Any:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


# One decoder for all: json.loads builds a new one on each call that has an option.
_decode = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode
# Numbers need not be read to be whole, and may be longer than Python reads them.
_decode_shape = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=str, parse_float=str).raw_decode
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def load(text: bytes | str) -> Any:
    """Reads JSON. A name that comes twice in an object is not noticed: the last one counts."""
    try:
        if isinstance(text, bytes):
            text = text.decode()
        else:
            whole(text, "invalid_json")
        text = text.strip(" \t\r\n")
        value, end = _decode(text)
        if end != len(text):
            raise Malformed("invalid_json", "Extra data")
        if "\\ud" in text or "\\uD" in text:
            whole(_encode(value), "invalid_json")
    except UnicodeDecodeError as error:
        raise Malformed("invalid_utf8", error.reason) from error
    except (ValueError, RecursionError) as error:
        raise Malformed("invalid_json", getattr(error, "msg", None) or str(error)) from error
    return value


def is_whole_json(text: str) -> bool:
    """Whether a text is one JSON value that is not nested too deeply to be read elsewhere."""
    text = text.strip(" \t\r\n")
    try:
        value, end = _decode_shape(text)
        is_shallow = text.count("{") + text.count("[") <= _JSON_DEPTH or _depth(value) <= _JSON_DEPTH
    except (ValueError, RecursionError):
        return False
    return is_shallow and end == len(text)


def _depth(value: Any) -> int:
    if is_object(value):
        value = list(value.values())
    return 1 + max(map(_depth, value), default=0) if is_list(value) else 0


def whole(text: str, kind: str = "wrong_shape") -> str:
    """The text, if it can be written out again: half a surrogate pair is no character."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise Malformed(kind, "half a surrogate pair") from error
    return text


def dump(value: Any) -> str:
    """Compact JSON text."""
    return _encode(value)


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a value is an object of JSON."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether a value is a list of JSON, which a caller may have as a tuple."""
    return isinstance(value, (list, tuple))


def fields_of(value: Any, what: str) -> dict[str, Any]:
    """The fields of a dict or of a model, whose declared and extra fields count alike. Not a copy: only to be read."""
    if is_object(value):
        return value
    own: dict[str, Any] | None = getattr(value, "__dict__", None)
    if own is None or callable(value):
        raise Malformed("wrong_shape", f"{what} is not an object")
    extra: dict[str, Any] | None = getattr(value, "__pydantic_extra__", None)
    return {**own, **extra} if extra else own


def plain(value: Any) -> Any:
    """A copy of `value` in which there are only JSON's own types."""
    if isinstance(value, str):
        return whole(value)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None
    if is_list(value):
        return [plain(each) for each in value]
    return {name: plain(each) for name, each in fields_of(value, "a value").items()}
