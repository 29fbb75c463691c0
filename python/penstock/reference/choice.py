"""One of the answers side by side, and which of its tool calls a delta means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.reference.blocks import LiveBlock
    from penstock.reference.decode import CallDelta

__all__ = ["Choice"]


class Choice:
    """One of the answers side by side."""

    __slots__ = (
        "call_by_id",
        "call_by_index",
        "call_count",
        "current",
        "is_finished",
        "newest",
        "newest_call",
        "newest_thinking",
        "noted",
        "number",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_finished = False
        self.current: LiveBlock | None = None  # None also when the last block is complete
        self.newest: LiveBlock | None = None
        self.newest_thinking: LiveBlock | None = None
        self.newest_call: LiveBlock | None = None
        self.call_by_index: dict[int, LiveBlock] = {}
        self.call_by_id: dict[str, LiveBlock] = {}
        self.call_count = 0
        self.noted: dict[str, Any] = {}  # the last extras of the newest block, to tell repetitions

    def identify(self, call: LiveBlock, wire_id: str) -> None:
        """Gives a call the id that the wire has for it, maybe late; of several calls with one id, the newest is meant by it."""
        call.wire_id = wire_id
        known = self.call_by_id.get(wire_id)
        if known is None or known.number < call.number:
            self.call_by_id[wire_id] = call

    def call_meant_by(self, delta: CallDelta) -> LiveBlock | None:
        """The call that a delta goes on with; None if it starts a new one. The table of cases is in ARCHITECTURE.md."""
        if delta.wire_index is not None:
            known = self.call_by_index.get(delta.wire_index)
            is_another = known is not None and delta.wire_id and known.wire_id and delta.wire_id != known.wire_id
            return None if is_another else known
        if delta.wire_id:
            return self.call_by_id.get(delta.wire_id)
        newest = self.newest_call
        if newest is None or newest.is_legacy != delta.is_legacy:
            return None
        return None if delta.name and newest.is_whole_json() else newest
