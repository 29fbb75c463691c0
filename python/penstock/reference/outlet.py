"""Events to what is written: blocks one after the other, whatever turns they came in.

Rules. (1) Blocks leave in the order in which they began. Only the first is written; the others wait with what they have. (2) A call is
closed when nothing can follow: its arguments are one whole JSON value and another block has begun, or the answer has finished. (3) What
was closed is never written again: more of it is an error. (4) After an error nothing is written. (5) A stream that was cut is never made to
look whole. (6) A message has one choice: the others are counted and left out.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, cast

from penstock import events as ev
from penstock.reference.encode import Answer, Encoder
from penstock.reference.failure import Failure
from penstock.reference.ids import Ids
from penstock.reference.lane import WHITE_SPACE, Entry, EntryKind
from penstock.reference.output import Output
from penstock.reference.values import load
from penstock.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.blocks import StreamState, ToolCallStreamBlock
    from penstock.translator import OnInterrupt, TextAfterCalls

__all__ = ["Outlet"]

# What is lost of a block though all of its text is written, because the target has no block of that sort.
_CHANGES = {"refusal": "refusal_as_text", "custom": "custom_as_function"}
# Notes that are lost under a name of their own, and those that every target says in its own way.
_NAMED_NOTES = frozenset({"logprobs", "annotations", "citations", "signature", "data"})
_SAID_NOTES = frozenset({"item_id", "item", "status"})
_SAID_OF_RESPONSE = frozenset({"model", "created", "role", "status", "incomplete_details"})


class Outlet:
    """Writes one answer from the events of its stream, whose `state` has what they do not say."""

    def __init__(
        self,
        state: StreamState,
        answer: Answer,
        *,
        coalesces: bool,
        held_bytes: int,
        on_interrupt: OnInterrupt,
        text_after_calls: TextAfterCalls,
    ) -> None:
        self.is_over = False
        self.failure: Failure | None = None
        self.losses: dict[str, int] = {}
        self.ids = Ids()
        self.out = Output(coalesces=coalesces)
        self._state = state
        self._answer = answer
        self._encoder = Encoder(answer, self.out)
        self._closes = on_interrupt == "close"
        self._puts_text_first = text_after_calls == "before_calls"
        self._calls_stream = not (self._closes or self._puts_text_first)
        self._queue: deque[Entry] = deque()
        self._entries: dict[int, Entry] = {}  # those of the queue, by the number of their block
        self._written: set[int] = set()  # the numbers of all blocks that are written, or were
        self._held = 0  # how many bytes wait, or have waited in blocks that are not closed
        self._held_bytes = held_bytes
        self._is_finished = False
        self._reason: str | None = None
        self._takers: dict[type[ev.Event], Callable[[Any], None]] = {
            ev.BlockGrew: self._grow,
            ev.BlockStarted: self._start,
            ev.BlockNoted: self._note,
            ev.BlockReopened: self._reopen,
            ev.BlockCompleted: self._complete,
            ev.ResponseNoted: self._identify,
            ev.ChoiceFinished: self._finish,
            ev.UsageReported: self._count,
            ev.ErrorReported: self._break_off,
            ev.QuirkSeen: lambda _: None,
            ev.StreamEnded: self._end,
        }

    def take(self, event: ev.Event) -> None:
        """Takes one event."""
        if not self.is_over:
            self._takers[type(event)](event)

    def end_chunk(self) -> None:
        """A chunk is over: what has begun in it is known as far as its beginning goes."""
        if self.is_over:
            return
        if self._answer.has_id and self._answer.model:
            self._encoder.begin()
        new = [entry for entry in self._queue if not entry.has_begun]
        for entry in new:
            entry.has_begun = True
        if new:
            self._advance()

    def ping(self) -> None:
        """A sign of life, unless the answer is over."""
        if not self.is_over:
            self._encoder.ping()

    def fail(self, failure: Failure) -> None:
        """Ends the answer with an error, unless it is over."""
        if self.is_over:
            return
        self._cut()
        self.is_over = True
        self.failure = failure
        if self._closes:
            self._encoder.cut(failure)
        else:
            self._encoder.fail(failure)

    def _lose(self, what: str) -> None:
        self.losses[what] = self.losses.get(what, 0) + 1

    def _lose_note(self, name: str) -> None:
        if name not in _SAID_NOTES:
            self._lose(name if name in _NAMED_NOTES else "extras")

    def _start(self, event: ev.BlockStarted) -> None:
        if event.type == "unknown" or event.choice > 0:
            self._lose(_loss_of_raw(event.name) if event.type == "unknown" else "choice")
            return
        kind, block_id = cast("EntryKind", event.type), event.id
        if event.type == "tool_call":
            block = cast("ToolCallStreamBlock", self._state.blocks[event.block])
            kind, block_id = cast("EntryKind", block.kind), self.ids.write(event.id)
        if kind in _CHANGES:
            self._lose(_CHANGES[kind])
        entry = Entry(event.block, kind, block_id=block_id, name=event.name)
        self._entries[event.block] = entry
        self._written.add(event.block)
        self._add(entry)
        self._hold(_size(entry.id) + _size(entry.name))

    def _add(self, entry: Entry) -> None:
        """Adds a block where it will leave."""
        place = len(self._queue)
        if self._puts_text_first and not entry.is_call:
            waiting = (at for at, other in enumerate(self._queue) if other.is_call)
            place = next(waiting, place)
        self._queue.insert(place, entry)

    def _grow(self, event: ev.BlockGrew) -> None:
        part, text = event.part, event.text
        entry = self._entries.get(event.block)
        if entry is None:
            self._grow_closed(event.block, part, text)
            return
        if part == "arguments":
            entry.see(text)
        is_first = entry is self._queue[0]
        if is_first and entry.is_open and part != "name":
            self._encoder.grow(entry, part, text)
            return
        entry.keep(part, text)
        if self._hold(_size(text)) and is_first:
            self._advance()

    def _hold(self, size: int) -> bool:
        """Counts what waits; false if that is too much, which ends the answer."""
        self._held += size
        if self._held > self._held_bytes:
            self.fail(Failure.new("the answer exceeds the limit held_bytes"))
        return not self.is_over

    def _grow_closed(self, block: int, part: str, text: str) -> None:
        """More for a block that was written to its end."""
        if block not in self._written:
            return
        if part in ("signature", "data"):
            # It leaves as a block of its own.
            late = Entry(None, "thinking")
            late.is_complete = True
            late.keep(part, text)
            self._add(late)
            self._advance()
        elif part == "text":
            self._lose("late_text")
        elif part == "name" or text.strip(WHITE_SPACE):
            self.fail(Failure.new("the upstream added to a tool call that was complete"))

    def _note(self, event: ev.BlockNoted) -> None:
        entry = self._entries.get(event.block)
        if entry is not None and not entry.is_open:
            entry.notes.append(event.name)
        elif event.block in self._written:
            self._lose_note(event.name)

    def _reopen(self, event: ev.BlockReopened) -> None:
        if entry := self._entries.get(event.block):
            entry.is_complete = False

    def _complete(self, event: ev.BlockCompleted) -> None:
        if entry := self._entries.get(event.block):
            entry.is_complete = True
            self._advance()

    def _finish(self, event: ev.ChoiceFinished) -> None:
        if event.choice > 0:
            return
        self._is_finished = True
        self._reason = event.reason
        self._advance()

    def _identify(self, event: ev.ResponseNoted) -> None:
        """Takes what is said of the answer. Fields of the same name elsewhere are noted too: they come later, or are no text."""
        answer = self._answer
        if event.name == "id" and not answer.has_id:
            given = load(event.json)
            if isinstance(given, str) and given:
                answer.id, answer.has_id = given, True
        elif event.name == "model" and not answer.model:
            given = load(event.json)
            answer.model = given if isinstance(given, str) else ""
        elif event.name not in _SAID_OF_RESPONSE:
            self._lose("stop_sequence" if event.name == "stop_sequence" else "envelope")

    def _count(self, _: ev.UsageReported) -> None:
        self._answer.usage = self._state.usage or Usage()

    def _break_off(self, _: ev.ErrorReported) -> None:
        self.fail(Failure.from_upstream(self._state.error))

    def _end(self, event: ev.StreamEnded) -> None:
        """The input is over."""
        if event.interrupted:
            self.fail(Failure.new("the upstream ended its stream before the answer was finished"))
            return
        self._is_finished = True
        self._advance()
        if self.is_over:
            return
        why = self._encoder.end(self._reason)
        if why is not None:
            self.fail(Failure.new(why))
        self.is_over = True

    def _advance(self) -> None:
        """Writes what may be written of the first blocks."""
        while self._queue and not self.is_over:
            entry = self._queue[0]
            is_closable = self._is_closable(entry)
            # A call that the target cannot take must not begin, because it could not be ended.
            if is_closable and (fault := entry.fault()):
                self.fail(Failure.new(fault))
                return
            if not entry.is_open and (is_closable or entry.may_open(calls_stream=self._calls_stream)):
                self._open(entry)
            if not is_closable:
                return
            self._close_first()

    def _is_closable(self, entry: Entry) -> bool:
        if self._is_finished:
            return True
        # Whether more text comes is not known before the finish.
        waits = self._puts_text_first and entry.is_call
        return not waits and entry.is_over()

    def _open(self, entry: Entry) -> None:
        entry.open()
        self._encoder.open(entry)
        for part, text in entry.take_kept():
            self._held = max(self._held - _size(text), 0)
            self._encoder.grow(entry, part, text)
        for name in entry.notes:
            self._lose_note(name)

    def _close_first(self) -> None:
        entry = self._queue.popleft()
        self._held = max(self._held - _size(entry.id) - _size(entry.name), 0)
        if entry.number is not None:
            del self._entries[entry.number]
        self._encoder.close(entry)

    def _cut(self) -> None:
        """Closes what can be closed of an answer that will not go on: text and reasoning. A call that is open on the wire stays so."""
        while self._queue:
            entry = self._queue[0]
            if entry.is_call and entry.is_open:
                return
            if entry.is_call or not (entry.is_open or entry.text or entry.data):
                self._queue.popleft()
                continue
            if not entry.is_open:
                self._open(entry)
            self._close_first()


def _loss_of_raw(name: str) -> str:
    """What the loss of a block is called that is kept raw, by the wire's name for it."""
    return name if name in ("audio", "image") else "unknown"


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
