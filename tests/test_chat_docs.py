"""The tables in docs/formats/openai_chat.md are true: each row is fed a minimal chunk, on both engines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from feeding import outcome
from wire import choice, chunk, delta, finish, part, text

if TYPE_CHECKING:
    from feeding import Engine

PAGE = Path(__file__).parent.parent / "docs" / "formats" / "openai_chat.md"


def rows(title: str) -> list[list[str]]:
    """The rows of the table under a heading, each cell without its backticks where it is one word."""
    section = PAGE.read_text().split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[re.sub(r"^`([^`]*)`$", r"\1", cell.strip()) for cell in line.strip("|").split("|")] for line in lines]


def names(title: str) -> list[str]:
    return [row[0] for row in rows(title)]


def state_of(engine: Engine, *chunks: dict[str, Any]) -> Any:
    result = outcome(engine, [*chunks])
    assert result.problems == []
    return result.state


USAGE = {"prompt_tokens": 3}
ENVELOPE: dict[str, tuple[list[dict[str, Any]], Any]] = {
    "id": ([chunk(id=""), chunk(id="a"), chunk(id="b")], lambda s: s.id == "a"),
    "model": ([chunk(model=""), chunk(model="a"), chunk(model="b")], lambda s: s.model == "a"),
    "created": ([chunk(created=0), chunk(created=1), chunk(created=2)], lambda s: s.extras == {"created": 1}),
    "object": ([chunk(object="chat.completion.chunk")], lambda s: s.extras == {}),
    "obfuscation": ([chunk(choice(obfuscation="x"), obfuscation="y")], lambda s: s.extras == {}),
    "usage": ([chunk(usage=USAGE)], lambda s: (s.usage.input_tokens, s.usage.raw) == (3, USAGE)),
    "x_groq": (
        [chunk(x_groq={"id": "r", "usage": USAGE})],
        lambda s: (s.usage.input_tokens, s.extras["x_groq"]["id"]) == (3, "r"),
    ),
    "error": ([chunk(error={"code": 1})], lambda s: s.error == {"code": 1}),
    "any other": ([chunk(tier="a"), chunk(tier="b")], lambda s: s.extras == {"tier": "b"}),
}
CHOICE: dict[str, tuple[list[dict[str, Any]], Any]] = {
    "index": (
        [chunk(choice({"content": "a"}, index=1)), {"choices": [{"delta": {"content": "b"}}]}],
        lambda s: [(block.choice, block.content) for block in s.blocks] == [(1, "a"), (0, "b")],
    ),
    "delta": ([text("a")], lambda s: s.blocks[0].content == "a"),
    "finish_reason": ([text("a"), finish()], lambda s: s.finish_reason == "stop" and s.blocks[0].is_complete),
    "logprobs": (
        [text("a"), *2 * [chunk(choice(logprobs={"content": []}))]],
        lambda s: s.blocks[0].extras == {"logprobs": 2 * [{"content": []}]},
    ),
    "message": (
        [text("a"), chunk(choice(message={"m": 1})), {"choices": [{"index": 0, "message": {"m": 2}}]}],
        lambda s: s.blocks[0].extras == {"message": [{"m": 2}]},
    ),
    "text": (
        [text("a"), chunk(choice(text="b")), {"choices": [{"index": 0, "text": "c"}]}],
        lambda s: s.blocks[0].extras == {"text": ["c"]},
    ),
    "any other": (
        [chunk(choice(seed=0)), text("a"), *2 * [chunk(choice(seed=1))]],
        lambda s: (s.extras, s.blocks[0].extras) == ({"seed": 0}, {"seed": [1]}),
    ),
}
DELTA: dict[str, tuple[Any, Any]] = {
    "role": ("assistant", lambda s: s.role == "assistant"),
    "content": ("a", lambda s: s.blocks[0].content == "a"),
    "refusal": ("a", lambda s: s.blocks[0].content == "a"),
    "thinking_blocks": (
        [{"type": "thinking", "thinking": "a", "signature": "s"}, {"type": "redacted_thinking", "data": "d"}],
        lambda s: (s.blocks[0].content, s.blocks[0].signature, s.blocks[0].data) == ("a", "s", "d"),
    ),
    "reasoning_details": (
        [
            {"type": "reasoning.text", "text": "a", "signature": "s"},
            {"type": "reasoning.summary", "summary": "b"},
            {"type": "reasoning.encrypted", "data": "d"},
            {"type": "reasoning.hologram"},
        ],
        lambda s: (
            [(block.content, block.signature, block.data, block.extras) for block in s.blocks]
            == [("a", "s", "", {}), ("b", "", "d", {"reasoning_details": [{"type": "reasoning.hologram"}]})]
        ),
    ),
    "reasoning_content": ("a", lambda s: s.blocks[0].content == "a"),
    "reasoning": ("a", lambda s: s.blocks[0].content == "a"),
    "tool_calls": ([part("{}", index=0, id="i", name="n")], lambda s: s.blocks[0].arguments == "{}"),
    "function_call": ({"name": "n", "arguments": "{}"}, lambda s: (s.blocks[0].id, s.quirks) == ("tc_0", {})),
    "audio": ({"id": "a"}, lambda s: (s.blocks[0].kind, s.blocks[0].raw) == ("audio", [{"id": "a"}])),
    "images": ([{"u": 1}, {"u": 2}], lambda s: [block.kind for block in s.blocks] == ["image", "image"]),
    "annotations": ([{"u": 1}, {"u": 2}], lambda s: s.extras == {"annotations": {"u": 2}}),
    "any other": ("a", lambda s: s.extras == {"hologram": "a"}),
}


@pytest.mark.parametrize("field", names("Envelope"))
def test_each_field_of_the_envelope_becomes_what_the_table_says(engine: Engine, field: str) -> None:
    chunks, holds = ENVELOPE[field]
    assert holds(state_of(engine, *chunks))


@pytest.mark.parametrize("field", names("Choice"))
def test_each_field_of_a_choice_becomes_what_the_table_says(engine: Engine, field: str) -> None:
    chunks, holds = CHOICE[field]
    assert holds(state_of(engine, *chunks))


@pytest.mark.parametrize(("field", "becomes", "cls"), rows("Delta"))
def test_each_field_of_a_delta_becomes_what_the_table_says(engine: Engine, field: str, becomes: str, cls: str) -> None:
    value, holds = DELTA[field]
    state = state_of(engine, delta(**{"hologram" if field == "any other" else field: value}))
    assert {type(block).__name__ for block in state.blocks} == ({cls} if cls else set())
    assert holds(state)


def test_reasoning_is_taken_from_the_first_field_of_the_table_that_has_text(engine: Engine) -> None:
    fields = [row[0] for row in rows("Delta") if row[2] == "ThinkingStreamBlock"]
    said: dict[str, Any] = {
        "thinking_blocks": [{"type": "thinking", "thinking": "thinking_blocks"}],
        "reasoning_details": [{"type": "reasoning.text", "text": "reasoning_details"}],
        "reasoning_content": "reasoning_content",
        "reasoning": "reasoning",
    }
    for at, first in enumerate(fields):
        (block,) = state_of(engine, delta(**{field: said[field] for field in reversed(fields[at:])})).blocks
        assert block.content == first


@pytest.mark.parametrize(("kind", "becomes", "cls"), rows("Content parts"))
def test_each_part_of_content_becomes_what_the_table_says(engine: Engine, kind: str, becomes: str, cls: str) -> None:
    kind = "hologram" if kind == "any other" else kind
    (block,) = state_of(engine, text([{"type": kind, kind: "a"}])).blocks
    assert type(block).__name__ == cls
    assert block.kind == kind if cls == "UnknownStreamBlock" else block.content == "a"


CALL: dict[str, tuple[dict[str, Any], Any]] = {
    "index": ({"index": 3}, lambda block: block.id == "tc_3"),
    "id": ({"index": 0, "id": "i"}, lambda block: block.id == "i"),
    "function": (
        {"index": 0, "id": "i", "function": {"name": "n", "arguments": {"x": 1}}},
        lambda block: (block.kind, block.name, block.arguments) == ("function", "n", '{"x":1}'),
    ),
    "custom": (
        {"index": 0, "id": "i", "type": "custom", "custom": {"name": "n", "input": "a"}},
        lambda block: (block.kind, block.name, block.arguments) == ("custom", "n", "a"),
    ),
    "any other": ({"index": 0, "id": "i", "hologram": 1}, lambda block: block.extras == {"hologram": [1]}),
}


@pytest.mark.parametrize("field", names("Tool calls"))
def test_each_field_of_a_tool_call_becomes_what_the_table_says(engine: Engine, field: str) -> None:
    element, holds = CALL[field]
    (block,) = state_of(engine, delta(tool_calls=[element])).blocks
    assert holds(block)


@pytest.mark.parametrize(("native", "reason"), rows("Finish reasons"))
def test_each_finish_reason_is_the_word_that_the_table_says(engine: Engine, native: str, reason: str) -> None:
    state = state_of(engine, text("a"), finish(native))
    assert (state.native_finish_reason, state.finish_reason) == (native, reason)


@pytest.mark.parametrize(
    ("title", "cases"), [("Envelope", ENVELOPE), ("Choice", CHOICE), ("Delta", DELTA), ("Tool calls", CALL)]
)
def test_the_tables_are_whole(title: str, cases: dict[str, Any]) -> None:
    assert names(title) == list(cases)
