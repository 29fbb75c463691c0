"""Legal streams are found legal in every form, the official SDKs read them, and an event missing, doubled or out of turn is noticed."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anthropic
import openai
import pytest

import anthropic_sdk
import chat_sdk
import penstock
import responses_sdk
import test_check_chat
import test_check_messages
import test_check_responses
from legal import assert_legal
from mutations import STREAMS, ends_in_error, every_stream, is_done_due, sse
from penstock.grammar.rules import PERMISSIONS, PROMISES, RULES
from splits import SPLITS

if TYPE_CHECKING:
    from mutations import Event

PAGE = (Path(__file__).parent.parent / "docs" / "grammar.md").read_text(encoding="utf-8")
BROKEN_IN_BYTES = {"T1", "T2", "T3", "T4", "C10", "C12"}


# In every form.


@every_stream
def test_a_legal_stream_is_legal_in_every_form(form: str, name: str) -> None:
    events = STREAMS[form][name]
    data = sse(form, events)
    named = [(each.get("type", ""), each) for each in events] + ["[DONE]"] * is_done_due(form, events)
    for stream in (data, bytearray(data), memoryview(data), *(split(data) for split in SPLITS), events, named):
        report = assert_legal(stream if isinstance(stream, list) else bytes(stream), form)
        assert report.ended == ("error" if ends_in_error(form, name) else "finished")


@every_stream
def test_the_format_is_told_from_the_first_event(form: str, name: str) -> None:
    assert penstock.check(sse(form, STREAMS[form][name])).format == form


@every_stream
def test_a_legal_stream_that_is_cut_after_any_event_is_truncated(form: str, name: str) -> None:
    data = sse(form, STREAMS[form][name])
    frames = [each + b"\n\n" for each in data.split(b"\n\n")[:-1]]
    for count in range(len(frames)):
        report = penstock.check(b"".join(frames[:count]), form)
        assert report.ended == "truncated"
        assert {"anthropic_messages": "A12", "openai_responses": "R9", "openai_chat": "C12"}[form] in {
            finding.rule for finding in report
        }


def test_a_failure_shows_the_findings_and_the_events_around_them() -> None:
    events = STREAMS["anthropic_messages"]["text"]
    with pytest.raises(AssertionError) as failure:
        assert_legal([*events[:3], events[1], *events[3:]], "anthropic_messages")
    shown = str(failure.value)
    assert "event 3: A3: a block has the index 0 and not 1" in shown
    assert re.search(r">    3 .*content_block_start", shown)
    assert re.search(r"\n     2 .*High", shown)


# As the official SDKs read them.

READERS: dict[str, Any] = {
    "anthropic_messages": anthropic_sdk.read,
    "openai_chat": chat_sdk.read,
    "openai_responses": responses_sdk.read,
}


# Its models complain when they write down what they have no name for.
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@every_stream
def test_the_official_sdk_reads_a_legal_stream(form: str, name: str) -> None:
    data = sse(form, STREAMS[form][name])
    if not ends_in_error(form, name):
        assert READERS[form](data)
    elif form == "openai_responses":
        assert responses_sdk.events_of(data)[-1].type in ("error", "response.failed")
    else:
        with pytest.raises((anthropic.APIError, openai.APIError)):
            READERS[form](data)


# An event that is missing, doubled, or out of turn. In Responses all are numbered and texts are repeated; the others let this pass:

# Whatever a delta of these adds, nothing in the format says how much there must be. Of JSON, what is left may still be whole.
PIECES = frozenset(
    {
        *("text_delta", "thinking_delta", "signature_delta", "citations_delta", "compaction_delta", "input_json_delta"),
        "hologram_delta",
    }
)
# These may come anywhere, any number of times, or not at all; so may a chat chunk without choices that has no usage.
FREE = frozenset({"ping", "weather", "response.hologram.lit"})
# These may be left out.
OPTIONAL = frozenset(
    {
        "response.queued",
        "response.web_search_call.searching",
        "response.code_interpreter_call.interpreting",
        "response.image_generation_call.generating",
        "response.image_generation_call.partial_image",
    }
)
# Counts are cumulative, so the same once more says nothing new.
REPEATABLE = frozenset({"message_delta"})


def is_piece(event: Event) -> bool:
    """Whether an event adds to a text and says nothing else."""
    match event:
        case {"delta": {"type": kind}}:
            return kind in PIECES
        case {"choices": [{"delta": delta, "finish_reason": None}]}:
            starts = any("id" in call for call in delta.get("tool_calls", ()))
            return "role" not in delta and not starts
        case _:
            return False


def is_free(event: Event) -> bool:
    """Whether an event may come anywhere."""
    return event.get("type") in FREE or (event.get("choices") == [] and "usage" not in event)


def is_noticed(form: str, *events: Event) -> bool:
    return bool(penstock.check(sse(form, list(events)), form))


@every_stream
def test_an_event_that_is_missing_is_noticed(form: str, name: str) -> None:
    events = STREAMS[form][name]
    # An error may come at any time, so of what is before it nothing is missed.
    first = len(events) - 1 if ends_in_error(form, name) else 0
    for place, event in enumerate(events[first:], first):
        may_be_missing = event.get("type") in OPTIONAL or ("usage" in event and "choices" in event)
        if not (is_free(event) or is_piece(event) or may_be_missing):
            assert is_noticed(form, *events[:place], *events[place + 1 :]), event


@every_stream
def test_an_event_that_comes_twice_is_noticed(form: str, name: str) -> None:
    events = STREAMS[form][name]
    for place, event in enumerate(events):
        may_repeat = is_free(event) or is_piece(event) or event.get("type") in REPEATABLE
        if form == "openai_responses" or not may_repeat:
            assert is_noticed(form, *events[:place], event, *events[place:]), event


@every_stream
def test_events_out_of_turn_are_noticed(form: str, name: str) -> None:
    events = STREAMS[form][name]
    for place, (first, second) in enumerate(pairwise(events)):
        may_swap = is_free(first) or is_free(second) or (is_piece(first) and is_piece(second))
        if form == "openai_responses" or not (may_swap or take_turns(first, second)):
            assert is_noticed(form, *events[:place], second, first, *events[place + 2 :]), (first, second)


def take_turns(first: Event, second: Event) -> bool:
    """Whether two chat chunks are of different choices, which come in any order."""
    numbers = [[choice["index"] for choice in event.get("choices", ())] for event in (first, second)]
    return all(numbers) and numbers[0] != numbers[1]


# What is allowed.


@pytest.mark.parametrize("name", sorted(STREAMS["anthropic_messages"].keys() - {"error_first"}))
@pytest.mark.parametrize("kind", ["ping", "weather"])
def test_pings_and_unknown_events_may_come_anywhere_in_messages(name: str, kind: str) -> None:
    events = STREAMS["anthropic_messages"][name]
    begun = [0, *(place + 1 for place, event in enumerate(events) if event["type"] == "message_start")]
    for place in range(0 if kind == "ping" else begun[-1], len(events)):
        assert_legal([*events[:place], {"type": kind}, *events[place:]], "anthropic_messages")


@pytest.mark.parametrize("name", sorted(STREAMS["openai_responses"].keys() - {"error_first"}))
def test_unknown_events_may_come_anywhere_in_responses(name: str) -> None:
    events = STREAMS["openai_responses"][name]
    begun = [event["type"] for event in events].index("response.in_progress") + 1
    for place in range(begun, len(events)):
        assert_legal([*events[:place], {"type": "response.weather"}, *events[place:]], "openai_responses")


@pytest.mark.parametrize("form", ["anthropic_messages", "openai_responses"])
def test_an_unknown_block_or_item_is_numbered_like_all_others(form: str) -> None:
    events = [json.loads(json.dumps(event).replace("hologram", "poem")) for event in STREAMS[form]["unknown"]]
    assert_legal(events, form)
    field = "index" if form == "anthropic_messages" else "output_index"
    for event in events:
        if event.get(field) == 0:
            event[field] = 3
    assert {finding.rule for finding in penstock.check(events, form)} & {"A3", "R3"}


# The rules and their page.


def test_the_page_lists_the_rules_of_the_code() -> None:
    assert dict(re.findall(r"^\| ([TARC]\d+) \| (.*) \|$", PAGE, re.MULTILINE)) == dict(RULES)


def test_the_page_says_which_rules_allow_and_which_promise() -> None:
    allow, promise = re.search(r"under their numbers: ([^.]*)\..*without harm: ([^.]*)\.", PAGE, re.DOTALL).groups()
    assert set(allow.split(", ")) == PERMISSIONS
    assert set(promise.split(", ")) == PROMISES


def test_every_rule_that_can_be_broken_has_a_stream_that_breaks_it() -> None:
    modules = (test_check_messages, test_check_chat, test_check_responses)
    broken = {case[0] for module in modules for case in module.CASES}
    assert broken | BROKEN_IN_BYTES | PERMISSIONS == set(RULES)
    assert not broken & PERMISSIONS
