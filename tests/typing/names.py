"""A user's signatures around penstock: every type that they need can be named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack, assert_type

import penstock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

RECORDS: list[tuple[penstock.Ending, list[penstock.Decision]]] = []


class Watching(penstock.Policy):
    def on_tool_call(self, call: penstock.ToolCall, context: penstock.PolicyContext) -> penstock.Verdict:
        kind: penstock.CallKind = call.kind
        return penstock.deny() if kind == "server" else penstock.ALLOW

    def on_finish(self, finish: penstock.ChoiceFinished, context: penstock.PolicyContext) -> None:
        context.finished = finish.choice


def keep(record: penstock.AuditRecord) -> None:
    RECORDS.append((record.ending, [call.decision for call in record.calls]))


def judged(
    incoming: penstock.Incoming,
    target: penstock.Target,
    source: penstock.Source = "auto",
    audit: penstock.AuditSink = keep,
    **options: Unpack[penstock.TranslatorOptions],
) -> AsyncGenerator[bytes]:
    return penstock.gate(incoming, Watching(), source=source, target=target, audit=audit, **options)


def reader(source: penstock.Source, tags: penstock.Tags, on_chunk: penstock.OnChunk) -> penstock.BlockReader:
    return penstock.BlockReader(on_chunk, source=source, tags=tags)


def said(text: str) -> tuple[list[penstock.Item], penstock.Protocol | None]:
    reading = penstock.BlockReader(source="text")
    read: penstock.ReadItems = reading.process_chunk(text)
    assert_type(read.items, list[penstock.Item])
    return read.items, reading.source


def first(items: penstock.Events) -> penstock.ChunkType | None:
    for item in items:
        return item[1].type if isinstance(item, tuple) else item.block.type
    return None
