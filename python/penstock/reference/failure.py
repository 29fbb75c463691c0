"""Why an answer cannot be written to its end, in the words of Messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.reference.values import is_object

if TYPE_CHECKING:
    from penstock.translator import FailureKind

__all__ = ["Failure"]

# How long a message may be that is passed on: an error page is not a message.
_MESSAGE_CHARS = 500
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_STATUS = re.compile(r"\+?[0-9]+")

_BY_STATUS: dict[int, FailureKind] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_SERVER_ERRORS = range(500, 600)
# What a word says if it has this in it; the first one counts.
_BY_WORD: tuple[tuple[str, FailureKind], ...] = (
    ("rate_limit", "rate_limit_error"),
    ("too_many", "rate_limit_error"),
    ("overload", "overloaded_error"),
    ("unavailable", "overloaded_error"),
    ("quota", "billing_error"),
    ("billing", "billing_error"),
    ("credit", "billing_error"),
    ("auth", "authentication_error"),
    ("api_key", "authentication_error"),
    ("permission", "permission_error"),
    ("forbidden", "permission_error"),
    ("not_found", "not_found_error"),
    ("timeout", "timeout_error"),
    ("invalid", "invalid_request_error"),
)
_NAMES: dict[str, FailureKind] = {kind: kind for kind in (*_BY_STATUS.values(), "api_error")}


class Failure(NamedTuple):
    """What a client acts on, and what a person reads."""

    kind: FailureKind
    message: str

    @classmethod
    def new(cls, message: str, kind: FailureKind = "api_error") -> Failure:
        """A failure whose message is fit to be shown."""
        return cls(kind, _CONTROLS.sub("", message)[:_MESSAGE_CHARS])

    @classmethod
    def from_upstream(cls, said: Any) -> Failure:
        """What the upstream reported, in whatever shape."""
        inner = said.get("error") if is_object(said) else None
        if not isinstance(inner, (dict, str)):
            inner = said
        if not is_object(inner):
            return cls.new(inner if isinstance(inner, str) else "the upstream reported an error")
        words = (inner.get(name) for name in ("message", "detail", "msg"))
        message = next((word for word in words if isinstance(word, str)), "the upstream reported an error")
        kinds: list[FailureKind] = [kind for name in ("type", "code", "status") if (kind := _kind(inner.get(name)))]
        return cls.new(message, kinds[0] if kinds else "api_error")


def _kind(value: Any) -> FailureKind | None:
    """The kind that a type, a code or a status stands for."""
    if isinstance(value, str):
        return (_by_status(int(value)) if _STATUS.fullmatch(value) else None) or _by_word(value)
    return _by_status(value) if type(value) is int else None


def _by_status(status: int) -> FailureKind | None:
    return _BY_STATUS.get(status) or ("api_error" if status in _SERVER_ERRORS else None)


def _by_word(word: str) -> FailureKind | None:
    word = word.lower()
    return _NAMES.get(word) or next((kind for part, kind in _BY_WORD if part in word), None)
