"""The ids of calls, as clients of Messages expect them."""

from __future__ import annotations

import re
from itertools import count

__all__ = ["Ids"]

_LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Ids:
    """From the ids that were written to those that came: `call_1` is `toolu_1`; what is not legal, or taken, is replaced by a made one."""

    def __init__(self) -> None:
        self.written: dict[str, str] = {}

    def write(self, came: str) -> str:
        """The id to write for a call. Each call is asked for once."""
        wanted = f"toolu_{came.removeprefix('call_')}" if came.startswith("call_") else came
        if wanted in self.written or not _LEGAL.fullmatch(wanted):
            wanted = next(made for made in map("toolu_{}".format, count()) if made not in self.written)
        self.written[wanted] = came
        return wanted
