"""What a verdict can be, and that nothing unclean is in a reason."""

from __future__ import annotations

import dataclasses
import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import ALLOW, Verdict, deny, replace
from penstock.verdicts import DEFAULT_REASON, REASON_CHARACTERS


def test_a_verdict_is_one_of_three_decisions() -> None:
    assert [each.decision for each in (ALLOW, deny("no"), replace(name="f"))] == ["allow", "deny", "replace"]


def test_a_verdict_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        deny("no").decision = "allow"  # type: ignore[misc]


def test_a_verdict_is_neither_true_nor_false() -> None:
    with pytest.raises(TypeError, match="neither true nor false"):
        assert deny("no") or ALLOW


def test_a_denial_without_words_has_a_reason_all_the_same() -> None:
    assert {deny().reason, deny("").reason, deny("\n\t ").reason} == {DEFAULT_REASON}


@pytest.mark.parametrize("length", [REASON_CHARACTERS - 1, REASON_CHARACTERS, REASON_CHARACTERS + 1, 10**6])
def test_a_reason_is_bounded(length: int) -> None:
    reason = deny("x" * length).reason
    assert len(reason) == min(length, REASON_CHARACTERS)
    assert reason.endswith("…") == (length > REASON_CHARACTERS)


@given(st.text(st.characters(categories=["Cc", "Zl", "Zp", "Cs", "Ll"]) | st.sampled_from("\u202e\u2066 "), min_size=1))
def test_a_reason_is_one_clean_line(text: str) -> None:
    reason = deny(text).reason
    assert reason.encode()
    assert not {unicodedata.category(each) for each in reason} & {"Cc", "Cs", "Zl", "Zp"}
    assert not set(reason) & {"\u202e", "\u2066"}


def test_the_words_of_a_reason_stay() -> None:
    assert deny("no\r\nshell\x00for ünïcode 🙂").reason == "no shell for ünïcode 🙂"


def test_a_value_is_written_as_json_and_text_as_it_is() -> None:
    value = {"a": [1, "ü"]}
    assert json.loads(replace(arguments=value).arguments or "") == value
    assert replace(arguments='{ "a":1 }').arguments == '{ "a":1 }'


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Verdict("maybe"), 'decision must be "allow", "deny" or "replace", not \'maybe\''),  # type: ignore[arg-type]
        (lambda: deny(None), "reason must be text, not NoneType"),  # type: ignore[arg-type]
        (lambda: replace(name=7), "name and arguments must be text or None"),  # type: ignore[arg-type]
        (replace, "a replacement, and nothing else, has a new name or new arguments"),
        (lambda: Verdict("allow", name="f"), "a replacement, and nothing else, has a new name or new arguments"),
        (lambda: replace(name=""), "the name of a replacement must not be empty"),
        (lambda: replace(arguments={"a": float("nan")}), "Out of range float values are not JSON compliant"),
    ],
)
def test_a_wrong_verdict_is_refused_in_one_line(make: Any, problem: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011 (the message is compared)
        make()
    assert str(raised.value).startswith(problem)
    assert "\n" not in str(raised.value)
