"""The command line."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING

from penstock import demo

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command that the arguments name."""
    parser = argparse.ArgumentParser(prog="penstock", description="The gate that controls a stream.")
    commands = parser.add_subparsers(dest="command", required=True)
    show = commands.add_parser("demo", help="stream an answer through the processor and block one of its tool calls")
    show.add_argument("--delay", type=float, default=0.02, help="seconds between chunks (default: %(default)s)")
    chosen = parser.parse_args(arguments)
    asyncio.run(demo.run(delay=chosen.delay))
