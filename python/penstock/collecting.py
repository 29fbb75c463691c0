"""Any wire format in, a body of any wire format out."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Unpack

from penstock import sources
from penstock.bodies import BodyFold
from penstock.event_translator import EventTranslator, translate_events
from penstock.options import TranslateOptions, TranslatorOptions, check_options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.protocols import Source, Target
    from penstock.sources import Incoming

__all__ = ["collect", "collect_sync", "translate_body"]


def translate_body(
    body: Any, *, source: Source = "auto", target: Target, **options: Unpack[TranslatorOptions]
) -> dict[str, Any]:
    r"""Translates an answer that was not streamed.

    It is read as a stream of one chunk and written as a stream, by the same rules, and what was written is put together: so whatever is
    said of streams holds for bodies. An answer that is an error, or a page, gives the target's own error body.

    Args:
        body: The answer: bytes or text of JSON, a dict, or an object of an SDK or of LiteLLM. The bytes of a whole stream do as well.
        source: The wire format to read, or `auto` to tell it from the body.
        target: The wire format to write.
        **options: As for `Translator`.

    Raises:
        LimitExceeded: The answer reached one of the limits.
        ProtocolError: In strict mode, at the first deviation.

    Example:
        >>> from penstock import translate_body
        >>> choice = {"message": {"content": "Hi"}, "finish_reason": "stop"}
        >>> answer = {"id": "1", "object": "chat.completion", "choices": [choice]}
        >>> translate_body(answer, target="anthropic_messages")["content"]
        [{'type': 'text', 'text': 'Hi'}]
    """
    check_options("translate_body", options, TranslatorOptions)
    return collect_sync([body], source=source, target=target, **options)


def collect_sync(
    chunks: Iterable[Any], *, source: Source = "auto", target: Target, **options: Unpack[TranslatorOptions]
) -> dict[str, Any]:
    """As `collect`, from a plain iterable, without time-outs; what goes wrong with the source is raised.

    Raises:
        LimitExceeded: The stream reached one of its limits.
        ProtocolError: In strict mode, at the first deviation.
    """
    check_options("collect_sync", options, TranslatorOptions)
    translator = EventTranslator(source=source, target=target, shape="dict", **options)
    fold = BodyFold(target)
    for chunk in sources.checked_iterable(chunks, instead="collect"):
        fold.add(translator.feed(chunk))
    fold.add(translator.finish())
    return fold.body


async def collect(
    incoming: Incoming, *, source: Source = "auto", target: Target, **options: Unpack[TranslateOptions]
) -> dict[str, Any]:
    """Reads a stream to its end, and gives the answer as the target's body.

    Whatever goes wrong, as with `translate`, gives the target's own error body.

    Args:
        incoming: As for `translate`.
        source: The wire format to read, or `auto` to tell it from the first event.
        target: The wire format to write.
        **options: As for `translate`.
    """
    check_options("collect", options, TranslateOptions)
    fold = BodyFold(target)
    async with aclosing(translate_events(incoming, source=source, target=target, shape="dict", **options)) as events:
        async for event in events:
            fold.add([event])
    return fold.body
