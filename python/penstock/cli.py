"""The command line."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from penstock import __version__, demo
from penstock.grammar import FORMATS, check, check_body

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.grammar import Report
    from penstock.protocols import Source

__all__ = ["main"]

# What `check` found, as a shell is told it; 2 is also what a wrong command line gives.
FINDINGS = 1
UNREADABLE = 2
EXIT_CODES = "0 nothing was found, 1 there are findings, 2 the file cannot be read or its format cannot be told"
# What a shell reports of a command that a signal ended: 128 + SIGINT, 128 + SIGPIPE.
INTERRUPTED = 130
PIPE_BROKEN = 141

# A reader of more has another tool for it. What is no stream at all has a finding in each of its lines.
SHOWN = 100


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command that the arguments name."""
    chosen = _parser().parse_args(arguments)
    try:
        status = chosen.run(chosen)
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # Whoever read the output has gone. What is left of it must not raise again when the interpreter flushes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(PIPE_BROKEN)
    if status:
        sys.exit(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock", description="The gate that controls a stream.")
    parser.add_argument("--version", action="version", version=f"penstock {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    show = commands.add_parser("demo", help="stream an answer through the processor and block one of its tool calls")
    show.add_argument("--delay", type=_seconds, default=0.02, help="seconds between chunks (default: %(default)s)")
    show.set_defaults(run=_demo)
    judge = commands.add_parser(
        "check", help="check a recorded answer by the grammar of its format", epilog=f"exit codes: {EXIT_CODES}"
    )
    _add_check_arguments(judge)
    judge.set_defaults(run=_check)
    return parser


def _seconds(text: str) -> float:
    with suppress(ValueError):
        if 0 <= (seconds := float(text)) < inf:
            return seconds
    msg = f"expected a number of seconds from 0 on, not {text!r}"
    raise argparse.ArgumentTypeError(msg)


def _add_check_arguments(judge: argparse.ArgumentParser) -> None:
    judge.add_argument(
        "file",
        metavar="FILE",
        help="server-sent events as they were received, or an answer that was not streamed, as JSON; "
        "- is the standard input",
    )
    judge.add_argument(
        "--format",
        choices=FORMATS,
        default="auto",
        help="the wire format (default: told from the first event, or from the answer)",
    )
    judge.add_argument("--all", action="store_true", help=f"show all findings, not the first {SHOWN} alone")


def _demo(chosen: argparse.Namespace) -> int:
    asyncio.run(demo.run(delay=chosen.delay))
    return 0


def _check(chosen: argparse.Namespace) -> int:
    """Prints a line for each finding, or for as many as are shown."""
    try:
        data = sys.stdin.buffer.read() if chosen.file == "-" else Path(chosen.file).read_bytes()
        report = _report(data, chosen.format)
    except OSError as error:
        return _refuse(f"cannot read {chosen.file}: {error.strerror}")
    except ValueError as error:
        return _refuse(f"{error}; name it with --format")
    shown = len(report) if chosen.all else SHOWN
    for finding in report[:shown]:
        print(finding)
    if len(report) > shown:
        print(f"... and {len(report) - shown} more (--all shows them)")
    return FINDINGS if report else 0


def _report(data: bytes, format: Source) -> Report:  # noqa: A002 (as in `check`)
    """An answer that was not streamed is one JSON object, and no line of server-sent events begins like one."""
    judge = check_body if data.lstrip().startswith(b"{") else check
    return judge(data, format)


def _refuse(reason: str) -> int:
    print(f"penstock check: {reason}", file=sys.stderr)
    return UNREADABLE
