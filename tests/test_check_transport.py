"""The bytes of a stream: framing, names, JSON; and what is no stream at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

import penstock
from mutations import STREAMS, rules, sse
from wire import frame

TEXT = sse("anthropic_messages", STREAMS["anthropic_messages"]["text"])
PING = frame('{"type": "ping"}', "ping")
SECRET = "hunter2"


def found(data: bytes, form: str = "anthropic_messages") -> list[str]:
    return [str(finding) for finding in penstock.check(data, form)]


@pytest.mark.parametrize(
    ("rule", "extra"),
    [
        ("T1", frame('{"type": "ping"}')),
        ("T1", frame('{"type": "ping"}', "pong")),
        ("T1", frame('{"type": "ping"}', "content_block_start")),
        ("T2", frame("ping", "ping")),
        ("T2", frame('{"type": "ping"', "ping")),
        ("T2", frame('["ping"]', "ping")),
        ("T2", frame('{"type": "ping"} {"type": "ping"}', "ping")),
        ("T2", frame('{"type": "ping"}\ndata: {"type": "ping"}', "ping")),
        ("T2", frame('{"type": "pong", "type": "ping"}', "ping")),
        ("T2", frame('{"type": "ping", "t\\u0079pe": "pong"}', "ping")),
        ("T2", frame('{"type": "ping", "n": NaN}', "ping")),
        ("T2", frame('{"type": "ping", "n": 1e400}', "ping")),
        ("T2", frame('{"type": "ping", "n": "\\ud800"}', "ping")),
        ("T2", frame('{"type": "ping", "n": ' + "[" * 100_000 + "]" * 100_000 + "}", "ping")),
        ("T2", frame("[DONE] ", "ping")),
        ("T2", frame(" [DONE]", "ping")),
        ("T3", frame("[DONE]")),
        ("T4", PING.replace(b"ping", b"p\0ng", 1)),
        ("T4", frame('{"type": "ping", "n": "?"}', "ping").replace(b"?", b"\xff")),
        ("T4", b"\xef\xbb\xbf" + PING),
        ("T4", b"error: no\n" + PING),
        ("T4", b"event: ping\n\n"),
    ],
)
def test_an_event_that_is_not_framed_or_written_as_it_should_is_found(rule: str, extra: bytes) -> None:
    (start, _, rest) = TEXT.partition(b"\n\n")
    report = penstock.check(start + b"\n\n" + extra + rest, "anthropic_messages")
    assert rule in rules(report)
    assert rules(report) <= {rule, "T1"}
    assert all(finding.event == 1 for finding in report)


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + TEXT,
        TEXT.replace(b"\n", b"\r\n"),
        TEXT.replace(b"\n", b"\r"),
        TEXT.replace(b"data: ", b"data:"),
        b": hello\n\n" + TEXT + b": goodbye\n\n",
        b"id: 1\nretry: 5\n" + TEXT,
        b"retry: 5\n\n" + TEXT,
        TEXT.replace(b'"type": "message_stop"', b'"type":\ndata: "message_stop"'),
        TEXT.replace(b"High ", "caf\u00e9 \u2028 \u0085 ".encode()),
        TEXT.replace(b"High ", b"\\ud83d\\ude00"),
    ],
)
def test_whatever_server_sent_events_allow_is_allowed(data: bytes) -> None:
    assert found(data) == []


def test_a_last_event_without_its_blank_line_is_found_and_still_read() -> None:
    assert found(TEXT.removesuffix(b"\n")) == ["event 6: T4: the last event does not end with a blank line"]


def test_a_stream_that_is_cut_anywhere_is_never_legal() -> None:
    for form in STREAMS:
        data = sse(form, STREAMS[form]["text"])
        for cut in range(len(data)):
            report = penstock.check(data[:cut], form)
            assert report, (form, cut)
            is_whole = data[:cut].rstrip(b"\n") == data.rstrip(b"\n")
            assert report.ended == ("finished" if is_whole else "truncated"), (form, cut)


def test_no_finding_says_anything_of_the_content() -> None:
    for form, streams in STREAMS.items():
        for events in streams.values():
            for place, event in enumerate(events):
                spoilt = json.loads(json.dumps(event), object_pairs_hook=_spoilt)
                data = sse("openai_chat", [*events[:place], spoilt, *events[place + 1 :]])
                assert SECRET not in "".join(found(data, form))


def _spoilt(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {SECRET: SECRET, **{name: SECRET if isinstance(value, str) else value for name, value in pairs}}


@pytest.mark.parametrize("value", [None, 1, "text", [], {}, {"a": 1}, [1], True, -1, 1.5])
def test_whatever_stands_where_something_else_should_is_judged_and_never_raises(value: Any) -> None:
    for form, streams in STREAMS.items():
        for events in streams.values():
            for place, event in enumerate(events):
                for spoilt in _with(event, value):
                    penstock.check([*events[:place], spoilt, *events[place + 1 :]], form)


def _with(whole: Any, value: Any) -> list[Any]:
    """Copies of a value, each with another in one place."""
    if isinstance(whole, dict):
        return [value, *({**whole, name: each} for name in whole for each in _with(whole[name], value))][
            not isinstance(value, dict) :
        ]
    if isinstance(whole, list):
        return [
            value,
            *([*whole[:at], each, *whole[at + 1 :]] for at in range(len(whole)) for each in _with(whole[at], value)),
        ]
    return [value]


# What is no stream.


@pytest.mark.parametrize("stream", ["text", {"type": "ping"}, 5, None, [5], [("a", "b")], [b"", "text"]])
def test_what_is_not_a_stream_is_refused(stream: Any) -> None:
    with pytest.raises(TypeError, match=r"expected|bytes"):
        penstock.check(stream, "openai_chat")


@pytest.mark.parametrize("form", ["openai", "", None])
def test_a_format_that_is_not_known_is_refused(form: Any) -> None:
    with pytest.raises(ValueError, match="the format must be one of openai_chat, anthropic_messages, openai_responses"):
        penstock.check(b"", form)


@pytest.mark.parametrize("stream", [b"", [], b"<html>", frame("{}"), frame('{"type": 5}'), b": hello\n\n"])
def test_a_format_that_cannot_be_told_is_asked_for(stream: Any) -> None:
    with pytest.raises(ValueError, match="the format cannot be told"):
        penstock.check(stream)


@pytest.mark.parametrize("form", ["openai_chat", "anthropic_messages", "openai_responses"])
def test_a_stream_without_events_is_truncated(form: Any) -> None:
    for stream in (b"", [], [b"", b""], b": hello\n\n"):
        report = penstock.check(stream, form)
        assert (len(report), report.ended) == (1, "truncated")
