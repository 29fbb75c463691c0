"""Text is rewritten as it streams: the same as the whole text would be, wherever it was cut."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import BlockView, LimitExceeded, PolicyContext, TextRewriter, all_of
from penstock.policies import RewriteText

KEY = "sk-12ab34cd"
PATTERNS = {
    "literal": r"ab",
    "class": r"a[bc]{1,3}",
    "greedy": r"a+",
    "lazy": r"a.{0,4}?b",
    "alternation": r"ab|abc|b",
    "lookahead": r"a(?=bc)",
    "no lookahead": r"ab(?!c)",
    "lookbehind": r"(?<=c)a",
    "word border": r"\bab\b",
    "line start": r"(?m)^a",
    "text start": r"\Aab",
    "text end": r"ab\Z",
    "back reference": r"(a|b)c\1",
    "empty at times": r"(?=a)(?:ab)?",
}


def cut(text: str, places: list[int]) -> list[str]:
    borders = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[one:other] for one, other in pairwise(borders)]


def rewritten(rewriter: TextRewriter, pieces: list[str]) -> str:
    return "".join(map(rewriter.feed, pieces)) + rewriter.flush()


def whole(pattern: str, replacement: str, text: str) -> str:
    """What `re.sub` gives, but that empty matches are left alone."""
    return re.sub(pattern, lambda match: replacement if match[0] else "", text)


@pytest.mark.parametrize(
    "pieces", [["sk-12ab34cd"], ["s", "k-12", "ab34cd"], list(KEY)], ids=["whole", "three", "each"]
)
def test_a_secret_split_over_chunks_is_caught(pieces: list[str]) -> None:
    rewriter = TextRewriter(r"sk-[a-z0-9]{8}", "[key]", hold=16)
    assert rewritten(rewriter, ["The key: ", *pieces, "."]) == "The key: [key]."


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
@given(text=st.text("abc\n ", max_size=60), places=st.lists(st.integers(0, 100), max_size=8), hold=st.integers(8, 12))
def test_the_cut_does_not_matter(pattern: str, text: str, places: list[int], hold: int) -> None:
    if pattern == PATTERNS["greedy"]:
        text = text.replace("aaaa", "b")  # Matches are to be below the hold here.
    assert rewritten(TextRewriter(pattern, "[X]", hold=hold), cut(text, places)) == whole(pattern, "[X]", text)


@given(text=st.text("sk-1 ", max_size=60), places=st.lists(st.integers(0, 100), max_size=8))
def test_with_a_prefix_the_cut_does_not_matter_either(text: str, places: list[int]) -> None:
    rewriter = TextRewriter(r"sk-1{1,3}|ks", "[X]", hold=8, prefix=("sk-", "ks"))
    assert rewritten(rewriter, cut(text, places)) == whole(r"sk-1{1,3}|ks", "[X]", text)


@given(text=st.text("ab", max_size=80), places=st.lists(st.integers(0, 100), max_size=8), hold=st.integers(1, 8))
def test_the_cut_does_not_matter_for_a_match_beyond_the_hold(text: str, places: list[int], hold: int) -> None:
    def fed(pieces: list[str]) -> str:
        return rewritten(TextRewriter("a{2,}|bb", "X", hold=hold), pieces)

    assert fed(cut(text, places)) == fed([text])


@given(text=st.text("abc", max_size=60), places=st.lists(st.integers(0, 100), max_size=8))
def test_what_waits_is_bounded(text: str, places: list[int]) -> None:
    rewriter = TextRewriter("abc", "abc", hold=5)
    given_out = 0
    taken = 0
    for piece in cut(text, places):
        taken += len(piece)
        given_out += len(rewriter.feed(piece))
        assert taken - given_out < 5


def test_with_a_prefix_text_that_cannot_be_a_beginning_does_not_wait() -> None:
    rewriter = TextRewriter(r"sk-[a-z0-9]{8}", "[key]", prefix="sk-")
    assert rewriter.feed("Hello, as") == "Hello, a"
    assert rewriter.feed("k") == ""
    assert rewriter.feed(" me") == "sk me"
    assert rewriter.flush() == ""


def test_a_prefix_that_is_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="does not begin with the prefix"):
        rewritten(TextRewriter("(?i)sk-", "x", prefix="sk-"), ["SK-"])


def test_a_match_beyond_the_hold_is_replaced_part_by_part_or_stops_the_stream() -> None:
    digits = "1" * 25
    assert rewritten(TextRewriter(r"\d{4,}", "#", hold=10), [digits, "."]) == "###."
    stopping = TextRewriter(r"\d{4,}", "#", hold=10, overlong="stop")
    with pytest.raises(LimitExceeded, match="hold = 10"):
        rewritten(stopping, list(digits))
    assert rewritten(TextRewriter(r"\d{4,}", "#", hold=10, overlong="stop"), [digits[:9], "."]) == "#."


def test_the_replacement_may_be_a_function_and_is_taken_as_it_is() -> None:
    assert rewritten(TextRewriter(r"\d+", lambda found: str(len(found))), ["a12345b"]) == "a5b"
    assert rewritten(TextRewriter(r"(a)", r"\1$0"), ["xa"]) == r"x\1$0"


def test_a_function_may_find_the_places() -> None:
    def shouting(text: str, start: int) -> tuple[int, int] | None:
        place = text.find("NO", start)
        return None if place < 0 else (place, place + 2)

    for pieces in (["say NO, NO"], list("say NO, NO")):
        assert rewritten(TextRewriter(shouting, str.lower, hold=4), pieces) == "say no, no"


def test_a_function_that_goes_back_is_an_error_and_not_an_endless_loop() -> None:
    with pytest.raises(ValueError, match="before the one that it was to start from"):
        rewritten(TextRewriter(lambda text, start: (0, 0), "x", hold=2), ["abcdef"])


def test_after_a_flush_the_next_text_is_a_new_one() -> None:
    rewriter = TextRewriter(r"\Aab", "X")
    assert [rewritten(rewriter, ["ab", "ab"]) for _ in range(2)] == ["Xab", "Xab"]


def test_a_window_is_forgotten_behind_the_text() -> None:
    rewriter = TextRewriter("ab", "X", hold=10)
    for _ in range(1000):
        rewriter.feed("abcdefghij")
        assert len(rewriter._window) <= 40


def test_a_pattern_never_sees_much_more_than_the_hold() -> None:
    seen: list[int] = []

    def nothing(text: str, start: int) -> None:
        seen.append(len(text))

    assert len(rewritten(TextRewriter(nothing, "", hold=256), ["x" * 100_000])) == 100_000
    assert max(seen) <= 4 * 256
    assert sum(seen) <= 8 * 100_000


def test_one_long_text_and_its_characters_are_the_same() -> None:
    rng = random.Random(7)
    text = "".join(rng.choices("ab c", k=20_000))
    expected = re.sub("ab{1,4}c", "X", text)
    assert rewritten(TextRewriter("ab{1,4}c", "X", hold=8), [text]) == expected
    assert rewritten(TextRewriter("ab{1,4}c", "X", hold=8), list(text)) == expected


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"pattern": "a*"}, "the pattern matches nothing at all, so it would match everywhere"),
        (
            {"pattern": "(a"},
            "the pattern '(a' is no regular expression: missing ), unterminated subpattern at position 0",
        ),
        (
            {"pattern": "a{99999999999}"},
            "the pattern 'a{99999999999}' is no regular expression: the repetition number is too large",
        ),
        ({"pattern": re.compile(b"ab")}, "pattern must be a regular expression or a function, not bytes"),
        ({"pattern": 7}, "pattern must be a regular expression or a function, not int"),
        ({"hold": 0}, "hold must be a whole number above 0, not 0"),
        ({"hold": True}, "hold must be a whole number above 0, not True"),
        ({"prefix": ""}, "a prefix must not be empty, nor longer than the hold"),
        ({"prefix": "abc", "hold": 2}, "a prefix must not be empty, nor longer than the hold"),
        ({"overlong": "drop"}, 'overlong must be "replace" or "stop", not \'drop\''),
    ],
)
@pytest.mark.parametrize("kind", [TextRewriter, RewriteText])
def test_wrong_options_are_refused_in_one_line(kind: Any, options: dict[str, Any], problem: str) -> None:
    with pytest.raises((TypeError, ValueError)) as raised:
        kind(**{"pattern": "ab", "replacement": "", **options})
    assert str(raised.value) == problem


def test_bytes_are_no_text_in_one_line() -> None:
    with pytest.raises(TypeError, match=r"\Aexpected text, not bytes\Z"):
        TextRewriter("ab", "").feed(b"ab")  # type: ignore[arg-type]


async def test_as_a_policy_each_block_of_each_stream_is_a_text_of_its_own() -> None:
    policy = RewriteText("ab", "X")
    one, other = BlockView(0, "content", "content"), BlockView(1, "refusal", "refusal")
    context, elsewhere = PolicyContext(), PolicyContext()
    for block, where in [(one, context), (other, context), (one, elsewhere)]:
        assert policy.on_text_delta("a", block, where) == ""
    assert policy.on_text_delta("b", one, context) == ""
    assert [
        policy.on_text("", block, where) for block, where in [(one, context), (other, context), (one, elsewhere)]
    ] == ["X", "a", "a"]
    assert policy.on_text("", one, context) == ""


async def test_two_rewritings_follow_each_other() -> None:
    policy = all_of(RewriteText("secret", "hidden", hold=8), RewriteText("hidden key", "…", hold=12))
    block, context = BlockView(0, "content", "content"), PolicyContext()
    written = "".join([await policy.on_text_delta(each, block, context) for each in "my secret key."])  # type: ignore[misc]
    assert written + await policy.on_text("my secret key.", block, context) == "my …."  # type: ignore[misc, operator]
