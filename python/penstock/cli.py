"""The command line."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from penstock import demo
from penstock.grammar import check
from penstock.protocols import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

# What `check` found, as a shell is told it; 2 is also what a wrong command line gives.
FINDINGS = 1
UNREADABLE = 2
# What a shell reports of a command that a signal ended: 128 + SIGINT, 128 + SIGPIPE.
INTERRUPTED = 130
PIPE_BROKEN = 141


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
    commands = parser.add_subparsers(dest="command", required=True)
    show = commands.add_parser("demo", help="stream an answer through the processor and block one of its tool calls")
    show.add_argument("--delay", type=float, default=0.02, help="seconds between chunks (default: %(default)s)")
    show.set_defaults(run=_demo)
    judge = commands.add_parser("check", help="check a recorded stream by the grammar of its format")
    judge.add_argument("file", metavar="FILE", help="server-sent events as they were received; - is the standard input")
    judge.add_argument(
        "--format",
        choices=get_args(Source),
        default="auto",
        help="the wire format (default: told from the first event)",
    )
    judge.set_defaults(run=_check)
    return parser


def _demo(chosen: argparse.Namespace) -> int:
    asyncio.run(demo.run(delay=chosen.delay))
    return 0


def _check(chosen: argparse.Namespace) -> int:
    """Prints a line for each finding."""
    try:
        stream = sys.stdin.buffer.read() if chosen.file == "-" else Path(chosen.file).read_bytes()
        report = check(stream, chosen.format)
    except OSError as error:
        return _refuse(f"cannot read {chosen.file}: {error.strerror}")
    except ValueError as error:
        return _refuse(f"{error}; name it with --format")
    for finding in report:
        print(finding)
    return FINDINGS if report else 0


def _refuse(reason: str) -> int:
    print(f"penstock check: {reason}", file=sys.stderr)
    return UNREADABLE
