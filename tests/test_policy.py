"""Policies, what they know of a stream, and several of them as one."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults import CALL, failing, returning
from penstock import (
    ALLOW,
    AllowAll,
    BlockView,
    Policies,
    Policy,
    PolicyContext,
    ToolCall,
    Verdict,
    all_of,
    deny,
    judge,
    replace,
)
from penstock.policy import HOOKS

BLOCK = BlockView(0, "content", "content")


async def test_a_policy_has_the_hooks_that_it_overrides() -> None:
    assert Policy().hooks == AllowAll().hooks == frozenset()
    for hook in HOOKS:
        assert failing(hook, returning(None)).hooks == {hook}
    assert type("Heir", (type(failing("on_text", returning(None))),), {})().hooks == {"on_text"}


def test_a_hook_may_be_set_on_the_object() -> None:
    policy = Policy()
    policy.on_usage = returning(None)  # type: ignore[method-assign]
    assert policy.hooks == {"on_usage"}


async def test_the_hooks_that_nobody_overrides_are_safe_to_call() -> None:
    class Careful(Policy):
        def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Any:
            return super().on_tool_call(call, context)

        def on_text_delta(self, delta: str, block: BlockView, context: PolicyContext) -> Any:
            return super().on_text_delta(delta, block, context)

    assert (await judge(Careful(), CALL, PolicyContext())).state == "denied"
    assert Careful().on_text_delta("x", BLOCK, PolicyContext()) == "x"


def test_a_misspelt_hook_is_refused_where_it_is_written() -> None:
    with pytest.raises(TypeError, match=r"Wrong.on_toolcall is not a hook; the hooks are on_chunk, .*, on_end"):
        type("Wrong", (Policy,), {"on_toolcall": returning(ALLOW)})


def takes_too_few(self: Any, call: Any) -> Verdict:
    return ALLOW


def wants_more(self: Any, call: Any, context: Any, database: Any) -> Verdict:
    return ALLOW


def wants_names(self: Any, *, call: Any, context: Any) -> Verdict:
    return ALLOW


@pytest.mark.parametrize("hook", [takes_too_few, wants_more, wants_names, lambda: ALLOW])
def test_a_hook_that_takes_other_arguments_is_refused_where_it_is_written(hook: Any) -> None:
    with pytest.raises(TypeError, match=r"\AWrong.on_tool_call must take \(self, call, context\)\Z"):
        type("Wrong", (Policy,), {"on_tool_call": hook})


@pytest.mark.parametrize(("kind", "first"), [(staticmethod, ""), (classmethod, "self, ")])
def test_a_hook_of_no_instance_is_looked_at_too(kind: Any, first: str) -> None:
    with pytest.raises(TypeError, match=rf"\AWrong.on_usage must take \({first}usage, context\)\Z"):
        type("Wrong", (Policy,), {"on_usage": kind(lambda usage: None)})
    assert type("Right", (Policy,), {"on_usage": kind(lambda *_: None)})().hooks == {"on_usage"}


def test_a_hook_of_a_mixin_is_looked_at_too() -> None:
    class Mixin:
        on_tool_call = takes_too_few

    with pytest.raises(TypeError, match=r"\AWrong.on_tool_call must take"):
        type("Wrong", (Mixin, Policy), {})


def test_a_hook_that_is_no_function_is_refused_where_it_is_written() -> None:
    with pytest.raises(TypeError, match=r"\AWrong.on_tool_call must be a function, not int\Z"):
        type("Wrong", (Policy,), {"on_tool_call": 5})


async def test_a_hook_may_be_whatever_can_be_called_with_its_arguments() -> None:
    class Judge:
        def __call__(self, call: ToolCall, context: PolicyContext) -> Verdict:
            return ALLOW

    @functools.wraps(wants_more)
    def with_database(self: Any, *arguments: Any) -> Verdict:
        return wants_more(self, *arguments, "database")

    def with_more(self: Any, call: ToolCall, context: PolicyContext, **more: Any) -> Verdict:
        return ALLOW

    hooks: list[Any] = [
        Judge(),
        Judge().__call__,
        with_database,
        with_more,
        property(lambda self: Judge()),
        functools.partialmethod(wants_more, database="database"),
    ]
    for hook in hooks:
        policy = type("Right", (Policy,), {"on_tool_call": hook})()
        assert (await judge(policy, CALL, PolicyContext())).state == "allowed"


@pytest.mark.parametrize("name", ["inert", "tolerates"])
def test_a_word_is_no_set_of_words(name: str) -> None:
    with pytest.raises(TypeError, match=f"Wrong.{name} must be a set of words"):
        type("Wrong", (Policy,), {name: "tool_call"})


def test_a_context_has_the_tools_of_its_request() -> None:
    tools = [{"name": "f"}]
    assert PolicyContext(request={"tools": tools}).tools == tools
    assert PolicyContext(request={"tools": tools}, tools=[]).tools == []
    assert list(PolicyContext(request={"tools": None}).tools) == []
    assert PolicyContext(stream_id="s").stream_id == "s"
    assert PolicyContext().stream_id != PolicyContext().stream_id


def test_what_a_policy_keeps_is_its_own_and_of_one_stream() -> None:
    one, other = Policy(), Policy()
    context = PolicyContext()
    context.own(one, list[int]).append(1)
    assert (context.own(one, list[int]), context.own(other, list[int])) == ([1], [])
    assert PolicyContext().own(one, list[int]) == []


def named(name: str, seen: list[str], verdict: Verdict = ALLOW) -> Policy:
    class Named(Policy):
        def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
            seen.append(f"{name}:{call.name}")
            return verdict

    return Named()


async def decide(*policies: Policy) -> Verdict:
    return (await judge(all_of(*policies), CALL, PolicyContext())).verdict


async def test_the_order_is_fixed_and_the_first_denial_counts() -> None:
    seen: list[str] = []
    verdict = await decide(named("a", seen), named("b", seen, deny("b")), named("c", seen, deny("c")))
    assert (verdict.reason, seen) == ("b", ["a:bash", "b:bash"])


@given(st.lists(st.sampled_from(["allow", "deny", "raise", "none"]), min_size=1, max_size=4))
def test_a_call_passes_only_if_all_allow_it(answers: list[str]) -> None:
    def boom(*_: Any) -> Any:
        raise ValueError

    hooks = {"allow": returning(ALLOW), "deny": returning(deny()), "raise": boom, "none": returning(None)}
    policy = all_of(*(failing("on_tool_call", hooks[each]) for each in answers))
    judgement = asyncio.run(judge(policy, CALL, PolicyContext()))
    assert (judgement.verdict == ALLOW) == (set(answers) == {"allow"})
    bad = next((each for each in answers if each != "allow"), "allow")
    assert judgement.state == {"allow": "allowed", "deny": "denied"}.get(bad, "error-denied")


async def test_a_replacement_is_shown_to_all_the_others_and_not_to_its_author() -> None:
    seen: list[str] = []
    verdict = await decide(named("a", seen), named("b", seen, replace(name="ls")), named("c", seen))
    assert (verdict.name, verdict.arguments) == ("ls", CALL.arguments)
    assert seen == ["a:bash", "b:bash", "a:ls", "c:ls"]


async def test_a_policy_cannot_put_in_what_another_denies() -> None:
    class NoLs(Policy):
        def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
            return deny("no ls") if call.name == "ls" else ALLOW

    for order in [(NoLs(), named("b", [], replace(name="ls"))), (named("b", [], replace(name="ls")), NoLs())]:
        assert (await decide(*order)).reason == "no ls"


async def test_policies_that_replace_each_others_calls_deny() -> None:
    judgement = await judge(
        all_of(named("a", [], replace(name="x")), named("b", [], replace(name="y"))), CALL, PolicyContext()
    )
    assert (judgement.state, judgement.detail) == (
        "error-denied",
        "on_tool_call two policies replace each other's calls",
    )


async def test_a_rewriting_that_settles_is_a_replacement() -> None:
    class Absolute(Policy):
        def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
            return ALLOW if "/" in call.arguments else replace(arguments={"command": "/secret"})

    verdict = await decide(Absolute(), named("b", [], replace(name="run")))
    assert (verdict.name, verdict.arguments) == ("run", '{"command":"/secret"}')


class Log(Policy):
    """Notes what it is told."""

    def __init__(self, log: list[str], name: str, failure: BaseException | None = None) -> None:
        self.log, self.name, self.failure = log, name, failure

    async def on_end(self, record: Any, context: PolicyContext) -> None:
        self.log.append(self.name)
        if self.failure:
            raise self.failure


@pytest.mark.parametrize("failure", [ValueError("a"), KeyboardInterrupt("a"), asyncio.CancelledError("a")])
async def test_every_policy_is_told_of_the_end_whatever_the_others_do(failure: BaseException) -> None:
    log: list[str] = []
    policies = all_of(Log(log, "a", failure), Log(log, "b", ValueError("b")), Log(log, "c"))
    with pytest.raises(type(failure)) as raised:
        await policies.on_end(None, PolicyContext())  # type: ignore[arg-type, misc]
    assert (raised.value, log) == (failure, ["a", "b", "c"])


class Upper(Policy):
    def on_text_delta(self, delta: str, block: BlockView, context: PolicyContext) -> str:
        return delta.upper()


class Whole(Policy):
    """Holds the whole block, and writes it between brackets."""

    async def on_text_delta(self, delta: str, block: BlockView, context: PolicyContext) -> str:
        return ""

    async def on_text(self, text: str, block: BlockView, context: PolicyContext) -> str:
        return f"<{text}>"


class Footer(Policy):
    def on_text(self, text: str, block: BlockView, context: PolicyContext) -> str:
        return f" ({len(text)})"


async def written(policy: Policy, *deltas: str) -> str:
    """What a driver writes of one block."""
    context = PolicyContext()
    text = ""
    for delta in deltas:
        text += await policy.on_text_delta(delta, BLOCK, context) if "on_text_delta" in policy.hooks else delta  # type: ignore[misc]
    return text + (await policy.on_text("".join(deltas), BLOCK, context) or "")  # type: ignore[misc, operator]


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        ([Upper(), Whole()], "<ABC>"),
        ([Whole(), Upper()], "<ABC>"),
        ([Whole(), Whole()], "<<abc>>"),
        ([Footer(), Footer()], "abc (3) (7)"),
        ([Whole(), Footer()], "<abc> (5)"),
        ([Footer(), Whole(), Upper()], "<ABC (3)>"),
        ([AllowAll(), all_of(Upper(), Whole())], "<ABC>"),
    ],
    ids=lambda given: given if isinstance(given, str) else "-".join(type(each).__name__ for each in given),
)
async def test_text_goes_through_the_policies_one_after_the_other(policies: list[Policy], expected: str) -> None:
    assert await written(all_of(*policies), "a", "", "bc") == expected


async def test_thinking_and_other_blocks_pass_if_all_allow_them() -> None:
    for hook in ("on_thinking", "on_block"):
        both = all_of(failing(hook, returning(ALLOW)), failing(hook, returning(deny("no"))))
        arguments = ("x", BLOCK) if hook == "on_thinking" else (BLOCK,)
        assert (await getattr(both, hook)(*arguments, PolicyContext())).decision == "deny"
        one = all_of(failing(hook, returning(ALLOW)))
        assert await getattr(one, hook)(*arguments, PolicyContext()) == ALLOW


def test_what_is_no_policy_is_refused() -> None:
    with pytest.raises(TypeError, match="expected policies, not str"):
        all_of("policy")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected at least one policy"):
        Policies()
