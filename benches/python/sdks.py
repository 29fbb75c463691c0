"""What the official SDKs do with the bytes of Messages and Responses: their events, and the answer that they make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import anthropic
import httpx
import httpx2
import openai
from anthropic.lib.streaming import MessageStream
from anthropic.types import RawMessageStreamEvent
from openai._streaming import Stream as OpenAIStream
from openai.lib.streaming.responses import ResponseStream
from openai.types.responses import ResponseStreamEvent

if TYPE_CHECKING:
    from collections.abc import Iterable

_ANTHROPIC = anthropic.Anthropic(api_key="none")
_OPENAI = openai.OpenAI(api_key="none")
_URL = "http://localhost"


def read_messages(bodies: Iterable[bytes]) -> None:
    """As `client.messages.stream()` does it, behind the network."""
    for body in bodies:
        response = httpx2.Response(200, content=body, request=httpx2.Request("POST", _URL))
        raw: Any = anthropic.Stream(cast_to=cast("Any", RawMessageStreamEvent), response=response, client=_ANTHROPIC)
        MessageStream(raw, output_format=anthropic.NOT_GIVEN).get_final_message()


def read_responses(bodies: Iterable[bytes]) -> None:
    """As `client.responses.stream()` does it, behind the network."""
    for body in bodies:
        response = httpx.Response(200, content=body, request=httpx.Request("POST", _URL))
        raw: Any = OpenAIStream(cast_to=cast("Any", ResponseStreamEvent), response=response, client=_OPENAI)
        stream = ResponseStream(
            raw_stream=raw, text_format=openai.NOT_GIVEN, input_tools=openai.NOT_GIVEN, starting_after=None
        )
        for _ in stream:
            pass


SDKS = {"anthropic_messages": read_messages, "openai_responses": read_responses}
