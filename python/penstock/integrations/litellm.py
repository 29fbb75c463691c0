"""The gate as a callback of LiteLLM's proxy.

Rules. (1) It is a logger and no guardrail: a guardrail runs only where a request or a key asks for it. (2) What comes as objects leaves as
objects of the same classes, what comes as bytes leaves as bytes, so that other callbacks find what they expect. (3) LiteLLM looks for the
hook in the class itself and not in its bases, so each subclass gets it anew. (4) What cannot be judged is an error to the client.
"""

# LiteLLM has types for much, and does not say that it has.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

from __future__ import annotations

import json
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Unpack

from penstock.errors import PenstockError
from penstock.integrations.guarding import HttpGuard, error_answer, missing
from penstock.options import GuardOptions, check_options
from penstock.shapes import EventReader

try:
    from litellm.integrations.custom_logger import CustomLogger
    from litellm.llms.openai.responses.transformation import OpenAIResponsesAPIConfig
    from litellm.types.llms.openai import ResponsesAPIResponse
    from litellm.types.utils import ModelResponse, ModelResponseStream
except ModuleNotFoundError as error:
    raise missing("litellm", "litellm", error) from None

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from penstock.policy import Policy
    from penstock.protocols import Target
    from penstock.translator import FailureKind

__all__ = ["AnswerRefused", "PenstockGuard"]

STREAM_HOOK = "async_post_call_streaming_iterator_hook"


class AnswerRefused(PenstockError):
    """An answer cannot be passed on. LiteLLM makes of it the error that the client gets.

    Attributes:
        message: What the client is told.
        type: The kind of error.
        param: Nothing; LiteLLM asks for it.
        status_code: The status where nothing was sent yet.
    """

    def __init__(self, message: str, kind: FailureKind) -> None:
        super().__init__(message)
        self.message = message
        self.type = kind
        self.param = None
        self.status_code = error_answer(None, kind, message).status


class PenstockGuard(CustomLogger):
    """Judges every answer of a LiteLLM proxy: chat, `/v1/messages` and `/v1/responses`, streamed or not.

    Make one in a module beside the proxy's configuration, and name it there: `litellm_settings: {callbacks: my_module.guard}`.

    Args:
        policy: Who judges.
        options: As for `HttpGuard`: `routes`, `chunk_timeout`, `on_deny`, `audit` …

    Example:
        >>> import penstock
        >>> from penstock.integrations.litellm import PenstockGuard
        >>> guard = PenstockGuard(penstock.AllowAll())
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Gives the subclass the hook as its own, for LiteLLM finds it nowhere else."""
        super().__init_subclass__(**options)
        if STREAM_HOOK not in vars(cls):
            setattr(cls, STREAM_HOOK, getattr(cls, STREAM_HOOK))

    def __init__(self, policy: Policy, **options: Unpack[GuardOptions]) -> None:
        check_options(type(self).__name__, options, GuardOptions)
        super().__init__()
        self._guard = HttpGuard(policy, **options)

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any]:
        """The judged stream, in the objects in which it came."""
        protocol = self._protocol(user_api_key_dict)
        if protocol is None:
            async for chunk in response:
                yield chunk
            return
        chunks = _chunks(protocol)
        async with aclosing(self._guard.stream(response, protocol, request_data)) as judged:
            async for out in judged:
                for chunk in chunks(out):
                    yield chunk

    async def async_post_call_success_hook(self, data: dict[str, Any], user_api_key_dict: Any, response: Any) -> Any:
        """The judged answer, as the object as which it came."""
        protocol = self._protocol(user_api_key_dict)
        if protocol is None:
            return response
        answer = await self._guard.body([response], protocol, data)
        said = json.loads(answer.body)
        if answer.failed:
            raise _refused(said)
        return _rebuilt(response, said)

    def _protocol(self, user_api_key_dict: Any) -> Target | None:
        """The wire format of the answer; None if it passes untouched."""
        route = user_api_key_dict.request_route or ""
        place = self._guard.routes.place(route)
        if place == "unknown":
            message = "this path is neither guarded nor listed as unguarded"
            raise AnswerRefused(message, "permission_error")
        return None if place == "unguarded" else place


def _refused(said: dict[str, Any]) -> AnswerRefused:
    return AnswerRefused(said["error"]["message"], said["error"]["type"])


def _chunks(protocol: Target) -> Callable[[bytes], list[Any]]:
    """Makes what LiteLLM streams on a route from what the gate writes."""
    if protocol == "anthropic_messages":
        return lambda out: [out]
    reader = EventReader(protocol, "dict")
    make = _chat_chunk if protocol == "openai_chat" else _responses_event
    return lambda out: [make(event) for event in reader.read(out)]


def _chat_chunk(event: dict[str, Any]) -> ModelResponseStream:
    if "error" in event:
        # An error that is raised ends the stream; behind one that is written LiteLLM would say that the answer is done.
        raise _refused(event)
    return ModelResponseStream(**event)


def _responses_event(event: dict[str, Any]) -> Any:
    return OpenAIResponsesAPIConfig.get_event_model_class(event["type"])(**event)


def _rebuilt(response: Any, said: dict[str, Any]) -> Any:
    match response:
        case dict():
            return said
        case ModelResponse() | ResponsesAPIResponse():
            judged = type(response)(**said)
            # Where the answer came from and what it cost, for the proxy's own headers and records.
            judged._hidden_params = response._hidden_params  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            return judged
        case _:
            message = "the upstream's answer is of a kind that cannot be judged"
            raise AnswerRefused(message, "api_error")
