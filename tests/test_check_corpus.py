"""Recorded streams keep the grammar, but for kinds of findings that are listed with their reasons."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from recorded import Recording, of_others

if TYPE_CHECKING:
    from penstock import Report

# What real streams break, and why. A number in a message stands for any.
CUT_BY_THE_RECORDER = "the recorder kept no blank line after the last event"
GATEWAY_DONE = "gateways add the terminator of chat"
AFTER_THE_END = (
    "gateways send a ping of their own, and the vendor says an error twice: as `error`, then as `response.failed`"
)
OWN_IDS = "gateways make a new id for each event, or for the last one"
OLD = "from before the field was there"
KINDS = {
    "anthropic_messages": {
        ("T3", "[DONE] is not of this format"): GATEWAY_DONE,
        ("T4", "the last event does not end with a blank line"): CUT_BY_THE_RECORDER,
        ("A2", "message.stop_reason is missing"): "a local server leaves nulls out",
        ("A2", "message.stop_sequence is missing"): "a local server leaves nulls out",
        ("A7", "content_block.signature is missing"): "a local server does not sign",
        ("A7", "content_block.input must be {} at the start of a tool_use"): "a call that code has made is given whole",
        ("A10", "usage.input_tokens sinks"): "counts start again after a compaction",
        ("A10", "usage.cache_read_input_tokens sinks"): "counts start again after a compaction",
    },
    "openai_responses": {
        ("T1", "the name of an event is not its type"): "gateways leave the names out",
        ("T3", "[DONE] is not of this format"): GATEWAY_DONE,
        ("T5", "response.output_text.delta.logprobs is missing"): OLD,
        ("T5", "response.output_text.done.logprobs is missing"): OLD,
        ("T5", "error.message is missing"): "the vendor wraps an error that comes before its time",
        ("R1", "the id of the response changes"): OWN_IDS,
        ("R2", "an event has no sequence_number"): OLD,
        ("R3", "the item_id of an event is not the id of the item at its output_index"): OWN_IDS,
        ("R3", "the type or the id of an item is another when it is done"): OWN_IDS,
        ("R3", "an item has the output_index N and not N"): "a recording that lacks events",
        ("R6", "function_call_arguments.done does not have the name of its call"): OLD,
        ("R7", "the last output has N items, and N were done"): "the last event repeats nothing",
        ("R7", "response.output[N] is not the item as it was done"): OWN_IDS,
        ("R7", "function_call_arguments.done is not what was streamed"): "arguments that only the done has",
        ("R7", "output_text.done is not what was streamed"): "a recording that lacks events",
        ("R8", "an item is done before its tool is completed or failed"): "a search that is cut short",
        ("R8", "an event of mcp_call is out of turn"): "a call after its approval does not begin again",
        ("R9", "an event comes after the end"): AFTER_THE_END,
    },
}
REAL = of_others("anthropic_messages/*", "openai_responses/*")


def report_of(recording: Recording) -> Report:
    form: Any = recording.path.parent.name
    stream = recording.data if recording.is_sse else [json.loads(line) for line in recording.lines]
    return penstock.check(stream, form)


def kinds(report: Report) -> set[tuple[str, str]]:
    return {(finding.rule, re.sub(r"\d+", "N", finding.message)) for finding in report}


@pytest.mark.parametrize("recording", REAL, ids=str)
def test_a_recorded_stream_breaks_nothing_but_what_is_known(recording: Recording) -> None:
    report = report_of(recording)
    assert kinds(report) - KINDS[report.format].keys() == set()
    assert report.ended in ("finished", "error")


@pytest.mark.parametrize("recording", REAL, ids=str)
def test_the_format_of_a_recorded_stream_is_told(recording: Recording) -> None:
    stream = recording.data if recording.is_sse else [json.loads(line) for line in recording.lines]
    assert penstock.check(stream).format == recording.path.parent.name


# The vendor's own chat streams are what the shape of chat was taken from.
@pytest.mark.parametrize("recording", of_others("openai_chat/openai-gpt-4*.sse"), ids=str)
def test_the_vendors_own_chat_streams_keep_the_shape(recording: Recording) -> None:
    assert kinds(penstock.check(recording.data, "openai_chat")) <= {
        ("T4", "the last event does not end with a blank line")
    }
