"""Every hostile stream behind the gate: what a judge was not shown reaches no client, and what cannot be trusted ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

import hostile_formats
import hostile_tags
import hostile_wire
from gate_clients import Seen, canonical, seen
from gate_runs import TARGETS, Gated, allow_all, deny_all, run
from hostile import EVIL_JSON, LS, RM, Row
from legal import assert_legal
from penstock import PolicyContext
from splits import SPLITS

ROWS = [*hostile_wire.ROWS, *hostile_formats.ROWS, *hostile_tags.ROWS]

every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
every_target = pytest.mark.parametrize("target", TARGETS)


def outcomes(row: Row, target: str, policy: Any) -> list[Gated]:
    """What comes of a row, cut in every way."""
    results: list[Gated] = []
    for split in SPLITS:
        options = {**row.options}
        if "context" in options:
            options["context"] = PolicyContext(request=options["context"])
        results.append(run(split(row.data), policy(), source=row.source, target=target, **options))
    return results


def expected(row: Row, target: str) -> list[Seen]:
    """The calls of a row as the clients of a format have them."""
    return [Seen(name, arguments_in(target, arguments)) for name, arguments in row.calls]


def arguments_in(target: str, arguments: Any) -> str:
    """Arguments as canonical JSON. Messages have no custom tools: their text is the one member of an object."""
    if isinstance(arguments, str) and target == "anthropic_messages":
        return canonical({"input": arguments})
    return arguments if isinstance(arguments, str) else canonical(arguments)


@every_target
@every_row
def test_a_client_has_the_calls_that_were_judged_and_no_others(row: Row, target: str) -> None:
    for gated in outcomes(row, target, allow_all):
        assert_legal(gated.out, target)
        calls = seen(gated.out, target)
        if row.outcome == "ends":
            assert gated.ended == "error"
            allowed = [Seen(name, arguments_in(target, arguments)) for name, arguments in row.before]
            assert calls == allowed[: len(calls)]
        else:
            assert gated.ended == "finished"
            assert calls == expected(row, target)
        if row.asked is not None:
            assert len(gated.asked) == row.asked


@every_target
@every_row
def test_a_client_has_no_call_if_the_judge_denies_all(row: Row, target: str) -> None:
    for gated in outcomes(row, target, deny_all):
        assert_legal(gated.out, target)
        assert gated.ended == ("error" if row.outcome == "ends" else "finished")
        assert seen(gated.out, target) == []
        for secret in (RM, LS, json.loads(EVIL_JSON)["path"], "zq_safe", "zq_evil"):
            assert secret.encode() not in gated.out


def test_each_row_of_the_list_of_threats_is_there() -> None:
    given = {row.id.split()[0] for row in ROWS}
    wire = {f"W-{number:02}" for number in range(1, 19)} - {"W-16"}
    strict = {f"J-{number:02}" for number in range(1, 11)} - {"J-08"}
    chat = {f"O-{number:02}" for number in range(1, 23)}
    messages = {f"A-{number:02}" for number in range(1, 15)}
    responses = {f"R-{number:02}" for number in range(1, 8)}
    # X-16 is text that the host writes.
    tags = {f"X-{number:02}" for number in range(1, 19)} - {"X-16"}
    assert wire | strict | chat | messages | responses | tags <= given
    assert len({row.id for row in ROWS}) == len(ROWS)
