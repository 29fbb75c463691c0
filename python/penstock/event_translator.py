"""Any wire format in, events of any wire format out: as dicts or as objects."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Unpack

from penstock.options import TranslateOptions, TranslatorOptions, check_options
from penstock.shapes import EventReader, Shape
from penstock.translator import FailureKind, Translator, translate

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.protocols import Source, Target
    from penstock.sources import Incoming

__all__ = ["EventTranslator", "Shape", "translate_events"]


class EventTranslator:
    """As `Translator`, but gives events instead of bytes.

    The events say what the bytes would say. A terminator and a comment are no events, so `ping` gives one only where the target has one.

    Args:
        source: The wire format to read, or `auto` to tell it from the first event.
        target: The wire format to write.
        shape: What an event is. `dict`: plain data. `sdk`: the class of the vendor's SDK, `ChatCompletionChunk`, `RawMessageStreamEvent`
            or `ResponseStreamEvent`. `litellm`: `ModelResponseStream`, for the target `openai_chat`. A package is imported only when its
            objects are asked for. An error in chat, which has no class, is a chunk without choices that has an `error`; signs of life are
            left out, as the SDKs do.
        **options: As for `Translator`.

    Attributes:
        translator: The translator beneath, which knows `losses`, `ids`, `failure` and `is_over`.

    Raises:
        ModuleNotFoundError: The package whose objects were asked for is not installed.

    Example:
        >>> from penstock import EventTranslator
        >>> translator = EventTranslator(target="anthropic_messages")
        >>> events = translator.feed({"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}) + translator.finish()
        >>> [event["type"] for event in events][:3]
        ['message_start', 'content_block_start', 'content_block_delta']
    """

    def __init__(
        self,
        *,
        source: Source = "auto",
        target: Target,
        shape: Shape = "dict",
        **options: Unpack[TranslatorOptions],
    ) -> None:
        check_options("EventTranslator", options, TranslatorOptions)
        self.translator = Translator(source=source, target=target, **options)
        self._reader = EventReader(target, shape)

    def feed(self, item: Any) -> list[Any]:
        """As `Translator.feed`."""
        return self._reader.read(self.translator.feed(item))

    def finish(self) -> list[Any]:
        """As `Translator.finish`."""
        return self._reader.read(self.translator.finish())

    def interrupt(self, error: object, *, kind: FailureKind = "api_error") -> list[Any]:
        """As `Translator.interrupt`."""
        return self._reader.read(self.translator.interrupt(error, kind=kind))

    def ping(self) -> list[Any]:
        """As `Translator.ping`."""
        return self._reader.read(self.translator.ping())


async def translate_events(
    incoming: Incoming,
    *,
    source: Source = "auto",
    target: Target,
    shape: Shape = "dict",
    **options: Unpack[TranslateOptions],
) -> AsyncGenerator[Any]:
    """As `translate`, but gives events instead of bytes.

    Args:
        incoming: As for `translate`.
        source: The wire format to read, or `auto` to tell it from the first event.
        target: The wire format to write.
        shape: What an event is; see `EventTranslator`.
        **options: As for `translate`.

    Yields:
        The events of the target's stream.
    """
    check_options("translate_events", options, TranslateOptions)
    reader = EventReader(target, shape)
    async with aclosing(translate(incoming, source=source, target=target, **options)) as reads:
        async for read in reads:
            for event in reader.read(read):
                yield event
