"""Translates streams for tests: what was written, read again by the project, by its validator and by the official SDKs."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import penstock
from feeding import feed
from legal import assert_legal
from responses import CORE, compact

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.blocks import StreamState
    from recorded import Recording

CHAT, MESSAGES, RESPONSES = FORMATS = ("openai_chat", "anthropic_messages", "openai_responses")
PAIRS = [(source, target) for source in FORMATS for target in FORMATS]


@dataclass
class Written:
    """A stream that was written, and the translator that wrote it."""

    data: bytes
    target: str
    translator: penstock.Translator

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events as dicts, without `[DONE]` and comments."""
        lines = self.data.decode().split("\n")
        found = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
        return [json.loads(each) for each in found if each != "[DONE]"]

    @property
    def state(self) -> StreamState:
        """What the project reads in it."""
        return state_of([self.data], self.target)

    @property
    def blocks(self) -> list[Any]:
        """What the project reads in it."""
        return self.state.blocks


def written(items: Iterable[Any], source: str, target: str, **options: Any) -> Written:
    """A stream translated. Ids and times are fixed, so that it can be compared."""
    options = {"message_id": "x", "created": 7, "coalesce": False, **options}
    translator = penstock.Translator(source=source, target=target, **options)  # type: ignore[arg-type]
    data = b"".join(map(translator.feed, items)) + translator.finish()
    return Written(data, target, translator)


def legally(items: Iterable[Any], source: str, target: str, **options: Any) -> Written:
    """A stream translated, which is legal and which the official SDK reads."""
    result = written(items, source, target, **options)
    ended = assert_legal(result.data, target).ended
    is_closed = result.translator.failure is None or options.get("on_interrupt") == "close"
    assert ended == ("finished" if is_closed else "error")
    read_by_sdk(result.data, target)
    return result


def items_of(recording: Recording) -> list[Any]:
    """A recording as it can be fed."""
    return [recording.data] if recording.is_sse else list(recording.lines)


def state_of(items: Iterable[Any], source: str) -> StreamState:
    """What the project reads in a stream."""
    return feed(CORE, items, source=source)[1].state


# The official SDKs


class TheStreamReportsAnError(Exception):
    """An SDK raised its own error because the stream ended with one."""


def read_by_sdk(data: bytes, target: str) -> Any:
    """What the official SDK accumulates; None where it raises its error for a stream that ends with one."""
    try:
        return _READERS[target](data)
    except TheStreamReportsAnError:
        assert penstock.check(data, target).ended == "error"  # type: ignore[arg-type]
        return None


def _read_chat(data: bytes) -> Any:
    import openai  # noqa: PLC0415 (it takes a second to import)

    import chat_sdk  # noqa: PLC0415

    try:
        return chat_sdk.read(data)
    except openai.APIError as error:
        raise TheStreamReportsAnError from error


def _read_messages(data: bytes) -> Any:
    import anthropic  # noqa: PLC0415

    import anthropic_sdk  # noqa: PLC0415

    try:
        return anthropic_sdk.read(data)[2]
    except anthropic.APIStatusError as error:
        raise TheStreamReportsAnError from error


def _read_responses(data: bytes) -> Any:
    import responses_sdk  # noqa: PLC0415

    with warnings.catch_warnings():
        # Fields of hosted tools that the SDK's own types do not know yet.
        warnings.filterwarnings("ignore", "Pydantic serializer warnings")
        return responses_sdk.read(data).final


_READERS = {CHAT: _read_chat, MESSAGES: _read_messages, RESPONSES: _read_responses}


# The block model, but for what docs/translation.md says is changed or lost

Said = tuple[Any, ...]


def said(state: StreamState, target: str, *, is_native: bool) -> list[list[Said]]:
    """What each choice says that the target has words for."""
    choices = sorted({block.choice for block in state.blocks})
    shown = choices if target == CHAT else choices[:1]
    said = [_merged(_choice(state, choice, target, is_native=is_native)) for choice in shown]
    return [each for each in said if each]


def _choice(state: StreamState, choice: int, target: str, *, is_native: bool) -> list[Said]:
    blocks = [block for block in state.blocks if block.choice == choice]
    return [each for block in blocks for each in _said(block, target, is_native=is_native)]


def _said(block: Any, target: str, *, is_native: bool) -> list[Said]:
    match block.type:
        case "content":
            return [("text", block.content)]
        case "refusal":
            return [("text" if target == MESSAGES else "refusal", block.content)]
        case "thinking":
            return [("thinking", block.content, block.signature or ""), ("sealed", block.data or "")]
        case "tool_call" if block.kind in ("function", "custom"):
            return [_call(block, target)]
        case _ if is_native:
            return [("kept", block.type, getattr(block, "kind", ""), str(getattr(block, "raw", "")))]
        case _:
            return []


def _call(block: Any, target: str) -> Said:
    if block.kind == "function":
        return ("call", "function", block.name, "{}" if block.arguments in ("", "null") else block.arguments)
    if target == MESSAGES:
        return ("call", "function", block.name, compact({"input": block.arguments}))
    return ("call", "custom", block.name, block.arguments)


def _merged(parts: list[Said]) -> list[Said]:
    """Neighbours of one sort as one, and without what says nothing: chat has no borders between them. Sealed reasoning may come late."""
    filled = [part for part in parts if part[0] in ("call", "kept") or any(part[1:])]
    sealed = [part for part in filled if part[0] == "sealed"]
    others = [part for part in filled if part[0] != "sealed"]
    return [whole for _, run in groupby(others, lambda part: part[0]) for whole in _run(list(run))] + sealed


def _run(run: list[Said]) -> list[Said]:
    match run[0][0]:
        case "text" | "refusal":
            return [(run[0][0], "".join(part[1] for part in run))]
        case "thinking":
            return [("thinking", "".join(part[1] for part in run), "".join(part[2] for part in run))]
        case _:
            return run
