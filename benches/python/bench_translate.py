"""Translation: the core beside the reference and beside LiteLLM's translators, on the same streams."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import translators
from sample import Sample, Stream
from translators import ENGINES, ResponsesStream, count, count_async, translate

if TYPE_CHECKING:
    from collections.abc import Callable

CHAT_TO_MESSAGES = ("openai_chat", "anthropic_messages")
FORMS = {
    "reads": "bytes, 16 KiB per read",
    "events": "bytes, one event per read",
    "dicts": "dicts",
    "litellm_objects": "LiteLLM objects",
}


@pytest.fixture(scope="session")
def chat(sample: Sample) -> Sample:
    """Chat streams that everything here translates to the end."""
    return translators.chat_streams(sample)


@pytest.mark.parametrize("form", FORMS)
def test_chat_to_messages(form: str, chat: Sample, duel: Callable[..., None]) -> None:
    streams = chat.each(form)
    core, other = (partial(translate, engine, streams, *CHAT_TO_MESSAGES) for engine in ENGINES)
    duel("translation", f"chat → Messages, {FORMS[form]}; reference", core, other, unit=chat.chunks * 1e-6)


@pytest.mark.parametrize(
    ("form", "litellm"),
    [("litellm_objects", translators.litellm_chat_objects), ("events", translators.litellm_chat_events)],
)
def test_chat_to_messages_beside_litellm(form: str, litellm: Any, chat: Sample, duel: Callable[..., None]) -> None:
    streams = chat.each(form)
    core = partial(translate, "core", streams, *CHAT_TO_MESSAGES)
    other = partial(count, litellm, streams)
    duel("translation", f"chat → Messages, {FORMS[form]}; LiteLLM", core, other, unit=chat.chunks * 1e-6)


def test_chat_to_messages_from_bytes_beside_litellm_from_objects(chat: Sample, duel: Callable[..., None]) -> None:
    core = partial(translate, "core", chat.each("events"), *CHAT_TO_MESSAGES)
    other = partial(count, translators.litellm_chat_objects, chat.each("litellm_objects"))
    title = f"chat → Messages, {FORMS['events']}; LiteLLM, from objects that are ready"
    duel("translation", title, core, other, unit=chat.chunks * 1e-6)


@pytest.mark.parametrize(
    ("form", "litellm"),
    [("objects", translators.litellm_responses_objects), ("events", translators.litellm_responses_events)],
)
def test_responses_to_messages_beside_litellm(
    form: str, litellm: Any, run: Callable[[Any], Any], duel: Callable[..., None]
) -> None:
    def is_read(stream: Stream) -> bool:
        written = run(_joined(litellm, getattr(stream, form)))
        return written.endswith(b'{"type": "message_stop"}\n\n')

    responses = translators.streams_of("openai_responses", ResponsesStream, is_read)
    streams = responses.each(form)
    core = partial(translate, "core", streams, "openai_responses", "anthropic_messages")
    title = f"Responses → Messages, {FORMS.get(form, 'LiteLLM objects')}; LiteLLM"
    duel("translation", title, core, lambda: run(count_async(litellm, streams)), unit=responses.chunks * 1e-6)


def test_messages_to_chat_beside_litellm(duel: Callable[..., None]) -> None:
    litellm = translators.litellm_messages_events

    def is_read(stream: Stream) -> bool:
        return b'"finish_reason":"' in b"".join(litellm(stream.events))

    messages = translators.streams_of("anthropic_messages", Stream, is_read)
    streams = messages.each("events")
    core = partial(translate, "core", streams, "anthropic_messages", "openai_chat")
    title = f"Messages → chat, {FORMS['events']}; LiteLLM"
    duel("translation", title, core, partial(count, litellm, streams), unit=messages.chunks * 1e-6)


async def _joined(translator: Any, items: list[Any]) -> bytes:
    return b"".join([each async for each in translator(items)])
