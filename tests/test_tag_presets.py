"""Each preset reads what its models write, piece by piece, and the page about tags says what is true."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock import TagVocabulary
from penstock.vocabularies import PRESETS
from tagged import read, shapes
from test_docs import BLOCK, output_of

if TYPE_CHECKING:
    from feeding import Engine
    from tagged import Shape

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "tags.md").read_text(encoding="utf-8")

ARGUMENTS = '{"city": "Paris", "days": 3}'
CALL = ("tool_call", "forecast", ARGUMENTS)
THOUGHT = ("thinking", "In Paris?")
SEEN: list[Shape] = [THOUGHT, ("text", "Let me see."), CALL]


def typed(days: str) -> Shape:
    return "tool_call", "forecast", f'{{"city":"Paris","days":{days}}}'


INVOKE = """
<invoke name="forecast">
<parameter name="city">Paris</parameter>
<parameter name="days">3</parameter>
</invoke>
"""
PREFIXED = re.sub(r"(</?)", r"\1ns:", INVOKE.lstrip())
FUNCTION = """
<function=forecast>
<parameter=city>
Paris
</parameter>
<parameter=days>
3
</parameter>
</function>
"""
JSON = '{"name": "forecast", "arguments": {"city": "Paris", "days": 3}}'
DSML = """
<｜DSML｜invoke name="forecast">
<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>
<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>
</｜DSML｜invoke>
"""

EXAMPLES: dict[str, list[tuple[str, list[Shape]]]] = {
    "claude-xml": [
        (
            f"<thinking>In Paris?</thinking>Let me see.<function_calls>{INVOKE}</function_calls>",
            [*SEEN[:2], typed("3")],
        ),
        (
            f"<ns:thinking>In Paris?</ns:thinking>Let me see.{PREFIXED}",
            [*SEEN[:2], typed("3"), ("text", "\n")],
        ),
    ],
    "think": [("<think>In Paris?</think>Let me see.", SEEN[:2])],
    "think-any": [
        ("<reasoning>In Paris?</reasoning>Let me see.", SEEN[:2]),
        ("◁think▷In Paris?◁/think▷Let me see.", SEEN[:2]),
        (
            "<|begin_of_thought|>In Paris?<|end_of_thought|><|begin_of_solution|>Let me see.<|end_of_solution|>",
            SEEN[:2],
        ),
    ],
    "hermes": [(f"<think>In Paris?</think>Let me see.<tool_call>\n{JSON}\n</tool_call>", SEEN)],
    "qwen3-coder": [
        (f"<think>In Paris?</think>Let me see.<tool_call>{FUNCTION}</tool_call>", [*SEEN[:2], typed('"3"')]),
        (f"<think>In Paris?</think>Let me see.{FUNCTION.strip()}", [*SEEN[:2], typed('"3"')]),
    ],
    "seed-oss": [
        (
            f"<seed:think>In Paris?</seed:think>Let me see.<seed:tool_call>{FUNCTION}</seed:tool_call>",
            [*SEEN[:2], typed('"3"')],
        )
    ],
    "glm": [
        (
            (
                f"<think>In Paris?</think>Let me see.<tool_call>forecast{line}<arg_key>city</arg_key>{line}<arg_value>Paris</arg_value>"
                f"{line}<arg_key>days</arg_key>{line}<arg_value>3</arg_value>{line}</tool_call>"
            ),
            [*SEEN[:2], typed("3")],
        )
        for line in ("\n", "")
    ],
    "minimax-m2": [
        (
            f"<think>In Paris?</think>Let me see.<minimax:tool_call>{INVOKE}</minimax:tool_call>",
            [*SEEN[:2], typed('"3"')],
        )
    ],
    "deepseek-v3": [
        (
            (
                "<think>In Paris?</think>Let me see.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>forecast\n"
                f"```json\n{ARGUMENTS}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
            ),
            SEEN,
        )
    ],
    "deepseek-v3.1": [
        (
            (
                "<think>In Paris?</think>Let me see.<｜tool▁calls▁begin｜>"
                f"<｜tool▁call▁begin｜>forecast<｜tool▁sep｜>{ARGUMENTS}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
            ),
            SEEN,
        )
    ],
    "deepseek-v3.2": [
        (f"<think>In Paris?</think>Let me see.<｜DSML｜{name}>{DSML}</｜DSML｜{name}>", [*SEEN[:2], typed("3")])
        for name in ("function_calls", "tool_calls")
    ],
    "kimi-k2": [
        (
            (
                "<think>In Paris?</think>Let me see.<|tool_calls_section_begin|><|tool_call_begin|>functions.forecast:0"
                f"<|tool_call_argument_begin|>{ARGUMENTS}<|tool_call_end|><|tool_calls_section_end|>"
            ),
            SEEN,
        )
    ],
    "mistral": [
        (f"[THINK]In Paris?[/THINK]Let me see.[TOOL_CALLS]{call}", SEEN)
        for call in (f"forecast[ARGS]{ARGUMENTS}", f"forecast[CALL_ID]abc[ARGS]{ARGUMENTS}", f"[{JSON}]")
    ],
    "cohere": [
        (
            (
                "<|START_THINKING|>In Paris?<|END_THINKING|><|START_RESPONSE|>Let me see.<|END_RESPONSE|><|START_ACTION|>[\n"
                f'    {{"tool_call_id": "0", "tool_name": "forecast", "parameters": {ARGUMENTS}}}\n]<|END_ACTION|>'
            ),
            SEEN,
        )
    ],
    "gpt-oss": [
        (
            (
                "<|channel|>analysis<|message|>In Paris?<|end|><|start|>assistant<|channel|>commentary<|message|>Let me see.<|end|>"
                f"<|start|>assistant{call}{ARGUMENTS}<|call|>"
            ),
            SEEN,
        )
        for call in (
            "<|channel|>commentary to=functions.forecast <|constrain|>json<|message|>",
            "<|channel|>commentary to=functions.forecast<|message|>",
            " to=functions.forecast<|channel|>commentary json<|message|>",
        )
    ],
}


def test_every_preset_has_an_example() -> None:
    assert EXAMPLES.keys() == PRESETS.keys()


@pytest.mark.parametrize(
    ("name", "text", "blocks"), [(name, *example) for name, examples in EXAMPLES.items() for example in examples]
)
@pytest.mark.parametrize("size", [1, 4, 1000])
def test_a_preset_reads_what_its_models_write(
    engine: Engine, name: str, text: str, blocks: list[Shape], size: int
) -> None:
    result = read(engine, [text[at : at + size] for at in range(0, len(text), size)], name, strict=True)
    assert shapes(result) == blocks
    assert all(block.arguments_complete for block in result.state.blocks if block.type == "tool_call")


@pytest.mark.parametrize("name", PRESETS)
def test_the_opening_tag_of_thinking_may_be_in_the_prompt(engine: Engine, name: str) -> None:
    opening, closing = PRESETS[name].thinking[0]
    assert shapes(read(engine, f"x{closing}y", replace(PRESETS[name], prefill=opening))) == [
        ("thinking", "x"),
        ("text", "y"),
    ]


# The page.


def rows(title: str, table: int = 0) -> list[list[str]]:
    """The rows of a table under a heading."""
    section = PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    tables = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)
    lines = tables[table].splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def quoted(cell: str) -> list[str]:
    """What stands in backticks."""
    return [text.replace("\\|", "|") for text in re.findall(r"`([^`]+)`", cell)]


def test_the_page_lists_the_presets() -> None:
    assert [quoted(row[0])[0] for row in rows("Presets")] == list(PRESETS)


@pytest.mark.parametrize("row", rows("Presets"), ids=lambda row: row[0].strip("`"))
def test_a_row_of_the_presets_is_true(engine: Engine, row: list[str]) -> None:
    (name,), openings = quoted(row[0]), quoted(row[2])
    assert openings == [opening for opening, _ in PRESETS[name].thinking][: len(openings)]
    examples = [each for each in quoted(row[3]) if each.endswith(("|>", ">", "}", "]")) and "f" in each and "k" in each]
    for text in examples:
        if text.endswith("<｜tool▁sep｜>f") or text == "<function_results>":
            continue
        (call,) = read(engine, text, name, strict=True).state.blocks
        assert (call.name, call.arguments.replace(" ", "")) == ("f", '{"k":"v"}')


def test_the_page_lists_the_options() -> None:
    named = [name for row in rows("Options") for name in quoted(row[0])]
    assert ["name", *named] == [each.name for each in fields(TagVocabulary)]


def test_the_page_lists_the_defaults() -> None:
    plain = TagVocabulary("plain")
    for names, default, _ in rows("Options"):
        for name in quoted(names):
            value = getattr(plain, name)
            shown = (value or None) if isinstance(value, str) and value else None
            assert shown is None or f"`{shown}`" in default, name


@pytest.mark.parametrize(
    "block", [pytest.param(each, id=str(number)) for number, each in enumerate(BLOCK.finditer(PAGE))]
)
def test_the_page_runs_as_printed(block: re.Match[str]) -> None:
    assert output_of("-c", block["code"]) == (block["output"] or "")
