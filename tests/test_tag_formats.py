"""Tags in the text of every wire format, streamed or not, and what a policy sees of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import messages
import responses
import wire
from feeding import Engine, feed, merged, outcome
from penstock import StreamChunkAggregator, StreamingContext, StreamProcessor, aggregate
from penstock.events import BlockGrew
from splits import SPLITS
from tagged import CLAUDE, calls, invoke, shape, shapes
from watching import completions, watch

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = f"Hi <thinking>hm</thinking>{calls(invoke('a', b='c'), invoke('d'))}\nBye"
BLOCKS = [
    ("text", "Hi "),
    ("thinking", "hm"),
    ("tool_call", "a", '{"b":"c"}'),
    ("tool_call", "d", "{}"),
    ("text", "\nBye"),
]
IDS = ["content", "thinking", "tag_call_0", "tag_call_1", "content_1"]


def pieces(size: int) -> list[str]:
    return [TEXT[at : at + size] for at in range(0, len(TEXT), size)]


def chat(*texts: str) -> list[Any]:
    return [*(wire.text(each) for each in texts), wire.finish()]


def chat_parts(*texts: str) -> list[Any]:
    return [wire.text([{"type": "text", "text": each} for each in texts]), wire.finish()]


def chat_body(*texts: str) -> list[Any]:
    message = {"role": "assistant", "content": "".join(texts)}
    return [{"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}]


def messages_stream(*texts: str) -> list[Any]:
    return messages.streamed(messages.start("text", text=""), *map(messages.text, texts), messages.stop())


def messages_body(*texts: str) -> list[Any]:
    return [messages.body({"type": "text", "text": "".join(texts)})]


def responses_stream(*texts: str) -> list[Any]:
    whole = responses.message(responses.output_text("".join(texts)))
    deltas = map(responses.text_delta, texts)
    return [
        responses.created(),
        responses.added(responses.message()),
        *deltas,
        responses.done(whole),
        responses.completed(whole),
    ]


def responses_body(*texts: str) -> list[Any]:
    return [responses.response(responses.message(responses.output_text("".join(texts))), status="completed")]


FORMATS = [chat, chat_parts, chat_body, messages_stream, messages_body, responses_stream, responses_body]
every_format = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.__name__)


@every_format
@pytest.mark.parametrize("size", [1, 4, 1000])
def test_the_same_text_gives_the_same_blocks_in_every_format(core: Engine, form: Callable[..., Any], size: int) -> None:
    result = outcome(core, form(*pieces(size)), tags=CLAUDE)
    assert shapes(result) == BLOCKS
    assert result.quirks == {}
    assert [block.id for block in result.state.blocks] == IDS
    assert result.state.finish_reason == "tool_calls"
    assert not result.state.interrupted


@every_format
def test_an_empty_piece_of_text_starts_nothing(core: Engine, form: Callable[..., Any]) -> None:
    result = outcome(core, form("", "<thinking>", "", "hm", "", "</thinking>", "", calls(invoke("d")), ""), tags=CLAUDE)
    assert shapes(result) == [("thinking", "hm"), ("tool_call", "d", "{}")]
    assert result.quirks == {}


@every_format
@pytest.mark.parametrize("size", [4, 1000])
def test_each_completion_of_a_format_is_shown_to_the_policy_once(
    core: Engine, form: Callable[..., Any], size: int
) -> None:
    seen = watch(core, form(*pieces(size)), tags=CLAUDE)
    assert completions(seen) == IDS
    assert [each.arguments for each in seen if each.completed and each.arguments is not None] == ['{"b":"c"}', "{}"]


@pytest.mark.parametrize("size", [4, 1000])
@pytest.mark.parametrize("form", [chat, chat_parts], ids=lambda form: form.__name__)
def test_both_engines_show_the_policy_the_same(
    core: Engine, reference: Engine, form: Callable[..., Any], size: int
) -> None:
    ours, theirs = (watch(engine, form(*pieces(size)), tags=CLAUDE) for engine in (core, reference))
    assert ours == theirs


@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_bytes_of_a_format_may_be_cut_anywhere(engine: Engine, split: Any) -> None:
    assert shapes(outcome(engine, split(wire.sse(*chat(*pieces(3)))), tags=CLAUDE)) == BLOCKS


def test_a_chunk_that_completes_several_blocks_shows_its_text_in_the_first_piece(engine: Engine) -> None:
    chunk = {
        "id": "r",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}],
    }
    seen = watch(engine, [chunk], tags=CLAUDE)
    assert seen[0].chunk == {
        "id": "r",
        "choices": [{"index": 0, "delta": chunk["choices"][0]["delta"], "finish_reason": None}],
    }
    assert [each.chunk for each in seen[1:-1]] == [{"id": "r", "choices": []}] * 3
    assert seen[-1].chunk == {"id": "r", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    assert completions(seen) == IDS


def test_an_event_that_completes_several_blocks_shows_its_text_in_the_first_piece(core: Engine) -> None:
    seen = watch(core, messages_stream(TEXT), tags=CLAUDE)
    texts = [each.chunk["delta"]["text"] for each in seen if each.chunk["type"] == "content_block_delta"]
    assert texts == [TEXT, *[""] * 4]
    seen = watch(core, responses_stream(TEXT), tags=CLAUDE)
    texts = [each.chunk["delta"] for each in seen if each.chunk["type"] == "response.output_text.delta"]
    assert texts == [TEXT, *[""] * 4]


@pytest.mark.parametrize(("form", "name"), [(messages_body, "content"), (responses_body, "output")])
def test_a_body_shows_its_text_in_the_first_piece_and_its_end_in_the_last(core: Engine, form: Any, name: str) -> None:
    seen = watch(core, form(TEXT), tags=CLAUDE)
    assert [len(each.chunk[name]) for each in seen] == [1, *[0] * 4]
    if name == "content":
        assert [each.chunk["stop_reason"] for each in seen] == [*[None] * 4, "end_turn"]


def test_text_alone_shows_itself_in_the_first_piece(engine: Engine) -> None:
    assert [each.chunk for each in watch(engine, [TEXT], source="text", tags=CLAUDE)] == [TEXT, *[""] * 5]


def test_the_callers_chunk_is_left_alone(engine: Engine) -> None:
    chunk = wire.text(TEXT)
    watch(engine, [chunk], tags=CLAUDE)
    assert chunk == wire.text(TEXT)


def test_tags_and_native_blocks_stand_side_by_side(engine: Engine) -> None:
    chunks = [
        wire.delta(reasoning_content="native"),
        wire.text("a<thinking>tag</thin"),
        wire.call('{"x": 1}', index=0, id="call_1", name="f"),
        wire.text(f"{calls(invoke('g'))}b"),
        wire.call("{}", index=1, id="call_2", name="h"),
        wire.finish("tool_calls"),
    ]
    for items in (chunks, [wire.sse(*chunks)]):
        result = outcome(engine, items, tags=CLAUDE)
        assert shapes(result) == [
            ("thinking", "native"),
            ("text", "a"),
            ("thinking", "tag</thin"),
            ("tool_call", "f", '{"x": 1}'),
            ("tool_call", "g", "{}"),
            ("text", "b"),
            ("tool_call", "h", "{}"),
        ]
        assert [block.index for block in result.state.blocks if block.type == "tool_call"] == [0, 1, 2]
        assert completions(watch(engine, items, tags=CLAUDE)) == [block.id for block in result.state.blocks]


def test_a_text_completes_the_native_call_before_it(engine: Engine) -> None:
    chunks = [wire.call("{}", index=0, id="c", name="f"), wire.text("a"), wire.finish()]
    assert completions(watch(engine, chunks, tags=CLAUDE)) == ["c", "content"]


def test_each_choice_has_its_own_text(engine: Engine) -> None:
    chunks = [
        wire.text("a<think", 0),
        wire.text("ing>x", 1),
        wire.text("ing>b", 0),
        wire.finish(index=0),
        wire.finish(index=1),
    ]
    result = outcome(engine, chunks, tags=CLAUDE)
    assert [(block.choice, *shape(block)) for block in result.state.blocks] == [
        (0, "text", "a"),
        (1, "text", "ing>x"),
        (0, "thinking", "b"),
    ]


def test_text_behind_the_finish_is_late_as_ever(engine: Engine) -> None:
    chunks = [wire.text("a"), wire.finish(), wire.text("<thinking>b</thinking>")]
    result = outcome(engine, chunks, tags=CLAUDE)
    assert (shapes(result), result.quirks) == ([("text", "a")], {"late_text": 1})


def test_empty_text_and_notes_go_where_they_go_without_tags(engine: Engine) -> None:
    chunks = [wire.text(""), wire.text("a<"), wire.delta(strange=1), wire.text("b"), wire.finish()]
    (block,) = outcome(engine, chunks, tags=CLAUDE).state.blocks
    assert (block.content, block.extras) == ("a<b", {"strange": [1]})


def test_a_stream_without_tags_is_read_as_without_the_option(engine: Engine) -> None:
    chunks = [wire.text("a"), wire.text("b < c"), wire.call("{}", index=0, id="c", name="f"), wire.finish("tool_calls")]
    plain, tagged = (merged(feed(engine, chunks, **options)[0]) for options in ({}, {"tags": CLAUDE}))
    assert plain == tagged


def test_a_numbered_text_keeps_its_notes_and_its_numbers_stay_apart(core: Engine) -> None:
    citation = {"type": "char_location", "cited_text": "x"}
    events = messages.streamed(
        messages.start("text", text=""),
        messages.delta("citations_delta", citation=citation),
        messages.text("<thinking>a</thinking>b"),
        messages.stop(),
        messages.start("text", 1, text=""),
        messages.stop(1),
        messages.start("tool_use", 2, id="t", name="f", input={}),
        messages.stop(2),
    )
    result = outcome(core, events, tags=CLAUDE)
    assert shapes(result) == [("thinking", "a"), ("text", "b"), ("tool_call", "f", "")]
    assert result.state.blocks[0].extras == {"citations": [citation]}
    assert result.quirks == {}


def test_notes_on_a_text_that_stays_empty_are_kept_with_one(core: Engine) -> None:
    citation = {"type": "char_location", "cited_text": "x"}
    events = messages.streamed(
        messages.start("text", text=""), messages.delta("citations_delta", citation=citation), messages.stop()
    )
    (block,) = outcome(core, events, tags=CLAUDE).state.blocks
    assert (block.content, block.extras) == ("", {"citations": [citation]})


def test_a_numbered_text_that_the_wire_does_not_close_is_closed_and_counted(core: Engine) -> None:
    events = [
        messages.opened(),
        messages.start("text", text=""),
        messages.text("<thinking>a<"),
        messages.ending(),
        messages.END,
    ]
    result = outcome(core, events, tags=CLAUDE)
    assert shapes(result) == [("thinking", "a<")]
    assert result.quirks == {"unclosed_block": 1, "unclosed_tag": 1}


def test_what_comes_for_a_numbered_text_behind_its_close_is_late(core: Engine) -> None:
    events = messages.streamed(messages.start("text", text=""), messages.text("a"), messages.stop(), messages.text("b"))
    result = outcome(core, events, tags=CLAUDE)
    assert (shapes(result), result.quirks) == ([("text", "a")], {"delta_after_close": 1})


def test_x18_a_tag_across_two_numbered_texts_is_none(core: Engine) -> None:
    first = [messages.start("text", text=""), messages.text("<func"), messages.stop()]
    second = [messages.start("text", 1, text=""), messages.text("tion_calls>", 1), messages.stop(1)]
    assert shapes(outcome(core, messages.streamed(*first, *second), tags=CLAUDE)) == [
        ("text", "<func"),
        ("text", "tion_calls>"),
    ]


def test_an_error_leaves_what_is_open_open(engine: Engine) -> None:
    chunks = [wire.text("<thinking>a<"), {"error": {"message": "no"}}, "[DONE]"]
    result = outcome(engine, chunks, tags=CLAUDE)
    assert [(shape(block), block.is_complete) for block in result.state.blocks] == [(("thinking", "a<"), False)]
    assert result.state.interrupted


def test_the_terminator_gives_a_chunk_for_each_block_it_completes(engine: Engine) -> None:
    seen = watch(engine, [wire.text('<thinking a="<thinking>x'), "[DONE]"], tags=CLAUDE)
    assert completions(seen) == ["content", "thinking"]
    assert seen[-1].chunk["choices"] == [{"index": 0, "delta": {}, "finish_reason": None}]


def test_what_a_cut_releases_has_a_chunk(engine: Engine) -> None:
    seen = watch(engine, [wire.text("a<")], tags=CLAUDE)
    assert [each.chunk["choices"][0]["delta"] for each in seen] == [{"content": "a<"}, {}]


async def test_the_processor_judges_tag_calls_like_any_other() -> None:
    judged: list[str] = []

    async def on_chunk(_chunk: Any, state: Any, _context: StreamingContext) -> None:
        if state.just_completed is not None and state.just_completed.type == "tool_call":
            judged.append(f"{state.just_completed.name} {state.just_completed.arguments}")

    processor = StreamProcessor(on_chunk_callback=on_chunk, tags=CLAUDE)
    await processor.process(chat(*pieces(5)), StreamingContext())
    assert judged == ['a {"b":"c"}', "d {}"]


def test_aggregation_reads_tags() -> None:
    message = aggregate(chat(TEXT), tags=CLAUDE)
    assert (message.content, message.thinking, message.finish_reason) == ("Hi \nBye", "hm", "tool_calls")
    assert [call["function"] for call in message.tool_calls] == [
        {"name": "a", "arguments": '{"b":"c"}'},
        {"name": "d", "arguments": "{}"},
    ]
    aggregator = StreamChunkAggregator(tags=CLAUDE)
    aggregator.capture_chunk(wire.text("a<thinking>b"))
    assert aggregator.get_accumulated_content() == "a"


def test_a_delta_of_a_tagged_block_is_what_the_chunk_added(core: Engine) -> None:
    processor = core.StreamProcessor(emit="chunks", tags=CLAUDE)
    for _ in processor.feed(wire.text("<thinking>ab")):
        assert processor.state.current_block.delta == "ab"
    for _ in processor.feed(wire.text("c<")):
        assert processor.state.current_block.delta == "c"


def test_text_is_handed_on_at_once_but_for_what_may_be_a_tag(engine: Engine) -> None:
    processor = engine.StreamProcessor(source="text", emit="events", tags=CLAUDE)
    shown = [
        "".join(event.text for event in processor.feed(each) if isinstance(event, BlockGrew)) for each in "a <b> <t c"
    ]
    assert shown == ["a", " ", "", "", "<b>", " ", "", "", "<t ", "c"]
