"""Goes through a text, and says what its tags make of it.

Rules. (1) Whether a marker stands at a place depends on what follows there alone, and on no more than `tag_bytes` of it; so where reads end
changes nothing. (2) What begins like a marker and is none releases one character, and the rest is looked at again. (3) Inside thinking, a
value or a result only its own closing marker acts. (4) Nothing closes that was not opened. (5) A marker in text is never text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.reference.json_calls import JsonCall
from penstock.reference.tag_calls import Arguments, Call, Parameters, Trimmer, Value
from penstock.reference.tag_content import TagContent

if TYPE_CHECKING:
    from penstock.reference.lexemes import Found, Lexicon, Scope
    from penstock.reference.tag_content import Op
    from penstock.vocabulary import Grammar, Role

__all__ = ["TagScanner"]

# Where what is said may change which markers count, before the next of them comes.
_CHANGING = frozenset({"section", "arguments", "object"})
# Where a stop sequence ends the text.
_VISIBLE = frozenset({"text", "fence", "section"})


class TagScanner(TagContent):
    """Reads one text."""

    def __init__(self, grammar: Grammar, lexicon: Lexicon, longest_value: int) -> None:
        super().__init__(grammar)
        self._lexicon = lexicon
        self._longest_value = longest_value
        self._held = ""

    def begin(self, prefill: str) -> list[Op]:
        """Takes what the prompt ended in; gives what it leaves open: a call with all that it has, any other block without."""
        ops = self.feed(prefill)
        self._prompted = len(self._held)
        openings = [number for number, op in enumerate(ops) if op[0] == "open"]
        if not self._stack or not openings or ("close",) in ops[openings[-1] :]:
            return []
        left = ops[openings[-1] :]
        return [op for op in left if left[0][1] == "tool_call" or op[0] != "grow"]

    def feed(self, text: str) -> list[Op]:
        """Takes the next piece of the text."""
        return self._scan(self._held + text, is_last=False)

    def release(self) -> list[Op]:
        """Nothing more comes: what was held is no marker."""
        return self._scan(self._held, is_last=True)

    @property
    def _scope(self) -> Scope:
        match self._state:
            case "section" if not self._has_section_text:
                return "section"
            case "value":
                return "value"
            case "results" | "result":
                return "results"
            case _:
                return "text"

    def _scan(self, text: str, *, is_last: bool) -> list[Op]:
        self._ops = []
        self._held = ""
        start = at = 0
        while start < len(text) and not self.is_stopped:
            state, scope = self._state, self._scope
            place = self._lexicon.next_start(scope, text, at)
            end = len(text) if place is None else place
            if state in _CHANGING and start < end:
                # Other markers count behind the end of a call, and behind text in a section.
                start += self._take(text[start:end])
                at = start
                continue
            own, may_stop = self._stack[-1] if self._stack else None, state in _VISIBLE
            found = place is None or self._lexicon.look(scope, text, place, is_last=is_last, own=own, may_stop=may_stop)
            at = end + 1
            if found is False:
                continue
            self._take(text[start:end])
            start = end
            if found is True:
                self._held = text[end:]
                break
            if self._token(found, text[end : end + found.length]):
                start = at = end + found.length
                self._prompted = max(0, self._prompted - found.length)
        return self._ops

    def _take(self, text: str) -> int:
        """Takes text that is no marker; says how much of it belongs where the text is."""
        taken = self._content(text) if text else 0
        if self._prompted:
            self._prompted = max(0, self._prompted - taken)
        return taken

    def _token(self, found: Found, text: str) -> bool:
        """Takes a marker; False if it is content here."""
        match found.lexeme.meaning:
            case "element":
                return self._element_token(found)
            case "stop":
                self.is_stopped = True
                self._ops.append(("stopped", text))
                return True
            case "fence":
                self._is_in_fence ^= self._state in ("text", "fence") and self._is_at_line_start
                return False
            case "cdata open" | "cdata close":
                return self._enter_cdata(is_open=found.lexeme.meaning == "cdata open")
            case "entity" if not self._is_in_cdata:
                self._value_text(found.captures["character"])
                return True
            case "json call":
                return self._open_object(found)
            case _:
                return False

    @property
    def _is_in_cdata(self) -> bool:
        return self._parameters is not None and self._parameters.is_in_cdata

    def _enter_cdata(self, *, is_open: bool) -> bool:
        parameters = self._parameters
        if parameters is None or parameters.is_in_cdata == is_open:
            return False
        parameters.is_in_cdata = is_open
        return True

    def _element_token(self, found: Found) -> bool:
        by_state = {
            "text": self._text_token,
            "thinking": self._thinking_token,
            "section": self._section_token,
            "call": self._call_token,
            "arguments": self._json_token,
            "object": self._json_token,
            "value": self._value_token,
            "results": self._results_token,
            "result": self._result_token,
        }
        act = by_state.get(self._state)
        return act is not None and act(found)

    def _result_token(self, found: Found) -> bool:
        if not self._closes(found):
            return False
        self._stack.pop()
        self._ops.append(("close",))
        return True

    def _closes(self, found: Found) -> bool:
        return self._stack[-1] in found.lexeme.closes

    def _closes_any(self, found: Found) -> bool:
        return not set(self._stack).isdisjoint(found.lexeme.closes)

    def _opens(self, found: Found, *roles: Role) -> int | None:
        """The element that a marker opens: of several vocabularies that have it, that of the first."""
        elements = self._grammar.elements
        numbers = [number for role in roles for number in found.lexeme.opens if elements[number].role == role]
        return numbers[0] if numbers else None

    def _stray(self, found: Found) -> bool:
        """A marker that means nothing here, which some always do. It is no text all the same."""
        if self._opens(found, "ignored") is not None:
            self._ops.append(("end_text",))
            return True
        return self._quirk("stray_tag" if found.lexeme.opens else "stray_close_tag")

    def _text_token(self, found: Found) -> bool:
        element = self._opens(found, "thinking", "section", "results")
        if element is None:
            call = self._opens(found, "call")
            return self._stray(found) if call is None else self._open_call(call, found)
        self._ops.append(("end_text",))
        is_thinking = self._grammar.elements[element].role == "thinking"
        if is_thinking:
            self._ops.append(("open", "thinking", "", None))
        if found.is_self_closing:
            self._ops += [("close",)] if is_thinking else []
        else:
            self._stack.append(element)
        self._has_tag_in_thinking = self._has_section_text = self._has_loose_result = False
        return True

    def _thinking_token(self, found: Found) -> bool:
        if self._closes(found):
            self._close_thinking()
            return True
        if self._opens(found, "section", "call") is not None:
            if self._grammar.ends_thinking:
                self._quirk("unclosed_tag")
                self._close_thinking()
                return self._element_token(found)
            self._has_tag_in_thinking = True
        return False

    def _close_thinking(self) -> None:
        self._stack.pop()
        if self._has_tag_in_thinking:
            self._ops.append(("note", "tag_in_thinking", True))
        self._has_tag_in_thinking = False
        self._ops.append(("close",))

    def _section_token(self, found: Found) -> bool:
        if self._closes(found):
            self._leave_section()
            return True
        if (call := self._opens(found, "call")) is not None:
            return self._open_call(call, found)
        has_end = self._element.close is not None
        leaving = self._opens(found, "thinking", "results")
        if leaving is None and not has_end:
            leaving = self._opens(found, "section")
        if leaving is None:
            return self._stray(found)
        if has_end:
            self._quirk("unclosed_tag")
        self._leave_section()
        return self._element_token(found)

    def _leave_section(self) -> None:
        self._stack.pop()
        if self._has_section_text:
            self._ops.append(("end_text",))
        self._has_section_text = False

    def _call_token(self, found: Found) -> bool:
        if self._closes(found):
            self._finish_call()
            return True
        if (parameter := self._opens(found, "parameter")) is not None:
            return self._open_parameter(parameter, found)
        if self._opens(found, "call") is not None or self._closes_any(found):
            self._cut_call()
            return self._element_token(found)
        self._mark_stray()
        return self._stray(found)

    def _json_token(self, found: Found) -> bool:
        """A marker where JSON is expected: inside of a string it is text. Behind arguments that are over, any other is no part of them."""
        inside = self._call.inside if self._call else None
        progress = inside.progress if isinstance(inside, Arguments) else inside
        is_in_string = isinstance(progress, Parameters) or progress is None or progress.is_in_string
        is_over = isinstance(inside, Arguments) and inside.progress.is_over
        acts = is_over or self._closes_any(found) or self._opens(found, "section", "call") is not None
        if is_in_string or not acts:
            self._flag()
            return False
        if self._closes(found) and self._element.role == "call":
            self._finish_call()
            return True
        self._cut_call()
        return self._element_token(found)

    def _flag(self) -> None:
        if self._call:
            self._call.has_tag = True

    def _value_token(self, found: Found) -> bool:
        parameters = self._parameters
        if parameters is None or parameters.value is None or not self._closes(found) or parameters.is_in_cdata:
            self._flag()
            return False
        self._stack.pop()
        self._grow("arguments", parameters.value.close())
        parameters.value = None
        return True

    def _results_token(self, found: Found) -> bool:
        if self._closes(found):
            self._close_loose_result()
            self._stack.pop()
            return True
        item = self._opens(found, "result", "failure")
        if item is None:
            return self._stray(found)
        self._close_loose_result()
        element = self._grammar.elements[item]
        self._open_result(found.captures.get("id"), is_failure=element.role == "failure")
        if found.is_self_closing:
            self._ops.append(("close",))
        else:
            self._stack.append(item)
            self._trimmer = Trimmer(is_on=element.trims)
        return True

    def _close_loose_result(self) -> None:
        if self._has_loose_result:
            self._ops.append(("close",))
        self._has_loose_result = False

    def _open_call(self, element: int, found: Found) -> bool:
        name = self._plain(found.captures.get("name", ""))
        if not name:
            return self._quirk("stray_tag")
        if found.has_repeated:
            self._quirk("repeated_attribute")
        shape = self._grammar.elements[element]
        call_id = shape.call_id
        for capture, value in found.captures.items():
            call_id = call_id.replace(f"{{{capture}}}", value)
        self._ops += [("end_text",), ("open", "tool_call", name, call_id or self._plain(found.captures.get("id", "")))]
        self._stack.append(element)
        self._call = Call(name, Arguments() if shape.body == "arguments" else Parameters())
        if found.is_self_closing:
            self._finish_call()
        return True

    def _open_object(self, found: Found) -> bool:
        """A call that is a JSON object, unless text has come before it: then it is text, too."""
        if self._state != "section" or self._element.body != "json_calls" or self._has_section_text:
            return False
        name = found.captures.get("name")
        walk = JsonCall(self._element.json_names, self._element.json_arguments, has_name=name is not None)
        self._ops += [("end_text",), ("open", "tool_call", name or "", None)]
        self._call = Call(name or "", walk)
        return True

    def _open_parameter(self, element: int, found: Found) -> bool:
        call, parameters, key = self._call, self._parameters, found.captures.get("key")
        if call is None or parameters is None or key is None:
            self._mark_stray()
            return self._quirk("stray_tag")
        key = self._plain(key)
        shape = self._grammar.elements[element]
        types = {(tool, name): rule for tool, name, rule in reversed(self._grammar.types)}
        rule = types.get((call.name, key), shape.values)
        rule = {"true": "raw", "false": "json"}.get(found.captures.get("string", ""), rule)
        call.has_arguments = True
        begin, is_repeated = parameters.name(key)
        value = Value("raw" if rule == "raw" else "json", trims=shape.trims, longest=self._longest_value)
        if found.is_self_closing:
            begin += value.begin + value.close()
        else:
            begin += value.begin
            parameters.value, parameters.is_in_cdata = value, False
            self._stack.append(element)
        if is_repeated or found.has_repeated:
            self._quirk("repeated_attribute")
        self._grow("arguments", begin)
        return True

    def _mark_stray(self) -> None:
        if self._parameters:
            self._parameters.has_stray = True

    def unwind(self) -> list[Op]:
        """The text is over: closes what is open, inside out."""
        self._ops = []
        self._cut_call()
        while self._stack:
            if self._element.close is not None:
                self._quirk("unclosed_tag")
            match self._state:
                case "thinking":
                    self._ops.append(("note", "unclosed_tag", True))
                    self._close_thinking()
                case "result":
                    self._grow("text", self._trimmer.cut())
                    self._stack.pop()
                    self._ops.append(("close",))
                case "results":
                    self._close_loose_result()
                    self._stack.pop()
                case _:
                    self._stack.pop()
        return self._ops
