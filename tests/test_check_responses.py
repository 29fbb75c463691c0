"""Each rule of OpenAI Responses is found under its number when it alone is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from legal_responses import STREAMS
from mutations import broken, put, take_out, together

if TYPE_CHECKING:
    from collections.abc import Callable

    from responses import Event


def of(name: str, kind: str, nth: int = 0) -> int:
    """The position of an event in a stream, by its type without `response.`."""
    places = [at for at, event in enumerate(STREAMS[name]) if event["type"].removeprefix("response.") == kind]
    return places[nth]


def renumbered(change: Callable[[list[Event]], object]) -> Callable[[list[Event]], None]:
    """A change after which the sequence numbers are right again."""

    def changed(events: list[Event]) -> None:
        change(events)
        for number, event in enumerate(events):
            event["sequence_number"] = number

    return changed


def dropped(name: str, kind: str, nth: int = 0) -> tuple[str, Any]:
    """A stream without an event."""
    return name, renumbered(take_out(of(name, kind, nth)))


def moved(name: str, kind: str, behind: str) -> tuple[str, Any]:
    """A stream with an event behind a later one."""
    source, target = of(name, kind), of(name, behind)
    return name, renumbered(lambda events: events.insert(target, events.pop(source)))


def doubled(name: str, kind: str) -> tuple[str, Any]:
    """A stream with an event twice."""
    place = of(name, kind)
    return name, renumbered(lambda events: events.insert(place, {**events[place]}))


def changed(name: str, kind: str, *path: Any, to: Any) -> tuple[str, Any]:
    """A stream with another value in an event."""
    return name, put(of(name, kind), *path, to=to)


def without(name: str, kind: str, *path: Any) -> tuple[str, Any]:
    """A stream without a field of an event."""
    return name, take_out(of(name, kind), *path)


def everywhere(name: str, **fields: Any) -> tuple[str, Any]:
    """A stream with other values in all events that have them."""

    def change(events: list[Event]) -> None:
        for event in events:
            event.update({field: value for field, value in fields.items() if field in event})

    return name, change


ARGUMENTS = "function_call_arguments"
CASES = [
    ("R1", *dropped("text", "created")),
    ("R1", *dropped("text", "in_progress")),
    ("R1", *moved("queued", "queued", "in_progress")),
    ("R1", *doubled("text", "created")),
    ("R1", *doubled("text", "in_progress")),
    ("R1", *changed("text", "completed", "response", "id", to="resp_2")),
    ("R2", *without("text", "output_text.delta", "sequence_number")),
    ("R2", *changed("text", "output_text.delta", "sequence_number", to=0)),
    ("R2", *changed("text", "created", "sequence_number", to=None)),
    ("R2", "text", lambda events: [each.update(sequence_number=at + 1) for at, each in enumerate(events)]),
    ("R2", "text", lambda events: events.insert(5, {**events[5], "delta": ""})),
    ("R3", *everywhere("text", output_index=1)),
    ("R3", *changed("text", "output_text.delta", "output_index", to=7)),
    ("R3", *changed("text", "output_text.delta", "item_id", to="msg_7")),
    ("R3", *doubled("call", "output_item.done")),
    ("R4", *dropped("text", "content_part.added")),
    ("R4", *dropped("text", "content_part.done")),
    ("R4", *dropped("text", "output_text.done")),
    ("R4", *dropped("refusal", "refusal.done")),
    ("R4", *doubled("text", "output_text.done")),
    ("R4", *doubled("text", "content_part.done")),
    ("R4", *moved("text", "output_text.done", "content_part.done")),
    ("R4", *changed("two_parts", "content_part.added", "content_index", to=4)),
    ("R4", *changed("web_search", "output_text.annotation.added", "annotation_index", to=1)),
    ("R4", *changed("text", "content_part.added", "part", to={"type": "summary_text", "text": ""})),
    ("R5", *dropped("summaries", "reasoning_summary_part.added")),
    ("R5", *dropped("summaries", "reasoning_summary_part.done")),
    ("R5", *dropped("summaries", "reasoning_summary_text.done")),
    ("R5", *dropped("raw_reasoning", "reasoning_text.done")),
    ("R6", *dropped("call", f"{ARGUMENTS}.done")),
    ("R6", *without("call", f"{ARGUMENTS}.done", "name")),
    ("R6", *changed("call", f"{ARGUMENTS}.done", "name", to="rm")),
    ("R6", *doubled("call", f"{ARGUMENTS}.done")),
    ("R6", *moved("call", f"{ARGUMENTS}.delta", f"{ARGUMENTS}.done")),
    ("R6", *dropped("custom_tool", "custom_tool_call_input.done")),
    ("R6", *changed("custom_tool", "output_item.added", "item", "input", to="s")),
    ("R6", "call", put(of("call", "output_item.added", 1), "item", "arguments", to="{}")),
    ("R7", *dropped("text", "output_text.delta")),
    ("R7", *doubled("text", "output_text.delta")),
    ("R7", *dropped("call", f"{ARGUMENTS}.delta")),
    ("R7", *dropped("custom_tool", "custom_tool_call_input.delta")),
    ("R7", *dropped("summaries", "reasoning_summary_text.delta")),
    ("R7", *dropped("code_interpreter", "code_interpreter_call_code.delta")),
    ("R7", *dropped("mcp", "mcp_call_arguments.delta")),
    ("R7", *dropped("shell", "shell_call_command.delta")),
    ("R7", *dropped("web_search", "output_text.annotation.added", 1)),
    ("R7", *changed("text", "content_part.done", "part", "text", to="Low tide")),
    ("R7", *changed("text", "completed", "response", "output", to=[])),
    ("R7", *changed("text", "completed", "response", "output", 0, "content", 0, "text", to="Low tide")),
    ("R7", *changed("text", "completed", "response", "output", 0, "id", to="msg_7")),
    ("R7", *changed("encrypted", "completed", "response", "output", 0, "encrypted_content", to=None)),
    ("R8", *dropped("web_search", "web_search_call.in_progress")),
    ("R8", *dropped("web_search", "web_search_call.completed")),
    ("R8", *doubled("web_search", "web_search_call.completed")),
    ("R8", *moved("web_search", "web_search_call.in_progress", "web_search_call.searching")),
    ("R8", *moved("web_search", "web_search_call.searching", "web_search_call.completed")),
    ("R8", *changed("text", "output_text.delta", "type", to="response.web_search_call.searching")),
    ("R8", *dropped("mcp", "mcp_call.completed")),
    ("R8", *dropped("mcp", "mcp_call_arguments.done")),
    ("R8", *dropped("code_interpreter", "code_interpreter_call_code.done")),
    ("R9", *dropped("text", "completed")),
    ("R9", *doubled("text", "completed")),
    ("R9", *doubled("error", "error")),
    ("R9", "failed", lambda events: events.append({"type": "ping"})),
    ("R9", *changed("text", "completed", "response", "status", to="in_progress")),
    ("R9", *without("incomplete", "incomplete", "response", "incomplete_details")),
    ("R9", *changed("incomplete", "incomplete", "response", "incomplete_details", "reason", to="tired")),
    ("R9", *without("failed", "failed", "response", "error", "code")),
    ("R9", *without("failed", "failed", "response", "error")),
    ("A15", *changed("text", "completed", "response", "usage", "input_tokens_details", "cached_tokens", to=10)),
    ("T5", *without("text", "output_text.delta", "logprobs")),
    ("T5", *without("text", "output_text.done", "logprobs")),
    ("T5", *without("error", "error", "message")),
    ("T5", *without("text", "output_item.added", "item", "role")),
    ("T5", *without("text", "created", "response", "model")),
]
# What a change cannot help but break as well: text that is not taken is missing in what repeats it.
ALSO = {"R4": {"R7"}, "R5": {"R7"}, "R6": {"R7"}, "R3": {"R7"}, "R8": {"R7"}}


@pytest.mark.parametrize(
    ("rule", "name", "change"), [pytest.param(*case, id=f"{case[0]}-{i}") for i, case in enumerate(CASES)]
)
def test_a_stream_that_breaks_a_rule_is_found_under_its_number(
    rule: str, name: str, change: Callable[[list[Event]], object]
) -> None:
    found = broken("openai_responses", name, change)
    assert rule in found
    assert found <= {rule} | ALSO.get(rule, set())


def misplaced(item: dict[str, Any]) -> Callable[[list[Event]], None]:
    """A change that makes the first item of a stream another."""

    def change(events: list[Event]) -> None:
        for event in events:
            if event.get("output_index") == 0 and "item" in event:
                event["item"] = item
        events[-1]["response"]["output"][0] = item

    return change


SEARCH = {"type": "web_search_call", "id": "msg_0", "status": "completed"}


@pytest.mark.parametrize(
    ("rule", "name", "item"),
    [
        ("R4", "text", SEARCH),
        ("R4", "refusal", SEARCH),
        ("R5", "summaries", SEARCH | {"id": "rs_0"}),
        ("R6", "parallel_calls", SEARCH | {"id": "fc_1"}),
        ("R8", "mcp", SEARCH | {"id": "ht_0"}),
        ("R8", "shell", SEARCH | {"id": "ht_0"}),
    ],
)
def test_events_of_another_sort_of_item_are_found(rule: str, name: str, item: dict[str, Any]) -> None:
    assert rule in broken("openai_responses", name, misplaced(item))


def test_events_of_an_item_that_nobody_knows_are_let_pass() -> None:
    item = {"type": "hologram", "id": "msg_0"}
    assert broken("openai_responses", "text", misplaced(item)) == set()


def test_a_call_without_any_event_of_its_own_is_found() -> None:
    def change(events: list[Event]) -> None:
        events[:] = [event for event in events if ARGUMENTS not in event["type"]]

    assert broken("openai_responses", "call", change) == {"R6"}


# Both at once: the item that is done and the one that the last event repeats.
REPEATED = [
    ("R3", "id", "msg_7"),
    ("R7", "content", []),
]


@pytest.mark.parametrize(("rule", "field", "value"), REPEATED)
def test_an_item_that_is_done_is_compared_with_what_was_streamed(rule: str, field: str, value: Any) -> None:
    done = put(of("text", "output_item.done"), "item", field, to=value)
    last = put(of("text", "completed"), "response", "output", 0, field, to=value)
    assert broken("openai_responses", "text", together(done, last)) == {rule}


@pytest.mark.parametrize(("rule", "field"), [("R6", "name"), ("R6", "call_id"), ("R7", "arguments")])
def test_a_call_that_is_done_is_compared_with_what_was_streamed(rule: str, field: str) -> None:
    done = put(of("call", "output_item.done", 1), "item", field, to="other")
    last = put(of("call", "completed"), "response", "output", 1, field, to="other")
    assert broken("openai_responses", "call", together(done, last)) == {rule}


def test_an_item_that_is_not_done_is_found_at_the_end() -> None:
    drop = renumbered(take_out(of("text", "output_item.done")))
    empty = put(-1, "response", "output", to=[])
    assert broken("openai_responses", "text", together(drop, empty)) == {"R3"}


def test_an_item_that_was_not_added_is_found_at_each_event_that_names_it() -> None:
    found = broken("openai_responses", "text", renumbered(take_out(of("text", "output_item.added"))))
    assert found == {"R3", "R7"}
