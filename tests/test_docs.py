"""Every example runs: those in docstrings, those in the README and the other pages, and those in the folder of examples."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import penstock

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MODULES = ["penstock", *(each.name for each in pkgutil.walk_packages(penstock.__path__, "penstock."))]
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))

# A block of Python, and the output that is printed below it, if any.
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?", re.MULTILINE | re.DOTALL)
PATHS = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in PATHS}
BLOCKS = [
    pytest.param(each, id=f"{name}-line_{page.count(chr(10), 0, each.start()) + 1}")
    for name, page in PAGES.items()
    for each in BLOCK.finditer(page)
]


def output_of(*arguments: Any) -> str:
    """What a new interpreter prints, without a network."""
    environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONIOENCODING": "utf-8"}
    run = subprocess.run(  # noqa: S603 (this interpreter)
        [sys.executable, *arguments], capture_output=True, encoding="utf-8", env=environment, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    return run.stdout


@pytest.mark.parametrize("name", [each for each in MODULES if not each.endswith("__main__")])
def test_the_examples_in_docstrings_give_what_they_say(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_the_classes_that_users_start_from_have_examples() -> None:
    finder = doctest.DocTestFinder()
    for name in (
        "StreamProcessor",
        "StreamingContext",
        "StreamChunkAggregator",
        "aggregate",
        "BlockReader",
        "Policy",
        "judge",
        "TextRewriter",
    ):
        assert any(test.examples for test in finder.find(getattr(penstock, name))), name


@pytest.mark.parametrize("block", BLOCKS)
def test_a_page_runs_as_printed_and_prints_what_it_says(block: re.Match[str]) -> None:
    output = output_of("-c", block["code"])
    assert output == (block["output"] or "")


def test_the_readme_has_the_examples_that_it_promises() -> None:
    code = [block["code"] for block in BLOCK.finditer(README)]
    assert len(BLOCKS) == sum(page.count("```python") for page in PAGES.values())
    for promised in (
        "penstock.gate(",
        "StreamProcessor(on_chunk_callback=on_chunk)",
        "litellm.acompletion",
        "penstock.Translator(",
    ):
        assert any(promised in each for each in code)


def test_the_readme_leads_to_the_pages() -> None:
    assert {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")} <= set(links_of(README))


def links_of(page: str) -> list[str]:
    """Where a page links to, but for the web and itself."""
    return re.findall(r"\]\((?!https?:)([^)#]+)", page)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_every_link_leads_somewhere(path: Path) -> None:
    assert [link for link in links_of(path.read_text(encoding="utf-8")) if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_only_what_penstock_has(name: str) -> None:
    for dotted in re.findall(r"\bpenstock((?:\.[a-zA-Z_]+)+)", BLOCK.sub("", PAGES[name])):
        found: Any = penstock
        for part in dotted.strip(".").split("."):
            if not hasattr(found, part) and hasattr(found, "__path__"):
                importlib.import_module(f"{found.__name__}.{part}")
            found = getattr(found, part)


def test_the_readme_names_what_a_reader_is_told_to_take() -> None:
    taken = [
        name
        for row in re.findall(r"^\| [^|]+ \| (`[^|]+) \|", README, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    ]
    assert {"gate", "Policy", "translate", "Translator", "StreamProcessor", "BlockReader", "aggregate", "check"} <= {
        *taken
    }
    assert [name for name in taken if not hasattr(penstock, name)] == []


def test_the_gate_page_names_quirks_that_there_are() -> None:
    table = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    known = {
        name for row in re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    (named,) = re.findall(r"^`unterminated_event`.*$", PAGES["gate"], re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", named)) <= known


def test_the_place_for_the_numbers_is_there() -> None:
    assert README.count("<!-- bench -->") == README.count("<!-- /bench -->") == 1


SHOWN = {
    "anthropic_middleware": ["text: Let me clean up.", "tool_use: list_files", "text: a rule denies this call"],
    "canned": ["list_files({'path': '/srv'}) bash({'command': 'rm -rf /srv'})"],
    "fastapi_gate": [
        "text: Let me clean up.a rule denies this call",
        "calls: list_files",
        "/health: {'ok': True}",
        "/admin: 403",
    ],
    "litellm_guard": ["text: Let me clean up.", "call: list_files", "text: a rule denies this call"],
    "mitmproxy_gate": ["judging the answers of api.openai.com api.anthropic.com"],
    "openai_transport": ["text: Let me clean up.", "call: list_files", "text: a rule denies this call"],
    "litellm_stream": [
        'judging list_files({"path": "/srv"})',
        "  sent: Let me clean up.",
        'judging shell({"command": "rm -rf /srv"})',
        "  sent: this call is not allowed",
        "the processor saw: content call_1 call_2",
    ],
    "per_tool_call_buffering": [
        "  sent: {'role': 'assistant', 'content': 'Let me see.'}",
        'judging list_files({"path": "/srv"})',
        """  sent: {'tool_calls': [{'index': 0, 'id': 'call_0', 'function': {'name': 'list_files', 'arguments': '{"path": '}}]}""",
        "  sent: {'tool_calls': [{'index': 0, 'function': {'arguments': '\"/srv\"}'}}]}",
        'judging shell({"command": "rm -rf /srv"})',
        "  sent: {'message': 'this call is not allowed'}",
    ],
    "speech": [
        "spoken: Let me see.",
        "spoken: I will look it up.",
        "  (calls tide with {'place': 'Brest'})",
        "spoken: High tide is at four past six.",
        "spoken: Mind the stairs!",
        "spoken: They are <b>wet</b>",
    ],
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_by_itself_and_does_what_it_says(name: str) -> None:
    assert output_of(ROOT / "examples" / f"{name}.py").splitlines() == SHOWN[name]
