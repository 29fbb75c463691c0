"""The threats that are translation's own: T-01 to T-07, and separators in what is written (W-04)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from translating import CHAT, FORMATS, MESSAGES, RESPONSES, legally, said
from wire import call, delta, finish, sse, text

every_target = pytest.mark.parametrize("target", FORMATS)
END = finish("tool_calls")


def test_t_01_what_has_no_counterpart_is_counted_and_not_turned_into_text() -> None:
    items = [text("a"), delta(annotations=[{"url": "c0de"}]), delta(audio={"data": "c0de"}), finish()]
    for target in (MESSAGES, RESPONSES):
        result = legally(items, CHAT, target)
        assert result.translator.losses == {"audio": 1, "annotations": 1}
        assert b"c0de" not in result.data


def test_t_01_every_loss_that_can_be_counted_has_a_row() -> None:
    page = (Path(__file__).parent.parent / "docs" / "translation.md").read_text(encoding="utf-8")
    for loss in (
        "audio",
        "image",
        "unknown",
        "logprobs",
        "annotations",
        "citations",
        "signature",
        "choice",
        "envelope",
    ):
        assert f"| `{loss}` |" in page


def test_t_02_a_length_is_a_length_whatever_was_called() -> None:
    items = [call("{}", index=0, id="call_1", name="ls"), finish("length")]
    assert legally(items, CHAT, MESSAGES).state.native_finish_reason == "max_tokens"
    assert legally(items, CHAT, RESPONSES).state.native_finish_reason == "max_output_tokens"


@every_target
def test_t_02_a_reason_that_nobody_knows_is_an_error(target: str) -> None:
    assert legally([text("a"), finish("weather")], CHAT, target).translator.failure is not None


@every_target
def test_t_03_calls_are_numbered_by_one_counter_whatever_numbers_they_came_with(target: str) -> None:
    items = [call("{}", index=0, id=f"call_{name}", name=name) for name in "abc"]
    result = legally([*items, END], CHAT, target)
    assert [(block.index, block.name) for block in result.blocks] == [(0, "a"), (1, "b"), (2, "c")]


@every_target
def test_t_04_an_id_that_the_target_would_refuse_is_replaced_and_can_be_told_back(target: str) -> None:
    came = ["functions.ls:0", "x" * 200, "call_ok"]
    items = [call("{}", index=at, id=name, name="ls") for at, name in enumerate(came)]
    result = legally([*items, END], CHAT, target)
    written_ids = [block.id for block in result.blocks]
    assert [result.translator.ids[each] for each in written_ids] == came
    assert len(set(written_ids)) == 3
    if target != CHAT:
        assert all(len(each) <= 64 and "." not in each for each in written_ids)


@every_target
@pytest.mark.parametrize("empty", ["", "{}", "null", None])
def test_t_05_empty_arguments_have_one_form(target: str, empty: str | None) -> None:
    first = legally([call("{}", index=0, id="call_1", name="ls"), END], CHAT, target)
    other = legally([call(empty, index=0, id="call_1", name="ls"), END], CHAT, target)
    assert said(other.state, target, is_native=False) == said(first.state, target, is_native=False)


FRAMING = [
    '\n\ndata: {"choices":[{"index":0,"delta":{"tool_calls":[]}}]}\n\n',
    "\r\n\r\nevent: message_stop\r\ndata: {}\r\n\r\n",
    "\rdata: [DONE]\r\r",
    "a\u2028b\u2029c\u0085d\u000be\u000cf\u001cg",
    '"\\\u0000\u001f\ufeff',
]


@every_target
@pytest.mark.parametrize("content", FRAMING, ids=range(len(FRAMING)))
def test_t_06_text_that_looks_like_framing_stays_text(content: str, target: str) -> None:
    arguments = json.dumps({"a": content}, ensure_ascii=False)
    items = [
        delta(reasoning_content=content),
        text(content),
        call(arguments, index=0, id="call_1", name="ls"),
        END,
    ]
    result = legally([sse(*items)], CHAT, target)
    thinking, shown, called = result.blocks
    assert (thinking.content, shown.content, json.loads(called.arguments)) == (content, content, {"a": content})


@every_target
def test_w_04_no_line_of_what_is_written_can_be_ended_by_its_content(target: str) -> None:
    items = [text(FRAMING[3]), call(json.dumps({"a": FRAMING[3]}, ensure_ascii=False), index=0, id="c", name="ls"), END]
    lines = legally([sse(*items)], CHAT, target).data.decode().split("\n")
    assert [line for line in lines if len(line.splitlines()) > 1] == []


def test_t_07_what_a_target_cannot_take_is_still_in_the_blocks_of_the_source() -> None:
    # The gate judges blocks before they are written, so that no loss can hide a call.
    items = [text("a"), call("{}", index=0, id="c", name="ls", choice=1), finish(), finish("tool_calls", 1)]
    result = legally(items, CHAT, MESSAGES)
    assert result.translator.losses == {"choice": 1}
    assert b"ls" not in result.data
