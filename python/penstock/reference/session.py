"""The stages joined, for one stream."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard

from penstock.errors import LimitExceeded, PenstockError, ProtocolError, StreamClosed
from penstock.limits import Limits
from penstock.reference.decode import Chunk, Decoder
from penstock.reference.machine import BlockMachine
from penstock.reference.sse import Frame, SseFramer
from penstock.reference.tag_stage import TagStage
from penstock.reference.text import TextReads, end_of_text, said_by
from penstock.reference.values import Malformed, is_object, load, plain
from penstock.reference.views import empty_chunk, only, without
from penstock.vocabulary import grammar_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from penstock.blocks import StreamState
    from penstock.events import Event
    from penstock.reference.choice import Choice
    from penstock.reference.decode import Delta
    from penstock.reference.views import Places
    from penstock.vocabulary import Tags

__all__ = ["StreamProcessor", "is_read"]

# A chunk as the policy may get it, and what it says; None says that something ends.
_Step: TypeAlias = tuple[Any, Chunk | None]

_DONE: _Step = (None, None)
# What blocks grow by; a blank is a piece without text.
_GROWTH = frozenset({"content", "blank", "thinking", "refusal", "signature", "data", "tool_call", "raw"})
# The end of the input: what tags have held is no tag.
_RELEASE: _Step = ("", None)


class StreamProcessor:
    """Reads one stream and keeps its state; see "The engines" in ARCHITECTURE.md."""

    def __init__(
        self,
        emit: Literal["chunks", "events", "nothing"] = "chunks",
        *,
        source: Literal["openai_chat", "text"] = "openai_chat",
        strict: bool = False,
        limits: Limits | None = None,
        tags: Tags | None = None,
    ) -> None:
        if emit not in ("chunks", "events", "nothing"):
            msg = f"emit must be 'chunks', 'events' or 'nothing', not {emit!r}"
            raise ValueError(msg)
        limits = limits or Limits()
        self._text = TextReads() if source == "text" else None
        grammar = grammar_of(tags, source)
        self._tags = TagStage(grammar, limits) if grammar else None
        self._gives_chunks = emit == "chunks"
        self._is_strict = strict
        self._framer = SseFramer(limits.frame_bytes)
        self._machine = BlockMachine(limits, is_strict=strict, wants_events=emit == "events")
        self._object_decoder = Decoder(plain)
        # A policy may change the chunks that it gets, so what the state keeps of them must be a copy.
        self._json_decoder = self._object_decoder if self._gives_chunks else Decoder(lambda value: value)
        self._problems: list[ProtocolError] = []
        self._item_count = 0
        # Whether what was fed last has brought an event: a comment has not, nor a part of an event.
        self.took_event = False
        self._delta_count = 0
        self._most_deltas = limits.deltas
        self._is_done = False
        self._is_over = False
        self._waiting: deque[Iterator[_Step]] = deque()
        self._chunks = self._give_chunks()

    @property
    def state(self) -> StreamState:
        """What is known of the stream so far: one object for the engine's whole life."""
        return self._machine.state

    def count_tag_calls_from(self, first: int) -> None:
        """Counts the calls from tags on, so that the ids that are made for them differ from those of an earlier stream."""
        if self._tags is not None:
            self._tags.call_count = first

    @property
    def is_done(self) -> bool:
        """Whether the terminator has come: nothing after it counts."""
        return self._is_done

    def feed(self, item: Any) -> Iterable[Any]:
        """Takes a read of SSE bytes, a chunk as JSON text, or a chunk as an object."""
        return self._run(self._steps(item))

    def feed_by_chunk(self, item: Any) -> Iterator[list[Event]]:
        """Takes the same; gives the events chunk by chunk, each chunk read only when it is asked for."""
        return self._run_by_chunk(self._steps(item))

    def _steps(self, item: Any) -> Iterator[_Step]:
        if self._is_over:
            msg = "the stream is over"
            raise StreamClosed(msg)
        self.took_event = False
        if self._text is not None:
            return self._take_plain(item, self._text)
        if is_read(item):
            return self._read(self._framer.frames(bytes(item)))
        if isinstance(item, (str, dict)) or hasattr(item, "choices"):
            return self._take(item)
        msg = f"expected bytes of server-sent events, or a chat chunk as JSON text, dict or model, not {type(item).__name__}"
        raise TypeError(msg)

    def finish(self) -> Iterable[Any]:
        """Takes the end of the input."""
        return self._run(self._end())

    def finish_by_chunk(self) -> Iterator[list[Event]]:
        """Takes the same; gives the events chunk by chunk."""
        return self._run_by_chunk(self._end())

    def take_problems(self) -> list[ProtocolError]:
        """The malformed chunks that were skipped since the last call."""
        problems, self._problems = self._problems, []
        return problems

    def _run(self, steps: Iterator[_Step]) -> Iterable[Any]:
        if self._gives_chunks:
            self._waiting.append(steps)
            return iter(self._chunks.__next__, None)
        try:
            for chunk, said in steps:
                self._apply(chunk, said)
        except PenstockError:
            self._is_over = True
            raise
        return self.take_events()

    def _run_by_chunk(self, steps: Iterator[_Step]) -> Iterator[list[Event]]:
        try:
            for chunk, said in steps:
                self._apply(chunk, said)
                yield self.take_events()
        except PenstockError:
            self._is_over = True
            raise
        yield self.take_events()

    def _give_chunks(self) -> Iterator[Any]:
        """All chunks of the stream, in one generator however they are asked for; None whenever more must be fed."""
        try:
            while True:
                while self._waiting:
                    for chunk, said in self._waiting.popleft():
                        for piece in self._ending(chunk) if said is None else self._pieces(chunk, said):
                            yield piece
                            self.state.just_completed = None
                yield None
        except PenstockError:
            self._is_over = True
            raise

    def _ending(self, chunk: Any) -> Iterator[Any]:
        if chunk is None:
            return self._done()
        return self._made(self._tags.release() if self._tags else [])

    def _apply(self, chunk: Any, said: Chunk | None) -> None:
        if said is None:
            for _ in self._ending(chunk):
                pass
            return
        machine = self._machine
        machine.begin()
        machine.take_envelope(said)
        for number, deltas in self._tagged(said):
            choice = machine.choice(number)
            for delta in deltas:
                machine.apply(choice, delta)
        machine.take_report(said)

    def _tagged(self, said: Chunk) -> list[tuple[int, list[Delta]]]:
        """What the choices of a chunk say, once tags have been read."""
        # How text alone is cut into reads says nothing of the stream.
        if self._text is None:
            self._count_deltas(said)
        if self._tags is None:
            return said.choices
        return [(number, self._tags.read(number, deltas)) for number, deltas in said.choices]

    def _count_deltas(self, said: Chunk) -> None:
        self._delta_count += sum(kind in _GROWTH for _, deltas in said.choices for kind, _, _ in deltas)
        if self._delta_count > self._most_deltas:
            raise LimitExceeded("deltas", self._most_deltas)

    def _made(self, made: list[tuple[int, list[Delta]]]) -> Iterator[Any]:
        """Applies what tags have left open or held at the end; gives a chunk that says nothing for each block that completes."""
        if not made:
            return
        machine = self._machine
        machine.begin()
        for number, deltas in made:
            choice = machine.choice(number)
            for delta in deltas:
                if machine.state.just_completed is not None and self._is_next(choice, delta):
                    yield empty_chunk(machine.state, 0)
                    machine.begin()
                machine.apply(choice, delta)
        yield empty_chunk(machine.state, 0)

    def _is_next(self, choice: Choice, delta: Delta) -> bool:
        """Whether a delta that comes behind a completion belongs to the next piece: it begins a block, or completes one."""
        return delta[0] == "open" or self._machine.completes(choice, delta)

    def _pieces(self, chunk: Any, said: Chunk) -> Iterator[Any]:
        """Applies a chunk, in as many pieces as it completes blocks; gives each piece when it has been applied."""
        machine = self._machine
        machine.begin()
        machine.take_envelope(said)
        kept: Places = {}
        gone: Places = {}
        is_split = False
        for position, (number, deltas) in enumerate(self._tagged(said)):
            choice = machine.choice(number)
            for delta in deltas:
                if machine.state.just_completed is not None and self._is_next(choice, delta):
                    yield only(chunk, kept, is_last=False)
                    is_split = True
                    kept = {}
                    machine.begin()
                places = kept if machine.apply(choice, delta) else gone
                if delta[2]:
                    places.setdefault(position, []).append(delta[2])
        machine.take_report(said)
        if is_split:
            yield only(chunk, kept, is_last=True)
        else:
            yield without(chunk, gone) if gone else chunk

    def _done(self) -> Iterator[Any]:
        """Completes every open block; gives a chunk that says nothing for each."""
        machine = self._machine
        machine.begin()
        if machine.state.error is not None and not machine.has_finished():
            # The upstream broke off: what is open is not whole, whatever it says after that.
            yield from self._made(self._tags.release() if self._tags else [])
            return
        yield from self._made(self._tags.finish() if self._tags else [])
        open_choices = [choice for choice in machine.choices.values() if choice.current is not None]
        for choice in open_choices:
            machine.begin()
            machine.complete(choice)
            yield empty_chunk(machine.state, choice.number)

    def take_events(self) -> list[Event]:
        """The events since the last call."""
        events = self._machine.events
        if not events:
            return []
        self._machine.events = []
        return events

    def _read(self, frames: Iterable[Frame]) -> Iterator[_Step]:
        for frame in frames:
            if self._is_done:
                return
            self._machine.offset = frame.offset
            self.took_event = self.took_event or bool(frame.data) or frame.error is not None
            if frame.data is not None:
                is_error = frame.type == b"error" and frame.data != b"[DONE]"
                if step := self._take_error(frame.data) if is_error else self._take_text(frame.data):
                    yield step
            if frame.error is not None and (step := self._take_error(frame.error)):
                yield step

    def _take(self, item: Any) -> Iterator[_Step]:
        if self._is_done:
            return
        self._machine.offset = self._item_count
        self._item_count += 1
        self.took_event = True
        step = self._take_text(item) if isinstance(item, str) else self._decode(item, self._object_decoder)
        if step:
            yield step

    def _take_plain(self, item: Any, reads: TextReads) -> Iterator[_Step]:
        for text in reads.feed(bytes(item)) if is_read(item) else [item]:
            if isinstance(text, int):
                self._machine.offset = text
                self._skip(Malformed("invalid_utf8", ""))
                continue
            self._machine.offset = self._item_count
            self._item_count += 1
            self.took_event = True
            try:
                said = said_by(text)
            except Malformed as problem:
                self._skip(problem)
            else:
                yield text, said

    def _end_plain(self, reads: TextReads) -> Iterator[_Step]:
        if (offset := reads.finish()) is not None:
            self._machine.offset = offset
            self._skip(Malformed("invalid_utf8", ""))
        self._machine.offset = self._item_count
        yield "", end_of_text()

    def _take_text(self, text: bytes | str) -> _Step | None:
        if text in (b"[DONE]", "[DONE]"):
            self._is_done = True
            return _DONE
        try:
            chunk = load(text)
        except Malformed as problem:
            self._skip(problem)
            return None
        return self._decode(chunk, self._json_decoder)

    def _decode(self, chunk: Any, decoder: Decoder) -> _Step | None:
        try:
            return chunk, decoder.decode(chunk)
        except Malformed as problem:
            self._skip(problem)
        except RecursionError:
            self._skip(Malformed("wrong_shape", "nested too deeply"))
        return None

    def _take_error(self, text: bytes) -> _Step | None:
        """An error that the event stream reports by its own means; it may be words."""
        try:
            said = load(text)
        except Malformed as problem:
            if problem.kind == "invalid_utf8":
                self._skip(problem)
                return None
            said = text.decode()
        if is_object(said) and said.get("error") is not None:
            said = said["error"]
        return {"error": said}, Chunk([], [], [], None, plain(said))

    def _skip(self, problem: Malformed) -> None:
        error = ProtocolError(problem.kind, self._machine.offset, problem.detail)
        if self._is_strict:
            raise error
        self._problems.append(error)
        self._machine.quirk("malformed_chunk")

    def _end(self) -> Iterator[_Step]:
        if self._is_over:
            return
        self._machine.begin()
        if self._text is not None:
            yield from self._end_plain(self._text)
        frame = None if self._is_done else self._framer.finish_frame()
        if frame is not None and self._can_read(frame):
            self._machine.offset = frame.offset
            self._machine.quirk("unterminated_event")
            yield from self._read([frame])
        if self._tags is not None:
            yield _RELEASE
        self._is_over = True
        self._machine.end(is_done=self._is_done)

    def _can_read(self, frame: Frame) -> bool:
        """Whether an event lacks nothing but its blank line. Anything less is a cut, not a malformed chunk."""
        if frame.data is None or frame.type == b"error" or frame.data == b"[DONE]":
            return True
        try:
            self._json_decoder.decode(load(frame.data))
        except (Malformed, RecursionError):
            return False
        return True


def is_read(item: Any) -> TypeGuard[bytes | bytearray | memoryview[int]]:
    """Whether an item is bytes of server-sent events."""
    return isinstance(item, (bytes, bytearray, memoryview))
