"""`penstock check`: one line per finding, and an exit status that a script can use."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mutations import STREAMS, every_stream, sse
from penstock import cli
from test_check_bodies import BODIES

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


@pytest.mark.parametrize("form", BODIES)
def test_one_json_object_is_checked_as_an_answer_that_was_not_streamed(
    form: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text("\n " + json.dumps(BODIES[form], indent=2), encoding="utf-8")
    assert run(str(file)) == 0
    assert run(str(file), "--format", form) == 0
    assert capsys.readouterr() == ("", "")


def test_the_findings_in_an_answer_that_was_not_streamed_are_lines_too(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = {name: value for name, value in BODIES["openai_chat"].items() if name != "model"}
    file.write_text(json.dumps(body), encoding="utf-8")
    assert run(str(file)) == cli.FINDINGS
    assert capsys.readouterr() == ("event 0: C1: body.model is missing\n", "")


def test_an_answer_whose_format_cannot_be_told_is_one_clear_line(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for data in (b'{"id": 1}', b'{"choices": '):
        file.write_bytes(data)
        assert run(str(file)) == cli.UNREADABLE
        complaint = "penstock check: the format cannot be told from the body; name it with --format\n"
        assert capsys.readouterr() == ("", complaint)


JUNK = b"junk\n\n" * 101


def test_more_findings_than_anybody_reads_are_counted(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(JUNK)
    assert run(str(file), "--format", "openai_chat") == cli.FINDINGS
    *shown, last = capsys.readouterr().out.splitlines()
    assert run(str(file), "--format", "openai_chat", "--all") == cli.FINDINGS
    findings = capsys.readouterr().out.splitlines()
    assert shown == findings[:100]
    assert last == f"... and {len(findings) - 100} more (--all shows them)"


def test_as_many_findings_as_are_shown_need_no_count(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "SHOWN", 1)
    file.write_bytes(CUT)
    assert run(str(file)) == cli.FINDINGS
    assert capsys.readouterr() == (FOUND, "")


def test_the_help_names_the_formats_that_have_a_grammar_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "--format {auto,openai_chat,anthropic_messages,openai_responses}" in shown
    assert "exit codes: 0 nothing was found, 1 there are findings, 2 the file cannot be read" in shown


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["-", "--format", "cobol"], ["-", "--format", "text"]])
def test_a_wrong_command_line_is_explained(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == cli.UNREADABLE
    assert capsys.readouterr().err.startswith("usage: penstock")


def test_it_runs_as_a_command() -> None:
    command = [sys.executable, "-m", "penstock", "check", "-"]
    done = subprocess.run(command, input=CUT, capture_output=True, check=False)  # noqa: S603 (this interpreter)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (cli.FINDINGS, FOUND, b"")
