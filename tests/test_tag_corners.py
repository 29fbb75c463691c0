"""Where two markers, two rules or two reads meet: a text gives the same blocks however it is cut, and both engines agree which."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import messages
import wire
from feeding import outcome
from penstock import TagVocabulary
from penstock.vocabularies import PRESETS
from tagged import calls, invoke, read, shape, shapes

if TYPE_CHECKING:
    from feeding import Engine

CLAUDE = PRESETS["claude-xml"]
DECODING = replace(CLAUDE, entities="decoded", cdata="unwrapped")
FENCED = replace(CLAUDE, code_fences="text", stop=("STOP",))
STOPPING = replace(CLAUDE, stop=("STOP", "<thinking>", "</function_calls>"))
GPT_OSS = PRESETS["gpt-oss"]
SELF_ENDING = TagVocabulary(
    "self-ending",
    sections=(("(calls)", "(/calls)"),),
    calls=(("[{name}|", ""),),
    call_body="json",
    ignored=("(/",),
)
WORDY = TagVocabulary("wordy", calls=(("use {name}", ";"),), call_body="json", ignored=("use tools",))
ANGULAR = TagVocabulary(
    "angular", thinking=(("<thinking>", "</thinking>"),), calls=(("<{name}>", "<end>"),), call_body="json"
)
SPACED = TagVocabulary("spaced", thinking=(("A ", "B"),))

IN_TEXT: list[tuple[Any, str, list[tuple[str, ...]]]] = [
    # A call as JSON is an object, and it has a name.
    ("hermes", '<tool_call><"name":"f","arguments":{}}', [("text", '<"name":"f","arguments":{}}')]),
    ("mistral", '[TOOL_CALLS]x"name":"f","arguments":{}}', [("text", 'x"name":"f","arguments":{}}')]),
    ("hermes", '<tool_call>{"name":"","arguments":{}}', [("text", '{"name":"","arguments":{}}')]),
    # Only an ampersand begins a character reference.
    (DECODING, invoke("f", p="a <lt; ]lt; &lt;"), [("tool_call", "f", '{"p":"a <lt; ]lt; <"}')]),
    # What ends by itself ends before the next marker is looked for.
    (
        replace(PRESETS["mistral"], stop=("get",)),
        '[TOOL_CALLS]a[ARGS]{}get_weather[ARGS]{"x":1}',
        [("tool_call", "a", "{}")],
    ),
    (SELF_ENDING, "(calls)[f|{}(/calls)x", [("tool_call", "f", "{}"), ("text", "x")]),
    # Behind JSON that has ended, a marker is no part of it.
    (
        GPT_OSS,
        '<|channel|>commentary to=functions.f <|message|>{"a":1}<|channel|>final<|message|>Hello',
        [("tool_call", "f", '{"a":1}'), ("text", "Hello")],
    ),
    # A stop sequence acts wherever text is visible, also if it is a marker elsewhere.
    (FENCED, "```\nab STOP cd\n```\n", [("text", "```\nab ")]),
    (STOPPING, "<function_calls>some text STOP more", [("text", "some text ")]),
    (STOPPING, "<function_calls>STOP more", []),
    (STOPPING, "Hi<thinking>y", [("text", "Hi")]),
    (STOPPING, f"{calls(invoke('a'))}Hello", [("tool_call", "a", "{}"), ("text", "Hello")]),
    (
        replace(GPT_OSS, stop=("<|return|>",)),
        "<|channel|>final<|message|>Hello<|return|>more",
        [("text", "Hello")],
    ),
    # Of two markers at one place, the one that is known first counts, or else the first of the vocabulary.
    (WORDY, "I use tools now", [("text", "I "), ("text", " now")]),
    (ANGULAR, "<thinking>x</thinking>y", [("thinking", "x"), ("text", "y")]),
    # White space at the end of a marker is all that there is.
    (SPACED, "A  hi B", [("thinking", "hi ")]),
    (SPACED, "x A", [("text", "x A")]),
]


@pytest.mark.parametrize(("tags", "text", "blocks"), IN_TEXT)
def test_a_corner_is_the_same_however_it_is_cut(
    engine: Engine, tags: Any, text: str, blocks: list[tuple[str, ...]]
) -> None:
    assert shapes(read(engine, text, tags)) == blocks
    assert shapes(read(engine, list(text), tags)) == blocks
    for cut in range(1, len(text)):
        assert shapes(read(engine, [text[:cut], text[cut:]], tags)) == blocks, cut


@pytest.mark.parametrize(
    ("prefill", "text", "blocks"),
    [
        (
            "<｜tool▁calls▁begin｜><｜tool▁call▁beg",
            "<think>abcdefghij</think>Hello",
            [("thinking", "abcdefghij"), ("text", "Hello")],
        ),
        ("Straße <｜tool▁calls", "Hello", [("text", "Hello")]),
    ],
)
def test_what_the_prompt_ended_in_takes_nothing_from_what_follows(
    engine: Engine, prefill: str, text: str, blocks: Any
) -> None:
    vocabulary = replace(PRESETS["deepseek-v3.1"], prefill=prefill)
    assert shapes(read(engine, text, vocabulary)) == blocks
    assert shapes(read(engine, list(text), vocabulary)) == blocks


def test_a_call_that_the_prompt_has_begun_goes_on_to_its_end(engine: Engine) -> None:
    vocabulary = TagVocabulary("m", calls=(("CALL {name}:", ""),), call_body="json", prefill='CALL f: {"a": "CALL')
    for text in (' x"} Hello', list(' x"} Hello')):
        assert shapes(read(engine, text, vocabulary)) == [("tool_call", "f", '{"a": "CALL x"}'), ("text", " Hello")]


def test_an_id_in_a_tag_is_read_like_any_attribute_and_none_is_empty(engine: Engine) -> None:
    pair = ('<invoke name="{name}" id="{id}">', "</invoke>")
    vocabulary = replace(CLAUDE, calls=(pair,), entities="decoded")
    text = '<invoke name="a&amp;b" id="c&amp;d"></invoke>' + '<invoke name="a" id=""></invoke>' * 2
    blocks = read(engine, text, vocabulary).state.blocks
    assert [(block.name, block.id) for block in blocks] == [("a&b", "c&d"), ("a", "tag_call_1"), ("a", "tag_call_2")]


def test_calls_with_the_same_id_are_told_apart_however_many_they_are(engine: Engine) -> None:
    pair = ('<invoke name="{name}" id="{id}">', "</invoke>")
    text = (
        '<invoke name="a" id="x"></invoke>' * 3 + '<invoke name="a" id="x_3"></invoke><invoke name="a" id="x"></invoke>'
    )
    blocks = read(engine, text, replace(CLAUDE, calls=(pair,))).state.blocks
    assert [block.id for block in blocks] == ["x", "x_1", "x_2", "x_3", "x_4"]


@pytest.mark.parametrize("length", [4094, 4095])
@pytest.mark.parametrize(("head", "tail"), [('"name":"f","', '":1}'), ('"arguments":{},"name":"', '"}')])
def test_a_name_in_a_call_as_json_has_a_limit(engine: Engine, head: str, tail: str, length: int) -> None:
    text = "<tool_call>{" + head + "k" * length + tail
    for pieces in (text, list(text)):
        (block,) = read(engine, pieces, "hermes").state.blocks
        assert ("unclosed_tag" in block.extras) == (length > 4094)


def test_a_signature_parts_the_text_around_it(engine: Engine) -> None:
    signed = wire.delta(thinking_blocks=[{"type": "thinking", "thinking": "", "signature": "SIG"}])
    chunks = [wire.text("Hello "), signed, wire.text("world"), wire.finish()]
    for tags in (None, "claude-xml"):
        blocks = outcome(engine, chunks, tags=tags).state.blocks
        assert [shape(block) for block in blocks] == [("text", "Hello "), ("thinking", ""), ("text", "world")]
        assert blocks[1].signature == "SIG"


def test_what_a_cut_releases_is_in_the_order_of_the_blocks(core: Engine) -> None:
    starts = [messages.start("text", number, text="") for number in range(8)]
    texts = [messages.text(f"<t{number}", number) for number in range(8)]
    blocks = outcome(core, [messages.opened(), *starts, *texts], tags="claude-xml").state.blocks
    assert [block.content for block in blocks] == [f"<t{number}" for number in range(8)]


def test_a_stop_sequence_ends_every_text_of_its_choice(core: Engine) -> None:
    chunks = messages.streamed(
        messages.start("text", 0, text=""),
        messages.start("text", 1, text=""),
        messages.text("a STOP b", 0),
        messages.text(invoke("rm"), 1),
        messages.stop(0),
        messages.stop(1),
    )
    result = outcome(core, chunks, tags=replace(CLAUDE, stop=("STOP",)))
    assert [shape(block) for block in result.state.blocks] == [("text", "a ")]


def test_choices_end_in_the_order_of_their_numbers(engine: Engine) -> None:
    chunks = [wire.text(f"<thinking>{number}", number) for number in (2, 0, 1)]
    result = outcome(engine, [wire.sse(*chunks, wire.DONE)], tags="claude-xml")
    completed = [event.block for event in result.events if type(event).__name__ == "BlockCompleted"]
    assert [result.state.blocks[block].choice for block in completed] == [0, 1, 2]
