"""Everything penstock raises on purpose."""

from __future__ import annotations

from typing import Literal

__all__ = [
    "InvalidArguments",
    "LimitExceeded",
    "PenstockError",
    "PolicyFailed",
    "ProtocolError",
    "ReentrancyError",
    "StreamClosed",
    "StreamInterrupted",
    "StreamTimeout",
    "UpstreamError",
]


class PenstockError(Exception):
    """The base of all errors of penstock."""


class ProtocolError(PenstockError):
    """The stream is not what its format says it should be.

    Attributes:
        kind: What is wrong, as a fixed word such as `invalid_json` or `late_tool_call`.
        offset: Where: the offset of the event's first byte, or the number of the chunk for streams of objects.
    """

    def __init__(self, kind: str, offset: int, detail: str = "") -> None:
        super().__init__(kind, offset, detail)
        self.kind = kind
        self.offset = offset
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.kind} at {self.offset}" + (f": {self.detail}" if self.detail else "")


class LimitExceeded(PenstockError):
    """A stream reached one of its limits.

    Attributes:
        limit: The name of the limit: a field of `penstock.Limits`.
        allowed: Its value.
    """

    def __init__(self, limit: str, allowed: int) -> None:
        super().__init__(limit, allowed)
        self.limit = limit
        self.allowed = allowed

    def __str__(self) -> str:
        return f"the stream exceeds the limit {self.limit} = {self.allowed}"


class StreamInterrupted(PenstockError):
    """The stream ended without a finish (raised in strict mode only)."""


class UpstreamError(PenstockError):
    """The upstream reported an error inside the stream (raised in strict mode only).

    Attributes:
        error: What it said.
    """

    def __init__(self, error: object) -> None:
        super().__init__(error)
        self.error = error

    def __str__(self) -> str:
        match self.error:
            case {"message": str(message)}:
                return f"the upstream reported an error: {message}"
            case other:
                return f"the upstream reported an error: {other}"


class StreamTimeout(PenstockError, TimeoutError):
    """The stream took too long.

    Attributes:
        which: `chunk` if the next chunk did not come in time, `total` if the whole stream did not end in time.
        seconds: The time that was allowed.
    """

    def __init__(self, which: Literal["chunk", "total"], seconds: float) -> None:
        super().__init__(which, seconds)
        self.which = which
        self.seconds = seconds

    def __str__(self) -> str:
        what = "no chunk came" if self.which == "chunk" else "the stream did not end"
        return f"{what} within {self.seconds:g} s"


class StreamClosed(PenstockError):
    """Something was sent to, or asked of, a stream that is over."""


class ReentrancyError(PenstockError):
    """A processor that is busy with its stream was used a second time."""


class InvalidArguments(PenstockError, ValueError):
    """The arguments of a tool call are not JSON that every reader reads alike.

    Attributes:
        kind: What is wrong, as a fixed word such as `duplicate_name` or `too_deep`.
        offset: The character at which it was seen, where that is known.
    """

    def __init__(self, kind: str, offset: int | None, detail: str) -> None:
        super().__init__(kind, offset, detail)
        self.kind = kind
        self.offset = offset
        self.detail = detail

    def __str__(self) -> str:
        place = "" if self.offset is None else f" at {self.offset}"
        return f"{self.kind}{place}: {self.detail}"


class PolicyFailed(PenstockError):
    """A hook of a policy raised, took too long, or returned what it must not.

    Attributes:
        hook: The hook's name.
        detail: What happened, without a word of the stream or of the exception's own text; that is the `__cause__`.
    """

    def __init__(self, hook: str, detail: str) -> None:
        super().__init__(hook, detail)
        self.hook = hook
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.hook}: {self.detail}"
