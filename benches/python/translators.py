"""Translators side by side: each gets a stream and gives the bytes that its client would get."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

import own_streams
from contenders import arrive
from litellm.llms.anthropic.chat.handler import ModelResponseIterator
from litellm.llms.anthropic.pass_through.adapters.transformation import AnthropicAdapter
from litellm.llms.anthropic.pass_through.responses_adapters.streaming_iterator import AnthropicResponsesStreamWrapper
from litellm.llms.openai.chat.gpt_transformation import OpenAIChatCompletionStreamingHandler
from litellm.llms.openai.responses.transformation import OpenAIResponsesAPIConfig
from sample import STRIDES, Sample, Stream

from penstock import _core, reference
from recorded import CORPUS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

ENGINES: dict[str, Any] = {"core": _core.Translator, "reference": reference.Translator}
_ADAPTER = AnthropicAdapter()
_RESPONSES = OpenAIResponsesAPIConfig()


def translate(engine: str, streams: Iterable[list[Any]], source: str, target: str) -> int:
    """The bytes that all streams give, counted."""
    written = 0
    for items in streams:
        translator = ENGINES[engine](source=source, target=target, id="made", created=1)
        for item in items:
            written += len(translator.feed(item))
        written += len(translator.finish())
    return written


def _lines(events: list[bytes]) -> Iterator[str]:
    """What LiteLLM's HTTP client gives to its readers."""
    for event in events:
        yield from event.decode().splitlines()


def litellm_chat_objects(objects: list[Any]) -> Iterator[bytes]:
    """Chunks that LiteLLM has read, through the translator of its `/v1/messages`."""
    stream: Any = _ADAPTER.translate_completion_output_params_streaming(iter(objects), model="m", is_async=False)
    yield from stream


def litellm_chat_events(events: list[bytes]) -> Iterator[bytes]:
    """The same, read by LiteLLM's own reader. What it does between the two for logs and costs is left out."""
    chunks = OpenAIChatCompletionStreamingHandler(streaming_response=_lines(events), sync_stream=True)
    yield from litellm_chat_objects(chunks)  # pyright: ignore[reportArgumentType] (it is only iterated)


def litellm_messages_events(events: list[bytes]) -> Iterator[bytes]:
    """Messages, read by LiteLLM into its chunks and written as its proxy writes them."""
    for chunk in ModelResponseIterator(streaming_response=_lines(events), sync_stream=True):
        # A line that is no data gives a dict that says nothing.
        if not isinstance(chunk, dict):
            yield f"data: {chunk.model_dump_json(exclude_none=True)}\n\n".encode()


async def litellm_responses_objects(objects: list[Any]) -> AsyncIterator[bytes]:
    """Events of Responses that LiteLLM has read, through the other translator of its `/v1/messages`."""
    wrapper = AnthropicResponsesStreamWrapper(responses_stream=arrive(objects), model="m")
    async for each in wrapper.async_anthropic_sse_wrapper():
        yield each


async def _read_responses(events: list[bytes]) -> AsyncIterator[Any]:
    for line in _lines(events):
        if line.startswith("data:"):
            yield _RESPONSES.transform_streaming_response("m", json.loads(line[5:]), logging_obj=None)  # pyright: ignore[reportArgumentType] (it is not used)


async def litellm_responses_events(events: list[bytes]) -> AsyncIterator[bytes]:
    """The same, read by LiteLLM's own reader."""
    wrapper = AnthropicResponsesStreamWrapper(responses_stream=_read_responses(events), model="m")
    async for each in wrapper.async_anthropic_sse_wrapper():
        yield each


def count(translator: Callable[[list[Any]], Iterator[bytes]], streams: Iterable[list[Any]]) -> int:
    """The bytes that all streams give, counted."""
    return sum(len(each) for items in streams for each in translator(items))


async def count_async(translator: Callable[[list[Any]], AsyncIterator[bytes]], streams: Iterable[list[Any]]) -> int:
    """The same."""
    written = 0
    for items in streams:
        async for each in translator(items):
            written += len(each)
    return written


class ResponsesStream(Stream):
    """One stream of Responses."""

    @cached_property
    def objects(self) -> list[Any]:
        """The events as LiteLLM's models."""
        return [_RESPONSES.transform_streaming_response("m", event, logging_obj=None) for event in self.dicts]  # pyright: ignore[reportArgumentType] (it is not used)


def chat_streams(sample: Sample) -> Sample:
    """Of the streams of a run, those that LiteLLM translates to their end, the second time as the first."""
    return Sample(sample.title, [stream for stream in sample.streams if _is_translated(stream)])


def _is_translated(stream: Stream) -> bool:
    forms = ((litellm_chat_objects, stream.litellm_objects), (litellm_chat_events, stream.events))
    written = [b"".join(translator(items)) for translator, items in (*forms, *forms)]
    has_ended = all(each.endswith(b'data: {"type": "message_stop"}\n\n') for each in written)
    return has_ended and [len(each) for each in written[:2]] == [len(each) for each in written[2:]]


def streams_of(protocol: str, kind: type[Stream], is_read: Callable[[Stream], bool]) -> Sample:
    """Recordings of a format where they are, else the project's own streams, translated to it."""
    paths = sorted((CORPUS / protocol).glob("*.sse"))[:: STRIDES[protocol]]
    bodies = [path.read_bytes() for path in paths] or [_own(make, protocol) for make in _OWN]
    return Sample(f"{protocol}, {'recorded' if paths else 'generated'}", list(filter(is_read, map(kind, bodies))))


def _own(make: Callable[[int], list[bytes]], protocol: str) -> bytes:
    options: dict[str, Any] = {"source": "openai_chat", "target": protocol, "id": "made", "created": 1}
    translator = _core.Translator(**options, coalesce=False)
    return b"".join([*map(translator.feed, make(600)), translator.finish()])


_OWN = (own_streams.text, own_streams.reasoning, own_streams.tool_calls)
