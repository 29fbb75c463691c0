"""Every rule of the grammar: its number, and what it says. docs/grammar.md has the same table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PERMISSIONS", "PROMISES", "RULES"]

_ALL_FORMATS = {
    "T1": "An event of Messages and Responses is named by its `type`; a chat chunk has no name.",
    "T2": "The data of an event is one JSON object: no name twice, no number that is not finite, no half of a surrogate pair.",
    "T3": "There is no `[DONE]` in Messages and Responses.",
    "T4": "The bytes are UTF-8 without NUL, in lines of `event`, `data`, `id`, `retry` and comments; "
    "each event has data and ends with a blank line.",
    "T5": "An event has the fields that its table requires, of the right types.",
}

_ANTHROPIC_MESSAGES = {
    "A1": "There is one `message_start`, and only `ping` and `error` may come before it.",
    "A2": "The message of `message_start` has its required fields, `content: []`, and null for `stop_reason` and `stop_sequence`.",
    "A3": "Blocks are numbered 0, 1, 2 … in the order in which they start.",
    "A4": "A block starts, has its deltas and stops once; nothing is for a block that is not open, and none stays open.",
    "A5": "A block stops before the next one starts.",
    "A6": "A delta is of a type that its block can have.",
    "A7": "A block starts with the fields that its type requires, empty ones included; the `input` of a `tool_use` starts as `{}`.",
    "A8": "The pieces of `partial_json` make one whole JSON object, or nothing.",
    "A9": "A signature comes once, behind all thinking of its block; redacted thinking, results and uploads have no deltas.",
    "A10": "`message_delta` comes behind the last block; each has `usage.output_tokens`, which never sinks, "
    "and the last has a known `stop_reason`.",
    "A11": "There is one `message_stop`, and nothing after it.",
    "A12": "Nothing comes after `error`; a stream that ends with neither `message_stop` nor `error` is truncated.",
    "A13": "`tool_use` is the `stop_reason` only with a `tool_use` block, and `end_turn` only without one; "
    "`stop_sequence` is given for that reason alone.",
    "A14": "`ping` may come anywhere before the end, and events, blocks and deltas of unknown types are let pass.",
    "A15": "A part of a token count is no more than the whole: the written cache by its lifetime, "
    "and in chat and Responses cached input of all input.",
}

_OPENAI_RESPONSES = {
    "R1": "`response.created` comes first, then perhaps `response.queued`, then `response.in_progress`, each once; "
    "the id of the response stays.",
    "R2": "Each event has a `sequence_number`; the first is 0, and each is above the one before.",
    "R3": "An item is added before any event names it, numbered 0, 1, 2 …, keeps its `id` and its type, and is done once.",
    "R4": "The parts of a message are numbered 0, 1, 2 …; each is added, has its deltas and annotations, then the done of its text, "
    "then its own, before the next is added.",
    "R5": "The summaries and texts of a reasoning item keep the order of R4.",
    "R6": "A function call starts without arguments and has its deltas, then their done with arguments and name, then that of the item; "
    "`name` and `call_id` stay. A custom tool call likewise.",
    "R7": "The text of a done is that of the deltas before it, in the part and in the item too; "
    "the last `output` is the items as they were done, encrypted content apart.",
    "R8": "A hosted tool tells `in_progress` first, then what it is at, then `completed` or `failed`, "
    "between the start and the end of its item.",
    "R9": "There is one last event, `response.completed`, `response.incomplete`, `response.failed` or `error`, "
    "with the status and the details of its kind; nothing comes after it, and without it a stream is truncated.",
    "R10": "Items may take turns.",
    "R11": "Events, items and parts of unknown types are let pass; they are numbered like all others.",
}

_OPENAI_CHAT = {
    "C1": "A chunk has `id`, `object`, `created`, `model` and `choices`, of the right types; so has a body.",
    "C2": "All chunks have the same `id`.",
    "C3": "A choice has an `index`, once in its chunk, and a `delta` whose known fields are of the right types.",
    "C4": "The first delta of a choice gives the role, `assistant`, and no other does.",
    "C5": "An element of `tool_calls` has an `index`; calls are numbered 0, 1, 2 … per choice, and each starts with `id`, `type` and name.",
    "C6": "The `id`, the `type` and the name of a call are given at its start alone; then come arguments.",
    "C7": "Calls are not interleaved: nothing comes for a call after a later one has started.",
    "C8": "A `finish_reason` is one of the known words; `tool_calls` and `function_call` need a call.",
    "C9": "Each choice finishes once, and nothing of it comes after that.",
    "C10": "Every choice has finished before `[DONE]`, and there is at least one.",
    "C11": "`usage` comes at most once, in a chunk with empty `choices`, after every choice has finished.",
    "C12": "`[DONE]` comes once and last; a stream that ends with neither `[DONE]` nor an error is truncated.",
    "C13": 'An error is a chunk `{"error": {"message": …}}`; nothing comes after it, no `[DONE]` either.',
}

RULES: Mapping[str, str] = {**_ALL_FORMATS, **_ANTHROPIC_MESSAGES, **_OPENAI_RESPONSES, **_OPENAI_CHAT}
"""Every rule by its number."""
PERMISSIONS = frozenset({"A14", "R10", "R11"})
"""Rules that allow something: nothing can be found under their numbers."""
PROMISES = frozenset({"C4", "C7"})
"""Rules of penstock's own writers, which others need not keep."""
