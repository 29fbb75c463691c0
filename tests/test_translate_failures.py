"""What the client gets when something goes wrong: one legal error, and nothing after it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest

import messages
import penstock
import responses
from penstock import Limits, Translator, translate
from translating import CHAT, FORMATS, MESSAGES, RESPONSES, Written, legally
from wire import DONE, call, choice, chunk, finish, frame, sse, text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

every_target = pytest.mark.parametrize("target", FORMATS)

HELLO = sse(text("a"))
OVERLOADED = {"type": "overloaded_error", "message": "Overloaded"}
CUT = "the upstream ended its stream before the answer was finished"
PAGE = "the upstream answered with a page instead of a stream"

# What comes, in which format, the kind of the error and its message.
SHAPES: dict[str, tuple[str, bytes, str, str]] = {
    "an SSE field": (CHAT, HELLO + b'error: {"message":"busy","code":503}\n\n', "overloaded_error", "busy"),
    "a named event": (CHAT, HELLO + frame('{"error":{"message":"busy"}}', "error"), "api_error", "busy"),
    "alone": (CHAT, sse({"error": {"message": "slow down", "code": 429}}), "rate_limit_error", "slow down"),
    "a string": (CHAT, sse({"error": "out of luck"}), "api_error", "out of luck"),
    "beside choices": (
        CHAT,
        sse(chunk(choice({"content": "a"}), error={"message": "x", "code": 502})),
        "api_error",
        "x",
    ),
    "after the finish": (
        CHAT,
        sse(text("a"), finish(), {"error": {"message": "x", "code": 500}}, DONE),
        "api_error",
        "x",
    ),
    "a body": ("auto", b'{"error":{"message":"x","type":"invalid_request_error"}}', "invalid_request_error", "x"),
    "a bad key": (
        "auto",
        b'{"error":{"message":"x","type":"invalid_request_error","code":"invalid_api_key"}}',
        "authentication_error",
        "x",
    ),
    "no such model": (
        RESPONSES,
        b'{"error":{"message":"x","type":"invalid_request_error","code":"model_not_found"}}',
        "not_found_error",
        "x",
    ),
    "no money": (CHAT, sse({"error": {"message": "x", "type": "insufficient_quota"}}), "billing_error", "x"),
    "a body of Messages": (
        "auto",
        b'{"type":"error","error":{"type":"overloaded_error","message":"x"}}',
        "overloaded_error",
        "x",
    ),
    "an event of Messages": (
        MESSAGES,
        messages.sse([messages.opened(), {"type": "error", "error": OVERLOADED}]),
        "overloaded_error",
        "Overloaded",
    ),
    "a failed response": (
        RESPONSES,
        responses.sse(
            responses.created(),
            responses.event(
                "failed", response=responses.response(error={"code": "rate_limit_exceeded", "message": "x"})
            ),
        ),
        "rate_limit_error",
        "x",
    ),
    "an event of Responses": (
        RESPONSES,
        responses.sse(responses.created(), {"type": "error", "code": "server_error", "message": "x", "param": None}),
        "api_error",
        "x",
    ),
    "a page": ("auto", b"\n<!DOCTYPE html><html><body>502</body></html>", "api_error", PAGE),
    "a page with a byte order mark": ("auto", b"\xef\xbb\xbf<html>", "api_error", PAGE),
    "plain text": ("auto", b"upstream connect error", "api_error", CUT),
    "nothing": ("auto", b"", "api_error", CUT),
    "a cut": (CHAT, HELLO, "api_error", CUT),
    "a terminator without a finish": (
        CHAT,
        HELLO + b"data: [DONE]\n\n",
        "api_error",
        "the upstream ended its stream without a finish reason",
    ),
    "a finish that is an error": (
        CHAT,
        sse(text("a"), finish("error")),
        "api_error",
        "the upstream gave a finish reason that cannot be passed on",
    ),
}


def error_of(result: Written) -> dict[str, Any]:
    """The error as the target's last event has it."""
    last = result.events[-1]
    return last["response"]["error"] if result.target == RESPONSES else last["error"]


CODES = {"rate_limit_error": "rate_limit_exceeded", "invalid_request_error": "invalid_prompt"}


@every_target
@pytest.mark.parametrize("shape", SHAPES)
def test_an_error_of_each_shape_is_the_target_s_own_error(shape: str, target: str) -> None:
    source, data, kind, message = SHAPES[shape]
    result = legally([data], source, target)
    assert result.translator.failure == (kind, message)
    error = error_of(result)
    assert error["message"] == message
    if target == RESPONSES:
        code = "invalid_prompt" if kind == "not_found_error" else CODES.get(kind, "server_error")
        assert error == {"code": code, "message": message}
    else:
        assert error["type"] == kind
    assert b"[DONE]" not in result.data
    assert b"message_stop" not in result.data


@every_target
@pytest.mark.parametrize("shape", SHAPES)
def test_a_body_of_an_error_is_the_target_s_own_error_body(shape: str, target: Any) -> None:
    source, data, _, message = SHAPES[shape]
    body = penstock.translate_body(data, source=source, target=target)  # type: ignore[arg-type]
    report = penstock.check_body(body, target)
    assert (report, report.ended) == ([], "error")
    assert body["error"]["message"] == message


@every_target
@pytest.mark.parametrize("shape", SHAPES)
def test_what_was_written_of_an_error_is_written_again(shape: str, target: str) -> None:
    source, data, _, _ = SHAPES[shape]
    result = legally([data], source, target)
    assert legally([result.data], target, target).data == result.data


@every_target
def test_a_message_is_made_fit_to_be_shown(target: str) -> None:
    result = legally([sse({"error": {"message": "a\r\n\x1b[31m" + "b" * 1000}})], CHAT, target)
    assert error_of(result)["message"] == ("a[31m" + "b" * 1000)[:500]


OPEN = [text("a"), call('{"c":"rm","dry_run":tr', index=0, id="call_1", name="sh")]


@every_target
def test_text_is_closed_and_an_unfinished_call_is_never_seen_as_whole(target: str) -> None:
    result = legally(OPEN, CHAT, target)
    assert [block.content for block in result.blocks if block.type == "content"] == ["a"]
    assert not any(block.is_complete for block in result.blocks if block.type == "tool_call")


@every_target
def test_a_stream_that_is_closed_has_no_unfinished_call_at_all(target: str) -> None:
    result = legally(OPEN, CHAT, target, on_interrupt="close")
    assert [block.type for block in result.blocks] == ["content"]
    assert result.state.finish_reason == "length"
    assert result.translator.failure == ("api_error", CUT)


@every_target
def test_a_stream_that_is_closed_keeps_the_calls_that_were_whole(target: str) -> None:
    items = [text("a"), call("{}", index=0, id="call_1", name="ls"), text("b")]
    result = legally(items, CHAT, target, on_interrupt="close")
    assert [block.type for block in result.blocks] == ["content", "tool_call", "content"]


# Interruption by the caller


@every_target
@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("maintenance", ("overloaded_error", "maintenance")),
        (TimeoutError("10.0.0.7"), ("timeout_error", "the upstream took too long")),
        (OSError("10.0.0.7 refused"), ("overloaded_error", "the connection to the upstream failed")),
    ],
    ids=str,
)
def test_an_interruption_tells_what_the_caller_says_and_nothing_of_an_exception(
    error: Any, told: Any, target: Any
) -> None:
    translator = Translator(source=CHAT, target=target)
    out = translator.feed(text("a")) + translator.interrupt(error, kind="overloaded_error")
    assert translator.failure == told
    assert penstock.check(out, target).ended == "error"
    assert b"10.0.0.7" not in out
    assert (translator.interrupt("again"), translator.finish(), translator.ping()) == (b"", b"", b"")


# Exceptions of feed


@every_target
def test_after_a_limit_finish_gives_the_error_event(target: Any) -> None:
    translator = Translator(source=CHAT, target=target, limits=Limits(blocks=1))
    out = translator.feed(text("a"))
    with pytest.raises(penstock.LimitExceeded):
        translator.feed(call("{}", index=0, id="call_1", name="ls"))
    with pytest.raises(penstock.StreamClosed):
        translator.feed(text("b"))
    out += translator.finish()
    report = penstock.check(out, target)
    assert (report, report.ended) == ([], "error")
    assert translator.finish() == b""


@every_target
def test_in_strict_mode_a_deviation_is_raised_and_finish_gives_the_error_event(target: Any) -> None:
    translator = Translator(source=CHAT, target=target, strict=True)
    out = translator.feed(text("a"))
    with pytest.raises(penstock.ProtocolError):
        translator.feed(b"data: {]\n\n")
    out += translator.finish()
    report = penstock.check(out, target)
    assert (report, report.ended) == ([], "error")


@every_target
def test_a_malformed_chunk_is_skipped_and_logged_by_its_place(target: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "penstock"):
        result = legally([HELLO + b"data: {secret]\n\n" + sse(text("b"), finish())], CHAT, target)
    assert "".join(block.content for block in result.blocks) == "ab"
    assert len(caplog.records) == 1
    assert "secret" not in caplog.text


# The async iterator


async def gathered(incoming: Any, target: Any, **options: Any) -> bytes:
    return b"".join([out async for out in translate(incoming, source=CHAT, target=target, **options)])


class Source:
    """Gives its items, then raises or waits for ever, and knows whether it was closed."""

    def __init__(self, *items: Any, then: BaseException | None = None) -> None:
        self.items = list(items)
        self.then = then
        self.is_closed = False

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        if self.items:
            return self.items.pop(0)
        if self.then is not None:
            raise self.then
        await asyncio.Event().wait()
        raise AssertionError

    async def aclose(self) -> None:
        self.is_closed = True


@every_target
@pytest.mark.parametrize("clock", ["chunk_timeout", "total_timeout"])
async def test_a_time_out_is_told_and_closes_the_source(target: Any, clock: str) -> None:
    source = Source(text("a"))
    out = await gathered(source, target, **{clock: 0.01})
    assert penstock.check(out, target).ended == "error"
    assert b"the upstream took too long" in out
    assert source.is_closed


@every_target
async def test_a_source_that_raises_ends_with_an_error_and_its_words_stay_here(target: Any) -> None:
    source = Source(text("a"), then=OSError("secret host"))
    out = await gathered(source, target)
    assert penstock.check(out, target).ended == "error"
    assert b"secret" not in out
    assert source.is_closed


async def test_a_cancellation_closes_the_source_and_is_not_swallowed() -> None:
    source = Source(text("a"))
    task = asyncio.create_task(gathered(source, MESSAGES))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert source.is_closed


async def test_a_consumer_that_leaves_closes_the_source() -> None:
    source = Source(text("a"))
    stream = translate(source, source=CHAT, target=MESSAGES, message_id="x")
    assert await anext(stream)
    await stream.aclose()
    assert source.is_closed


async def test_nothing_is_read_after_the_end_of_the_answer() -> None:
    source = Source(messages.sse([messages.opened(), messages.ending(), messages.END]), b"more", b"more")
    outs = [out async for out in translate(source, target=MESSAGES)]
    assert not penstock.check(b"".join(outs), MESSAGES)
    assert source.items == [b"more", b"more"]


@every_target
async def test_a_limit_is_told_by_the_error_event(target: Any) -> None:
    out = await gathered([text("a"), call("{}", index=0, id="c", name="ls")], target, limits=Limits(blocks=1))
    report = penstock.check(out, target)
    assert (report, report.ended) == ([], "error")


# Wrong arguments: one clear line

WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"target": "chat"}, ValueError, "target must be"),
    ({"target": 1}, TypeError, "target must be the name of a wire format, not int"),
    ({"source": "chat"}, ValueError, "source must be"),
    ({"source": None}, TypeError, 'source must be the name of a wire format or "auto", not NoneType'),
    ({"strict": 1}, TypeError, "strict must be True or False, not int"),
    ({"coalesce": "no"}, TypeError, "coalesce must be True or False, not str"),
    ({"limits": 5}, TypeError, "limits must be penstock.Limits or None, not int"),
    ({"on_interrupt": "stop"}, ValueError, 'on_interrupt must be "error" or "close", not "stop"'),
    ({"text_after_calls": "x"}, ValueError, 'text_after_calls must be "in_order" or "before_calls", not "x"'),
    ({"on_interrupt": 5}, TypeError, "on_interrupt must be a string, not int"),
    ({"text_after_calls": None}, TypeError, "text_after_calls must be a string, not NoneType"),
    ({"model": 4}, TypeError, "model must be a string or None, not int"),
    ({"message_id": 4}, TypeError, "message_id must be a string or None, not int"),
    ({"created": "now"}, TypeError, "created must be a whole number of seconds or None, not str"),
    ({"created": True}, TypeError, "created must be a whole number of seconds or None, not bool"),
    ({"created": -1}, ValueError, "created must be 0 or more, not -1"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), WRONG, ids=str)
def test_a_wrong_argument_gets_one_clear_line(wrong: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as raised:
        Translator(**{"target": MESSAGES, **wrong})
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_what_is_no_read_and_no_chunk_gets_one_clear_line() -> None:
    with pytest.raises(TypeError, match=r"^expected bytes of server-sent events, or a chunk as .*, not int$"):
        Translator(target=MESSAGES).feed(5)
    with pytest.raises(ValueError, match=r"^kind must be one of api_error, .*, not 'x'$"):
        Translator(target=MESSAGES).interrupt("x", kind="x")  # type: ignore[arg-type]


async def test_a_time_that_is_none_gets_one_clear_line() -> None:
    with pytest.raises(ValueError, match=r"^chunk_timeout must be a positive number of seconds, or None, not 0$"):
        await gathered([], MESSAGES, chunk_timeout=0)


@every_target
def test_an_id_that_comes_when_the_answer_has_begun_comes_too_late(target: str) -> None:
    items = [text("a"), {**text("b"), "id": "chatcmpl-late", "model": "m"}, finish()]
    result = legally(items, CHAT, target)
    assert b"late" not in result.data
