"""Chunks as the objects that LiteLLM and the OpenAI SDK hand out."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wire import Chunk

ENVELOPE = {"id": "r1", "created": 1, "model": "m", "object": "chat.completion.chunk"}


def as_litellm(chunk: Chunk) -> Any:
    """LiteLLM's `ModelResponseStream`."""
    from litellm.types.utils import ModelResponseStream  # noqa: PLC0415 (it takes seconds to import)

    return ModelResponseStream(**ENVELOPE | chunk)


def as_litellm_response(chunk: Chunk) -> Any:
    """LiteLLM's older `ModelResponse` with streaming choices."""
    from litellm.types.utils import ModelResponse  # noqa: PLC0415

    with warnings.catch_warnings(action="ignore"):
        # LiteLLM builds this class on its first use, and pydantic warns of one of its types.
        response = ModelResponse(stream=True, id="r1", created=1, model="m")
    response.choices = as_litellm(chunk).choices
    return response


def as_openai(chunk: Chunk) -> Any:
    """The OpenAI SDK's `ChatCompletionChunk`, made as the SDK makes it: without validation."""
    from openai.types.chat import ChatCompletionChunk  # noqa: PLC0415

    return ChatCompletionChunk.construct(**ENVELOPE | chunk)


def as_dict(chunk: Chunk) -> Chunk:
    """The chunk itself, with an envelope."""
    return {**ENVELOPE, **chunk}


MODELS = {"litellm": as_litellm, "litellm_response": as_litellm_response, "openai": as_openai}
FORMS = {"dict": as_dict, **MODELS}


def said(chunk: Any) -> Any:
    """What a chunk in any form says: fields that are null, and padding, say nothing."""
    plain = chunk if isinstance(chunk, dict) else chunk.model_dump()
    return _without_nulls(plain)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        given = {name: each for name, each in value.items() if each is not None and name != "obfuscation"}
        return {name: _without_nulls(each) for name, each in given.items()}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    return value
