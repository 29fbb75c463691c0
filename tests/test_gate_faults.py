"""Whatever a policy, a source or a client does, no call leaves unjudged, the client is told, and nothing is left open."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

import penstock
import wire as w
from faults import FAULTS, ODD_VALUES, failing, hang, ignore_cancellation, raise_cancelled_later, returning
from gate_clients import seen
from gate_runs import TARGETS, Gated, allow_all, gated
from legal import assert_legal
from patience import run_patiently
from penstock import ALLOW, Policy
from penstock.policy import HOOKS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock import AuditRecord, ToolCall, Verdict
    from penstock.policy import PolicyContext

SECRET = "zq_secret"
CALL = w.call(json.dumps({"path": SECRET}), index=0, id="call_zq", name="delete_zq")
THINKING = w.delta(reasoning_content="Hmm.")
IMAGE = w.delta(images=[{"type": "image_url", "image_url": {"url": "data:,"}}])
USAGE = {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
CHUNKS = [
    {**THINKING, "id": "1", "model": "m"}, w.text("Hello."), IMAGE, CALL, w.finish("tool_calls"), USAGE,
]  # fmt: skip
READS = [w.sse(chunk) for chunk in CHUNKS] + [w.sse(w.DONE)]

# What comes of a fault in each hook. One that judges denies what it was asked about; one that writes or watches ends the answer.
JUDGING = {"on_tool_call", "on_thinking", "on_block"}
SILENT = {"on_error", "on_end"}
WRITING = {"on_text_delta", "on_text"}

every_hook = pytest.mark.parametrize("hook", HOOKS)
every_target = pytest.mark.parametrize("target", TARGETS)


class Source:
    """Reads that come one by one, and a connection that can be closed."""

    def __init__(self, reads: list[Any]) -> None:
        self.is_closed = False
        self._reads = iter(reads)

    def __aiter__(self) -> Source:
        return self

    async def __anext__(self) -> Any:
        await asyncio.sleep(0)
        try:
            return next(self._reads)
        except StopIteration:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        self.is_closed = True


def with_calls_allowed(policy: Policy, hook: str) -> Policy:
    """The policy, which allows what its fault is not about."""
    cls = type(policy)
    if hook != "on_tool_call":
        cls.on_tool_call = lambda self, call, context: ALLOW
    if hook != "on_block":
        cls.on_block = lambda self, block, context: ALLOW
    return policy


async def left_open(source: Source, streaming: Any, *, patience: float = 0.0) -> Any:
    """Runs something, and sees that no task and no source is left open."""
    before = asyncio.all_tasks()
    result = await streaming
    await asyncio.sleep(patience)
    for _ in range(5):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    assert source.is_closed
    return result


def run_fault(hook: str, fault: Any, target: str) -> Gated:
    source = Source(READS)
    policy = with_calls_allowed(failing(hook, fault), hook)
    streaming = gated(source, policy, source="openai_chat", target=target)  # type: ignore[arg-type]
    # Nobody can end a task that ignores its cancellation; it is reported, and here it ends by itself.
    patience = 10_000.0 if fault is ignore_cancellation else 0.0
    return run_patiently(left_open(source, streaming, patience=patience))


def check_fault(hook: str, result: Gated) -> None:
    assert_legal(result.out, result.target)
    assert b"secret in" not in result.out
    assert "secret" not in json.dumps([vars(result.record)], default=str).replace(SECRET, "")
    calls = seen(result.out, result.target)
    if hook in JUDGING:
        assert result.ended == "finished"
        assert bool(calls) == (hook != "on_tool_call")
    elif hook in SILENT:
        assert (result.ended, len(calls)) == ("finished", 1)
    else:
        assert (result.ended, result.record.ending) == ("error", "failed")
        # Usage comes last: by then the call has been judged, and has left.
        assert len(calls) == (hook == "on_usage")
        assert any(failure.startswith(hook) for failure in result.record.failures)
    if hook == "on_tool_call":
        assert [call.state for call in result.record.calls] == ["error-denied"]
        assert b"could not be checked" in result.out
    assert SECRET.encode() not in result.out or calls


@every_target
@every_hook
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_denies_or_ends(fault: Any, hook: str, target: str) -> None:
    check_fault(hook, run_fault(hook, fault, target))


@every_target
@every_hook
@pytest.mark.parametrize("value", ODD_VALUES.values(), ids=ODD_VALUES)
def test_an_odd_value_denies_or_ends(value: Any, hook: str, target: str) -> None:
    is_due = value is None and hook not in JUDGING and hook != "on_text_delta"
    is_text = isinstance(value, str) and hook in WRITING
    if is_due or is_text:
        pytest.skip("this is what the hook returns")
    check_fault(hook, run_fault(hook, returning(value), target))


def test_a_fault_at_an_error_is_recorded() -> None:
    source = Source([w.sse(w.text("Hi")), w.sse({"error": {"message": "no"}})])
    policy = failing("on_error", FAULTS["raise_base_exception"])
    result = run_patiently(left_open(source, gated(source, policy, source="openai_chat", target="openai_chat")))  # type: ignore[arg-type]
    assert result.ended == "error"
    assert result.record.failures[0].startswith("on_error: raised")


# The client


async def broken_off(step: int, policy: Policy) -> tuple[bytes, AuditRecord]:
    """A client that goes away after so many reads."""
    source, records, out = Source(READS), [], b""

    async def consume() -> None:
        nonlocal out
        stream = penstock.gate(source, policy, source="openai_chat", target="openai_chat", audit=records.append)
        for _ in range(step):
            out += await anext(stream, b"")
        await stream.aclose()

    await left_open(source, consume()) if step else await consume()
    return out, records[0] if records else None  # type: ignore[return-value]


@pytest.mark.parametrize("policy", [allow_all, lambda: failing("on_tool_call", hang)], ids=["allowing", "hanging"])
@pytest.mark.parametrize("step", range(1, 8))
def test_a_client_that_goes_away_leaves_nothing_behind(step: int, policy: Any) -> None:
    _, record = run_patiently(broken_off(step, policy()))
    assert record.ending in ("cancelled", "finished")
    assert record.count("error-denied") + record.count("not-run") + record.count("allowed") == len(record.calls)


async def cancelled(delay: int, policy: Policy) -> tuple[AuditRecord, bool]:
    """A consumer that is cancelled after so many turns of the loop."""
    source, records = Source(READS), []

    async def consume() -> None:
        async for _ in penstock.gate(source, policy, source="openai_chat", target="openai_chat", audit=records.append):
            await asyncio.sleep(0)

    before = asyncio.all_tasks()
    task = asyncio.create_task(consume())
    for _ in range(delay):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    for _ in range(5):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    return records[0] if records else None, source.is_closed  # type: ignore[return-value]


@pytest.mark.parametrize("delay", range(2, 60, 3))
def test_a_consumer_that_is_cancelled_at_any_moment_leaves_nothing_behind(delay: int) -> None:
    record, is_closed = run_patiently(cancelled(delay, failing("on_tool_call", hang)))
    assert is_closed
    assert record.ending in ("cancelled", "finished")
    assert record.count("allowed") == 0


def test_a_judge_that_is_cancelled_denies() -> None:
    source = Source(READS)
    policy = with_calls_allowed(failing("on_tool_call", raise_cancelled_later), "on_tool_call")
    result = run_patiently(left_open(source, gated(source, policy, source="openai_chat", target="openai_chat")))  # type: ignore[arg-type]
    assert [call.state for call in result.record.calls] == ["error-denied"]
    assert seen(result.out, "openai_chat") == []


# The source


async def reads_then(error: BaseException) -> AsyncGenerator[bytes]:
    for read in READS[:4]:
        yield read
    raise error


@every_target
@pytest.mark.parametrize("error", [OSError("secret"), ValueError("secret"), TimeoutError("secret")], ids=repr)
def test_a_source_that_breaks_ends_the_answer(error: Exception, target: str) -> None:
    result = run_patiently(gated(reads_then(error), allow_all(), source="openai_chat", target=target))  # type: ignore[arg-type]
    assert_legal(result.out, target)
    assert (result.ended, seen(result.out, target)) == ("error", [])
    assert b"secret" not in result.out
    assert result.record.ending == "interrupted"


def test_a_source_that_hangs_ends_the_answer_in_time() -> None:
    async def hanging() -> AsyncGenerator[bytes]:
        for read in READS[:4]:
            yield read
        await asyncio.sleep(3600)

    result = run_patiently(gated(hanging(), allow_all(), source="openai_chat", target="openai_chat"))  # type: ignore[arg-type]
    assert (result.ended, seen(result.out, "openai_chat")) == ("error", [])
    assert b"took too long" in result.out


# The audit


class Content(Policy):
    """Allows one call of two."""

    def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Verdict:
        return ALLOW if call.index == 0 else penstock.deny("secret reason")


def records_of(**options: Any) -> list[AuditRecord]:
    second = w.call('{"x": "zq_secret"}', index=1, id="call_2", name="other_zq")
    reads = [w.sse(CALL, second, w.finish("tool_calls"), w.DONE)]
    records: list[AuditRecord] = []

    async def main() -> None:
        async for _ in penstock.gate(reads, Content(), source="openai_chat", audit=records.append, **options):
            pass

    asyncio.run(main())
    return records


def test_the_record_has_no_content_unless_asked() -> None:
    (record,) = records_of()
    assert [call.state for call in record.calls] == ["allowed", "denied"]
    assert "zq" not in json.dumps([vars(call) for call in record.calls])
    assert "secret" not in json.dumps([vars(call) for call in record.calls])
    (told,) = records_of(audit_content=True)
    assert [call.content["name"] for call in told.calls if call.content] == ["delete_zq", "other_zq"]


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_sink_that_fails_loses_no_record(fault: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> bytes:
        stream = penstock.gate(READS, allow_all(), source="openai_chat", audit=fault)
        return b"".join([out async for out in stream])

    with caplog.at_level("INFO", logger="penstock.audit"):
        assert penstock.check(run_patiently(main()), "openai_chat").ended == "finished"
    assert any('"ending": "finished"' in record.message for record in caplog.records)
