"""What `import penstock` offers, and what it does not drag in."""

from __future__ import annotations

import builtins
import collections.abc
import inspect
import re
import subprocess
import sys
import tomllib
import typing
from pathlib import Path
from types import ModuleType

import pytest

import penstock

ROOT = Path(__file__).parent.parent
IMPORTED = "import sys; before = set(sys.modules); import {0}; print(*sorted(set(sys.modules) - before))"


def modules_of(name: str) -> set[str]:
    """The modules that an import adds to a new interpreter, without those of the standard library."""
    # -S: no site-packages hooks, which may import anything; so the package's own folder is named.
    path = next(iter(penstock.__path__)).removesuffix("penstock")
    script = f"import sys; sys.path.insert(0, {path!r}); {IMPORTED.format(name)}"
    command = [sys.executable, "-S", "-E", "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 (this interpreter)
    return {module for module in run.stdout.split() if module.split(".")[0] not in sys.stdlib_module_names}


def test_the_public_names_are_those_of_all() -> None:
    names = {
        name for name, value in vars(penstock).items() if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert names == set(penstock.__all__)
    assert sorted(penstock.__all__) == penstock.__all__


def test_the_version_is_that_of_the_workspace() -> None:
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    assert penstock.__version__ == manifest["workspace"]["package"]["version"]


def test_the_names_that_existing_policies_import_are_there() -> None:
    assert {
        *("StreamProcessor", "StreamingContext", "StreamState", "StreamChunkAggregator"),
        *("StreamBlock", "ContentStreamBlock", "ToolCallStreamBlock"),
    } <= set(penstock.__all__)


def is_alias(name: str) -> bool:
    """Whether it is another name of a type: that has no docstring of its own."""
    value = getattr(penstock, name)
    return not isinstance(value, type | penstock.Verdict) and not inspect.isroutine(value)


@pytest.mark.parametrize("name", [each for each in penstock.__all__ if not is_alias(each)])
def test_a_public_name_is_documented(name: str) -> None:
    assert getattr(penstock, name).__doc__


def test_every_alias_has_its_row_on_the_page_of_types() -> None:
    page = (ROOT / "docs" / "types.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| \S", page, re.MULTILINE)
    assert [name for name in penstock.__all__ if is_alias(name)] == sorted(rows)


def said_by(value: typing.Any) -> collections.abc.Iterator[str]:
    """The annotations of a function, or of what a class shows."""
    if inspect.isfunction(value):
        yield from map(str, inspect.get_annotations(value).values())
        return
    for kind in value.__mro__:
        yield from (str(said) for name, said in inspect.get_annotations(kind).items() if not name.startswith("_"))
    for name, member in inspect.getmembers_static(value):
        functions = [getattr(member, inner, None) for inner in ("fget", "func", "__func__")]
        function = next(filter(None, functions), member)
        if inspect.isfunction(function) and (name == "__init__" or not name.startswith("_")):
            yield from said_by(function)


# A vocabulary is made of plain tuples and words, and its elements are for the engines.
UNNAMED = {"Element", "Pairs", "ParameterTypes", "ValueRule", "T"}
COMMON = {*dir(typing), *dir(collections.abc), *dir(builtins)} - set(penstock.__all__)


@pytest.mark.parametrize("name", [each for each in penstock.__all__ if not is_alias(each) and each != "ALLOW"])
def test_every_type_in_a_public_signature_can_be_imported_from_the_package(name: str) -> None:
    said = " ".join(said_by(getattr(penstock, name)))
    named = set(re.findall(r"\b[A-Z]\w*", re.sub(r"Literal\[.*?\]|typing\.\w+|<.*?>", "", said)))
    assert named - COMMON - UNNAMED - set(penstock.__all__) == set()


def test_every_error_is_an_error_of_penstock() -> None:
    errors = [value for value in vars(penstock).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert len(errors) == 10
    assert all(issubclass(error, penstock.PenstockError) for error in errors)


def test_importing_the_package_imports_nothing_but_the_package() -> None:
    assert {module.split(".")[0] for module in modules_of("penstock")} == {"penstock"}


def test_importing_the_package_does_not_import_the_reference() -> None:
    assert not any(module.startswith("penstock.reference") for module in modules_of("penstock"))


def test_importing_the_reference_imports_nothing_of_others() -> None:
    assert {module.split(".")[0] for module in modules_of("penstock.reference")} == {"penstock"}
