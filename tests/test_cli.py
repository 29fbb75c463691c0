"""The command line: what the demo shows, and that it leaves cleanly."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

import penstock
from penstock import cli, demo

DEMO = [sys.executable, "-m", "penstock", "demo"]

SHOWN = """
[content] Let me look at the folder first, and then clean it up.
[tool_call list_files] {"path": "/srv/reports"}
  + list_files may pass
[tool_call shell] {"command": "rm -rf /srv/reports"}
  x shell is not allowed: the client never sees this call

17 chunks were sent on. The blocks, as the processor saw them:
"""


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    # What terminals of every locale can show.
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    outputs: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen(  # noqa: S603 (this interpreter)
        [*DEMO, *arguments], encoding="ascii", env=environment, **outputs
    )


def test_the_demo_shows_blocks_as_they_grow_and_blocks_one_call(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["demo", "--delay", "0"])
    shown = capsys.readouterr().out
    assert shown.startswith(SHOWN)
    blocks = shown.removeprefix(SHOWN).splitlines()
    assert [line.split("(")[0].strip() for line in blocks] == [
        "ContentStreamBlock",
        "ToolCallStreamBlock",
        "ToolCallStreamBlock",
    ]
    assert all("is_complete=True" in line for line in blocks)


async def test_the_demo_sends_nothing_of_the_call_that_it_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    contexts: list[Any] = []

    class Context(demo.StreamingContext):
        def __init__(self) -> None:
            super().__init__()
            contexts.append(self)

    monkeypatch.setattr(demo, "StreamingContext", Context)
    await demo.run(delay=0)
    [context] = contexts
    assert "list_files" in str(context.sent)
    assert "shell" not in str(context.sent)
    assert "call_2" not in str(context.sent)


def test_the_demo_runs_as_a_command_on_a_terminal_that_knows_ascii_alone() -> None:
    shown, complaints = start("--delay", "0").communicate()
    assert shown.startswith(SHOWN)
    assert complaints == ""


def test_a_reader_that_has_gone_away_is_no_error_to_report() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    running = start("--delay", "0", stdout=write_end)
    os.close(write_end)
    _, complaints = running.communicate()
    assert (running.returncode, complaints) == (cli.PIPE_BROKEN, "")


def test_control_c_ends_the_command_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    async def lose_patience(*, delay: float) -> None:
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(delay)

    monkeypatch.setattr(demo, "run", lose_patience)
    # Whoever starts the tests in the background may have them ignore the signal.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit) as left:
            cli.main(["demo", "--delay", "1000"])
    finally:
        signal.signal(signal.SIGINT, inherited)
    assert left.value.code == cli.INTERRUPTED


def test_the_version_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main(["--version"])
    assert (left.value.code, capsys.readouterr().out) == (0, f"penstock {penstock.__version__}\n")


@pytest.mark.parametrize("delay", ["nan", "inf", "-1", "soon", ""])
def test_a_delay_that_nobody_can_wait_for_is_refused_in_one_line(
    delay: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main(["demo", f"--delay={delay}"])
    assert left.value.code == 2
    usage, complaint = capsys.readouterr().err.splitlines()
    assert usage.startswith("usage: penstock demo")
    assert complaint.endswith(f"argument --delay: expected a number of seconds from 0 on, not {delay!r}")


@pytest.mark.parametrize("arguments", [[], ["unknown"]])
def test_a_wrong_command_line_is_explained(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main(arguments)
    assert left.value.code == 2
    assert capsys.readouterr().err.startswith("usage: penstock")
