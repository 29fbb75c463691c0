"""The two example conversations, call for call, whatever form they come in."""

from __future__ import annotations

import pytest

from reader_forms import HALVES, QUERY, THINKING, THINKING_FORMS, TOOL_FORMS, Form, per_engine, tool_trace
from reading import READERS, Heard, check


@pytest.mark.parametrize("source", ["named", "told"])
@pytest.mark.parametrize(("engine", "form"), per_engine(THINKING_FORMS), ids=str)
def test_text_and_thinking_come_out_call_for_call(engine: str, form: Form, source: str) -> None:
    heard = Heard()
    reader = READERS[engine](heard.on_chunk, heard.on_block, source=form.source if source == "named" else "auto")
    for item in form.turns[0]:
        reader.feed(item)
    reader.flush()
    assert heard.items == THINKING
    check(heard.items)
    assert reader.source == form.source
    assert not reader.state.interrupted


@pytest.mark.parametrize("source", ["named", "told"])
@pytest.mark.parametrize(("engine", "form"), per_engine(TOOL_FORMS), ids=str)
def test_a_tool_that_is_called_and_answers_comes_out_call_for_call(engine: str, form: Form, source: str) -> None:
    heard = Heard()
    reader = READERS[engine](heard.on_chunk, heard.on_block, source=form.source if source == "named" else "auto")
    for turn, items in enumerate(form.turns):
        if turn:
            reader.tool_result("tool_123", "Results: ...")
        for item in items:
            reader.feed(item)
        reader.flush()
    assert heard.items == tool_trace(*([QUERY] if form.is_whole else HALVES))
    check(heard.items)
