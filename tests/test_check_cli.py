"""`penstock check`: one line per finding, and an exit status that a script can use."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mutations import STREAMS, every_stream, sse
from penstock import cli

if TYPE_CHECKING:
    from pathlib import Path

LEGAL = sse("anthropic_messages", STREAMS["anthropic_messages"]["text"])
CUT = LEGAL[: LEGAL.rindex(b"event:")]
FOUND = "event 5: A12: the stream ends with neither its last event nor an error\n"


def run(*arguments: str) -> int | str | None:
    """The exit status of a command."""
    try:
        cli.main(["check", *arguments])
    except SystemExit as left:
        return left.code
    return 0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "stream.sse"


@every_stream
def test_a_legal_stream_prints_nothing(form: str, name: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(sse(form, STREAMS[form][name]))
    assert run(str(file)) == 0
    assert run(str(file), "--format", form) == 0
    assert capsys.readouterr() == ("", "")


def test_each_finding_is_a_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(CUT)
    assert run(str(file)) == cli.FINDINGS
    assert capsys.readouterr() == (FOUND, "")


def test_a_dash_is_the_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CUT)))
    assert run("-") == cli.FINDINGS
    assert capsys.readouterr() == (FOUND, "")


def test_a_file_that_is_not_there_is_one_clear_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(file)) == cli.UNREADABLE
    assert capsys.readouterr() == ("", f"penstock check: cannot read {file}: No such file or directory\n")
    assert run(str(file.parent)) == cli.UNREADABLE
    assert capsys.readouterr().err == f"penstock check: cannot read {file.parent}: Is a directory\n"


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "the format cannot be told from a stream without events; name it with --format"),
        (b"<html>\n\n", "the format cannot be told from the first event; name it with --format"),
    ],
)
def test_a_format_that_cannot_be_told_is_one_clear_line(
    data: bytes, complaint: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_bytes(data)
    assert run(str(file)) == cli.UNREADABLE
    assert capsys.readouterr() == ("", f"penstock check: {complaint}\n")
    assert run(str(file), "--format", "openai_chat") == cli.FINDINGS


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["-", "--format", "cobol"]])
def test_a_wrong_command_line_is_explained(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == cli.UNREADABLE
    assert capsys.readouterr().err.startswith("usage: penstock")


def test_it_runs_as_a_command() -> None:
    command = [sys.executable, "-m", "penstock", "check", "-"]
    done = subprocess.run(command, input=CUT, capture_output=True, check=False)  # noqa: S603 (this interpreter)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (cli.FINDINGS, FOUND, b"")
