"""Chat to Messages: session and outlet joined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from penstock.errors import PenstockError, StreamClosed
from penstock.limits import Limits
from penstock.reference.encode import Answer
from penstock.reference.failure import Failure
from penstock.reference.outlet import Outlet
from penstock.reference.session import StreamProcessor, is_read
from penstock.translator import FailureKind, OnInterrupt, TextAfterCalls

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.errors import ProtocolError
    from penstock.events import Event

__all__ = ["Translator"]

# White space, and the bytes of a byte order mark.
_BEFORE_A_PAGE = b" \t\n\f\r\xef\xbb\xbf"


class Translator:
    """Reads one chat stream and writes it as Messages. A body that was not streamed is not read: it is a stream that was cut."""

    def __init__(  # noqa: PLR0913 (options by name, those of the core's translator)
        self,
        *,
        id: str,
        created: int,
        source: Literal["openai_chat"] = "openai_chat",
        target: Literal["anthropic_messages"] = "anthropic_messages",
        strict: bool = False,
        limits: Limits | None = None,
        coalesce: bool = True,
        on_interrupt: OnInterrupt = "error",
        text_after_calls: TextAfterCalls = "in_order",
        model: str | None = None,
    ) -> None:
        _check("source", source, ("openai_chat",))
        _check("target", target, ("anthropic_messages",))
        _check("on_interrupt", on_interrupt, get_args(OnInterrupt))
        _check("text_after_calls", text_after_calls, get_args(TextAfterCalls))
        self.source, self.target = source, target
        self.created = created  # which Messages does not say
        self._session = StreamProcessor(emit="events", strict=strict, limits=limits)
        self._outlet = Outlet(
            self._session.state,
            Answer(id=id, model=model or ""),
            coalesces=coalesce,
            held_bytes=(limits or Limits()).held_bytes,
            on_interrupt=on_interrupt,
            text_after_calls=text_after_calls,
        )
        self._first = b""  # the first byte that is no white space
        self._is_finished = False

    @property
    def is_over(self) -> bool:
        """Whether the answer has been written to its end, or to its error."""
        return self._outlet.is_over

    @property
    def took_event(self) -> bool:
        """Whether the last item brought an event."""
        return self._session.took_event

    @property
    def failure(self) -> tuple[FailureKind, str] | None:
        """The kind and the message of the error that the answer was ended with; None if there is none."""
        failure = self._outlet.failure
        return None if failure is None else (failure.kind, failure.message)

    @property
    def losses(self) -> dict[str, int]:
        """What was not written, by name, and how often."""
        return dict(self._outlet.losses)

    @property
    def ids(self) -> dict[str, str]:
        """The ids of the calls: as written, to as they came."""
        return dict(self._outlet.ids.written)

    def feed(self, item: Any) -> bytes:
        """Takes a read of bytes, a chunk as JSON text, or a chunk as an object; gives what can be written by now."""
        if self._is_finished:
            msg = "the stream is over"
            raise StreamClosed(msg)
        if not self._first and is_read(item):
            self._first = bytes(item).lstrip(_BEFORE_A_PAGE)[:1]
        if not self._outlet.is_over:
            self._run(self._session.feed_by_chunk(item))
        if self._session.is_done:
            # Nothing counts that follows a terminator, so the answer ends there, whatever becomes of the connection.
            self._end()
        return self._outlet.out.take()

    def finish(self) -> bytes:
        """The input is over; gives the rest."""
        self._is_finished = True
        self._end()
        return self._outlet.out.take()

    def interrupt(self, message: str, kind: FailureKind = "api_error") -> bytes:
        """The input cannot go on; gives the end that says so."""
        _check("kind", kind, get_args(FailureKind))
        self._is_finished = True
        self._outlet.fail(Failure.new(message, kind))
        return self._outlet.out.take()

    def ping(self) -> bytes:
        """A sign of life."""
        self._outlet.ping()
        return self._outlet.out.take()

    def take_problems(self) -> list[ProtocolError]:
        """The malformed chunks that were skipped since the last call."""
        return self._session.take_problems()

    def _end(self) -> None:
        if self._first == b"<":
            self._outlet.fail(Failure.new("the upstream answered with a page instead of a stream"))
        self._run(self._session.finish_by_chunk())

    def _run(self, chunks: Iterable[list[Event]]) -> None:
        outlet = self._outlet
        if outlet.is_over:
            return
        try:
            for events in chunks:
                for event in events:
                    outlet.take(event)
                if outlet.is_over:
                    return
                outlet.end_chunk()
        except PenstockError:
            # A stream that cannot go on is ended for the client as well, behind what it said before.
            for event in self._session.take_events():
                outlet.take(event)
            outlet.fail(Failure.new("the upstream's stream cannot be read"))
            self._is_finished = True
            raise


def _check(option: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        msg = f"{option} must be {' or '.join(map(repr, choices))}, not {value!r}"
        raise ValueError(msg)
