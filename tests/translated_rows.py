"""One minimal stream for each row of the tables in docs/translation.md. What the row is about holds the mark, where it holds anything."""

from __future__ import annotations

from typing import Any

import messages
import responses
from translating import CHAT, MESSAGES, RESPONSES
from wire import Chunk, call, choice, chunk, delta, finish, text

MARK = "m4rk"
Stream = list[dict[str, Any]]


def _chat(*chunks: Chunk, reason: str = "stop") -> Stream:
    begun = chunk(choice({"role": "assistant"}), id="chatcmpl-1", model="m", created=7)
    return [begun, *chunks, finish(reason)]


def _detail(kind: str, **fields: str) -> Chunk:
    return delta(reasoning_details=[{"type": f"reasoning.{kind}", **fields}])


THOUGHT = delta(reasoning_content="hm")
CUSTOM = {"index": 0, "id": "call_1", "type": "custom", "custom": {"name": "sql", "input": MARK}}
ARGUMENTS = f'{{"a":"{MARK}"}}'
UNFINISHED = f'{{"a":"{MARK}'

CHAT_ROWS: dict[str, Stream] = {
    "text": _chat(text(MARK)),
    "reasoning": _chat(delta(reasoning=MARK)),
    "a signature over reasoning": _chat(THOUGHT, _detail("text", signature=MARK), text("a")),
    "sealed reasoning": _chat(_detail("encrypted", data=MARK), text("a")),
    "a refusal": _chat(delta(refusal=MARK)),
    "a function call": _chat(call(ARGUMENTS, index=0, id="call_1", name="ls"), reason="tool_calls"),
    "the legacy `function_call`": _chat(
        delta(function_call={"name": "ls", "arguments": ARGUMENTS}), reason="function_call"
    ),
    "a custom tool call": _chat(delta(tool_calls=[CUSTOM]), reason="tool_calls"),
    "a call that the model did not finish": _chat(call(UNFINISHED, index=0, id="call_1", name="ls"), reason="length"),
    "a signature on a call": _chat(
        call("{}", index=0, id="call_1", name="ls"), _detail("text", signature=MARK), reason="tool_calls"
    ),
    "audio": _chat(text("a"), delta(audio={"id": "x", "data": MARK})),
    "an image": _chat(text("a"), delta(images=[{"type": "image_url", "image_url": {"url": MARK}}])),
    "a content part of an unknown type": _chat(text([{"type": "hologram", "data": MARK}])),
    "logprobs": _chat(chunk(choice({"content": "a"}, logprobs={"content": [{"token": MARK, "logprob": -1.0}]}))),
    "annotations": _chat(text("a"), delta(annotations=[{"type": "url_citation", "url_citation": {"url": MARK}}])),
    "choices beyond the first": [*_chat(text("a")), text(MARK, 1), finish("stop", 1)],
    "other fields of a choice, delta or call": _chat(text("a"), delta(weather=MARK)),
    "other fields of the answer": _chat(text("a"), chunk(system_fingerprint=MARK)),
    "a finish reason that says of no known end": _chat(text("a"), reason=MARK),
}


def _messages(*blocks: dict[str, Any], reason: str = "end_turn", **fields: Any) -> Stream:
    """A whole stream around the events of a block."""
    ending = messages.ending(reason, {"output_tokens": 1}, **fields)
    return [messages.opened(usage={"input_tokens": 1, "output_tokens": 0}), *blocks, ending, messages.END]


def _block(kind: str, *deltas: dict[str, Any], **fields: Any) -> Stream:
    return [messages.start(kind, **fields), *deltas, messages.stop()]


def _used(kind: str, **fields: Any) -> Stream:
    return _block(kind, messages.partial(ARGUMENTS), id="toolu_1", name="ls", input={}, **fields)


CITATION = {"type": "web_search_result_location", "cited_text": MARK, "encrypted_index": "e", "url": "u", "title": "t"}
FOUND = {"type": "web_search_result", "title": "t", "url": MARK, "encrypted_content": "e", "page_age": None}
SEARCHED = {"tool_use_id": "srvtoolu_1", "content": [FOUND]}
CALLER = {"type": "code_execution_20250825", "tool_id": MARK}

MESSAGES_ROWS: dict[str, Stream] = {
    "text": _messages(*_block("text", messages.text(MARK), text="")),
    "thinking": _messages(
        *_block("thinking", messages.delta("thinking_delta", thinking=MARK), thinking="", signature="")
    ),
    "a signature over thinking": _messages(
        *_block(
            "thinking",
            messages.delta("thinking_delta", thinking="hm"),
            messages.delta("signature_delta", signature=MARK),
            thinking="",
            signature="",
        )
    ),
    "`redacted_thinking`": _messages(*_block("redacted_thinking", data=MARK)),
    "`tool_use`": _messages(*_used("tool_use"), reason="tool_use"),
    "a call that the model did not finish": _messages(
        *_block("tool_use", messages.partial(UNFINISHED), id="toolu_1", name="ls", input={}), reason="max_tokens"
    ),
    "`caller` of a call": _messages(
        *_block("tool_use", id="toolu_1", name="ls", input={}, caller=CALLER), reason="tool_use"
    ),
    "`server_tool_use`": _messages(*_used("server_tool_use")),
    "`mcp_tool_use`": _messages(*_used("mcp_tool_use", server_name="s")),
    "results of server tools": _messages(*_block("web_search_tool_result", **SEARCHED)),
    "`container_upload`, `compaction` and blocks of unknown types": _messages(
        *_block("container_upload", file_id=MARK)
    ),
    "citations": _messages(
        *_block("text", messages.text("a"), messages.delta("citations_delta", citation=CITATION), text="")
    ),
    "`stop_sequence`": _messages(
        *_block("text", messages.text("a"), text=""), reason="stop_sequence", stop_sequence=MARK
    ),
    "`container`": _messages(*_block("text", messages.text("a"), text=""), container={"id": MARK, "expires_at": "t"}),
    "other fields of the answer": _messages(*_block("text", messages.text("a"), text=""), weather=MARK),
}


def _responses(item: dict[str, Any], *events: dict[str, Any], **fields: Any) -> Stream:
    """A response of one item, which begins without what it has at its end."""
    begun = {**item, **{name: type(value)() for name, value in item.items() if name in ("content", "summary")}}
    begun = {**begun, **{name: "" for name in ("arguments", "input") if name in item}}
    ended = {**item, "status": fields.get("status", "completed")} if item["type"] != "reasoning" else item
    status = fields.pop("status", "completed")
    last = responses.event(status, response=responses.response(ended, status=status, usage=None, **fields))
    return [responses.created(), responses.added(begun), *events, responses.done(ended), last]


def _message(part: dict[str, Any], **fields: Any) -> Stream:
    return _responses(responses.message(part, **fields))


def _reasoning(**fields: Any) -> Stream:
    return _responses({"type": "reasoning", "id": "rs_1", "summary": [], **fields})


PLAIN = responses.output_text("a", annotations=[], logprobs=[])
PROBABLE = {"token": MARK, "logprob": -1.0, "bytes": [], "top_logprobs": []}
CITED = {"type": "url_citation", "url": MARK, "title": "t", "start_index": 0, "end_index": 1}
SEARCH = {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": MARK}}
PATCH = {"type": "create_file", "path": MARK, "diff": "+a"}

RESPONSES_ROWS: dict[str, Stream] = {
    "`output_text`": _message(responses.output_text(MARK, annotations=[], logprobs=[])),
    "`refusal`": _message({"type": "refusal", "refusal": MARK}),
    "a summary of reasoning": _reasoning(summary=[{"type": "summary_text", "text": MARK}]),
    "`reasoning_text`": _reasoning(content=[{"type": "reasoning_text", "text": MARK}]),
    "`encrypted_content`": _reasoning(encrypted_content=MARK),
    "`function_call`": _responses(responses.function_call(ARGUMENTS)),
    "`custom_tool_call`": _responses(
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "sql", "input": MARK}
    ),
    "a call that the model did not finish": _responses(
        responses.function_call(UNFINISHED), status="incomplete", incomplete_details={"reason": "max_output_tokens"}
    ),
    "calls of hosted tools": _responses(SEARCH),
    "calls of built-in tools that the client runs": _responses(
        {"type": "apply_patch_call", "id": "apc_1", "call_id": "call_1", "operation": PATCH}
    ),
    "results in the answer": _responses(
        {"type": "apply_patch_call_output", "id": "o_1", "call_id": "call_1", "output": MARK}
    ),
    "items of other types": _responses({"type": "compaction", "id": "c_1", "encrypted_content": MARK}),
    "annotations": _message(responses.output_text("a", annotations=[CITED], logprobs=[])),
    "logprobs": _message(responses.output_text("a", annotations=[], logprobs=[PROBABLE])),
    "`phase` and `namespace` of an item": _message(PLAIN, phase=MARK),
    "other fields of an item": _message(PLAIN, weather=MARK),
    "audio": [*_message(PLAIN)[:-1], responses.event("audio.delta", delta=MARK), _message(PLAIN)[-1]],
    "other fields of the answer": [*_message(PLAIN)[:-1], responses.completed(usage=None, service_tier=MARK)],
}

ROWS: dict[str, dict[str, Stream]] = {CHAT: CHAT_ROWS, MESSAGES: MESSAGES_ROWS, RESPONSES: RESPONSES_ROWS}
