"""Calls, results and everything else that an item of OpenAI Responses can be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from feeding import ENDED
from penstock.blocks import ToolCallStreamBlock, ToolResultStreamBlock, UnknownStreamBlock
from penstock.events import BlockCompleted, BlockGrew, BlockNoted, BlockStarted, ChoiceFinished
from responses import (
    added,
    arguments_delta,
    at,
    completed,
    created,
    done,
    function_call,
    message,
    only,
    output_text,
    read,
    whole,
)


def test_a_function_call_by_the_book_gives_exactly_these_events() -> None:
    outcome = read(
        created(),
        added(function_call()),
        arguments_delta('{"a"'),
        arguments_delta(":1}"),
        at("function_call_arguments.done", arguments='{"a":1}', name="ls"),
        done(function_call('{"a":1}')),
        completed(function_call('{"a":1}')),
    )
    assert outcome.quirks == {}
    assert outcome.events[3:] == [
        BlockStarted(0, "tool_call", "call_1", "ls"),
        BlockNoted(0, "item_id", '"fc_1"'),
        BlockGrew(0, "arguments", '{"a"'),
        BlockGrew(0, "arguments", ":1}"),
        BlockCompleted(0),
        ChoiceFinished(0, "tool_calls", "completed"),
        ENDED,
    ]


ARGUMENTS_DONE = at("function_call_arguments.done", arguments="{}", name="ls")


@pytest.mark.parametrize(
    "events",
    [
        [added(function_call()), ARGUMENTS_DONE, done(function_call("{}"))],
        [added(function_call()), done(function_call("{}"))],
        [added(function_call("{}")), done({"type": "function_call"})],
        [added(function_call("{}")), arguments_delta("{}"), done(function_call("{}"))],
    ],
    ids=["in arguments.done", "in item.done", "in item.added", "in item.added and deltas"],
)
def test_arguments_are_taken_wherever_they_come(events: list[dict[str, Any]]) -> None:
    block = only(*events)
    assert (block.id, block.name, block.arguments, block.kind) == ("call_1", "ls", "{}", "function")


def test_parallel_calls_are_kept_apart_by_their_output_index_though_their_ids_lie() -> None:
    blocks = whole(
        added(function_call(id="x1")),
        added(function_call(call=2, id="x2"), 1),
        at("function_call_arguments.delta", 1, item_id="x3", delta="[2]"),
        at("function_call_arguments.delta", 0, item_id="x4", delta="[1]"),
        done(function_call("[1]", id="x5")),
        done(function_call("[2]", call=2, id="x6"), 1),
    )
    assert [(block.id, block.arguments, block.index) for block in blocks] == [
        ("call_1", "[1]", 0),
        ("call_2", "[2]", 1),
    ]


def test_a_custom_call_takes_free_text() -> None:
    item = {"type": "custom_tool_call", "id": "ct_1", "call_id": "call_1", "name": "sql", "input": ""}
    block = only(
        added(item),
        at("custom_tool_call_input.delta", delta="select"),
        at("custom_tool_call_input.done", input="select"),
        done({**item, "input": "select"}),
    )
    assert (block.id, block.name, block.arguments, block.kind) == ("call_1", "sql", "select", "custom")


def test_arguments_that_are_an_object_are_serialised_and_counted() -> None:
    outcome = read(created(), added(function_call()), done({**function_call(), "arguments": {"a": 1}}), completed())
    assert outcome.quirks == {"arguments_as_object": 1}
    assert outcome.state.blocks[0].arguments == '{"a":1}'


def test_what_a_call_has_besides_is_noted() -> None:
    item = function_call("{}", namespace="n")
    assert only(added(item), done(item)).extras == {"item_id": ["fc_1"], "namespace": ["n"]}


# Tools that the provider runs.


def test_an_mcp_call_has_the_name_of_its_tool_and_its_output_on_the_item() -> None:
    item = {"type": "mcp_call", "id": "mcp_1", "name": "ask", "server_label": "s", "arguments": ""}
    whole_item = {**item, "arguments": '{"q":1}', "output": "yes"}
    block = only(
        added(item),
        at("mcp_call.in_progress", item_id="mcp_1"),
        at("mcp_call_arguments.delta", delta='{"q":1}'),
        at("mcp_call_arguments.done", arguments='{"q":1}'),
        at("mcp_call.completed", item_id="mcp_1"),
        done(whole_item),
    )
    assert (block.id, block.name, block.arguments, block.kind) == ("mcp_1", "ask", '{"q":1}', "server")
    assert block.extras == {"item": [whole_item]}


def test_code_that_the_provider_runs_is_the_arguments_of_its_call() -> None:
    item = {"type": "code_interpreter_call", "id": "ci_1", "code": "", "container_id": "c"}
    block = only(
        added(item),
        at("code_interpreter_call_code.delta", delta="1+1"),
        at("code_interpreter_call_code.done", code="1+1"),
        at("code_interpreter_call.interpreting"),
        done({**item, "code": "1+1"}),
    )
    assert (block.name, block.arguments, block.kind) == ("code_interpreter_call", "1+1", "server")


def test_a_search_has_what_it_searched_for_as_its_arguments() -> None:
    action = {"type": "search", "query": "q"}
    item = {"type": "web_search_call", "id": "ws_1", "status": "in_progress"}
    block = only(added(item), at("web_search_call.searching"), done({**item, "action": action}))
    assert (block.id, block.name, block.kind) == ("ws_1", "web_search_call", "server")
    assert json.loads(block.arguments) == action


def test_pictures_are_kept_before_they_are_whole_and_when_they_are() -> None:
    item = {"type": "image_generation_call", "id": "ig_1"}
    partial = at("image_generation_call.partial_image", partial_image_index=0, partial_image_b64="AA")
    block = only(added(item), partial, done({**item, "result": "AAAA"}))
    assert block.extras == {"partial_image": [partial], "item": [{**item, "result": "AAAA"}]}


# Tools of the provider's own that the client runs.

SHELL = {"type": "shell_call", "id": "sh_1", "call_id": "call_1", "action": {"commands": []}}
PATCH = {"type": "apply_patch_call", "id": "ap_1", "call_id": "call_1"}


@pytest.mark.parametrize(
    ("item", "field", "value"),
    [
        (SHELL, "action", {"commands": ["ls"]}),
        ({**SHELL, "type": "local_shell_call"}, "action", {"type": "exec", "command": ["ls"]}),
        ({**SHELL, "type": "computer_call"}, "action", {"type": "click", "x": 1}),
        (PATCH, "operation", {"type": "create_file", "diff": "+a"}),
    ],
    ids=["shell_call", "local_shell_call", "computer_call", "apply_patch_call"],
)
def test_a_builtin_call_has_what_it_is_to_do_as_its_arguments(item: Any, field: str, value: Any) -> None:
    outcome = read(created(), added(item), done({**item, field: value}), completed())
    (block,) = outcome.state.blocks
    assert (block.id, block.name, block.kind) == ("call_1", item["type"], "builtin")
    assert json.loads(block.arguments) == value
    assert block.extras == {"item": [{**item, field: value}]}
    assert outcome.state.finish_reason == "tool_calls"


def test_the_events_of_commands_and_patches_say_what_the_item_says() -> None:
    events = [
        at("shell_call_command.added", command_index=0, command=""),
        at("shell_call_command.delta", command_index=0, delta="ls"),
        at("shell_call_command.done", command_index=0, command="ls"),
    ]
    block = only(added(SHELL), *events, done({**SHELL, "action": {"commands": ["ls"]}}))
    assert json.loads(block.arguments) == {"commands": ["ls"]}


# Results.


def test_a_result_names_its_call_which_the_client_need_not_answer_then() -> None:
    result = {"type": "shell_call_output", "id": "so_1", "call_id": "call_1", "output": [{"stdout": "a"}]}
    shell = {**SHELL, "action": {"commands": ["ls"]}}
    outcome = read(
        created(),
        added(SHELL),
        done(shell),
        added({**result, "output": []}, 1),
        at("shell_call_output_content.delta", 1, command_index=0, delta={"stdout": "a"}),
        at("shell_call_output_content.done", 1, command_index=0, output=[{"stdout": "a"}]),
        done(result, 1),
        completed(shell, result),
    )
    block = outcome.state.blocks[1]
    assert isinstance(block, ToolResultStreamBlock)
    assert (block.tool_call_id, block.kind, block.raw) == ("call_1", "shell_call_output", [result])
    assert outcome.quirks == {}
    assert outcome.state.finish_reason == "stop"


def test_a_result_that_is_text_is_the_content() -> None:
    result = {"type": "function_call_output", "call_id": "call_1", "output": "fine"}
    block = only(added({**result, "output": ""}), done(result))
    assert (block.content, block.raw) == ("fine", [result])


# Everything else.


@pytest.mark.parametrize(
    "kind",
    ["mcp_list_tools", "mcp_approval_request", "compaction", "program", "additional_tools", "tool_search_call", "new"],
)
def test_other_items_are_kept_raw(kind: str) -> None:
    item = {"type": kind, "id": "x_1", "arguments": {"a": [1]}, "content": "any", "name": ["odd"]}
    block = only(added({"type": kind, "id": "x_1"}), done(item))
    assert isinstance(block, UnknownStreamBlock)
    assert (block.id, block.kind, block.raw) == (kind, kind, [item])


def test_an_unknown_event_is_noted_on_the_response() -> None:
    ping = {"type": "ping", "cost": "0"}
    assert read(created(), ping, completed()).state.extras["ping"] == ping


def test_an_unknown_event_of_an_open_block_is_noted_on_it() -> None:
    strange = at("function_call.pondering", mood="calm")
    block = only(added(function_call()), strange, done(function_call("{}")))
    assert block.extras["response.function_call.pondering"] == [strange]


def test_sound_and_its_transcript_are_one_block() -> None:
    outcome = read(
        created(),
        {"type": "response.audio.delta", "delta": "UklG"},
        {"type": "response.audio.transcript.delta", "delta": "Hi"},
        {"type": "response.audio.done"},
        {"type": "response.audio.transcript.done"},
        completed(),
    )
    (block,) = outcome.state.blocks
    assert (block.id, block.kind, block.raw) == ("audio", "audio", [{"data": "UklG"}, {"transcript": "Hi"}])
    assert block.is_complete
    assert outcome.quirks == {}


def test_a_call_without_an_id_gets_one() -> None:
    item = {"type": "function_call", "name": "ls", "arguments": "{}"}
    outcome = read(created(), added(item), done(item), completed())
    assert outcome.quirks == {"id_missing": 1}
    (block,) = outcome.state.blocks
    assert isinstance(block, ToolCallStreamBlock)
    assert block.id == "tc_0"


def test_text_and_calls_stand_in_their_order() -> None:
    blocks = whole(done(message(output_text("a"))), added(function_call(), 1), done(function_call("{}"), 1))
    assert [block.type for block in blocks] == ["content", "tool_call"]
