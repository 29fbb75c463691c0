"""What the official SDK makes of the bytes of a chat stream."""

from __future__ import annotations

from typing import Any, cast

import httpx
from openai import OpenAI
from openai._streaming import Stream
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk


def read(data: bytes) -> Any:
    """The completion that the SDK accumulates.

    Raises:
        Exception: Whatever the SDK raises where a stream is not as it wants it.
    """
    with OpenAI(api_key="none") as client:
        answer = httpx.Response(200, content=data, request=httpx.Request("POST", "https://localhost"))
        state = ChatCompletionStreamState()
        for chunk in Stream(cast_to=cast("Any", ChatCompletionChunk), response=answer, client=client):
            state.handle_chunk(chunk)
        return state.current_completion_snapshot
