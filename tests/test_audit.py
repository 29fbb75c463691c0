"""The record of a stream: every call, how it was decided, and nothing of what it said."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from penstock import ALLOW, Judgement, PolicyContext, ToolCall, deny, replace
from penstock.audit import Audit
from penstock.judges import Judged

if TYPE_CHECKING:
    from penstock import AuditRecord

CANARY = "hunter2"
CALL = ToolCall(id=f"call_{CANARY}", name="read", arguments=f'{{"path":"{CANARY}"}}', index=3)
FORGED = ToolCall(id="a", name=f"rm\n{CANARY}", arguments="{}")
TOOLS = [{"name": "read", "input_schema": {}}]
JUDGED = [
    Judged(0, CALL, Judgement(ALLOW, "allowed", 1.5, "on_tool_call: allow"), waited=0.5),
    Judged(1, CALL, Judgement(deny(f"not {CANARY}"), "denied", 0.1)),
    Judged(2, FORGED, Judgement(deny(), "error-denied", 30, "on_tool_call raised ValueError", ValueError(CANARY))),
    Judged(3, CALL, Judgement(replace(arguments={"path": CANARY * 2}), "allowed", 0.1)),
    Judged(4, CALL, Judgement(deny(), "not-run")),
]


def audit(sink: Any = None, *judged: Judged, tools: Any = TOOLS, **options: Any) -> Audit:
    kept = Audit(PolicyContext(stream_id="s", tools=tools), sink, **options)
    for each in judged:
        kept.note(each)
    kept.end("finished")
    return kept


def test_a_record_says_how_each_call_was_decided() -> None:
    record = audit(None, *JUDGED).record
    assert (record.stream_id, record.ending) == ("s", "finished")
    assert [(each.decision, each.state) for each in record.calls] == [
        ("allow", "allowed"),
        ("deny", "denied"),
        ("deny", "error-denied"),
        ("replace", "allowed"),
        ("deny", "not-run"),
    ]
    assert [record.count(state) for state in ("allowed", "denied", "error-denied", "not-run")] == [2, 1, 1, 1]
    first = record.calls[0]
    assert (first.digest, first.index, first.seconds, first.waited, first.name) == (CALL.digest, 3, 1.5, 0.5, "read")


def test_a_record_has_no_content_unless_it_is_asked_for() -> None:
    assert CANARY not in json.dumps(asdict(audit(None, *JUDGED).record))
    contents = [each.content for each in audit(None, *JUDGED, audit_content=True).record.calls]
    said = {"id": CALL.id, "name": CALL.name, "arguments": CALL.arguments}
    assert contents[0] == said
    assert contents[1] == {**said, "reason": f"not {CANARY}"}
    assert contents[3] == {**said, "replaced_by": {"name": "read", "arguments": f'{{"path":"{CANARY * 2}"}}'}}


def test_only_a_declared_name_is_no_content() -> None:
    assert [each.name for each in audit(None, *JUDGED).record.calls] == ["read", "read", None, "read", "read"]
    assert {each.name for each in audit(None, *JUDGED, tools=[7]).record.calls} == {None}


def test_a_replacement_is_marked_as_made_by_a_policy() -> None:
    record = audit(None, *JUDGED).record
    assert [each.replaced_by is not None for each in record.calls] == [False, False, False, True, False]
    expected = ToolCall(CALL.id, "read", f'{{"path":"{CANARY * 2}"}}', index=3).digest
    assert record.calls[3].replaced_by == expected


@pytest.mark.parametrize(("judged", "level"), [(JUDGED[:2], logging.INFO), (JUDGED[2:3], logging.WARNING)])
async def test_without_a_sink_a_record_is_one_line_of_the_log(
    judged: list[Judged], level: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await audit(None, *judged, audit_content=True).hand_over()
    (line,) = caplog.records
    assert (line.name, line.levelno) == ("penstock.audit", level)
    assert "\n" not in line.getMessage()
    assert len(json.loads(line.getMessage())["calls"]) == len(judged)


async def test_a_failure_beside_the_verdicts_is_recorded(caplog: pytest.LogCaptureFixture) -> None:
    kept = audit()
    kept.note_failure("on_text_delta raised ValueError")
    await kept.hand_over()
    assert json.loads(caplog.records[0].getMessage())["failures"] == ["on_text_delta raised ValueError"]
    assert caplog.records[0].levelno == logging.WARNING


async def test_a_sink_may_be_sync_or_async() -> None:
    taken: list[AuditRecord] = []

    async def later(record: AuditRecord) -> None:
        taken.append(record)

    for sink in (taken.append, later):
        await audit(sink, *JUDGED).hand_over()
    assert [len(each.calls) for each in taken] == [5, 5]


async def test_a_sink_that_fails_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def full(record: AuditRecord) -> None:
        raise OSError(CANARY)

    await audit(full, JUDGED[2]).hand_over()
    assert [each.levelno for each in caplog.records] == [logging.ERROR, logging.WARNING]
    assert CANARY not in caplog.text
