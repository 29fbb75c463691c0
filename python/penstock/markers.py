"""How a marker is written, and what it consists of.

A marker that looks like a tag with a name of its own, `<thinking>`, `</thinking>`, `<invoke name="{name}">`, is one: its opening form
may have attributes in any order, its closing form white space. Any other marker is matched as it is written, where white space stands
for any white space or none, and `{name}` for a word that is kept under that name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Marker", "Piece", "captures_of", "read_marker"]

# What sort of piece it is; its characters or the name it is kept under; the attributes that are kept, and under which names.
Piece: TypeAlias = tuple[str, str, tuple[tuple[str, str], ...]]
Marker: TypeAlias = tuple[Piece, ...]

# The name of a tag is a word, which may stand behind another one between bars, as DeepSeek writes it.
_TAG = re.compile(r'<(/?)((?:｜\w+｜)?[A-Za-z_][\w.:-]*)((?: [\w-]+="\{\w+\}")*)>')
_ATTRIBUTE = re.compile(r' ([\w-]+)="\{(\w+)\}"')
_PIECE = re.compile(r"\{(\w*)\}|(\s+)|((?:(?!\{\w*\})\S)+)")


def read_marker(marker: str, *, prefix: bool) -> Marker:
    """The pieces of a marker; `prefix` if a tag that is written without a namespace prefix may have one."""
    if match := _TAG.fullmatch(marker):
        return tuple(_tag_pieces(*match.groups(), prefix=prefix))
    return tuple(_plain_pieces(marker))


def _tag_pieces(slash: str, name: str, attributes: str, *, prefix: bool) -> Iterator[Piece]:
    yield "literal", f"<{slash}", ()
    if prefix and ":" not in name:
        yield "prefix", "", ()
    yield "literal", name, ()
    if slash:
        yield "space", "", ()
        yield "literal", ">", ()
    else:
        yield "attributes", "", tuple(_ATTRIBUTE.findall(attributes))


def _plain_pieces(marker: str) -> Iterator[Piece]:
    for capture, space, literal in _PIECE.findall(marker):
        if literal:
            yield "literal", literal, ()
        else:
            yield ("space", "", ()) if space else ("capture", capture, ())


def captures_of(marker: Marker) -> set[str]:
    """The names under which a marker keeps something."""
    attributes = {name for _, _, kept in marker for _, name in kept}
    return attributes | {text for kind, text, _ in marker if kind == "capture"}
