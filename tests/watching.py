"""A policy that writes down what it sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from feeding import Engine


@dataclass
class Seen:
    """A chunk as the policy got it, and the state at that moment: blocks by their ids."""

    chunk: Any
    completed: str | None
    current: str | None
    finish_reason: str | None
    arguments: str | None


def watch(engine: Engine, items: Iterable[Any], **options: Any) -> list[Seen]:
    """Everything that a policy sees of a stream."""
    processor = engine.StreamProcessor(emit="chunks", **options)
    state = processor.state
    seen = [_see(chunk, state) for item in items for chunk in processor.feed(item)]
    seen += [_see(chunk, state) for chunk in processor.finish()]
    assert processor.state is state, "an engine has one state for its whole life"
    assert state.just_completed is None
    return seen


def _see(chunk: Any, state: Any) -> Seen:
    completed = state.just_completed
    if completed is not None:
        assert completed.is_complete
        assert any(completed is block for block in state.blocks)
    return Seen(
        chunk=chunk,
        completed=completed and completed.id,
        current=state.current_block and state.current_block.id,
        finish_reason=state.finish_reason,
        arguments=getattr(completed, "arguments", None),
    )


def completions(seen: Iterable[Seen]) -> list[str]:
    """The ids of the blocks in the order in which the policy saw them complete."""
    return [each.completed for each in seen if each.completed is not None]
