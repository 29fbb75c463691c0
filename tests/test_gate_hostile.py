"""Every hostile stream behind the gate: what a judge was not shown reaches no client, and what cannot be trusted ends."""

from __future__ import annotations

import json
import random
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import pytest

import hostile_formats
import hostile_tags
import hostile_wire
from gate_clients import CLIENTS, Seen, canonical, seen, seen_by_clients
from gate_runs import TARGETS, Gated, allow_all, deny_all, run
from hostile import EVIL_JSON, LS, RM, Row, call, chat
from legal import assert_legal
from penstock import PolicyContext
from penstock.policies import ToolSchemas
from splits import SPLITS, seeded_random
from test_gate_oracles import check_legal, judged, split_events

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    if target not in row.shown:
        return []
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


# Each differs from a name that the request declares by what an eye does not see, or a reader might normalise.
LOOK_ALIKES = [
    RM.replace("e", "\u0435"),
    RM.upper(),
    f"{RM}\u200b",
    f" {RM}",
    f"{RM}\u0000",
    RM[:-1],
    f"{RM}{RM}",
    "__proto__",
    "",
]
DECLARED = [{"type": "function", "function": {"name": RM, "parameters": {}}}]


@every_target
@pytest.mark.parametrize("name", LOOK_ALIKES, ids=ascii)
def test_j_08_a_name_that_looks_like_a_declared_one_is_denied(name: str, target: str) -> None:
    asked = {"options": {"context": {"tools": DECLARED}}, "outcome": "finishes"}
    for gated in outcomes(Row("J-08", "openai_chat", data=chat(call(EVIL_JSON, name)), **asked), target, ToolSchemas):
        assert (gated.ended, seen(gated.out, target)) == ("finished", [])
    for gated in outcomes(Row("J-08", "openai_chat", data=chat(call(EVIL_JSON, RM)), **asked), target, ToolSchemas):
        assert seen(gated.out, target) == [Seen(RM, canonical(EVIL_JSON))]


LOST = [row for row in ROWS if row.asked and (len(row.shown) < len(TARGETS) or row.id.startswith(("R-06", "T-07")))]


@every_target
@pytest.mark.parametrize("row", LOST, ids=lambda row: row.id)
def test_t_07_a_denial_counts_where_the_target_has_no_words_for_the_call(row: Row, target: str) -> None:
    for gated in outcomes(row, target, deny_all):
        assert gated.record.count("denied") == row.asked
    ending = run([row.data], deny_all(), source=row.source, target=target, on_deny="end", **row.options)
    assert (ending.ended, ending.record.ending) == ("error", "failed")


# LiteLLM knows one choice only; of several answers that were mixed up it may see another than the first.
CLIENT_OF = {"openai_chat": "openai", "anthropic_messages": "anthropic", "openai_responses": "openai"}


def joined(seed: int) -> Iterator[tuple[Row, bytes]]:
    """Hostile streams with events of another one in them: put in, in turns, or in place of the rest."""
    chance = random.Random(seed)
    for _ in range(16):
        row = chance.choice(ROWS)
        other = chance.choice([each for each in ROWS if each.source == row.source])
        events, more = split_events(row.data), split_events(other.data)
        at, to = chance.randint(0, len(events)), chance.randint(0, len(more))
        turns = [event for pair in zip_longest(events, more) for event in pair if event]
        changed = [[*events[:at], *more[to:], *events[at:]], [*events[:at], *more[to:]], turns]
        yield row, b"".join(chance.choice(changed))


@every_target
@pytest.mark.parametrize("seed", range(8))
def test_the_oracles_hold_for_two_hostile_streams_in_one(seed: int, target: str) -> None:
    for row, data in joined(seed):
        options = {**row.options}
        if "context" in options:
            options["context"] = PolicyContext(request=options["context"])
        denied = run([data], deny_all(), source=row.source, target=target, **options)
        allowed = run([data], allow_all(), source=row.source, target=target, **options)
        in_pieces = run(seeded_random(data), allow_all(), source=row.source, target=target, **options)
        check_legal(denied)
        check_legal(allowed)
        assert seen_by_clients(denied.out, target) == {name: [] for name in CLIENTS[target]}, data
        calls = CLIENTS[target][CLIENT_OF[target]](allowed.out)
        assert sorted(calls) == sorted(judged(allowed, row.source)) or allowed.ended == "error", data
        assert set(calls) <= set(judged(allowed, row.source)), data
        assert in_pieces.ended == allowed.ended, data
