"""Every example runs: those in docstrings, those in the README, and those in the folder of examples."""

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
BLOCKS = [
    pytest.param(each, id=f"line_{README.count(chr(10), 0, each.start()) + 1}") for each in BLOCK.finditer(README)
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
    for name in ("StreamProcessor", "StreamingContext", "StreamChunkAggregator", "aggregate"):
        assert any(test.examples for test in finder.find(getattr(penstock, name))), name


@pytest.mark.parametrize("block", BLOCKS)
def test_the_readme_runs_as_printed_and_prints_what_it_says(block: re.Match[str]) -> None:
    output = output_of("-c", block["code"])
    assert output == (block["output"] or "")


def test_the_readme_has_the_examples_that_it_promises() -> None:
    code = [block["code"] for block in BLOCK.finditer(README)]
    assert len(code) == README.count("```python")
    assert "StreamProcessor(on_chunk_callback=on_chunk)" in code[0]
    assert any("litellm.acompletion" in each for each in code)


def test_every_link_of_the_readme_leads_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_place_for_the_numbers_is_there() -> None:
    assert README.count("<!-- bench -->") == README.count("<!-- /bench -->") == 1


SHOWN = {
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
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_by_itself_and_judges_before_it_sends(name: str) -> None:
    assert output_of(ROOT / "examples" / f"{name}.py").splitlines() == SHOWN[name]
