"""Hostile streams: what each wire format can be bent to."""

from __future__ import annotations

from typing import Any

import messages as m
import responses as r
import wire as w
from hostile import (
    EVIL,
    EVIL_JSON,
    LS,
    LS_SAFE,
    RM,
    RM_EVIL,
    SAFE,
    SAFE_JSON,
    Row,
    call,
    chat,
    item,
    message,
    more,
    response,
    streamed,
    tool_use,
    used,
)

SECOND = call(EVIL_JSON, RM, index=1, id="call_2")
BOTH = (LS_SAFE, RM_EVIL)
HALVES = (SAFE_JSON[:10], SAFE_JSON[10:])


def delta(**fields: Any) -> Any:
    """A chunk with these fields in its delta."""
    return w.delta(**fields)


def beside(chunk: Any, **fields: Any) -> Any:
    """A chunk with more fields at its top."""
    return {**chunk, **fields}


def at_choice(number: int) -> Any:
    """A chunk with a call in that choice."""
    return w.call(EVIL_JSON, choice=number, index=0, id="call_2", name=RM)


CHAT = [
    Row("O-01 a name in pieces", "openai_chat", chat(call("", "dele"), w.call(None, index=0, name="te_zq"), more(EVIL_JSON)), "finishes", (RM_EVIL,), asked=1),
    Row("O-02 a name repeated", "openai_chat", chat(call(""), call("", LS), more(SAFE_JSON)), "finishes", (LS_SAFE,), asked=1),
    Row("O-02 a name repeated with arguments", "openai_chat", chat(call(HALVES[0]), call(HALVES[1], LS)), "finishes", (LS_SAFE,), asked=1),
    Row("O-03 a name late", "openai_chat", chat(w.call(EVIL_JSON, index=0, id="call_1"), w.call(None, index=0, name=RM)), "finishes", (RM_EVIL,), asked=1),
    Row("O-03 no name", "openai_chat", chat(w.call(EVIL_JSON, index=0, id="call_1")), "finishes"),
    Row("O-04 a name replaced", "openai_chat", chat(call("{}"), w.call(None, index=0, name=RM)), "ends"),
    Row("O-04 a name replaced with its id", "openai_chat", chat(call("{}"), w.call("", index=0, id="call_1", name=RM)), "ends"),
    Row("O-05 an index for another id", "openai_chat", chat(call(), call(EVIL_JSON, RM, id="call_2")), "finishes", BOTH, asked=2),
    Row("O-06 all at index 0", "openai_chat", chat(call(HALVES[0]), more(HALVES[1]), call(EVIL_JSON, RM, id="call_2")), "finishes", BOTH, asked=2),
    Row("O-07 no index", "openai_chat", chat(w.call(SAFE_JSON, id="a", name=LS), w.call(EVIL_JSON, id="b", name=RM)), "finishes", BOTH, asked=2),
    Row("O-07 an index of null", "openai_chat", chat(w.call(SAFE_JSON, id="a", name=LS, index=None)), "finishes", (LS_SAFE,)),
    Row("O-07 neither, of several", "openai_chat", chat(call(), call('{"path": "', RM, index=1, id="call_2"), w.call('/zq_evil"}')), "ends", before=(LS_SAFE,)),
    *(Row(f"O-08 an index of {index!r}", "openai_chat", chat(call(index=index)), "ends") for index in ("0", 0.5, -1, 128, 2**53 + 1, 2**64, True, [0])),
    Row("O-08 an index of 5", "openai_chat", chat(call(index=5)), "finishes", (LS_SAFE,)),
    Row("O-09 an id twice", "openai_chat", chat(call(), call(EVIL_JSON, RM, index=1)), "ends", before=(LS_SAFE,)),
    Row("O-10 a call that goes on behind another", "openai_chat", chat(call(HALVES[0]), SECOND, more(HALVES[1])), "finishes", BOTH),
    Row("O-10 a whole call that goes on", "openai_chat", chat(call(), SECOND, more(" && rm -rf /")), "ends", before=BOTH),
    Row("O-11 two calls in a chunk", "openai_chat", chat(w.calls(w.part(SAFE_JSON, index=0, id="a", name=LS), w.part(EVIL_JSON, index=1, id="b", name=RM))), "finishes", BOTH, asked=2),
    Row("O-12 a choice that was not asked for", "openai_chat", chat(call(), at_choice(1), w.finish("tool_calls", 1)), "ends", before=(LS_SAFE,), options={"context": {"messages": []}}),
    Row("O-12 a choice that was not asked for, by its number", "openai_chat", chat(call(), at_choice(2), w.finish("tool_calls", 2)), "ends", before=(LS_SAFE,), options={"context": {"n": 2}}),
    Row("O-13 a finish that hides the call", "openai_chat", w.sse(call(), w.finish("stop"), w.DONE), "finishes", (LS_SAFE,), asked=1),
    Row("O-14 a call behind the finish", "openai_chat", w.sse(w.text("Hi"), w.finish("stop"), call(), w.DONE), "ends"),
    Row("O-14 arguments behind the finish", "openai_chat", w.sse(call('{"path":'), w.finish("tool_calls"), more('"/"}'), w.DONE), "ends"),
    Row("O-15 no finish", "openai_chat", w.sse(w.text("Hi"), call()), "ends"),
    Row("O-15 an end without a finish in the middle of a call", "openai_chat", w.sse(w.text("Hi"), call(HALVES[0]), w.DONE), "ends"),
    Row("O-16 the legacy call", "openai_chat", chat(delta(function_call={"name": RM, "arguments": EVIL_JSON})), "finishes", (RM_EVIL,), asked=1),
    Row("O-16 the legacy call beside the new", "openai_chat", chat(delta(function_call={"name": RM, "arguments": EVIL_JSON}, tool_calls=[w.part(SAFE_JSON, index=0, id="a", name=LS)])), "finishes", (LS_SAFE, RM_EVIL), asked=2),
    Row("O-17 a message for the delta", "openai_chat", chat(w.chunk({"index": 0, "message": {"role": "assistant", "tool_calls": [w.part(EVIL_JSON, id="a", type="function", name=RM)]}})), "finishes"),
    Row("O-17 a message beside the delta", "openai_chat", chat(w.chunk(w.choice({"content": "x"}, message={"tool_calls": [w.part(EVIL_JSON, id="a", type="function", name=RM)]}))), "finishes"),
    Row("O-18 a custom tool", "openai_chat", chat(delta(tool_calls=[{"index": 0, "id": "call_1", "type": "custom", "custom": {"name": RM, "input": "zq_"}}]), delta(tool_calls=[{"index": 0, "custom": {"input": "evil"}}])), "finishes", ((RM, "zq_evil"),), asked=1),
    Row("O-18 a custom tool that goes on behind another", "openai_chat", chat(delta(tool_calls=[{"index": 0, "id": "call_1", "type": "custom", "custom": {"name": RM, "input": "zq_"}}]), call(index=1, id="call_2"), delta(tool_calls=[{"index": 0, "custom": {"input": "evil"}}])), "finishes", ((RM, "zq_evil"), LS_SAFE), asked=2),
    Row("O-18 a custom tool and a function in one", "openai_chat", chat(delta(tool_calls=[{"index": 0, "id": "call_1", "type": "custom", "custom": {"name": LS, "input": "zq_safe"}, "function": {"name": RM, "arguments": EVIL_JSON}}])), "finishes", ((LS, "zq_safe"),), asked=1),
    Row("O-19 text and call together", "openai_chat", chat(delta(content="Now.", tool_calls=[w.part(SAFE_JSON, index=0, id="a", name=LS)])), "finishes", (LS_SAFE,), asked=1),
    Row("O-20 hidden fields", "openai_chat", chat(delta(content="x", provider_specific_fields={"tool_calls": [RM]}, obfuscation=RM, mcp_list_tools=[{"name": RM}]), beside(call(), tool_calls=[{"function": {"name": RM}}])), "finishes", (LS_SAFE,), asked=1),
    Row("O-20 hidden fields of a call", "openai_chat", chat(delta(tool_calls=[{**w.part(SAFE_JSON, index=0, id="a", name=LS), "extra_content": {"name": RM}, "calls": [RM]}])), "finishes", (LS_SAFE,), asked=1),
    Row("O-21 another role", "openai_chat", chat(delta(role="assistant"), delta(role="tool", content="x"), call()), "ends"),
    Row("O-22 an error of null", "openai_chat", chat(beside(call(), error=None)), "finishes", (LS_SAFE,)),
    Row("O-22 an error beside a call", "openai_chat", chat(beside(call(), error={"message": "no"})), "ends"),
]  # fmt: skip


def opened_with(*content: Any) -> Any:
    """`message_start` with content in it."""
    return m.opened(content=list(content))


USE = {"type": "tool_use", "id": "toolu_1", "name": RM, "input": EVIL}
TEXT = [m.start("text", text=""), m.text("Hi"), m.stop()]

SIGNED = m.delta("signature_delta", signature="c2lnbmVk")


def thought(*texts: str) -> list[Any]:
    """A block of thinking, signed behind its first text."""
    first, *others = [m.delta("thinking_delta", thinking=text) for text in texts]
    return [m.start("thinking", thinking="", signature=""), first, SIGNED, *others, m.stop()]


MESSAGES = [
    Row("A-01 input in the start", "anthropic_messages", message(tool_use(RM, input=EVIL), m.stop()), "finishes", (RM_EVIL,), asked=1),
    Row("A-01 input in the start and in deltas", "anthropic_messages", message(tool_use(input=SAFE), m.partial(EVIL_JSON), m.stop()), "ends"),
    Row("A-02 input in the start and an empty delta", "anthropic_messages", message(tool_use(RM, input=EVIL), m.partial(""), m.stop()), "finishes", (RM_EVIL,), asked=1),
    Row("A-03 a number twice", "anthropic_messages", message(tool_use(), tool_use(RM, id="toolu_2"), m.partial(EVIL_JSON), m.stop()), "ends"),
    Row("A-03 a number again", "anthropic_messages", message(*used(), *used(EVIL_JSON, RM, id="toolu_2")), "ends", before=(LS_SAFE,)),
    Row("A-04 a gap", "anthropic_messages", message(*used(index=5)), "ends"),
    Row("A-04 below zero", "anthropic_messages", message(tool_use(), m.partial(SAFE_JSON, -1), m.stop()), "ends"),
    Row("A-05 content in the message's start", "anthropic_messages", m.sse([opened_with(USE), m.ending("tool_use"), m.END]), "ends"),
    Row("A-06 a delta behind the stop", "anthropic_messages", message(*used(), m.partial(',"c":"rm"}')), "ends", before=(LS_SAFE,)),
    Row("A-07 a delta without a start", "anthropic_messages", message(m.partial(EVIL_JSON)), "ends"),
    Row("A-07 a stop without a start", "anthropic_messages", message(m.stop(3)), "ends"),
    Row("A-08 two blocks in turns", "anthropic_messages", message(tool_use(), tool_use(RM, 1), m.partial(SAFE_JSON), m.partial(EVIL_JSON, 1), m.stop(1), m.stop(0)), "finishes", BOTH, asked=2),
    Row("A-09 a second start of the message", "anthropic_messages", message(m.opened(), *used()), "ends"),
    Row("A-09 a block behind the finish", "anthropic_messages", m.sse([m.opened(), *TEXT, m.ending("end_turn"), *used(EVIL_JSON, RM, index=1), m.END]), "ends"),
    Row("A-09 a block behind the end", "anthropic_messages", message(*used()) + m.sse(used(EVIL_JSON, RM, index=1)), "finishes", (LS_SAFE,), asked=1),
    Row("A-10 arguments in part, then a stop", "anthropic_messages", message(*used('{"c":"rm","dirs":["/tmp/a","/')), "finishes"),
    Row("A-11 arguments for a text", "anthropic_messages", message(m.start("text", text=""), m.partial(EVIL_JSON), m.stop()), "ends"),
    Row("A-11 text for a call", "anthropic_messages", message(tool_use(), m.text(EVIL_JSON), m.stop()), "ends"),
    Row("A-12 a block of a type that nobody knows", "anthropic_messages", message(m.start("tool_zq_use", id="x", name=RM, input=EVIL), m.stop()), "finishes"),
    Row("A-12 a tool of the provider's", "anthropic_messages", message(*used(EVIL_JSON, RM, kind="server_tool_use")), "finishes", (RM_EVIL,), shown=("anthropic_messages",), asked=1),
    Row("A-12 a tool of another server's", "anthropic_messages", message(*used(EVIL_JSON, RM, kind="mcp_tool_use", server_name="s")), "finishes", (RM_EVIL,), shown=("anthropic_messages",), asked=1),
    Row("A-12 a result of a tool that nobody called", "anthropic_messages", message(m.start("web_search_tool_result", tool_use_id="srvtoolu_1", content=[{"type": "web_search_result", "title": RM, "url": "zq_evil", "encrypted_content": "e"}]), m.stop(), *used(index=1)), "finishes", (LS_SAFE,), asked=1),
    Row("A-13 a finish that hides the call", "anthropic_messages", m.sse([m.opened(), *used(), m.ending("end_turn"), m.END]), "finishes", (LS_SAFE,), asked=1),
    Row("A-14 an id twice", "anthropic_messages", message(*used(), *used(EVIL_JSON, RM, index=1, id="toolu_0")), "ends", before=(LS_SAFE,)),
    Row("A-15 thinking with its signature", "anthropic_messages", message(*thought("Hm."), *used(index=1)), "finishes", (LS_SAFE,), asked=1),
    Row("A-15 thinking behind its signature", "anthropic_messages", message(*thought("Hm.", "More."), *used(index=1)), "finishes", (LS_SAFE,), asked=1),
    Row("A-15 a signature for a text", "anthropic_messages", message(m.start("text", text=""), SIGNED, m.stop(), *used(index=1)), "ends"),
    Row("N-06 a block that is never closed", "anthropic_messages", m.sse([m.opened(), tool_use(), m.partial(SAFE_JSON), m.ending("tool_use"), m.END]), "ends"),
    Row("N-07 an error behind a call", "anthropic_messages", m.sse([m.opened(), tool_use(), m.partial(SAFE_JSON), {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}]), "ends"),
]  # fmt: skip

CUSTOM = {"type": "custom_tool_call", "id": "ct_1", "call_id": "call_1", "name": RM, "input": "zq_evil"}
SHELL = {
    "type": "local_shell_call",
    "id": "sh_1",
    "call_id": "call_1",
    "status": "completed",
    "action": {"type": "exec", "command": ["zq_evil"], "env": {}},
}
COMPUTER = {
    "type": "computer_call",
    "id": "cu_1",
    "call_id": "call_1",
    "status": "completed",
    "action": {"type": "type", "text": "zq_evil"},
    "pending_safety_checks": [],
}
MCP = {
    "type": "mcp_call",
    "id": "mcp_1",
    "server_label": "s",
    "status": "completed",
    "name": RM,
    "arguments": EVIL_JSON,
    "output": "zq_evil",
    "error": None,
}


def whole(item: Any) -> bytes:
    """A Responses stream with an item that comes at once."""
    return response(r.added({**item, "status": "in_progress"}), r.done(item), output=(item,))


def failed() -> Any:
    """The last event of a response that failed."""
    return r.event("failed", response=r.response(status="failed", error={"code": "server_error", "message": "x"}))


def incomplete(*output: Any) -> Any:
    """The last event of a response that was cut short."""
    return r.event("incomplete", response=r.response(*output, status="incomplete", incomplete_details={"reason": "max_output_tokens"}))  # fmt: skip


RESPONSES = [
    Row("R-01 completed with other arguments", "openai_responses", response(*streamed(), output=(item(EVIL_JSON),)), "ends", before=(LS_SAFE,)),
    Row("R-01 completed with another name", "openai_responses", response(*streamed(), output=(item(SAFE_JSON, RM),)), "ends", before=(LS_SAFE,)),
    Row("R-01 completed with the same", "openai_responses", response(*streamed(), output=(item(),)), "finishes", (LS_SAFE,), asked=1),
    Row("R-01 arguments.done with others", "openai_responses", response(*streamed()[:2], r.at("function_call_arguments.done", arguments=EVIL_JSON), streamed()[3], output=(item(),)), "ends"),
    Row("R-02 item.done with other arguments", "openai_responses", response(*streamed()[:3], r.done(item(EVIL_JSON)), output=(item(),)), "ends"),
    Row("R-02 item.done with another name", "openai_responses", response(*streamed()[:3], r.done(item(SAFE_JSON, RM)), output=(item(),)), "ends"),
    Row("R-03 only in completed", "openai_responses", response(output=(item(EVIL_JSON, RM),)), "ends"),
    Row("R-03 only in item.done", "openai_responses", response(r.done(item(EVIL_JSON, RM)), output=(item(EVIL_JSON, RM),)), "ends"),
    Row("R-03 one more in completed", "openai_responses", response(*streamed(), output=(item(), item(EVIL_JSON, RM, 2))), "ends", before=(LS_SAFE,)),
    Row("R-04 behind completed", "openai_responses", response(*streamed(), output=(item(),)) + r.sse(*streamed(EVIL_JSON, RM, 2, 1)), "finishes", (LS_SAFE,), asked=1),
    Row("R-05 failed with a call open", "openai_responses", r.sse(r.created(), *streamed()[:3], failed()), "ends"),
    Row("R-05 failed behind a call", "openai_responses", r.sse(r.created(), *streamed(), failed()), "ends", before=(LS_SAFE,)),
    Row("R-05 incomplete with a call open", "openai_responses", r.sse(r.created(), *streamed()[:2], incomplete()), "ends"),
    Row("R-06 a custom tool", "openai_responses", response(r.added({**CUSTOM, "input": ""}), r.at("custom_tool_call_input.delta", delta="zq_evil"), r.at("custom_tool_call_input.done", input="zq_evil"), r.done(CUSTOM), output=(CUSTOM,)), "finishes", ((RM, "zq_evil"),), asked=1),
    Row("R-06 a shell", "openai_responses", whole(SHELL), "finishes", asked=1),
    Row("R-06 a computer", "openai_responses", whole(COMPUTER), "finishes", asked=1),
    Row("R-06 a tool of another server's", "openai_responses", whole(MCP), "finishes", asked=1),
    Row("R-06 an item of a type that nobody knows", "openai_responses", whole({"type": "zq_call", "id": "zq_1", "status": "completed", "name": RM, "arguments": EVIL_JSON}), "finishes", asked=0),
    Row("R-06 a shell with two sets of commands", "openai_responses", response(r.added({**SHELL, "action": None}), r.done({**SHELL, "arguments": "{}"}), output=(SHELL,)), "ends"),
    Row("R-07 an id of another item", "openai_responses", response(*streamed()[:1], *streamed("", RM, 2, 1)[:1], r.at("function_call_arguments.delta", 1, item_id="fc_1", delta=EVIL_JSON)), "ends"),
    Row("R-07 an index twice", "openai_responses", response(*streamed(), *streamed(EVIL_JSON, RM, 2, 0)), "ends", before=(LS_SAFE,)),
]  # fmt: skip

ROWS = [*CHAT, *MESSAGES, *RESPONSES]
