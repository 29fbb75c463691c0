"""What is measured: the same chunks in every form in which they come, recorded where recordings are, else the project's own."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import contenders
import own_formats
import own_streams
import sdks

from models import as_litellm, as_openai
from penstock import SseFramer
from recorded import CORPUS

READ_BYTES = 16 << 10
# Of chat every eighth recording in the order of their names: all providers that have several, and few enough for a short run.
# Of the others there are fewer.
STRIDES = {"openai_chat": 8, "anthropic_messages": 1, "openai_responses": 4}
_EVENT_END = re.compile(rb"(?<=\n\n)|(?<=\r\n\r\n)|(?<=\r\r)")


@dataclass(frozen=True)
class Stream:
    """One stream."""

    body: bytes

    @cached_property
    def reads(self) -> list[bytes]:
        """Its bytes as a fast network gives them."""
        return [self.body[start : start + READ_BYTES] for start in range(0, len(self.body), READ_BYTES)]

    @cached_property
    def events(self) -> list[bytes]:
        """Its bytes as a model gives them: one event per read."""
        return [event for event in _EVENT_END.split(self.body) if event]

    @cached_property
    def payloads(self) -> list[bytes]:
        """The JSON of each chunk."""
        return [event.data.encode() for event in SseFramer().feed(self.body) if event.data != "[DONE]"]

    @cached_property
    def dicts(self) -> list[dict[str, Any]]:
        """The chunks as dicts."""
        return [json.loads(payload) for payload in self.payloads]

    @cached_property
    def litellm_objects(self) -> list[Any]:
        """The chunks as LiteLLM's `ModelResponseStream`."""
        return [as_litellm(chunk) for chunk in self.dicts]

    @cached_property
    def openai_objects(self) -> list[Any]:
        """The chunks as the OpenAI SDK's `ChatCompletionChunk`."""
        return [as_openai(chunk) for chunk in self.dicts]

    def is_read_by_sdk(self, source: str) -> bool:
        """Whether the official SDK of the format reads the stream to its end."""
        try:
            sdks.SDKS[source]([self.body])
        except Exception:  # noqa: BLE001 (each reader has errors of its own)
            return False
        return True

    def is_read_by_all(self) -> bool:
        """Whether everything that is measured reads the stream to its end, so that all rows are of the same chunks."""
        try:
            contenders.parse_all(self)
            contenders.accumulate_all(self)
        except Exception:  # noqa: BLE001 (each reader has errors of its own)
            return False
        return True


@dataclass(frozen=True)
class Sample:
    """The streams that a run is about."""

    title: str
    streams: list[Stream]

    @property
    def chunks(self) -> int:
        """How many chunks the streams have, all together."""
        return sum(len(stream.payloads) for stream in self.streams)

    @property
    def bytes(self) -> int:
        """How many bytes the streams have, all together."""
        return sum(len(stream.body) for stream in self.streams)

    def each(self, form: str) -> list[list[Any]]:
        """The items of each stream, in one of the forms."""
        return [getattr(stream, form) for stream in self.streams]


def load(source: str) -> Sample:
    """The recordings of a format where they are, else the project's own streams."""
    paths = sorted((CORPUS / source).glob("*.sse"))[:: STRIDES[source]]
    if not paths:
        return Sample(f"{source}, generated, the project's own", [Stream(b"".join(make(600))) for make in _OWN[source]])
    recorded = [Stream(path.read_bytes()) for path in paths]
    is_read = Stream.is_read_by_all if source == "openai_chat" else partial(Stream.is_read_by_sdk, source=source)
    return Sample(f"{source}, recorded", [stream for stream in recorded if is_read(stream)])


_OWN = {
    "openai_chat": (own_streams.text, own_streams.reasoning, own_streams.tool_calls),
    "anthropic_messages": (own_formats.messages,),
    "openai_responses": (own_formats.responses,),
}
