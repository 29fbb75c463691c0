"""Where in the structure a text is, and what becomes of the text between its markers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.reference.json_calls import JsonCall
from penstock.reference.lexemes import decoded
from penstock.reference.tag_calls import Arguments, Call, Parameters, Trimmer

if TYPE_CHECKING:
    from penstock.vocabulary import Element, Grammar

__all__ = ["SPACE", "Op", "TagContent"]

# What the tags make of a text. By the first word, the rest is:
#   text: more text         end_text: nothing; the text before and the text behind are not one         close: nothing
#   open: the type of a block, its name, its id or that of the call it is for         grow: the part, and by what
#   note: a name and a value         quirk: its name         stopped: the stop sequence
Op: TypeAlias = tuple[Any, ...]

SPACE = " \t\n\f\r"


class TagContent:
    """The state of one text: which elements are open, and the call that is being read."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._stack: list[int] = []
        self._prompted = 0  # how much of what comes next came with the prompt
        self._has_section_text = False
        self._call: Call | None = None
        self._has_tag_in_thinking = False
        self._trimmer = Trimmer(is_on=False)
        self._has_loose_result = False
        self._is_in_fence = False
        self._is_at_line_start = True
        self.is_stopped = False
        self._ops: list[Op] = []

    @property
    def _state(self) -> str:
        if not self._stack:
            return "fence" if self._is_in_fence else "text"
        role = self._element.role
        if role == "section":
            return "section" if self._call is None else "object"
        if role == "call":
            return "arguments" if self._call and isinstance(self._call.inside, Arguments) else "call"
        return "value" if role == "parameter" else "result" if role == "failure" else role

    @property
    def _element(self) -> Element:
        return self._grammar.elements[self._stack[-1]]

    def _content(self, text: str) -> int:
        match self._state:
            case "text" | "fence":
                self._is_at_line_start = text.endswith("\n")
                self._say("text", self._unprompted(text))
            case "thinking":
                self._grow("text", self._unprompted(text))
            case "section":
                self._section_text(text)
            case "call":
                self._stray_text(text)
            case "arguments" | "object":
                return self._json_text(text)
            case "value":
                self._value_text(text)
            case "results":
                self._loose_result(text)
            case _:  # "result"
                self._grow("text", self._trimmer.push(self._unprompted(text)))
        return len(text)

    def _say(self, kind: str, text: str) -> None:
        if text:
            self._ops.append((kind, text))

    def _grow(self, part: str, text: str) -> None:
        if text:
            self._ops.append(("grow", part, text))

    def _quirk(self, name: str) -> bool:
        self._ops.append(("quirk", name))
        return True

    def _unprompted(self, text: str) -> str:
        """The text without what came with the prompt."""
        return text[self._prompted :]

    def _said_in_section(self, text: str) -> str:
        """Text in a section without what says nothing there: white space between calls, and what makes a list of them."""
        return text.lstrip(SPACE + "[,]" if self._element.body == "json_calls" else SPACE)

    def _section_text(self, text: str) -> None:
        """What says something in a section is text, from there to the next marker."""
        said = text if self._has_section_text else self._said_in_section(text)
        self._has_section_text |= bool(said)
        self._say("text", min(said, self._unprompted(text), key=len))

    def _stray_text(self, text: str) -> None:
        parameters = self._parameters
        if parameters and not parameters.has_stray_text and text.strip(SPACE):
            parameters.has_stray_text = parameters.has_stray = True
            self._quirk("stray_text")

    def _json_text(self, text: str) -> int:
        call = self._call
        if call is None:
            return len(text)
        if isinstance(call.inside, Arguments):
            ends_itself = self._element.close is None
            used, arguments = call.inside.push(text, until_whole=ends_itself)
            call.has_arguments |= bool(arguments)
            self._grow("arguments", arguments)
            is_over = ends_itself and call.inside.progress.is_over
        elif isinstance(call.inside, JsonCall):
            used, found = call.inside.push(text)
            for part, said in found:
                call.has_arguments |= part == "arguments"
                self._ops.append(("quirk", "contradiction") if part == "repeated" else ("grow", part, said))
            is_over = call.inside.place == "done"
        else:
            return len(text)
        if is_over:
            self._finish_call()
        return used

    @property
    def _parameters(self) -> Parameters | None:
        inside = self._call.inside if self._call else None
        return inside if isinstance(inside, Parameters) else None

    def _value_text(self, text: str) -> None:
        if self._parameters and self._parameters.value:
            self._grow("arguments", self._parameters.value.push(text))

    def _loose_result(self, text: str) -> None:
        """Text between results: a result that nothing announced."""
        said = text if self._has_loose_result else text.lstrip(SPACE)
        if said and not self._has_loose_result:
            self._has_loose_result = True
            self._open_result(None, is_failure=False)
        self._grow("text", min(said, self._unprompted(text), key=len))

    def _open_result(self, call_id: str | None, *, is_failure: bool) -> None:
        self._ops.append(("open", "tool_result", "tool_result", None if call_id is None else self._plain(call_id)))
        self._ops += [("note", "is_error", True)] if is_failure else []
        self._ops.append(("note", "written_by_model", True))

    def _plain(self, value: str) -> str:
        return decoded(value) if self._grammar.decodes_entities else value

    def _finish_call(self) -> None:
        """The call is whole. One without arguments has an empty object of them, as a native call would."""
        if self._call is None:
            return
        end = "}" if isinstance(self._call.inside, Parameters) else ""
        self._grow("arguments", end if self._call.has_arguments else "{}")
        self._close_call(self._call)

    def _cut_call(self) -> None:
        """The call is not whole: nothing makes JSON of arguments that are not."""
        call = self._call
        if call is None:
            return
        is_whole = isinstance(call.inside, Arguments) and call.inside.progress.is_whole
        if isinstance(call.inside, Parameters) and call.inside.value:
            self._grow("arguments", call.inside.value.cut())
            self._stack.pop()
        if not call.has_arguments:
            # No arguments at all would count as whole.
            self._grow("arguments", "{")
        if not is_whole:
            self._quirk("unclosed_tag")
            self._ops.append(("note", "unclosed_tag", True))
        self._close_call(call)

    def _close_call(self, call: Call) -> None:
        if not isinstance(call.inside, JsonCall):
            self._stack.pop()
        self._call = None
        self._has_section_text = False
        if call.has_tag:
            self._ops.append(("note", "tag_in_value", True))
        if isinstance(call.inside, Parameters) and call.inside.has_stray:
            self._ops.append(("note", "stray", True))
        self._ops.append(("close",))
