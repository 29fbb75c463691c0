"""Whatever comes, it is judged: nothing raises, and the cost grows with the stream alone."""

from __future__ import annotations

import random
from typing import Any

import pytest

import penstock
from mutations import STREAMS
from test_check_bodies import BODIES

NAMES = ("text", "output_text", "refusal", "message", "reasoning", "function_call", "tool_use", "thinking", "[DONE]")
VALUES = (None, True, -1, 0, 2, 1.5, [], [1], {}, {"type": "x"}, [{"type": "x", "text": 5}], *NAMES)


class Spoiler:
    """Puts something else into a random place of a value."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def spoil(self, value: Any) -> Any:
        if not value or not isinstance(value, (dict, list)) or self.chance.random() < 0.25:
            return self.chance.choice(VALUES)
        place: Any = self.chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
        copy = value.copy()
        copy[place] = self.spoil(value[place])
        if self.chance.random() < 0.1:
            del copy[place]
        return copy

    def stream(self, streams: list[list[Any]]) -> list[Any]:
        events = list(self.chance.choice(streams))
        for _ in range(self.chance.randint(1, 6)):
            at = self.chance.randrange(len(events))
            spoilt = self.spoil(events[at])
            events[at] = spoilt if isinstance(spoilt, dict) else {}
            events.insert(at, self.chance.choice(self.chance.choice(streams)))
            if self.chance.random() < 0.3:
                del events[at]
        return events


@pytest.mark.parametrize("form", STREAMS)
@pytest.mark.parametrize("seed", range(5))
def test_a_spoilt_stream_is_judged(form: Any, seed: int) -> None:
    spoiler = Spoiler(seed)
    for _ in range(300):
        assert penstock.check(spoiler.stream(list(STREAMS[form].values())), form).format == form


@pytest.mark.parametrize("form", STREAMS)
@pytest.mark.parametrize("seed", range(5))
def test_a_spoilt_body_is_judged(form: Any, seed: int) -> None:
    spoiler = Spoiler(seed)
    for _ in range(300):
        body = spoiler.spoil(spoiler.spoil(BODIES[form]))
        assert penstock.check_body(body if isinstance(body, dict) else {}, form).format == form


def test_what_comes_after_the_end_is_one_finding() -> None:
    events = STREAMS["anthropic_messages"]["text"]
    assert [finding.event for finding in penstock.check([*events, *events * 100], "anthropic_messages")] == [7]
