"""The call that policies are given: immutable, and bound to all that it says."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import InvalidArguments, ToolCall, ToolCallStreamBlock
from penstock._core import StreamProcessor, digest_of
from penstock.calls import KINDS
from recorded import Recording, of_others

CALL = ToolCall(id="call_1", name="read", arguments='{"path":["a"]}')


def test_a_call_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        CALL.name = "write"  # type: ignore[misc]


def test_each_look_at_the_arguments_gives_a_copy() -> None:
    CALL.parsed["path"].append("b")
    assert CALL.parsed == {"path": ["a"]}


@pytest.mark.parametrize("arguments", ["", "null", "{}"])
def test_no_arguments_are_an_empty_object(arguments: str) -> None:
    assert ToolCall("a", "f", arguments).parsed == {}


def test_free_text_is_not_parsed() -> None:
    call = ToolCall("a", "patch", "{}", kind="custom")
    with pytest.raises(InvalidArguments) as raised:
        _ = call.parsed
    assert raised.value.kind == "free_text"


def test_unsound_arguments_raise_at_each_look_and_never_before() -> None:
    call = ToolCall("a", "f", '{"a":1,"a":2}')
    assert call.invalid is not None
    for _ in range(2):
        with pytest.raises(InvalidArguments) as raised:
            _ = call.parsed
        assert str(raised.value) == "duplicate_name: an object has the same name twice"


def test_a_big_integer_is_marked() -> None:
    assert ToolCall("a", "f", '{"id":9007199254740993}').has_big_integers
    assert not ToolCall("a", "f", '{"id":9007199254740993').has_big_integers
    assert not CALL.has_big_integers


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"name": None}, "name must be text, not NoneType"),
        ({"arguments": {}}, "arguments must be text, not dict"),
        ({"id": "\ud800"}, "id has half of a surrogate pair in it, which cannot be written"),
        ({"kind": "tool"}, "kind must be one of function, custom, builtin, server, not 'tool'"),
        ({"index": -1}, "index must be a whole number from 0 on, not -1"),
        ({"choice": "0"}, "choice must be a whole number from 0 on, not '0'"),
    ],
)
def test_a_call_that_cannot_be_is_refused_in_one_line(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises((TypeError, ValueError)) as raised:
        ToolCall(**{"id": "a", "name": "f", "arguments": "{}", **fields})
    assert str(raised.value) == problem


def test_the_digest_is_what_the_documentation_says() -> None:
    call = ToolCall(id="é", name="f", arguments="{}", kind="custom", choice=1, index=258)
    spelt_out = (
        b"\0\0\0\0\0\0\0\x0fpenstock.call.1"
        b"\0\0\0\0\0\0\0\x01"
        b"\0\0\0\0\0\0\x01\x02"
        b"\0\0\0\0\0\0\0\x06custom"
        b"\0\0\0\0\0\0\0\x02\xc3\xa9" + b"\0\0\0\0\0\0\0\x01f" + b"\0\0\0\0\0\0\0\x02{}"
    )
    assert call.digest == hashlib.sha256(spelt_out).hexdigest()


@pytest.mark.parametrize("recording", of_others("*/*.sse"), ids=str)
def test_a_recorded_call_can_be_read_if_it_is_whole(recording: Recording) -> None:
    engine = StreamProcessor(emit="nothing")
    engine.feed(recording.data)
    engine.finish()
    for block in engine.state.blocks:
        if isinstance(block, ToolCallStreamBlock) and block.kind in {"function", "builtin"} and block.is_complete:
            call = ToolCall(block.id, block.name, block.arguments, block.kind, block.choice, block.index)
            assert (call.invalid is None) == block.arguments_complete


FIELDS: dict[str, Any] = {
    "id": st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    "name": st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    "arguments": st.text("{}\0a", max_size=4),
    "kind": st.sampled_from(KINDS),
    "choice": st.integers(0, 3),
    "index": st.integers(0, 3),
}


@given(st.fixed_dictionaries(FIELDS), st.fixed_dictionaries(FIELDS))
def test_calls_have_the_same_digest_only_if_they_are_the_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert (ToolCall(**one).digest == ToolCall(**other).digest) == (one == other)


@given(st.lists(st.text("ab", max_size=3), max_size=4), st.lists(st.text("ab", max_size=3), max_size=4))
def test_where_a_field_ends_is_part_of_the_digest(one: list[str], other: list[str]) -> None:
    assert (digest_of(*one) == digest_of(*other)) == (one == other)


def test_the_fingerprint_is_of_what_a_call_would_do() -> None:
    elsewhere = ToolCall(id="call_9", name="read", arguments='{"path":["a"]}', choice=1, index=4)
    assert elsewhere.fingerprint == CALL.fingerprint != CALL.digest
    assert ToolCall("call_1", "read", '{"path": ["a"]}').fingerprint != CALL.fingerprint
