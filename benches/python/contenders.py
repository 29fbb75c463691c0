"""What core, reference and peers do with a stream. Each does what its own documentation shows, and no less."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import litellm
import msgspec
import orjson
from openai.lib.streaming.chat import ChatCompletionStreamState

import penstock
from penstock import _core, reference

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from sample import Stream

# Where a stream reports no usage, LiteLLM would count tokens itself, with a tokenizer that it may have to download.
litellm.disable_token_counter = True
litellm.suppress_debug_info = True

ENGINES = {"core": _core.StreamProcessor, "reference": reference.StreamProcessor}
_TEXT_FIELDS = {"tool_call": "arguments", "unknown": "raw"}


def read_blocks(engine: Callable[..., Any], streams: Iterable[list[Any]]) -> None:
    """Feeds each stream to an engine of its own, and looks at the text of every block at the end."""
    for items in streams:
        processor = engine(emit="nothing")
        for item in items:
            processor.feed(item)
        processor.finish()
        look(processor.state)


def look(state: penstock.StreamState) -> list[Any]:
    """What the blocks have: text stays with the engine until somebody looks, and somebody does."""
    return [getattr(block, _TEXT_FIELDS.get(block.type, "content")) for block in state.blocks]


async def arrive(items: list[Any]) -> AsyncIterator[Any]:
    """An upstream that never keeps anybody waiting."""
    for item in items:
        yield item


async def do_nothing(chunk: Any, state: Any, context: Any) -> None:
    """A policy."""


async def look_at_end(chunk: Any, state: penstock.StreamState, context: Any) -> None:
    """A policy that looks at the text once, when the answer is finished."""
    if state.finish_reason is not None and state.just_completed is not None:
        look(state)


async def process_with_core(streams: Iterable[list[Any]], policy: Any = do_nothing) -> None:
    """The processor as users call it."""
    for items in streams:
        processor = penstock.StreamProcessor(on_chunk_callback=policy)
        await processor.process(arrive(items), penstock.StreamingContext())


async def process_with_reference(streams: Iterable[list[Any]], policy: Any = do_nothing) -> None:
    """The shortest loop around the reference that calls a policy for each chunk."""
    for items in streams:
        engine = reference.StreamProcessor(emit="chunks")
        context = penstock.StreamingContext()
        async for item in arrive(items):
            for chunk in engine.feed(item):
                await policy(chunk, engine.state, context)
        for chunk in engine.finish():
            await policy(chunk, engine.state, context)


async def process_with_nothing(streams: Iterable[list[Any]]) -> None:
    """The loop alone: what any processor of this kind has to pay."""
    for items in streams:
        async for item in arrive(items):
            await do_nothing(item, None, None)


PROCESSORS = {"core": process_with_core, "reference": process_with_reference}


class Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class ToolCall(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: Function | None = None


class Delta(msgspec.Struct):
    role: str | None = None
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[ToolCall] | None = None


class Choice(msgspec.Struct):
    index: int = 0
    delta: Delta | None = None
    finish_reason: str | None = None


class Chunk(msgspec.Struct):
    """The fields of a chunk that make up blocks; every other field is skipped."""

    id: str | None = None
    model: str | None = None
    choices: list[Choice] | None = None
    usage: dict[str, Any] | None = None


PARSERS = {
    "`json.loads` of each chunk": json.loads,
    "`orjson.loads` of each chunk": orjson.loads,
    "`msgspec` typed decode of each chunk": msgspec.json.Decoder(Chunk).decode,
}


def parse(loads: Callable[[bytes], Any], streams: Iterable[list[bytes]]) -> None:
    """Parses the JSON of each chunk, and does nothing with it."""
    for payloads in streams:
        for payload in payloads:
            loads(payload)


def accumulate_with_openai(streams: Iterable[list[Any]]) -> None:
    """As the docstring of `ChatCompletionStreamState` shows it."""
    for chunks in streams:
        state = ChatCompletionStreamState()
        for chunk in chunks:
            state.handle_chunk(chunk)
        state.get_final_completion()


def accumulate_with_litellm(streams: Iterable[list[Any]]) -> None:
    """All chunks of a stream at once, after its end."""
    for chunks in streams:
        litellm.stream_chunk_builder(chunks)


def parse_all(stream: Stream) -> None:
    """Every parser, once."""
    for loads in PARSERS.values():
        parse(loads, [stream.payloads])


def accumulate_all(stream: Stream) -> None:
    """Everything that makes an answer out of chunks, once."""
    accumulate_with_openai([stream.openai_objects])
    accumulate_with_litellm([stream.litellm_objects])
    for engine in ENGINES.values():
        for form in ("reads", "dicts", "litellm_objects"):
            read_blocks(engine, [getattr(stream, form)])
