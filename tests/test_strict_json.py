"""Arguments are read as every reader reads them, or not at all."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from json_oracle import Oracle, Refused
from penstock import InvalidArguments
from penstock.strict_json import DEPTH, NAMES_PER_OBJECT, NUMBER_DIGITS, load

REFUSED = {
    "a name twice": ('{"c":"ls","c":"rm -rf /"}', "duplicate_name"),
    "a name twice, inside": ('{"a":[{"b":{"c":1,"c":1}}]}', "duplicate_name"),
    "a name twice, once escaped": ('{"tool_calls":[],"tool\\u005fcalls":[1]}', "duplicate_name"),
    "a lone surrogate": ('{"a":"delete\\ud800"}', "lone_surrogate"),
    "a lone surrogate in a name": ('{"\\udc00":1}', "lone_surrogate"),
    "a lone surrogate, not escaped": ('{"a":"\ud800"}', "lone_surrogate"),
    "halves in the wrong order": ('{"a":"\\udc00\\ud800"}', "lone_surrogate"),
    "NaN": ('{"c":NaN}', "not_finite"),
    "Infinity": ("[Infinity]", "not_finite"),
    "-Infinity": ("[-Infinity]", "not_finite"),
    "1e400": ('{"c":1e400}', "not_finite"),
    "-1e400": ('{"c":-1e400}', "not_finite"),
    "a hundred thousand brackets": ("[" * 100_000, "too_deep"),
    "a hundred thousand braces": ('{"a":' * 100_000, "too_deep"),
    "trailing text": ('{"x":1}garbage', "invalid_json"),
    "a second value": ("{}{}", "invalid_json"),
    "a byte order mark": ("\ufeff{}", "invalid_json"),
    "nothing": ("", "invalid_json"),
    "cut": ('{"c":"rm","dirs":["/tmp/a","/', "invalid_json"),
    "a comma too many": ("[1,]", "invalid_json"),
    "single quotes": ("{'a':1}", "invalid_json"),
    "a control character": ('{"a":"\x01"}', "invalid_json"),
    "digits of another script": ("[\u0661]", "invalid_json"),
    "a leading zero": ("[01]", "invalid_json"),
    "a space of another kind": ("\u00a0{}", "invalid_json"),
}


@pytest.mark.parametrize(("text", "kind"), REFUSED.values(), ids=REFUSED)
def test_what_readers_differ_on_is_refused_in_one_line(text: str, kind: str) -> None:
    with pytest.raises(InvalidArguments) as raised:
        load(text)
    assert raised.value.kind == kind
    assert "\n" not in str(raised.value)


def test_an_error_says_where_but_quotes_nothing() -> None:
    with pytest.raises(InvalidArguments) as raised:
        load('{"secret": hunter2}')
    assert raised.value.offset == 11
    assert "hunter2" not in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("make", "limit", "kind"),
    [
        (lambda size: "[" * size + "]" * size, DEPTH, "too_deep"),
        (lambda size: '{"a":' * size + "1" + "}" * size, DEPTH, "too_deep"),
        (lambda size: json.dumps({str(each): 0 for each in range(size)}), NAMES_PER_OBJECT, "too_many_names"),
        (lambda size: "1" * size, NUMBER_DIGITS, "number_too_long"),
        (lambda size: "0." + "1" * (size - 1), NUMBER_DIGITS, "number_too_long"),
        (lambda size: "-1." + "1" * (size - 3) + "e+10", NUMBER_DIGITS, "number_too_long"),
    ],
    ids=["arrays", "objects", "names", "integer", "fraction", "exponent"],
)
def test_a_limit_holds_at_its_value_and_not_beyond(make: Any, limit: int, kind: str) -> None:
    load(make(limit - 1))
    load(make(limit))
    with pytest.raises(InvalidArguments) as raised:
        load(make(limit + 1))
    assert raised.value.kind == kind


def test_brackets_in_strings_are_not_depth() -> None:
    text = json.dumps({"a": "[" * 1000 + '\\"{' + "{" * 1000})
    assert load(text).value == json.loads(text)


@pytest.mark.parametrize(
    ("text", "is_big"),
    [
        ("9007199254740991", False),
        ("9007199254740992", True),
        ("-9007199254740993", True),
        ("[1, [9007199254740993]]", True),
    ],
)
def test_integers_that_doubles_cannot_hold_are_exact_and_marked(text: str, *, is_big: bool) -> None:
    assert load(text).value == json.loads(text)
    assert load(text).has_big_integers == is_big


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
)
PIECES = st.sampled_from(
    [
        *'{}[]:,"\\ \t\n0123456789.eE+-',
        *("true", "null", "NaN", '"a"', '"\\u0061"', "\\ud83d", "\\ude00", "\\u00e9", "1e308", "1e309", "é"),
    ]
)


@given(VALUES, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_what_is_written_as_json_is_read_as_it_was(value: Any, ascii_only: bool, indent: Any) -> None:  # noqa: FBT001
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert load(text).value == value


def same(one: Any, other: Any) -> bool:
    return json.dumps(one) == json.dumps(other) and (
        not isinstance(one, float) or math.copysign(1, one) == math.copysign(1, other)
    )


def check_against_oracle(text: str) -> None:
    try:
        expected = Oracle(text).read()
    except Refused:
        with pytest.raises(InvalidArguments):
            load(text)
    else:
        assert same(load(text).value, expected)


@given(st.lists(PIECES, max_size=12).map("".join))
@example('{"a":1,"\\u0061":2}')
@example('"\\ud83d\\ude00"')
def test_the_reader_agrees_with_a_naive_one_on_pieces(text: str) -> None:
    check_against_oracle(text)


@given(VALUES, st.data())
def test_the_reader_agrees_with_a_naive_one_on_damaged_json(value: Any, data: Any) -> None:
    text = json.dumps(value)
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, min(len(text), start + 3)))
    check_against_oracle(text[:start] + data.draw(PIECES) + text[stop:])
