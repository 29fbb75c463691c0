"""Packages that penstock can do without: imported where they are needed, and named in one line where they are not there."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["imported", "missing"]


def imported(module: str, message: str) -> Any:
    """A module of such a package.

    Raises:
        ModuleNotFoundError: The package is not installed, as the message says.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise missing(module.partition(".")[0], message, error) from None


def missing(package: str, message: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    """What to raise where a package is not installed. Another module that is missing is told as it is."""
    if error.name is None or error.name.partition(".")[0] != package:
        return error
    return ModuleNotFoundError(message, name=error.name)
