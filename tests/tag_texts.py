"""Texts full of tags, near-misses and what is between them, the same for the same seed."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from penstock.vocabularies import PRESETS

if TYPE_CHECKING:
    from penstock.vocabulary import TagVocabulary

WORDS = ("weather", "get", "a", "été", "🎉", "x y", "12", "Paris")
JSON = (
    '{"a": 1}',
    '{"city": "Paris"}',
    '[1, "two", null]',
    '"q"',
    "true",
    "-1.5e3",
    '{"a": "</',
    '{"a',
    "007",
    "{}",
    '\\"',
    '"\\ud83d\\ude00"',
)
CALLS = (
    '{"name": "get", "arguments": {"a": 1}}',
    '{"arguments": {"a": [1, {"b": "}"}]}, "name": "get"}',
    '{"name": "get", "arguments": "{\\"a\\": \\"\\\\u00e9\\"}"}',
    '{"id": 12, "name": "b", "parameters": {}, "extra": [1]}',
    '{"tool_name": "t", "parameters": {"x": "<"}}',
    '{"name": "get", "name": "del", "arguments": {}, "arguments": {"b": 2}}',
    '{"name": "get", "arguments": {"a": ',
    '{"nam": 1}',
    '{"name": 1}',
)
GLUE = (
    "",
    " ",
    "\n",
    "\n\n",
    "<",
    "<<",
    ">",
    "/",
    "&lt;",
    "&#65;",
    "&amp",
    "<![CDATA[",
    "]]>",
    "```",
    "\n```xml\n",
    "[",
    "]",
    ",",
    "|",
    "=",
    '"',
    "'",
)
ATTRIBUTES = (
    ' x="1"',
    " y='>'",
    " z=3",
    "\n",
    ' name="again"',
    ' q="',
    "/",
    " /",
    ' string="false"',
    " =",
    ' w="</invoke>"',
)


def markers(vocabulary: TagVocabulary) -> list[str]:
    """All markers of a vocabulary, as they are written."""
    pairs = (
        *vocabulary.thinking,
        *vocabulary.sections,
        *vocabulary.calls,
        *vocabulary.parameters,
        *vocabulary.results,
        *vocabulary.result_items,
        *vocabulary.error_items,
    )
    return [marker for pair in pairs for marker in pair if marker] + list(vocabulary.ignored)


def generated(vocabulary: TagVocabulary, seed: int) -> str:
    """A text of some pieces."""
    chance = random.Random(seed)
    all_markers = markers(vocabulary)
    return "".join(_piece(chance, all_markers) for _ in range(chance.randrange(1, 14)))


def _piece(chance: random.Random, all_markers: list[str]) -> str:
    sort = chance.random()
    if sort < 0.55:
        return _marker(chance, chance.choice(all_markers))
    if sort < 0.7:
        return chance.choice(WORDS)
    if sort < 0.8:
        return chance.choice(JSON)
    if sort < 0.86:
        return chance.choice(CALLS)
    if sort < 0.88:
        return chance.choice(("a", "<", " ", "é", "\\", '"')) * chance.choice((40, 255, 256, 257, 300))
    return chance.choice(GLUE)


def _marker(chance: random.Random, marker: str) -> str:
    """A marker with something in its places; now and then not quite one."""
    text = re.sub(r"\{\w*\}", lambda _: chance.choice(("get", "city", "a", "é", "x:1", "")), marker)
    damage = chance.random()
    if damage < 0.08:
        at = chance.randrange(len(text) + 1)
        return text[:at]
    if damage < 0.14:
        at = chance.randrange(len(text) + 1)
        return text[:at] + chance.choice(GLUE) + text[at:]
    if damage < 0.3 and text.endswith(">") and not text.startswith("</"):
        return text[:-1] + chance.choice(ATTRIBUTES) + chance.choice(("", ">"))
    if damage < 0.35 and re.match(r"</?\w", text):
        return re.sub(r"^(</?)", r"\1ns:", text)
    return text


VOCABULARIES = tuple(PRESETS.values())
