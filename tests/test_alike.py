"""Chunks that are nearly the last one: recognised by their bytes, they must mean what they say in full."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

from feeding import outcome

if TYPE_CHECKING:
    from conftest import Engine

PREFIX = '{"id":"r","choices":[{"index":0,"delta":{"role":"assistant","content":"'
SUFFIXES = ['"},"finish_reason":null}]}', '"}}],"obfuscation":"abc"}', '"},"x":1}]}', '"},"finish_reason":"stop"}]}']
TEXTS = [
    "a",
    "",
    "é😀",
    'quote\\"',
    "back\\\\",
    '","refusal":"no',
    "raw\tcontrol",
    "\\u0041",
    "\\ud800",
    'x"}}],"obfuscation":"y',
    "line\u2028end",
]


def streams(seed: int) -> list[bytes]:
    chance = random.Random(seed)
    chunks = [PREFIX + chance.choice(TEXTS) + chance.choice(SUFFIXES[: chance.randint(1, 4)]) for _ in range(40)]
    return [f"data: {chunk}\n\n".encode() for chunk in chunks]


@pytest.mark.parametrize("seed", range(50))
def test_chunks_alike_mean_the_same_as_to_the_reference(core: Engine, reference: Engine, seed: int) -> None:
    ours, theirs = outcome(core, streams(seed)), outcome(reference, streams(seed))
    assert [repr(event) for event in ours.events] == [repr(event) for event in theirs.events]


def test_a_chunk_that_only_looks_like_the_last_is_read_in_full(core: Engine) -> None:
    alike = [PREFIX + text + SUFFIXES[0] for text in ("one", '","refusal":"no', "two")]
    state = outcome(core, [f"data: {chunk}\n\n".encode() for chunk in alike]).state
    assert [(block.type, block.content) for block in state.blocks] == [
        ("content", "one"),
        ("refusal", "no"),
        ("content", "two"),
    ]


def test_noise_may_differ_and_says_nothing(core: Engine) -> None:
    noisy = [PREFIX + "a" + f'"}}}}],"obfuscation":{json.dumps(noise)}}}' for noise in ("x", "yz", 'q"uote', "")]
    assert outcome(core, [f"data: {chunk}\n\n".encode() for chunk in noisy]).state.blocks[0].content == "aaaa"
