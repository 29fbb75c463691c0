"""A tool call as policies judge it: immutable, strictly read, and bound to its digest.

The digest is SHA-256, in lower-case hexadecimal, over these fields in this order:

    the ASCII text `penstock.call.1`, the choice, the index, the kind, the id, the name, the arguments

A number is eight bytes, the highest first. A text is its length in bytes as such a number, then its UTF-8 bytes; the leading
text too. So no two calls have the same bytes, wherever one field ends and the next begins. The fingerprint is the same over
`penstock.content.1`, the kind, the name and the arguments: what the call would do, wherever it stands.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from penstock import strict_json
from penstock._core import digest_of
from penstock.errors import InvalidArguments

if TYPE_CHECKING:
    from penstock.blocks import CallKind
    from penstock.events import BlockType

__all__ = ["BlockView", "ToolCall"]

KINDS = ("function", "custom", "builtin", "server")


@dataclass(frozen=True)
class ToolCall:
    """A whole tool call, held until a policy has judged it.

    Attributes:
        id: The call's id.
        name: The tool's name, byte for byte as the model wrote it.
        arguments: The arguments as text, as they came; the free-form input of a custom tool.
        kind: `function`, `custom`, `builtin` (a tool of the provider's own that the client runs) or `server` (the provider has run it).
        choice: Which of the answers side by side it belongs to.
        index: Its number among the calls of its choice.
        flags: Marks of doubt, such as `tag_in_value`. A flagged call is denied unless the policy tolerates each of its flags.

    Example:
        >>> from penstock import ToolCall
        >>> call = ToolCall(id="call_1", name="read_file", arguments='{"path": "/etc/hosts"}')
        >>> call.parsed["path"]
        '/etc/hosts'
        >>> call.digest[:8]
        'd85bd3ff'
    """

    id: str
    name: str
    arguments: str
    kind: CallKind = "function"
    choice: int = 0
    index: int = 0
    flags: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for field in ("id", "name", "arguments"):
            _check_text(field, getattr(self, field))
        if self.kind not in KINDS:
            msg = f"kind must be one of {', '.join(KINDS)}, not {self.kind!r}"
            raise ValueError(msg)
        for field in ("choice", "index"):
            _check_number(field, getattr(self, field))

    @property
    def parsed(self) -> Any:
        """The arguments as a value, read strictly. Each look gives a copy, so that no policy can change what the next one sees.

        No arguments at all, and `null`, are `{}`.

        Raises:
            InvalidArguments: They are not JSON that every reader reads alike, or the tool takes free text.
        """
        if self.invalid is not None:
            raise InvalidArguments(self.invalid.kind, self.invalid.offset, self.invalid.detail)
        # What was read strictly once reads the same without the checks.
        value = json.loads(self._json)
        return {} if value is None else value

    @property
    def invalid(self) -> InvalidArguments | None:
        """Why the arguments cannot be read; None if they can."""
        reading = self._reading
        return reading if isinstance(reading, InvalidArguments) else None

    @property
    def has_big_integers(self) -> bool:
        """Whether the arguments have integers that a reader with doubles alone would change."""
        reading = self._reading
        return isinstance(reading, strict_json.StrictJson) and reading.has_big_integers

    @property
    def _json(self) -> str:
        return self.arguments or "{}"

    @cached_property
    def _reading(self) -> strict_json.StrictJson | InvalidArguments:
        if self.kind == "custom":
            return InvalidArguments("free_text", None, "a custom tool takes free text, not JSON")
        try:
            return strict_json.load(self._json)
        except InvalidArguments as error:
            # Kept for as long as the call is, so without the frames that it came through.
            return error.with_traceback(None)

    @property
    def takes_json(self) -> bool:
        """Whether the client will read the arguments as JSON. Those of a custom tool, and of a call that has run, may be any text."""
        return self.kind in {"function", "builtin"}

    @property
    def has_run(self) -> bool:
        """Whether the provider has run the call already; a denial then only hides it."""
        return self.kind == "server"

    @property
    def digest(self) -> str:
        """What a verdict on this call is bound to: where the call stands, and all that it says."""
        return digest_of("penstock.call.1", self.choice, self.index, self.kind, self.id, self.name, self.arguments)

    @property
    def fingerprint(self) -> str:
        """The same for every call that would do the same: without choice, index and id."""
        return digest_of("penstock.content.1", self.kind, self.name, self.arguments)


@dataclass(frozen=True, slots=True)
class BlockView:
    """The block that a piece of text or arguments belongs to.

    Attributes:
        number: The block's number in its stream: 0, 1, 2 …
        type: What it is: `content`, `refusal`, `thinking` or `tool_call`.
        id: Its id.
        choice: Which of the answers side by side it belongs to.
    """

    number: int
    type: BlockType
    id: str
    choice: int = 0


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        msg = f"{name} must be text, not {type(value).__name__}"
        raise TypeError(msg)
    try:
        value.encode()
    except UnicodeEncodeError:
        msg = f"{name} has half of a surrogate pair in it, which cannot be written"
        raise ValueError(msg) from None


def _check_number(name: str, value: object) -> None:
    if not isinstance(value, int) or not 0 <= value < 1 << 64:
        msg = f"{name} must be a whole number from 0 on, not {value!r}"
        raise ValueError(msg)
