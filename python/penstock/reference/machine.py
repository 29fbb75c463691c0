"""Deltas to events: every transition of a block.

Rules. (1) A block is open, complete, or reopened; a choice has at most one open block, its current one. (2) A delta for another
block of the choice completes the current one, so a delta completes at most one block. (3) After the finish of its choice nothing
grows. (4) This file knows no wire format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import events as ev
from penstock.blocks import StreamState
from penstock.errors import LimitExceeded, ProtocolError
from penstock.reference.blocks import Clock, LiveBlock
from penstock.reference.choice import Choice
from penstock.reference.values import dump
from penstock.usage import Usage

if TYPE_CHECKING:
    from penstock.events import BlockType
    from penstock.limits import Limits
    from penstock.reference.decode import CallDelta, Chunk, Delta, RawDelta

__all__ = ["BlockMachine", "finish_reason"]

_FINISH_WORDS = {
    "stop": ("", "eos", "eos_token", "end_turn", "stop_sequence", "complete"),
    "length": ("max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"),
    "tool_calls": ("tool_call", "tool_use", "function_call"),
    "content_filter": ("content_filtered", "guardrail_intervened", "refusal", "safety", "sensitive"),
}
_FINISH_REASONS = {word: reason for reason, words in _FINISH_WORDS.items() for word in (reason, *words)}


def finish_reason(native: str) -> str:
    """Why an answer ended, in one vocabulary; another word stays as it is."""
    return _FINISH_REASONS.get(native.lower(), native)


def _goes_on(block: LiveBlock, block_type: str) -> bool:
    """Whether text of a type belongs to a block; not to a thinking block whose signature has come."""
    return block.type == block_type and not (block_type == "thinking" and block.value("signature"))


def _lacks_room(choice: Choice, part: str) -> bool:
    """Whether no thinking block of the choice can take a signature or data: each takes one."""
    return choice.newest_thinking is None or bool(choice.newest_thinking.value(part))


class BlockMachine:
    """Keeps the state of one stream; says what happened to its blocks if `wants_events`."""

    def __init__(self, limits: Limits, *, is_strict: bool, wants_events: bool) -> None:
        self.state = StreamState()
        self.choices: dict[int, Choice] = {}
        self.events: list[ev.Event] | None = [] if wants_events else None
        self.offset = 0  # of the chunk that is being applied
        self._is_strict = is_strict
        self._limits = limits
        self._clock = Clock()
        self._ids: set[str] = set()
        self._id_counts: dict[str, int] = {}
        self._settled: set[str] = set()
        self._call_count = 0

    def begin(self) -> None:
        """A chunk, or the next piece of one, begins."""
        self.state.just_completed = None
        self._clock.now += 1

    def take_envelope(self, chunk: Chunk) -> None:
        """Takes what a chunk says of the response before it comes to the choices."""
        for name, value in chunk.envelope:
            self._settle(name, value)
        for name, value in chunk.notes:
            self._note_response(name, value)

    def choice(self, number: int) -> Choice:
        """The choice of that number, which has now been seen."""
        choice = self.choices.get(number)
        if choice is None:
            if max(len(self.choices), number) >= self._limits.choices:
                raise LimitExceeded("choices", self._limits.choices)
            choice = self.choices[number] = Choice(number)
        return choice

    def apply(self, choice: Choice, delta: Delta) -> bool:
        """Takes one step; False if the delta is to be taken out of the chunk that the policy gets."""
        kind, value, _ = delta
        match kind:
            case "content" | "thinking" | "refusal":
                return self._say(choice, kind, value)
            case "tool_call":
                return self._call(choice, value)
            case "role":
                self._take_role(value)
            case "note" | "extra":
                self._note(choice, *value, is_extra=kind == "extra")
            case "blank":
                # Anthropic's chunks have an empty text beside each tool call, which would confuse a policy.
                return choice.newest is None or choice.newest.type != "tool_call"
            case "repeat":
                return not choice.is_finished
            case "finish":
                self._finish(choice, finish_reason(value), value)
            case "signature" | "data":
                return self._sign(choice, kind, value)
            case "raw":
                return self._keep_raw(choice, value)
            case _:
                self._tagged(choice, kind, value)
        return True

    def completes(self, choice: Choice, delta: Delta) -> bool:
        """Whether `apply` would complete a block."""
        kind, value, _ = delta
        current = choice.current
        if current is None:
            return False
        match kind:
            case "content" | "thinking" | "refusal":
                return bool(value) and not _goes_on(current, kind)
            case "tool_call":
                return choice.call_meant_by(value) is not current
            case "signature" | "data":
                return _lacks_room(choice, kind) and current.type != "tool_call"
            case "raw":
                return not current.goes_on_with(value)
            case "finish" | "finish_as" | "open" | "close":
                return True
            case _:  # "role", "note", "extra", "blank", "repeat" and the other parts of a tagged block
                return False

    def _tagged(self, choice: Choice, kind: str, value: Any) -> None:
        """A step in the life of a block that tags make: `tag_stage.py` has the kinds."""
        block = choice.current
        match kind:
            case "quirk":
                self.quirk(value)
            case "finish_as":
                self._finish(choice, *value)
            case "open":
                self._open(choice, *value)
            case "close":
                self.complete(choice)
            case "note_on" if block is not None:
                self._note_block(block, *value)
            case "grow" if block is not None:
                self._grow_tagged(block, *value)
            case _:  # "announced"
                pass

    def _grow_tagged(self, block: LiveBlock, part: str, text: str) -> None:
        if part == "arguments":
            self._grow_arguments(block, text)
        else:
            self._grow(block, "content" if part == "text" else part, text)
        self.state.current_block = block.public

    def _open(self, choice: Choice, block_type: BlockType, name: str, given: str | None) -> None:
        if block_type == "tool_call":
            if self._call_count >= self._limits.calls:
                raise LimitExceeded("calls", self._limits.calls)
            self._start(choice, block_type, given or "", name=name, kind="function", index=choice.call_count)
            self._call_count += 1
            choice.call_count += 1
        elif block_type == "tool_result":
            self._start(choice, block_type, self._make_id(block_type), kind=name, tool_call_id=given or "")
        else:
            self._start(choice, block_type, self._make_id(block_type))

    def _say(self, choice: Choice, block_type: BlockType, text: str) -> bool:
        if not text:
            return True
        if choice.is_finished:
            return self._refuse("late_text")
        block = choice.current
        if block is None or not _goes_on(block, block_type):
            block = self._start(choice, block_type, self._make_id(block_type))
        self._grow(block, "content", text)
        self.state.current_block = block.public
        return True

    def _keep_raw(self, choice: Choice, delta: RawDelta) -> bool:
        if choice.is_finished:
            return self._refuse("late_text")
        block = choice.current
        if block is None or not block.goes_on_with(delta):
            block = self._start(choice, "unknown", self._make_id(delta.kind), kind=delta.kind)
            block.is_whole = delta.is_whole
        block.raw.append(delta.value)
        self.state.current_block = block.public
        if self.events is not None:
            self.events.append(ev.BlockGrew(block.number, "raw", dump(delta.value)))
        return True

    def _sign(self, choice: Choice, part: str, text: str) -> bool:
        if choice.is_finished:
            return self._refuse("late_text")
        block, current = choice.newest_thinking, choice.current
        if block is None or _lacks_room(choice, part):
            if current is not None and current.type == "tool_call":
                self._note_block(current, part, text)
                return True
            block = self._start(choice, "thinking", self._make_id("thinking"))
        self._grow(block, part, text)
        if block is choice.current:
            self.state.current_block = block.public
        return True

    def _call(self, choice: Choice, delta: CallDelta) -> bool:
        if choice.is_finished:
            return self._refuse("late_tool_call")
        if delta.was_object:
            self.quirk("arguments_as_object")
        block = choice.call_meant_by(delta)
        if block is None:
            block = self._start_call(choice, delta)
        else:
            if delta.wire_index is None and not (delta.wire_id or delta.is_legacy) and choice.call_count > 1:
                self.quirk("call_unclear")
            self._return_to(choice, block)
            if delta.wire_id and not block.wire_id:
                choice.identify(block, delta.wire_id)
            if delta.name:
                self._name(block, delta.name)
        if delta.arguments:
            self._grow_arguments(block, delta.arguments)
        self.state.current_block = block.public
        for name, value in delta.notes:
            self._note_block(block, name, value)
        return True

    def _start_call(self, choice: Choice, delta: CallDelta) -> LiveBlock:
        if self._call_count >= self._limits.calls:
            raise LimitExceeded("calls", self._limits.calls)
        self._check_call(choice, delta)
        if not delta.is_legacy:
            # A function_call has neither by design.
            if delta.wire_index is None:
                self.quirk("index_missing")
            if not delta.wire_id:
                self.quirk("id_missing")
        ordinal = choice.call_count
        block_id = delta.wire_id or self._make_call_id(ordinal if delta.wire_index is None else delta.wire_index)
        block = self._start(choice, "tool_call", block_id, name=delta.name, kind=delta.kind, index=ordinal)
        block.is_legacy = delta.is_legacy
        self._call_count += 1
        choice.call_count += 1
        choice.newest_call = block
        if delta.wire_index is not None:
            choice.call_by_index[delta.wire_index] = block
        if delta.wire_id:
            choice.identify(block, delta.wire_id)
        return block

    def _take_role(self, role: str) -> None:
        if "role" not in self._settled:
            self._settle("role", role)
        elif role and role != self.state.role:
            self.quirk("role_changed")

    def _check_call(self, choice: Choice, delta: CallDelta) -> None:
        if delta.wire_id and delta.wire_id in choice.call_by_id:
            self.quirk("id_reused")
        if delta.wire_index is not None and delta.wire_index >= self._limits.calls:
            self.quirk("index_too_high")

    def _name(self, block: LiveBlock, name: str) -> None:
        known = block.value("name")
        if name == known:
            return
        if known and block.size:
            self.quirk("name_changed")
            return
        if known:
            self.quirk("name_in_pieces")
        self._grow(block, "name", name)

    def _grow_arguments(self, block: LiveBlock, text: str) -> None:
        block.size += len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
        if block.size > self._limits.argument_bytes:
            raise LimitExceeded("argument_bytes", self._limits.argument_bytes)
        self._grow(block, "arguments", text)

    def _start(
        self, choice: Choice, block_type: BlockType, block_id: str, *, name: str = "", kind: str = "", **known: Any
    ) -> LiveBlock:
        number = len(self.state.blocks)
        if number >= self._limits.blocks:
            raise LimitExceeded("blocks", self._limits.blocks)
        self.complete(choice)
        block = LiveBlock(number, block_type, kind, self._clock, id=block_id, choice=choice.number, **known)
        if name:
            block.grow("name", name)
        self._ids.add(block_id)
        self.state.blocks.append(block.public)
        self.state.current_block = block.public
        choice.current = choice.newest = block
        choice.noted.clear()
        if block_type == "thinking":
            choice.newest_thinking = block
        if self.events is not None:
            shown = kind if block_type in ("unknown", "tool_result") else name
            call_id = known.get("tool_call_id", "")
            self.events.append(ev.BlockStarted(number, block_type, block_id, shown, choice.number, call_id))
        return block

    def _return_to(self, choice: Choice, block: LiveBlock) -> None:
        if choice.current is block:
            return
        self.complete(choice)
        block.public.is_complete = False
        choice.current = block
        if self.events is not None:
            self.events.append(ev.BlockReopened(block.number))

    def _grow(self, block: LiveBlock, name: str, text: str) -> None:
        block.grow(name, text)
        if self.events is not None:
            part: Any = "text" if name == "content" else name
            self.events.append(ev.BlockGrew(block.number, part, text))

    def complete(self, choice: Choice) -> None:
        """Completes the choice's current block, if it has one."""
        block = choice.current
        if block is None:
            return
        choice.current = None
        public = block.public
        public.is_complete = True
        self.state.just_completed = public
        if self.state.current_block is public:
            self.state.current_block = None
        if self.events is not None:
            self.events.append(ev.BlockCompleted(block.number))

    def _finish(self, choice: Choice, reason: str, native: str) -> None:
        if choice.is_finished:
            self.quirk("repeated_finish")
            return
        self.complete(choice)
        choice.is_finished = True
        state = self.state
        state.finish_reasons[choice.number] = reason
        if choice.number == 0:
            state.finish_reason = reason
            state.native_finish_reason = native
        if self.events is not None:
            self.events.append(ev.ChoiceFinished(choice.number, reason, native))

    def _note(self, choice: Choice, name: str, value: Any, *, is_extra: bool) -> None:
        if choice.newest is None:
            self._note_response(name, value)
            return
        if is_extra:
            if name in choice.noted and choice.noted[name] == value:
                return
            choice.noted[name] = value
        self._note_block(choice.newest, name, value)

    def _note_block(self, block: LiveBlock, name: str, value: Any) -> None:
        block.extras.setdefault(name, []).append(value)
        if self.events is not None:
            self.events.append(ev.BlockNoted(block.number, name, dump(value)))

    def _settle(self, name: str, value: Any) -> None:
        """Of these values of the answer, the first that is not empty counts."""
        if not value or name in self._settled:
            return
        self._settled.add(name)
        if name == "created":
            self.state.extras[name] = value
        else:
            setattr(self.state, name, value)
        if self.events is not None:
            self.events.append(ev.ResponseNoted(name, dump(value)))

    def _note_response(self, name: str, value: Any) -> None:
        extras = self.state.extras
        if name in extras and extras[name] == value:
            return
        extras[name] = value
        if self.events is not None:
            self.events.append(ev.ResponseNoted(name, dump(value)))

    def take_report(self, chunk: Chunk) -> None:
        """Takes what a chunk says at its end: usage and error."""
        if chunk.usage is not None:
            self.state.usage = Usage.from_openai_chat(chunk.usage)
            if self.events is not None:
                self.events.append(ev.UsageReported(dump(chunk.usage)))
        if chunk.error is not None:
            self.state.error = chunk.error
            if self.events is not None:
                self.events.append(ev.ErrorReported(dump(chunk.error)))

    def end(self, *, is_done: bool) -> None:
        """The input is over; `is_done` if it said so itself."""
        is_finished = bool(self.choices) and self.has_finished()
        self.state.interrupted = not (is_finished or (is_done and self.state.error is None))
        if self.events is not None:
            self.events.append(ev.StreamEnded(self.state.interrupted))

    def has_finished(self) -> bool:
        """Whether every choice that was seen has finished."""
        return all(choice.is_finished for choice in self.choices.values())

    def quirk(self, name: str) -> None:
        """Counts a deviation, or makes it an error in strict mode."""
        if self._is_strict:
            raise ProtocolError(name, self.offset)
        self.state.quirks[name] = self.state.quirks.get(name, 0) + 1
        if self.events is not None:
            self.events.append(ev.QuirkSeen(name))

    def _refuse(self, quirk: str) -> bool:
        self.quirk(quirk)
        return False

    def _make_id(self, family: str) -> str:
        """The next of `content`, `content_1`, `content_2` … for each family."""
        count = self._id_counts.get(family, 0)
        self._id_counts[family] = count + 1
        return f"{family}_{count}" if count else family

    def _make_call_id(self, number: int) -> str:
        stem = made = f"tc_{number}"
        suffix = 0
        while made in self._ids:
            suffix += 1
            made = f"{stem}_{suffix}"
        return made
