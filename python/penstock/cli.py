"""The command line."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from typing import TYPE_CHECKING

from penstock import demo

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

# What a shell reports of a command that a signal ended: 128 + SIGINT, 128 + SIGPIPE.
INTERRUPTED = 130
PIPE_BROKEN = 141


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command that the arguments name."""
    chosen = _parser().parse_args(arguments)
    try:
        asyncio.run(demo.run(delay=chosen.delay))
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # Whoever read the output has gone. What is left of it must not raise again when the interpreter flushes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(PIPE_BROKEN)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock", description="The gate that controls a stream.")
    commands = parser.add_subparsers(dest="command", required=True)
    show = commands.add_parser("demo", help="stream an answer through the processor and block one of its tool calls")
    show.add_argument("--delay", type=float, default=0.02, help="seconds between chunks (default: %(default)s)")
    return parser
