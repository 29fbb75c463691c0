"""Events as dicts and objects, and whole bodies."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest

import messages
import penstock
import responses
from penstock import EventTranslator, collect, collect_sync, translate_body, translate_events
from recorded import own
from translating import CHAT, FORMATS, MESSAGES, RESPONSES, state_of, written
from wire import call, choice, chunk, delta, finish, text

every_target = pytest.mark.parametrize("target", FORMATS)
MADE: Any = {"message_id": "x", "created": 7}
STREAM = own("thinking_text_tool_call.sse").data
ITEMS = [text("a"), call('{"a":1}', index=0, id="call_1", name="ls"), finish("tool_calls")]


# Events


@every_target
def test_events_as_dicts_are_what_the_bytes_say(target: Any) -> None:
    translator = EventTranslator(source=CHAT, target=target, coalesce=False, **MADE)
    events = [event for item in ITEMS for event in translator.feed(item)] + translator.finish()
    assert events == written(ITEMS, CHAT, target).events
    assert translator.translator.is_over


@every_target
async def test_the_async_iterator_gives_the_same_events(target: Any) -> None:
    events = [event async for event in translate_events(ITEMS, source=CHAT, target=target, coalesce=False, **MADE)]
    assert events == written(ITEMS, CHAT, target).events


def test_a_sign_of_life_is_an_event_only_where_it_is_one() -> None:
    assert EventTranslator(target=MESSAGES).ping() == [{"type": "ping"}]
    assert EventTranslator(target=MESSAGES, shape="sdk").ping() == []
    assert EventTranslator(target=CHAT).ping() == EventTranslator(target=RESPONSES).ping() == []


@every_target
def test_objects_of_the_sdks_say_what_the_dicts_say(target: Any) -> None:
    dicts = EventTranslator(source=CHAT, target=target, **MADE)
    objects = EventTranslator(source=CHAT, target=target, shape="sdk", **MADE)
    plain = dicts.feed(STREAM) + dicts.finish()
    shaped = objects.feed(STREAM) + objects.finish()
    assert [json.loads(each.to_json(exclude_unset=True)) for each in shaped] == plain
    module = {CHAT: "openai.types.chat", MESSAGES: "anthropic.types", RESPONSES: "openai.types.responses"}[target]
    assert all(type(each).__module__.startswith(module) for each in shaped)
    assert state_of(shaped, target).blocks == state_of(plain, target).blocks


def test_objects_of_litellm_are_read_as_the_chunks_they_are() -> None:
    from litellm.types.utils import ModelResponseStream  # noqa: PLC0415 (it takes seconds to import)

    translator = EventTranslator(source=CHAT, target=CHAT, shape="litellm", **MADE)
    chunks = translator.feed(STREAM) + translator.finish()
    assert all(isinstance(each, ModelResponseStream) for each in chunks)
    assert [block.type for block in state_of(chunks, CHAT).blocks] == [
        block.type for block in state_of([STREAM], CHAT).blocks
    ]


@pytest.mark.parametrize("shape", ["sdk", "litellm"])
def test_an_error_in_chat_is_a_chunk_without_choices_that_has_it(shape: Any) -> None:
    translator = EventTranslator(source=CHAT, target=CHAT, shape=shape, **MADE)
    first, *_ = translator.feed(text("a"))
    last = translator.interrupt("later", kind="overloaded_error")[-1]
    assert (last.choices, last.id, last.error["message"]) == ([], first.id, "later")


def test_an_error_in_messages_is_the_sdk_s_own() -> None:
    translator = EventTranslator(source=CHAT, target=MESSAGES, shape="sdk", **MADE)
    last = translator.interrupt("later", kind="overloaded_error")[-1]
    assert (last.type, last.error.type, last.error.message) == ("error", "overloaded_error", "later")


def test_a_wrong_shape_gets_one_clear_line() -> None:
    with pytest.raises(ValueError, match=r"^shape must be 'dict' or 'sdk' or 'litellm', not 'json'$"):
        EventTranslator(target=CHAT, shape="json")  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r'^LiteLLM has objects for "openai_chat" only, not for \'anthropic_messages\'$'
    ):
        EventTranslator(target=MESSAGES, shape="litellm")


MISSING = """
import sys
sys.modules[{package!r}] = None
import penstock
penstock.EventTranslator(target="openai_chat")
try:
    penstock.EventTranslator(target={target!r}, shape={shape!r})
except ModuleNotFoundError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("package", "target", "shape"),
    [
        ("openai", CHAT, "sdk"),
        ("openai", RESPONSES, "sdk"),
        ("anthropic", MESSAGES, "sdk"),
        ("litellm", CHAT, "litellm"),
    ],
)
def test_a_package_that_is_missing_gets_one_clear_line_and_dicts_need_none(
    package: str, target: str, shape: str
) -> None:
    code = MISSING.format(package=package, target=target, shape=shape)
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert shown.stdout == (
        f'these objects are {package}\'s own, and {package} is not installed; shape="dict" needs nothing\n'
    )


def test_no_sdk_is_imported_unless_it_is_asked_for() -> None:
    code = (
        "import sys, penstock; penstock.translate_body(b'<html>', target='openai_chat');"
        "print({'openai', 'anthropic', 'litellm'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert shown.stdout == "set()\n"


# Bodies

CHAT_BODY = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 7,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "a",
                "tool_calls": [
                    {"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": '{"p":1}'}}
                ],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 1},
    },
}
MESSAGES_BODY = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"p": 1}}],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 6,
        "cache_read_input_tokens": 4,
        "output_tokens": 2,
        "output_tokens_details": {"thinking_tokens": 1},
    },
}
BODIES: dict[str, Any] = {
    CHAT: CHAT_BODY,
    MESSAGES: MESSAGES_BODY,
    RESPONSES: translate_body(CHAT_BODY, source=CHAT, target=RESPONSES),
}


@pytest.mark.parametrize(("source", "target"), [(source, target) for source in FORMATS for target in FORMATS])
def test_a_body_in_each_format_is_that_body_in_each_other(source: Any, target: Any) -> None:
    made = translate_body(BODIES[source], target=target, created=7)
    assert made == BODIES[target]
    assert penstock.check_body(made, target) == []


@every_target
@pytest.mark.parametrize(
    "form", [json.dumps, lambda body: json.dumps(body).encode(), lambda body: bytearray(json.dumps(body).encode())]
)
def test_a_body_may_be_text_or_bytes(form: Any, target: Any) -> None:
    assert translate_body(form(CHAT_BODY), target=target, created=7) == BODIES[target]


@every_target
def test_a_body_may_be_an_object_of_an_sdk(target: Any) -> None:
    from anthropic.types import Message  # noqa: PLC0415
    from openai.types.chat import ChatCompletion  # noqa: PLC0415
    from openai.types.responses import Response  # noqa: PLC0415

    for model, source in ((Message, MESSAGES), (ChatCompletion, CHAT), (Response, RESPONSES)):
        answer: Any = model.construct(**BODIES[source])
        assert translate_body(answer, target=target, created=7) == BODIES[target]


@every_target
def test_a_body_fed_to_a_translator_is_a_stream(target: str) -> None:
    result = written([json.dumps(CHAT_BODY).encode()], "auto", target)
    assert penstock.check(result.data, target) == []  # type: ignore[arg-type]
    assert [block.type for block in result.blocks] == ["content", "tool_call"]


@every_target
async def test_a_stream_is_collected_into_a_body(target: Any) -> None:
    options: Any = {"source": CHAT, "target": target, **MADE}
    body = await collect([STREAM], **options)
    assert body == collect_sync([STREAM], **options) == translate_body(STREAM, **options)
    assert penstock.check_body(body, target) == []
    stream, whole = (state_of([each], target) for each in (written([STREAM], CHAT, target).data, json.dumps(body)))
    assert [block.type for block in whole.blocks] == [block.type for block in stream.blocks]
    assert (whole.finish_reason, whole.usage) == (stream.finish_reason, whole.usage)


def test_a_body_without_text_says_null_and_one_with_several_signatures_keeps_each_with_its_text() -> None:
    items = [
        delta(reasoning_content="one"),
        delta(reasoning_details=[{"type": "reasoning.text", "signature": "s1"}]),
        delta(reasoning_content="two"),
        delta(reasoning_details=[{"type": "reasoning.text", "signature": "s2"}]),
        call("{}", index=0, id="call_1", name="ls"),
        finish("tool_calls"),
    ]
    message = collect_sync(items, source=CHAT, target=CHAT)["choices"][0]["message"]
    assert message["content"] is None
    assert message["reasoning_content"] == "onetwo"
    assert message["reasoning_details"] == [
        {"type": "reasoning.text", "text": "one", "signature": "s1"},
        {"type": "reasoning.text", "text": "two", "signature": "s2"},
    ]
    back = collect_sync(items, source=CHAT, target=MESSAGES)
    assert [(block["type"], block.get("signature")) for block in back["content"]] == [
        ("thinking", "s1"),
        ("thinking", "s2"),
        ("tool_use", None),
    ]


def test_a_body_has_every_choice_that_its_format_has() -> None:
    items = [text("b", 1), text("a"), finish(), finish("length", 1)]
    choices = collect_sync(items, source=CHAT, target=CHAT)["choices"]
    assert [(each["index"], each["message"]["content"], each["finish_reason"]) for each in choices] == [
        (0, "a", "stop"),
        (1, "b", "length"),
    ]


def test_a_body_has_audio_logprobs_and_annotations_joined() -> None:
    logprobs = [{"content": [{"token": "a"}], "refusal": None}, {"content": [{"token": "b"}], "refusal": None}]
    items = [
        chunk(choice({"content": "a"}, logprobs=logprobs[0])),
        chunk(choice({"content": "b"}, logprobs=logprobs[1])),
        delta(annotations=[{"type": "url_citation", "url_citation": {"url": "u"}}]),
        delta(audio={"id": "x", "data": "AA"}),
        delta(audio={"data": "BB", "expires_at": 5}),
        finish(),
    ]
    (whole,) = collect_sync(items, source=CHAT, target=CHAT)["choices"]
    assert whole["logprobs"] == {"content": [{"token": "a"}, {"token": "b"}], "refusal": None}
    assert whole["message"]["audio"] == {"id": "x", "data": "AABB", "expires_at": 5}
    assert len(whole["message"]["annotations"]) == 1


def test_a_body_has_citations_and_blocks_that_are_kept_raw() -> None:
    citation = {
        "type": "char_location",
        "cited_text": "c",
        "document_index": 0,
        "start_char_index": 0,
        "end_char_index": 1,
    }
    items = [
        messages.opened(usage={"input_tokens": 1, "output_tokens": 0}),
        messages.start("compaction", content=None),
        messages.delta("compaction_delta", content="short"),
        messages.stop(),
        messages.start("text", 1, text=""),
        messages.text("a", 1),
        messages.delta("citations_delta", 1, citation=citation),
        messages.stop(1),
        messages.ending("end_turn", {"output_tokens": 1}),
        messages.END,
    ]
    body = collect_sync([messages.sse(items)], source=MESSAGES, target=MESSAGES)
    assert body["content"] == [
        {"type": "compaction", "content": "short"},
        {"type": "text", "text": "a", "citations": [citation]},
    ]


async def test_a_source_that_fails_gives_an_error_body_and_is_closed() -> None:
    class Source:
        is_closed = False

        def __aiter__(self) -> Any:
            return self

        async def __anext__(self) -> Any:
            raise OSError

        async def aclose(self) -> None:
            self.is_closed = True

    source = Source()
    body = await collect(source, target=MESSAGES)
    assert (body["type"], body["error"]["type"], source.is_closed) == ("error", "api_error", True)


async def test_a_cancelled_collection_closes_its_source() -> None:
    closed = asyncio.Event()

    async def source() -> Any:
        try:
            yield text("a")
            await asyncio.Event().wait()
        finally:
            closed.set()

    task = asyncio.create_task(collect(source(), target=MESSAGES))
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed.is_set()


def test_what_is_no_iterable_of_chunks_gets_one_clear_line() -> None:
    with pytest.raises(TypeError, match=r"^expected an iterable of chunks or reads, not bytes$"):
        collect_sync(b"data: {}", target=CHAT)
    with pytest.raises(TypeError, match=r"^expected bytes of server-sent events, or a chunk as .*, not int$"):
        translate_body(5, target=CHAT)


def test_a_response_that_was_streamed_in_parts_is_the_response_of_its_last_event() -> None:
    items = [responses.created(), responses.done(responses.message(responses.output_text("a"))), responses.completed()]
    body = collect_sync(items, source=RESPONSES, target=RESPONSES)
    assert (body["status"], body["output"][0]["content"][0]["text"]) == ("completed", "a")
