"""How blocks leave: order, holding, ids, and what each sort of chat delta becomes in each target."""

from __future__ import annotations

import json
from typing import Any

import pytest

import messages
import penstock
import responses
from splits import SPLITS
from translating import CHAT, FORMATS, MESSAGES, RESPONSES, Written, legally, state_of, written
from wire import DONE, call, calls, choice, chunk, delta, finish, part, sse, text

every_target = pytest.mark.parametrize("target", FORMATS)
END = finish("tool_calls")


def calls_of(result: Written) -> list[tuple[str, str]]:
    """Name and arguments of each call, as they are read again."""
    return [(block.name, block.arguments) for block in result.blocks if block.type == "tool_call"]


def kinds_of(result: Written) -> list[str]:
    return [block.type for block in result.blocks]


# Order

FIRST, SECOND = '{"a":1}', '{"b":2}'
INTERLEAVED = [
    call('{"a"', index=0, id="call_a", name="one"),
    call('{"b"', index=1, id="call_b", name="two"),
    call(":1}", index=0),
    call(":2}", index=1),
    END,
]


@every_target
def test_calls_that_came_in_turns_leave_one_after_the_other(target: str) -> None:
    result = legally([sse(*INTERLEAVED, DONE)], CHAT, target)
    assert calls_of(result) == [("one", FIRST), ("two", SECOND)]


def test_the_first_call_streams_live_and_the_second_waits() -> None:
    translator = penstock.Translator(source=CHAT, target=MESSAGES)
    outs = [translator.feed(each) for each in INTERLEAVED]
    assert b'partial_json":"{\\"a\\""' in outs[0]
    assert outs[1] == b""
    assert b"two" not in b"".join(outs[:2])
    assert b'partial_json":":1}"' in outs[2]
    assert b'"name":"two"' in outs[3]
    assert b'partial_json":"{\\"b\\":2}"' in outs[3]


@every_target
def test_several_calls_in_one_chunk_leave_in_their_order(target: str) -> None:
    whole = calls(part(FIRST, index=0, id="call_a", name="one"), part(SECOND, index=1, id="call_b", name="two"))
    assert calls_of(legally([whole, END], CHAT, target)) == [("one", FIRST), ("two", SECOND)]


@every_target
def test_a_call_goes_on_after_another_began_in_its_own_chunk(target: str) -> None:
    begun = calls(part('{"a"', index=0, id="call_a", name="one"), part(SECOND, index=1, id="call_b", name="two"))
    assert calls_of(legally([begun, call(":1}", index=0), END], CHAT, target)) == [("one", FIRST), ("two", SECOND)]


@every_target
def test_a_name_in_pieces_is_one_name(target: str) -> None:
    items = [call("", index=0, id="call_a", name="read_"), call(index=0, name="file"), call(FIRST, index=0), END]
    assert calls_of(legally(items, CHAT, target)) == [("read_file", FIRST)]


@every_target
def test_a_name_that_comes_after_the_arguments_is_waited_for(target: str) -> None:
    items = [call('{"a"', index=0, id="call_a"), call(":1}", index=0), call(index=0, name="one"), END]
    assert calls_of(legally(items, CHAT, target)) == [("one", FIRST)]


@every_target
def test_a_call_that_never_gets_a_name_ends_the_stream(target: str) -> None:
    result = legally([call(FIRST, index=0, id="call_a"), END], CHAT, target)
    assert result.translator.failure == ("api_error", "the upstream called a tool without a name")
    assert calls_of(result) == []


@every_target
def test_more_for_a_call_that_has_left_ends_the_stream(target: str) -> None:
    items = [*INTERLEAVED[:1], call(":1}", index=0), call(SECOND, index=1, id="call_b", name="two"), call("x", index=0)]
    result = legally([*items, END], CHAT, target)
    assert result.translator.failure == ("api_error", "the upstream added to a tool call that was complete")


AFTER = [text("before"), call(FIRST, index=0, id="call_a", name="one"), text("after"), END]


@every_target
def test_text_behind_a_call_is_a_block_where_it_came(target: str) -> None:
    result = legally(AFTER, CHAT, target)
    assert kinds_of(result) == ["content", "tool_call", "content"]


@every_target
def test_text_behind_a_call_can_be_put_before_the_calls(target: str) -> None:
    result = legally(AFTER, CHAT, target, text_after_calls="before_calls")
    assert kinds_of(result)[-1] == "tool_call"
    shown = [block.content for block in result.blocks if block.type == "content"]
    assert "".join(shown) == "beforeafter"


def test_a_tool_of_the_provider_s_own_stays_before_its_result_when_text_goes_first() -> None:
    items = [
        messages.opened(),
        messages.start("server_tool_use", id="srvtoolu_1", name="web_search", input={}),
        messages.stop(),
        messages.start("web_search_tool_result", 1, tool_use_id="srvtoolu_1", content=[]),
        messages.stop(1),
        messages.start("tool_use", 2, id="toolu_1", name="ls", input={}),
        messages.stop(2),
        messages.start("text", 3, text=""),
        messages.text("after", 3),
        messages.stop(3),
        messages.ending("tool_use"),
        messages.END,
    ]
    result = legally([messages.sse(items)], MESSAGES, MESSAGES, text_after_calls="before_calls")
    assert [(block.type, block.id) for block in result.blocks if block.type == "tool_call"] == [
        ("tool_call", "srvtoolu_1"),
        ("tool_call", "toolu_1"),
    ]
    assert kinds_of(result) == ["tool_call", "tool_result", "content", "tool_call"]


@every_target
@pytest.mark.parametrize("empty", ["", "null", " ", None])
def test_empty_arguments_are_an_empty_object(target: str, empty: str | None) -> None:
    result = legally([call(empty, index=0, id="call_a", name="one"), END], CHAT, target)
    (block,) = result.blocks
    assert json.loads(block.arguments or "{}") == {}
    assert target == MESSAGES or block.arguments == "{}"


def test_one_call_of_each_choice_streams_in_chat() -> None:
    items = [
        call('{"a"', index=0, id="call_a", name="one", choice=0),
        call('{"b"', index=0, id="call_b", name="two", choice=1),
        call(":1}", index=0, choice=0),
        call(":2}", index=0, choice=1),
        finish("tool_calls", 0),
        finish("tool_calls", 1),
    ]
    result = legally(items, CHAT, CHAT)
    assert [(block.choice, block.name, block.arguments) for block in result.blocks] == [
        (0, "one", FIRST),
        (1, "two", SECOND),
    ]
    single = legally(items, CHAT, RESPONSES)
    assert calls_of(single) == [("one", FIRST)]
    assert single.translator.losses == {"choice": 1}


# Ids

IDS = {
    "call_1": {CHAT: "call_1", MESSAGES: "toolu_1", RESPONSES: "call_1"},
    "toolu_1": {CHAT: "toolu_1", MESSAGES: "toolu_1", RESPONSES: "call_1"},
    "chatcmpl-tool-9f": {CHAT: "chatcmpl-tool-9f", MESSAGES: "chatcmpl-tool-9f", RESPONSES: "chatcmpl-tool-9f"},
    "has space": {CHAT: "has space", MESSAGES: "toolu_0", RESPONSES: "call_0"},
    "x" * 65: {CHAT: "x" * 65, MESSAGES: "toolu_0", RESPONSES: "call_0"},
}


@every_target
@pytest.mark.parametrize("came", IDS)
def test_an_id_is_written_as_the_target_has_it_and_can_be_told_back(came: str, target: str) -> None:
    result = legally([call("{}", index=0, id=came, name="one"), END], CHAT, target)
    assert [block.id for block in result.blocks] == [IDS[came][target]]
    assert result.translator.ids == {IDS[came][target]: came}


@every_target
def test_a_missing_id_is_made_once(target: str) -> None:
    result = legally([call('{"a"', index=0, name="one"), call(":1}", index=0), END], CHAT, target)
    (block,) = result.blocks
    assert result.translator.ids == {block.id: "tc_0"}


def test_two_calls_of_one_id_have_two_in_another_format() -> None:
    items = [call(FIRST, index=0, id="call_a", name="one"), call(SECOND, index=1, id="call_a", name="two"), END]
    result = legally(items, CHAT, MESSAGES)
    assert len({block.id for block in result.blocks}) == 2


def test_the_id_of_an_answer_changes_its_prefix_alone() -> None:
    items = [chunk(choice({"content": "a"}), id="chatcmpl-9", model="m"), finish()]
    assert [legally(items, CHAT, target).state.id for target in FORMATS] == ["chatcmpl-9", "msg_9", "resp_9"]


# Refusals, reasoning, custom tools

REASONING = {
    "reasoning_content": delta(reasoning_content="hm"),
    "reasoning": delta(reasoning="hm"),
    "reasoning_details": delta(reasoning_details=[{"type": "reasoning.text", "text": "hm"}]),
    "reasoning.summary": delta(reasoning_details=[{"type": "reasoning.summary", "summary": "hm"}]),
    "thinking_blocks": delta(thinking_blocks=[{"type": "thinking", "thinking": "hm"}]),
    "content parts": text([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]),
    "several at once": delta(reasoning="hm", reasoning_content="hm"),
}


@every_target
@pytest.mark.parametrize("field", REASONING)
def test_reasoning_of_every_field_is_one_thinking_block(field: str, target: str) -> None:
    result = legally([REASONING[field], text("a"), finish()], CHAT, target)
    assert [(block.type, block.content) for block in result.blocks] == [("thinking", "hm"), ("content", "a")]


SIGNED = [
    messages.opened(),
    messages.start("thinking", thinking="", signature=""),
    messages.delta("thinking_delta", thinking="hm"),
    messages.delta("signature_delta", signature="s1g"),
    messages.stop(),
    messages.start("redacted_thinking", 1, data="s34l"),
    messages.stop(1),
    messages.start("text", 2, text=""),
    messages.text("a", 2),
    messages.stop(2),
    messages.ending(),
    messages.END,
]


@every_target
def test_a_signature_and_sealed_reasoning_come_through_as_they_are(target: str) -> None:
    result = legally([messages.sse(SIGNED)], MESSAGES, target)
    back = legally([result.data], target, MESSAGES)
    thinking = [block for block in back.blocks if block.type == "thinking"]
    shown = [(block.content, block.signature or "", block.data or "") for block in thinking]
    assert shown == [("hm", "s1g", ""), ("", "", "s34l")]


@every_target
def test_no_signature_is_made_up(target: str) -> None:
    result = legally([delta(reasoning_content="hm"), text("a"), finish()], CHAT, target)
    assert not result.blocks[0].signature


def test_a_refusal_arrives_as_a_refusal() -> None:
    items = [delta(refusal="I can"), delta(refusal="not."), finish()]
    assert kinds_of(legally(items, CHAT, CHAT)) == ["refusal"]
    assert kinds_of(legally(items, CHAT, RESPONSES)) == ["refusal"]
    as_text = legally(items, CHAT, MESSAGES)
    assert (as_text.blocks[0].content, as_text.state.native_finish_reason) == ("I cannot.", "refusal")
    assert as_text.translator.losses == {"refusal_as_text": 1}


def test_the_input_of_a_custom_tool_is_the_one_member_of_an_object_in_messages() -> None:
    begun = {"index": 0, "id": "call_1", "type": "custom", "custom": {"name": "sql", "input": 'select "'}}
    more = {"index": 0, "custom": {"input": "\n\u2028"}}
    items = [delta(tool_calls=[begun]), delta(tool_calls=[more]), END]
    assert json.loads(legally(items, CHAT, MESSAGES).blocks[0].arguments) == {"input": 'select "\n\u2028'}
    assert legally(items, CHAT, RESPONSES).blocks[0].arguments == 'select "\n\u2028'


def test_an_empty_input_of_a_custom_tool_stays_empty() -> None:
    begun = {"index": 0, "id": "call_1", "type": "custom", "custom": {"name": "sql", "input": ""}}
    items = [delta(tool_calls=[begun]), END]
    assert json.loads(legally(items, CHAT, MESSAGES).blocks[0].arguments) == {"input": ""}
    assert legally(items, CHAT, RESPONSES).blocks[0].arguments == ""


# Sharing events, and signs of life


@every_target
def test_deltas_of_one_read_share_an_event_and_those_of_two_do_not(target: str) -> None:
    words = [text(word) for word in ("a", "b", "c")]
    one_read = [sse(*words, finish())]
    three_reads = [*map(sse, words), sse(finish())]
    deltas = [
        len([each for each in written(items, CHAT, target, **options).events if '"' + "delta" in json.dumps(each)])
        for items, options in ((one_read, {"coalesce": True}), (three_reads, {"coalesce": True}), (one_read, {}))
    ]
    assert deltas[0] < deltas[1] == deltas[2]
    assert legally(one_read, CHAT, target, coalesce=True).blocks[0].content == "abc"


@every_target
@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_reads_do_not_change_what_is_written(split: Any, target: str) -> None:
    data = sse(delta(reasoning="hm"), text("é\U0001f600"), *INTERLEAVED, DONE)
    assert written(split(data), CHAT, target).data == written([data], CHAT, target).data


@every_target
def test_a_sign_of_life_may_stand_anywhere(target: str) -> None:
    translator = penstock.Translator(source=CHAT, target=target)  # type: ignore[arg-type]
    out = translator.ping()
    for item in (text("a"), *INTERLEAVED):
        out += translator.feed(item) + translator.ping()
    out += translator.finish()
    assert translator.ping() == b""
    assert not penstock.check(out, target)  # type: ignore[arg-type]
    assert out.startswith(b"event: ping\n" if target == MESSAGES else b": ping\n\n")
    assert len(state_of([out], target).blocks) == 3


def test_a_model_that_the_caller_names_is_the_one_that_is_named() -> None:
    items = [chunk(choice({"content": "a"}), id="1", model="theirs"), finish()]
    for target in FORMATS:
        assert legally(items, CHAT, target, model="ours").state.model == "ours"
        assert legally(items, CHAT, target).state.model == "theirs"


def test_arguments_that_come_only_at_the_end_of_an_item_are_written() -> None:
    items = [
        responses.created(),
        responses.added(responses.function_call()),
        responses.done(responses.function_call(FIRST)),
        responses.completed(responses.function_call(FIRST)),
    ]
    for target in FORMATS:
        assert calls_of(legally(items, RESPONSES, target)) == [("ls", FIRST)]
