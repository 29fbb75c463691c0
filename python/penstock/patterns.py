"""Regular expressions as users give them: compiled, or refused in one line."""

from __future__ import annotations

import re
from typing import Any, cast

from penstock.engine import check_type

__all__ = ["compiled"]


def compiled(name: str, pattern: object, expected: str) -> re.Pattern[str]:
    """The regular expression, ready to search text.

    Args:
        name: What the caller calls it.
        pattern: A regular expression, compiled or not.
        expected: What it must be.

    Raises:
        TypeError: It is something else, or searches bytes.
        ValueError: It is not written as regular expressions are.
    """
    text = cast("re.Pattern[Any]", pattern).pattern if isinstance(pattern, re.Pattern) else pattern
    check_type(name, text, str, expected)
    try:
        return re.compile(cast("str", pattern))
    except (re.error, OverflowError, RecursionError) as error:
        msg = f"the pattern {pattern!r} is no regular expression: {error}"
        raise ValueError(msg) from None
