"""The policy: a hook for each thing that people act on in a stream.

Rules. (1) Only hooks that a subclass overrides are called, and only they cost anything. (2) A hook may be sync or async.
(3) A block of a type for which there is no hook is denied, unless the policy lists the type as inert. (4) A policy may serve many
streams at once, so what it keeps for one of them is kept on the context.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, get_args

from penstock.verdicts import ALLOW, Verdict, deny

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence

    from penstock.audit import AuditRecord
    from penstock.blocks import StreamBlock
    from penstock.calls import BlockView, ToolCall
    from penstock.events import ChoiceFinished
    from penstock.usage import Usage

__all__ = ["HOOKS", "AllowAll", "Hook", "Policy", "PolicyContext", "context_due_at"]

T = TypeVar("T")

Hook: TypeAlias = Literal[
    "on_chunk",
    "on_text_delta",
    "on_text",
    "on_thinking_delta",
    "on_thinking",
    "on_tool_call_delta",
    "on_tool_call",
    "on_block",
    "on_finish",
    "on_usage",
    "on_error",
    "on_end",
]
HOOKS: tuple[Hook, ...] = get_args(Hook)

# When the verdict that the running code is about is due, on the loop's clock.
_due: ContextVar[float | None] = ContextVar("penstock_verdict_due", default=None)


def context_due_at(moment: float) -> Context:
    """A copy of the running code's context, in which a verdict is due at this moment on the clock of the loop."""
    context = copy_context()
    context.run(_due.set, moment)
    return context


class PolicyContext:
    """What a policy knows of the stream that it is asked about. It may keep attributes of its own here.

    Args:
        stream_id: Names the stream in logs and in the audit; made, if it is not given.
        request: What is known of the request: its body, its user, whatever the caller has.
        tools: The tools that the request declares, in the shape of any of the wire formats. By default those of `request["tools"]`.

    Example:
        >>> from penstock import PolicyContext
        >>> context = PolicyContext(request={"user": "kim", "tools": [{"name": "read_file", "input_schema": {}}]})
        >>> context.tools[0]["name"], context.request["user"]
        ('read_file', 'kim')
        >>> context.denied_so_far = 0
    """

    def __init__(
        self,
        *,
        stream_id: str | None = None,
        request: Mapping[str, Any] | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        self.stream_id = stream_id or os.urandom(16).hex()
        self.request: Mapping[str, Any] = {} if request is None else request
        self.tools: Sequence[Mapping[str, Any]] = (self.request.get("tools") or ()) if tools is None else tools

    # A policy sets and reads what it likes; only a declaration of both keeps a type checker from objecting.
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    def own(self, policy: object, make: Callable[[], T]) -> T:
        """What `policy` keeps for this stream. It is made at the first look, and no other policy has it.

        Example:
            >>> from penstock import Policy, PolicyContext
            >>> context, policy = PolicyContext(), Policy()
            >>> context.own(policy, list).append("seen")
            >>> context.own(policy, list)
            ['seen']
        """
        if id(policy) not in self._own:
            # An id is only good for as long as its object lives.
            self._own[id(policy)] = policy, make()
        return self._own[id(policy)][1]

    @cached_property
    def _own(self) -> dict[int, tuple[object, Any]]:
        return {}

    @property
    def time_left(self) -> float | None:
        """Seconds until the verdict that is being worked on is due; None outside of a verdict."""
        due = _due.get()
        return None if due is None else max(0.0, due - asyncio.get_running_loop().time())

    @contextmanager
    def due_at(self, moment: float) -> Generator[None]:
        """What runs inside has until this moment, on the clock of the loop."""
        token = _due.set(moment)
        try:
            yield
        finally:
            _due.reset(token)


class Policy:
    """The base of all policies. Override the hooks that you need, sync or async.

    Attributes:
        inert: Types of blocks that pass without a hook. To these belong `content`, `refusal` and `thinking`; not `tool_call`,
            `tool_result` and `unknown`. For the last two, what the wire calls the
            block (`image`, `web_search_tool_result` …) may be listed too.
        tolerates: Flags with which a call is still judged rather than denied.
        is_buffered: Whether nothing at all leaves before everything is judged.

    Example:
        >>> import penstock
        >>> class NoShell(penstock.Policy):
        ...     async def on_tool_call(self, call, context):
        ...         return penstock.deny("shell is off") if call.name == "bash" else penstock.ALLOW
        >>> sorted(NoShell().hooks)
        ['on_tool_call']
    """

    inert: frozenset[str] = frozenset({"content", "refusal", "thinking"})
    tolerates: frozenset[str] = frozenset()
    is_buffered: bool = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuses what would be read as something else than was meant.

        A method that looks like a hook and is none would never be called, and what it guards would pass. One that cannot be called as
        the hook would fail each time.
        """
        super().__init_subclass__(**options)
        for name in vars(cls):
            if name.startswith("on_") and name not in HOOKS:
                msg = f"{cls.__name__}.{name} is not a hook; the hooks are {', '.join(HOOKS)}"
                raise TypeError(msg)
        for name in HOOKS:
            _check_hook(cls, name)
        for name in ("inert", "tolerates"):
            # A string would be searched for parts of its word.
            if not isinstance(getattr(cls, name), (frozenset, set)):
                msg = f"{cls.__name__}.{name} must be a set of words"
                raise TypeError(msg)

    @cached_property
    def hooks(self) -> frozenset[Hook]:
        """The hooks that this policy has, as it was at the first look."""
        return frozenset(
            name for name in HOOKS if getattr(getattr(self, name), "__func__", None) is not getattr(Policy, name)
        )

    def on_chunk(self, chunk: Any, context: PolicyContext) -> Awaitable[None] | None:
        """A chunk came from the upstream."""

    def on_text_delta(self, delta: str, block: BlockView, context: PolicyContext) -> Awaitable[str] | str:
        """Text came that the user is meant to see. What is returned is written in its place; `""` holds it back for now."""
        return delta

    def on_text(self, text: str, block: BlockView, context: PolicyContext) -> Awaitable[str | None] | str | None:
        """A text block is complete; `text` is all of it. What is returned, if anything, is written at its end."""

    def on_thinking_delta(self, delta: str, block: BlockView, context: PolicyContext) -> Awaitable[None] | None:
        """Reasoning came. It cannot be changed: its signature is over every byte."""

    def on_thinking(self, text: str, block: BlockView, context: PolicyContext) -> Awaitable[Verdict] | Verdict:
        """A thinking block is complete. It was held for this verdict, and passes whole or not at all."""
        return ALLOW

    def on_tool_call_delta(self, delta: str, block: BlockView, context: PolicyContext) -> Awaitable[None] | None:
        """A part of a call's arguments came. It is held; never judge by a part."""

    def on_tool_call(self, call: ToolCall, context: PolicyContext) -> Awaitable[Verdict] | Verdict:
        """A tool call is whole. It leaves after the verdict, if at all."""
        return deny()

    def on_block(self, block: StreamBlock, context: PolicyContext) -> Awaitable[Verdict] | Verdict:
        """A block of another type is whole: a tool's result, an image, whatever penstock has no class for. It can be allowed or denied."""
        return deny()

    def on_finish(self, finish: ChoiceFinished, context: PolicyContext) -> Awaitable[None] | None:
        """A choice has its finish reason."""

    def on_usage(self, usage: Usage, context: PolicyContext) -> Awaitable[None] | None:
        """Token counts came."""

    def on_error(self, error: Any, context: PolicyContext) -> Awaitable[None] | None:
        """The upstream reported an error, or the stream broke; then this is the exception."""

    def on_end(self, record: AuditRecord, context: PolicyContext) -> Awaitable[None] | None:
        """The stream is over, however it ended. This comes last, and always."""


def _check_hook(policy: type[Policy], name: Hook) -> None:
    hook: Any = inspect.getattr_static(policy, name)
    original = getattr(Policy, name)
    if not callable(hook) and not hasattr(hook, "__get__"):
        msg = f"{policy.__name__}.{name} must be a function, not {type(hook).__name__}"
        raise TypeError(msg)
    function = getattr(hook, "__func__", hook)
    if function is original or not inspect.isfunction(function):
        # What else can be called, or be had from an instance, takes its arguments in its own way.
        return
    arguments = list(inspect.signature(original).parameters)
    if isinstance(hook, staticmethod):
        arguments.remove("self")
    try:
        # Of a function that wraps another, the arguments that it takes itself.
        inspect.signature(function, follow_wrapped=False).bind(*arguments)
    except TypeError:
        msg = f"{policy.__name__}.{name} must take ({', '.join(arguments)})"
        raise TypeError(msg) from None


class AllowAll(Policy):
    """Lets every block pass without a hook: for tests, for measuring, and beside policies that only watch.

    Example:
        >>> from penstock import AllowAll
        >>> sorted(AllowAll().inert)
        ['content', 'refusal', 'thinking', 'tool_call', 'tool_result', 'unknown']
    """

    inert = frozenset({"content", "refusal", "thinking", "tool_call", "tool_result", "unknown"})
