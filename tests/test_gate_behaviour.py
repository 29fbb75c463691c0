"""How the gate behaves: what flows while a judge thinks, what a verdict does, and what the client is told."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

import penstock
import wire as w
from gate_clients import Seen, canonical, seen
from gate_runs import TARGETS, Judge, allow_all, deny_all, gated, run
from legal import assert_legal
from patience import run_patiently
from penstock import ALLOW, Gate, Policy, PolicyContext, all_of, deny, replace
from penstock.policies import Buffered, DryRun, RewriteText, ToolRules, ToolSchemas
from processing import Source

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock import BlockView, ToolCall, Verdict

TEXT = {**w.text("Let me look."), "id": "1", "model": "m"}
LS = w.call('{"path": "/srv"}', index=0, id="call_1", name="ls")
RM = w.call('{"path": "/"}', index=1, id="call_2", name="rm")
BEHIND = w.text("Done.")
END = [w.finish("tool_calls"), w.DONE]

every_target = pytest.mark.parametrize("target", TARGETS)


class Paused(Policy):
    """Decides when it is told to, and says when it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.was_asked = asyncio.Event()
        self.may_decide = asyncio.Event()

    async def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
        self.asked.append(call.name)
        self.was_asked.set()
        await self.may_decide.wait()
        return ALLOW


async def each(reads: list[bytes]) -> AsyncGenerator[bytes]:
    for read in reads:
        await asyncio.sleep(0)
        yield read


def calls_in(out: bytes, target: str = "openai_chat") -> list[str]:
    return [call.name for call in seen(out, target)]


# What flows


@every_target
def test_text_is_out_while_the_judge_of_a_later_call_still_thinks(target: str) -> None:
    async def main() -> None:
        policy = Paused()
        stream = penstock.gate(each([w.sse(TEXT), w.sse(LS), w.sse(*END)]), policy, source="openai_chat", target=target)  # type: ignore[arg-type]
        out = await anext(stream)
        while b"Let me look." not in out:
            out += await anext(stream)
        assert not policy.may_decide.is_set()
        rest = asyncio.create_task(_rest(stream))
        await policy.was_asked.wait()
        policy.may_decide.set()
        out += await rest
        assert calls_in(out, target) == ["ls"]

    asyncio.run(main())


async def _rest(stream: AsyncGenerator[bytes]) -> bytes:
    return b"".join([out async for out in stream])


def test_two_calls_are_judged_at_once() -> None:
    class Both(Policy):
        def __init__(self) -> None:
            self.barrier = asyncio.Barrier(2)

        async def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
            await self.barrier.wait()
            return ALLOW

    async def main() -> bytes:
        return (await gated([w.sse(TEXT, LS, RM, *END)], Both(), source="openai_chat", target="openai_chat")).out

    assert calls_in(asyncio.run(main())) == ["ls", "rm"]


def test_no_more_calls_are_judged_at_once_than_may_be() -> None:
    class Counting(Policy):
        running = most = 0

        async def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
            self.running += 1
            self.most = max(self.most, self.running)
            await asyncio.sleep(0)
            self.running -= 1
            return ALLOW

    policy = Counting()
    calls = [w.call("{}", index=at, id=f"call_{at}", name="ls") for at in range(6)]
    result = run([w.sse(*calls, *END)], policy, source="openai_chat", target="openai_chat", max_concurrent=2)
    assert (policy.most, len(calls_in(result.out))) == (2, 6)


@pytest.mark.parametrize(
    ("target", "sign"),
    [("openai_chat", b": ping"), ("anthropic_messages", b"event: ping"), ("openai_responses", b": ping")],
)
def test_a_client_gets_signs_of_life_while_a_judge_thinks(target: str, sign: bytes) -> None:
    class Thinking(Policy):
        async def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
            await asyncio.sleep(25)
            return ALLOW

    reads = [w.sse(TEXT, LS, *END)]
    result = run_patiently(gated(reads, Thinking(), source="openai_chat", target=target))
    assert result.out.count(sign) == 2
    assert_legal(result.out, target)
    assert calls_in(result.out, target) == ["ls"]


def test_a_verdict_that_does_not_come_in_time_denies() -> None:
    class Forever(Policy):
        async def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
            await asyncio.get_running_loop().create_future()
            return ALLOW

    result = run_patiently(gated([w.sse(TEXT, LS, *END)], Forever(), source="openai_chat", target="openai_chat"))
    assert (result.ended, calls_in(result.out)) == ("finished", [])
    assert [call.detail for call in result.record.calls] == ["on_tool_call no answer within 30 s"]


def test_the_source_is_closed_when_it_has_said_its_end() -> None:
    is_closed = False

    async def lingering() -> AsyncGenerator[bytes]:
        nonlocal is_closed
        try:
            yield w.sse(TEXT, LS, *END)
            await asyncio.sleep(3600)
        finally:
            is_closed = True

    result = run_patiently(gated(lingering(), allow_all(), source="openai_chat", target="openai_chat"))  # type: ignore[arg-type]
    assert (result.ended, calls_in(result.out), is_closed) == ("finished", ["ls"], True)


# What a verdict does


@every_target
def test_a_denied_call_is_replaced_by_the_reason_and_the_answer_goes_on(target: str) -> None:
    policy = ToolRules(deny=["rm"])
    result = run([w.sse(TEXT, LS, RM, BEHIND, *END)], policy, source="openai_chat", target=target)
    assert_legal(result.out, target)
    assert calls_in(result.out, target) == ["ls"]
    assert result.out.index(b"ls") < result.out.index(b"a rule denies this call") < result.out.index(b"Done.")
    assert [call.state for call in result.record.calls] == ["allowed", "denied"]


@pytest.mark.parametrize(
    ("target", "word"),
    [("openai_chat", b'"finish_reason":"stop"'), ("anthropic_messages", b'"stop_reason":"end_turn"')],
)
def test_the_finish_is_made_true_if_no_call_is_left(target: str, word: bytes) -> None:
    result = run([w.sse(TEXT, LS, *END)], deny_all(), source="openai_chat", target=target)
    assert word in result.out
    assert b"tool_calls" not in result.out


@every_target
def test_a_denied_call_can_end_the_answer(target: str) -> None:
    result = run(
        [w.sse(TEXT, LS, RM, *END)], ToolRules(deny=["rm"]), source="openai_chat", target=target, on_deny="end"
    )
    assert_legal(result.out, target)
    assert result.ended == "error"
    assert b"a tool call was denied: a rule denies this call" in result.out
    assert "rm" not in calls_in(result.out, target)


@every_target
def test_a_replaced_call_is_written_as_the_verdict_has_it(target: str) -> None:
    policy = Judge(replace(name="list_files", arguments={"path": "/srv/tmp", "n": 1}))
    result = run([w.sse(TEXT, LS, *END)], policy, source="openai_chat", target=target)
    assert_legal(result.out, target)
    assert seen(result.out, target) == [Seen("list_files", canonical({"path": "/srv/tmp", "n": 1}))]
    assert result.record.calls[0].replaced_by is not None


@every_target
def test_nothing_leaves_a_buffered_gate_before_all_is_judged(target: str) -> None:
    async def main() -> None:
        policy = Paused()
        async with Gate(Buffered(policy), source="openai_chat", target=target) as gate:  # type: ignore[arg-type]
            assert await gate.feed(w.sse(TEXT, LS, BEHIND, *END)) == b""
            await policy.was_asked.wait()
            assert await gate.finish() == b""
            policy.may_decide.set()
            out = await gate.settle()
        assert_legal(out, target)
        assert calls_in(out, target) == ["ls"]

    asyncio.run(main())


@every_target
@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_a_secret_that_is_split_over_chunks_is_masked(size: int, target: str) -> None:
    text = "The key is sk-abcdefghij0123456789 and no other."
    pieces = [w.text(text[at : at + size]) for at in range(0, len(text), size)]
    policy = all_of(RewriteText(r"sk-[a-z0-9]{20}", "[key]", prefix="sk-"), allow_all())
    result = run([w.sse(each, *()) for each in pieces] + [w.sse(LS, *END)], policy, source="openai_chat", target=target)
    assert_legal(result.out, target)
    assert b"sk-" not in result.out
    events = penstock.collect_sync([result.out], source=target, target="openai_chat")
    assert events["choices"][0]["message"]["content"] == "The key is [key] and no other."
    assert calls_in(result.out, target) == ["ls"]


@every_target
@pytest.mark.parametrize("verdict", [ALLOW, deny()], ids=["allowed", "denied"])
def test_thinking_is_held_for_a_policy_that_judges_it(verdict: Verdict, target: str) -> None:
    class Thoughts(Policy):
        def on_thinking(self, text: str, block: BlockView, context: PolicyContext) -> Verdict:
            assert text == "Hmm, zq."
            return verdict

    reads = [w.sse(w.delta(reasoning_content="Hmm, ")), w.sse(w.delta(reasoning_content="zq.")), w.sse(TEXT, *END)]
    result = run(reads, Thoughts(), source="openai_chat", target=target)
    assert_legal(result.out, target)
    assert (b"zq" in result.out) == (verdict is ALLOW)
    assert b"Let me look." in result.out


def test_the_order_of_blocks_is_kept_whatever_order_the_verdicts_come_in() -> None:
    class Backwards(Policy):
        async def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
            await asyncio.sleep(10 - call.index)
            return ALLOW

    calls = [w.call("{}", index=at, id=f"call_{at}", name=f"t{at}") for at in range(4)]
    result = run_patiently(gated([w.sse(*calls, *END)], Backwards(), source="openai_chat", target="openai_chat"))
    assert calls_in(result.out) == ["t0", "t1", "t2", "t3"]


def test_a_policy_that_changes_what_it_was_given_changes_nothing() -> None:
    class Meddling(Policy):
        def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
            call.parsed["path"] = "/"
            object.__setattr__(call, "arguments", '{"path": "/zq"}')
            object.__setattr__(call, "name", "zq")
            return ALLOW

    result = run([w.sse(TEXT, LS, *END)], Meddling(), source="openai_chat", target="openai_chat")
    assert b"zq" not in result.out


def test_tools_are_matched_byte_by_byte() -> None:
    tools = [{"type": "function", "function": {"name": "delete", "parameters": {}}}]
    for name in ("d\u0435lete", "Delete", "delete\u200b", "__proto__", " delete"):
        look_alike = w.call("{}", index=0, id="call_1", name=name)
        result = run([w.sse(look_alike, *END)], ToolSchemas(tools), source="openai_chat", target="openai_chat")
        assert calls_in(result.out) == []


def test_a_dry_run_lets_everything_through_and_records_what_would_be() -> None:
    result = run([w.sse(TEXT, RM, *END)], DryRun(ToolRules(deny=["rm"])), source="openai_chat", target="openai_chat")
    assert calls_in(result.out) == ["rm"]


# A verdict is bound


def core(data: bytes) -> tuple[Any, Any, int, str]:
    translator = penstock._core.Translator(source="openai_chat", target="openai_chat", id="x", created=1, gate=[])
    out = translator.feed(data)
    ((_, block, (call, _)),) = translator.take_asks()
    return translator, out, block, call.digest


def test_a_call_of_the_core_is_one_that_could_have_been_made() -> None:
    translator = penstock._core.Translator(source="openai_chat", target="openai_chat", id="x", created=1, gate=[])
    translator.feed(w.sse(LS, RM, *END))
    for _, _, (given, _) in translator.take_asks():
        made = penstock.ToolCall(**asdict(given))
        assert (given, hash(given), repr(given), given.digest) == (made, hash(made), repr(made), made.digest)


@pytest.mark.parametrize("verdict", ["allow", "deny", "replace"])
def test_a_verdict_on_another_call_changes_nothing(verdict: str) -> None:
    translator, _, block, digest = core(w.sse(LS, w.text("x")))
    rest = {"allow": (), "deny": ("no",), "replace": ("rm", "{}")}[verdict]
    assert getattr(translator, verdict)(block, "0" * 64, *rest) == (False, b"")
    assert getattr(translator, verdict)(block + 7, digest, *rest) == (False, b"")
    is_taken, out = getattr(translator, verdict)(block, digest, *rest)
    assert is_taken
    assert out
    assert getattr(translator, verdict)(block, digest, *rest) == (False, b"")


def test_the_core_denies_an_unsound_replacement() -> None:
    translator, _, block, digest = core(w.sse(LS, w.text("x")))
    is_taken, out = translator.replace(block, digest, "rm", '{"a":1,"a":2}')
    assert is_taken
    assert b"rm" not in out
    assert b"give a name twice" in out


@pytest.mark.parametrize("more", ["garbage", "{}", ', "x": 1}'])
def test_a_call_that_was_asked_about_never_grows(more: str) -> None:
    translator, _, block, digest = core(w.sse(LS, w.text("x")))
    out = translator.feed(w.sse(w.call(more, index=0)))
    assert b"added to a tool call that was complete" in out
    assert translator.is_over
    assert translator.allow(block, digest) == (False, b"")


def test_white_space_behind_a_call_says_nothing() -> None:
    translator, _, block, digest = core(w.sse(LS, w.text("x")))
    assert translator.feed(w.sse(w.call(" \n", index=0), w.text("y"))) == b""
    assert translator.allow(block, digest)[0]


# Bodies and objects


def body(*calls: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": "Let me look.", "tool_calls": list(calls)}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


BODY = body(
    *(
        {"id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": '{"path": "/"}'}}
        for name in ("ls", "rm")
    )
)


@every_target
@pytest.mark.parametrize("form", [BODY, json.dumps(BODY), json.dumps(BODY).encode()], ids=["dict", "text", "bytes"])
def test_a_body_is_judged_as_a_stream_is(form: Any, target: str) -> None:
    judged = asyncio.run(penstock.gate_body(form, ToolRules(deny=["rm"]), source="openai_chat", target=target))
    assert not penstock.check_body(judged)
    text = json.dumps(judged)
    assert '"ls"' in text
    assert '"rm"' not in text
    assert "a rule denies this call" in text


def test_a_body_that_cannot_be_trusted_is_an_error() -> None:
    twice = body(BODY["choices"][0]["message"]["tool_calls"][0], BODY["choices"][0]["message"]["tool_calls"][0])
    judged = asyncio.run(penstock.gate_body(twice, allow_all(), source="openai_chat"))
    assert set(judged) == {"error"}


def test_a_body_can_be_streamed_out() -> None:
    result = run([BODY], ToolRules(deny=["rm"]), source="openai_chat", target="anthropic_messages")
    assert_legal(result.out, "anthropic_messages")
    assert calls_in(result.out, "anthropic_messages") == ["ls"]


@pytest.mark.parametrize("shape", ["dict", "sdk", "litellm"])
def test_objects_go_in_and_come_out(shape: str) -> None:
    async def main() -> list[Any]:
        chunks = [TEXT, LS, RM, w.finish("tool_calls")]
        events = penstock.gate_events(chunks, ToolRules(deny=["rm"]), source="openai_chat", shape=shape)  # type: ignore[arg-type]
        return [event async for event in events]

    events = asyncio.run(main())
    dumped = [event if isinstance(event, dict) else event.model_dump() for event in events]
    calls = [
        call for event in dumped for choice in event["choices"] for call in choice["delta"].get("tool_calls") or []
    ]
    assert [call["function"]["name"] for call in calls if call["function"].get("name")] == ["ls"]


# Options


def test_a_target_has_to_be_named_where_the_source_is_not() -> None:
    with pytest.raises(ValueError, match="target must be named where the source is 'auto'"):
        Gate(allow_all())
    with pytest.raises(ValueError, match='on_deny must be "replace" or "end"'):
        Gate(allow_all(), source="openai_chat", on_deny="drop")  # type: ignore[arg-type]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"policy": None}, "policy must be a penstock.Policy, not NoneType"),
    ({"context": {}}, "context must be a penstock.PolicyContext or None, not dict"),
    ({"audit": 5}, "audit must be a function or None, not int"),
    ({"audit_content": "no"}, "audit_content must be True or False, not str"),
    ({"limits": {"blocks": 1}}, "limits must be penstock.Limits or None, not dict"),
    (
        {"limits": {"blocks": 1}, "context": PolicyContext(request={"n": 1})},
        "limits must be penstock.Limits or None, not dict",
    ),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG, ids=[message for _, message in WRONG])
def test_an_option_of_another_type_gets_one_clear_line_before_anything_is_read(
    wrong: dict[str, Any], message: str
) -> None:
    incoming = Source([w.text("x"), w.finish()])
    with pytest.raises(TypeError) as raised:
        asyncio.run(all_of_it(penstock.gate(incoming, **{"policy": allow_all(), "source": "openai_chat", **wrong})))
    assert (str(raised.value), incoming.read) == (message, [])


async def all_of_it(written: AsyncGenerator[bytes]) -> bytes:
    return b"".join([each async for each in written])


@pytest.mark.parametrize("body", [[], None, 5, object()])
def test_what_is_no_answer_is_the_fault_of_the_caller_and_not_of_the_upstream(body: Any) -> None:
    with pytest.raises(TypeError) as translated:
        penstock.translate_body(body, target="openai_chat")
    with pytest.raises(TypeError) as judged:
        asyncio.run(penstock.gate_body(body, allow_all(), source="openai_chat"))
    assert str(judged.value) == str(translated.value)
    assert str(judged.value).endswith(f", dict or model object, not {type(body).__name__}")


@pytest.mark.parametrize("body", [{}, "", b"", "[]", "null", "<html>", b"\xff", '{"choices": 5}', {"choices": [5]}])
def test_an_answer_that_is_not_what_it_should_be_gives_the_targets_own_error(body: Any) -> None:
    judged = asyncio.run(penstock.gate_body(body, allow_all(), source="openai_chat"))
    assert set(judged) == {"error"}


def test_the_module_and_the_function_do_not_get_in_each_others_way() -> None:
    import penstock.gating as module  # noqa: PLC0415

    assert module.Gate is Gate
    assert callable(penstock.gate)
