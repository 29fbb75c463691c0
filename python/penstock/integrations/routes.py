"""What an HTTP exchange is to the gate: decided here, for every integration, by its path and its content type.

Rules. (1) A path that is guarded has answers of a model, in the wire format that it is listed with. (2) A path that is listed as
unguarded passes untouched. (3) Any other path is refused, because nobody has said what its answers are. (4) On a guarded path a
successful answer is a stream (`text/event-stream`) or a body (`application/json`), and is judged; of any other kind it is refused.
(5) So is one that is compressed: the request asks for it as it is, because a few bytes may unpack to more than anybody has room for
before a limit can count them. (6) An answer without success, or without a body, passes: no client takes a call from it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from penstock.engine import check_type
from penstock.protocols import Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["GUARDED", "IDENTITY", "UNGUARDED", "AnswerKind", "Place", "Routes", "answer_kind"]

Place: TypeAlias = Target | Literal["unguarded", "unknown"]
AnswerKind: TypeAlias = Literal["stream", "body", "nothing", "unreadable"]

# The paths of the vendors' APIs, at whatever depth a gateway has them.
GUARDED: Mapping[str, Target] = {
    "**/chat/completions": "openai_chat",
    "**/messages": "anthropic_messages",
    "**/responses": "openai_responses",
    "**/responses/*": "openai_responses",
}
# What the vendors' SDKs ask besides, and whose answers hold no calls.
UNGUARDED = (
    "**/models",
    "**/models/*",
    "**/embeddings",
    "**/moderations",
    "**/rerank",
    "**/images/*",
    "**/audio/*",
    "**/messages/count_tokens",
)

# What a request on a guarded path asks for in `accept-encoding`.
IDENTITY = "identity"

_WORDS = re.compile(r"\*\*/|/\*\*$|\*|(?:(?!/\*\*$)[^*])+")
_SUCCESS = range(200, 300)
_WITHOUT_BODY = frozenset({204, 205})
_SWITCHING = 101


class Routes:
    """Which paths have answers of a model, and in which wire format; and which have none.

    In a path `*` stands for one segment without a colon, `**/` at its start for any number of segments, and `/**` at its end for everything
    below. Letters of either case and doubled or trailing slashes make no difference.

    Args:
        guarded: Paths and the wire formats of their answers, besides those of the vendors' APIs.
        unguarded: Paths whose answers no model wrote, besides those of the vendors' APIs. One that is spelt out holds even where a guarded
            one would match; one with a star does not, so that `/**` is all that is not guarded.

    Example:
        >>> from penstock.integrations.routes import Routes
        >>> routes = Routes(guarded={"/ask": "openai_chat"}, unguarded=["/health"])
        >>> routes.place("/v1/messages"), routes.place("/ask"), routes.place("/health"), routes.place("/v1/files")
        ('anthropic_messages', 'openai_chat', 'unguarded', 'unknown')
    """

    def __init__(self, *, guarded: Mapping[str, Target] | None = None, unguarded: Iterable[str] = ()) -> None:
        if isinstance(unguarded, str):
            msg = "unguarded must be paths, not one string"
            raise TypeError(msg)
        own: dict[str, Place] = {}
        own.update(guarded or {})
        passing = list(unguarded)
        for path, protocol in own.items():
            if protocol not in get_args(Target):
                msg = f"the wire format of {path!r} must be one of {', '.join(get_args(Target))}, not {protocol!r}"
                raise ValueError(msg)
        spelt_out = [path for path in passing if "*" not in str(path)]
        # The first that matches counts.
        ranked: list[Mapping[str, Place]] = [own, _passing(spelt_out), GUARDED, _passing(passing), _passing(UNGUARDED)]
        self._ranked: list[tuple[re.Pattern[str], Place]] = [
            (_pattern(path), place) for places in ranked for path, place in places.items()
        ]

    def place(self, path: str) -> Place:
        """The wire format of the answers of a path, `unguarded`, or `unknown`."""
        plain = re.sub(r"/+", "/", "/" + path).rstrip("/").casefold()
        # What a path with dots means is for the server to say, and it may not say what its letters say.
        if {".", ".."} & set(plain.split("/")):
            return "unknown"
        for pattern, place in self._ranked:
            if pattern.fullmatch(plain):
                return place
        return "unknown"


def _passing(paths: Iterable[str]) -> Mapping[str, Place]:
    return dict.fromkeys(paths, "unguarded")


def _pattern(path: str) -> re.Pattern[str]:
    check_type("a path", path, str, "a string")
    if not path.startswith(("/", "**/")):
        msg = f'a path must begin with "/" or "**/", not {path!r}'
        raise ValueError(msg)
    return re.compile("".join(map(_meaning, _WORDS.findall(path.rstrip("/").casefold()))))


def _meaning(word: str) -> str:
    match word:
        case "**/":
            return "(?:/.*)?/"
        case "/**":
            return "(?:/.*)?"
        case "*":
            return "[^/:]+"
        case _:
            return re.escape(word)


def answer_kind(method: str, status: int, content_type: str | None, content_encoding: str | None = None) -> AnswerKind:
    """What an answer on a guarded path is.

    Example:
        >>> from penstock.integrations.routes import answer_kind
        >>> answer_kind("POST", 200, "text/event-stream; charset=utf-8"), answer_kind("POST", 429, "application/json")
        ('stream', 'nothing')
    """
    if status == _SWITCHING:
        return "unreadable"
    if method.upper() == "HEAD" or status not in _SUCCESS or status in _WITHOUT_BODY:
        return "nothing"
    if (content_encoding or IDENTITY).strip().casefold() != IDENTITY:
        return "unreadable"
    media_type = (content_type or "").partition(";")[0].strip().casefold()
    if media_type == "text/event-stream":
        return "stream"
    return "body" if media_type == "application/json" else "unreadable"
