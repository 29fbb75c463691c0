"""What the models of each preset write as text leaves as thinking, text and a native call, in every format, with no marker in it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from penstock.vocabularies import PRESETS
from tag_texts import markers
from tagged import shape
from test_tag_formats import chat, messages_stream, responses_stream
from test_tag_presets import EXAMPLES
from translating import CHAT, FORMATS, MESSAGES, RESPONSES, legally

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.vocabulary import TagVocabulary
    from tagged import Shape
    from translating import Written


def plain(*texts: str) -> list[Any]:
    return list(texts)


SOURCES: dict[str, Callable[..., list[Any]]] = {
    CHAT: chat,
    MESSAGES: messages_stream,
    RESPONSES: responses_stream,
    "text": plain,
}

every_example = pytest.mark.parametrize(
    ("name", "text", "blocks"),
    [
        pytest.param(name, *example, id=f"{name}-{number}")
        for name, examples in EXAMPLES.items()
        for number, example in enumerate(examples)
    ],
)
every_source = pytest.mark.parametrize("source", SOURCES)
every_target = pytest.mark.parametrize("target", FORMATS)
each_size = pytest.mark.parametrize("size", [4, 1000])


def translated(name: str, text: str, source: str, target: str, size: int) -> Written:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return legally(SOURCES[source](*pieces), source, target, tags=name)


def parsed(shape: Shape) -> tuple[Any, ...]:
    """A block in short, its arguments as what they mean."""
    return (*shape[:2], json.loads(shape[2])) if shape[0] == "tool_call" else shape


def has_marker(text: str, vocabulary: TagVocabulary) -> bool:
    """Whether a marker stands in a text, whatever fills its places and with any prefix."""
    return any(re.search(_pattern(marker), text) for marker in markers(vocabulary))


def _pattern(marker: str) -> str:
    filled = re.sub(r"\\\{\w*\\\}", r"\\S+", re.escape(marker)).replace("\\ ", r"\s*")
    return re.sub(r"^(</?)(?=\w)", r"\1(?:\\w+:)?", filled)


@each_size
@every_target
@every_source
@every_example
def test_a_preset_leaves_as_native_blocks(
    name: str, text: str, blocks: list[Shape], source: str, target: str, size: int
) -> None:
    result = translated(name, text, source, target, size)
    assert [parsed(shape(block)) for block in result.blocks] == [parsed(each) for each in blocks]
    assert result.translator.losses == {}
    calls = [block for block in result.blocks if block.type == "tool_call"]
    assert result.state.finish_reason == ("tool_calls" if calls else "stop")
    assert all(block.is_complete and block.id and block.kind == "function" for block in calls)


@every_target
@every_example
def test_no_marker_of_a_preset_is_left(name: str, text: str, blocks: list[Shape], target: str) -> None:
    assert has_marker(text, PRESETS[name])
    for block in translated(name, text, CHAT, target, 4).blocks:
        assert not any(has_marker(each, PRESETS[name]) for each in shape(block)[1:])


@every_target
@pytest.mark.parametrize("name", PRESETS)
def test_the_pieces_of_a_text_change_nothing_that_is_written(name: str, target: str) -> None:
    text, _ = EXAMPLES[name][0]
    whole, cut = (translated(name, text, CHAT, target, size).state for size in (1000, 4))
    assert (whole.blocks, whole.finish_reason) == (cut.blocks, cut.finish_reason)


@every_target
def test_the_id_that_a_preset_writes_is_the_id_of_the_native_call(target: str) -> None:
    text = next(each for each, _ in EXAMPLES["mistral"] if "[CALL_ID]" in each)
    result = translated("mistral", text, CHAT, target, 4)
    assert [result.translator.ids.get(block.id, block.id) for block in result.blocks if block.type == "tool_call"] == [
        "abc"
    ]


@every_target
@pytest.mark.parametrize("name", PRESETS)
def test_without_its_preset_the_text_stays_text(name: str, target: str) -> None:
    text, _ = EXAMPLES[name][0]
    (block,) = legally(chat(text), CHAT, target).blocks
    assert shape(block) == ("text", text)
