"""A policy in front of HTTP answers: what every integration that sees HTTP does with one, whichever library carries it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Unpack, cast

from penstock import extras, sources
from penstock.blocking import BlockingGate
from penstock.bodies import BodyFold
from penstock.engine import log
from penstock.gated import PING_SECONDS, gate
from penstock.gating import Gate
from penstock.integrations.routes import Routes
from penstock.options import JudgingOptions, check_options
from penstock.policy import PolicyContext
from penstock.shapes import EventReader
from penstock.timeouts import ItemsInTime, checked_seconds
from penstock.translator import Translator

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterable, Mapping

    from penstock.options import BlockingGateOptions
    from penstock.policy import Policy
    from penstock.protocols import Target
    from penstock.translator import FailureKind

__all__ = ["Answer", "HttpGuard", "error_answer", "kept_headers", "missing", "refused_answer", "refused_path"]

# What the vendors' APIs say with each kind; a bad gateway is what this is when the upstream's answer cannot be passed on.
_STATUS: Mapping[FailureKind, int] = {
    "invalid_request_error": HTTPStatus.BAD_REQUEST,
    "authentication_error": HTTPStatus.UNAUTHORIZED,
    "billing_error": HTTPStatus.PAYMENT_REQUIRED,
    "permission_error": HTTPStatus.FORBIDDEN,
    "not_found_error": HTTPStatus.NOT_FOUND,
    "rate_limit_error": HTTPStatus.TOO_MANY_REQUESTS,
    "timeout_error": HTTPStatus.GATEWAY_TIMEOUT,
    "overloaded_error": HTTPStatus.SERVICE_UNAVAILABLE,
    "api_error": HTTPStatus.BAD_GATEWAY,
}

# They describe bytes that are not the ones that leave.
_ABOUT_THE_BYTES = frozenset(
    {"content-length", "content-encoding", "content-md5", "content-digest", "digest", "etag", "transfer-encoding"}
)


def missing(package: str, extra: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    """What to raise where the package of an integration is not installed: one line that says how to."""
    return extras.missing(package, f"this needs {package}: pip install penstock[{extra}]", error)


@dataclass(frozen=True)
class Answer:
    """An answer that was not streamed, as it leaves.

    Attributes:
        status: The status to send.
        body: The JSON to send.
        failed: Whether it is an error.
    """

    status: int
    body: bytes
    failed: bool = False

    @property
    def headers(self) -> dict[str, str]:
        """The headers that describe the body."""
        return {"content-type": "application/json", "content-length": str(len(self.body))}


def error_answer(protocol: Target | None, kind: FailureKind, message: str) -> Answer:
    """An error in the form that clients of the wire format read."""
    # A request to Responses that fails has the same form as one to chat.
    target: Target = "anthropic_messages" if protocol == "anthropic_messages" else "openai_chat"
    said = Translator(target=target).interrupt(message, kind=kind)
    body = json.dumps(EventReader(target, "dict").read(said)[0]).encode()
    return Answer(int(_STATUS[kind]), body, failed=True)


def refused_answer(protocol: Target) -> Answer:
    """What a client gets in place of an answer that cannot be judged."""
    return error_answer(protocol, "api_error", "the upstream's answer is of a kind that cannot be judged")


def refused_path() -> Answer:
    """What a client gets that asks for a path of which nobody has said what its answers are."""
    return error_answer(None, "permission_error", "this path is neither guarded nor listed as unguarded")


def kept_headers(headers: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The headers that still hold when the body is written anew. Names are strings or bytes."""
    return [(name, value) for name, value in headers if _text(name).casefold() not in _ABOUT_THE_BYTES]


def _text(name: str | bytes) -> str:
    return name.decode("latin-1") if isinstance(name, bytes) else name


class HttpGuard:
    """A policy with its options, for the answers of many requests.

    Args:
        policy: Who judges.
        routes: Which paths are guarded; by default those of the vendors' APIs.
        chunk_timeout: How long to wait for the next event of a stream, or read of a body, in seconds; None for ever.
        total_timeout: How long an answer may take as a whole, in seconds; None for ever.
        ping_seconds: After how many silent seconds a client gets a sign of life while a judge thinks; None for never.
        options: As for `Gate`: `on_deny`, `verdict_timeout`, `audit` …

    Raises:
        TypeError: `policy` is none, or there is no such option.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        routes: Routes | None = None,
        chunk_timeout: float | None = 30.0,
        total_timeout: float | None = 600.0,
        ping_seconds: float | None = PING_SECONDS,
        **options: Unpack[JudgingOptions],
    ) -> None:
        check_options("HttpGuard", options, JudgingOptions)
        # Made once for nothing, so that what is wrong with an option is said now and not to the first client.
        Gate(policy, source="openai_chat", **options)
        self._policy = policy
        self.routes = Routes() if routes is None else routes
        self._chunk = checked_seconds("chunk_timeout", chunk_timeout)
        self._total = checked_seconds("total_timeout", total_timeout)
        self._pause = checked_seconds("ping_seconds", ping_seconds)
        self._options = options

    def stream(self, reads: sources.Incoming, protocol: Target, request: object) -> AsyncGenerator[bytes]:
        """The judged stream. `request` is the request's body: bytes of JSON, or a mapping."""
        return gate(
            reads,
            self._policy,
            chunk_timeout=self._chunk,
            total_timeout=self._total,
            ping_seconds=self._pause,
            **self._for_gate(protocol, request),
        )

    async def body(self, reads: sources.Incoming, protocol: Target, request: object) -> Answer:
        """The judged body. One that cannot be passed on is an error, in its status too."""
        judged, fold = Gate(self._policy, **self._for_gate(protocol, request)), _Fold(protocol)
        async with judged, sources.opened(reads) as items:
            timed = ItemsInTime(items, chunk=self._chunk, total=self._total)
            try:
                async for read in timed:
                    fold.add(await judged.feed(read))
                    if not judged.took_event:
                        timed.keep_waiting()
                    if judged.is_over:
                        break
                else:
                    fold.add(await judged.finish())
            except Exception as error:  # noqa: BLE001 - whatever the source raises, the client is told that the answer was cut.
                _log_cut(error)
                fold.add(judged.interrupt(error))
            while not judged.is_over:
                fold.add(await judged.settle())
        return fold.answer(judged.failure)

    def blocking_stream(self, reads: Iterable[bytes], protocol: Target, request: object) -> Generator[bytes]:
        """As `stream`, for code that cannot await."""
        with BlockingGate(self._policy, **self._for_gate(protocol, request)) as judged:
            for out in _passed(reads, judged):
                if out:
                    yield out

    def blocking_body(self, reads: Iterable[bytes], protocol: Target, request: object) -> Answer:
        """As `body`, for code that cannot await."""
        fold = _Fold(protocol)
        with BlockingGate(self._policy, **self._for_gate(protocol, request)) as judged:
            for out in _passed(reads, judged):
                fold.add(out)
        return fold.answer(judged.failure)

    def blocking_gate(self, protocol: Target, request: object) -> BlockingGate:
        """A gate for one answer, for code that is handed its reads one by one."""
        return BlockingGate(self._policy, **self._for_gate(protocol, request))

    def _for_gate(self, protocol: Target, request: object) -> BlockingGateOptions:
        context = PolicyContext(request=_request(request))
        return {"source": protocol, "target": protocol, "context": context, **self._options}


class _Fold:
    """What the gate writes, put together as one body."""

    def __init__(self, target: Target) -> None:
        self._target: Target = target
        self._reader = EventReader(target, "dict")
        self._fold = BodyFold(target)

    def add(self, out: bytes) -> None:
        self._fold.add(self._reader.read(out))

    def answer(self, failure: tuple[FailureKind, str] | None) -> Answer:
        if failure is not None:
            return error_answer(self._target, *failure)
        return Answer(int(HTTPStatus.OK), json.dumps(self._fold.body, ensure_ascii=False).encode())


def _passed(reads: Iterable[bytes], judged: BlockingGate) -> Generator[bytes]:
    try:
        for read in reads:
            yield judged.feed(read)
            if judged.is_over:
                return
        yield judged.finish()
    except Exception as error:  # noqa: BLE001 - whatever the source raises, the client is told that the answer was cut.
        _log_cut(error)
        yield judged.interrupt(error)


def _log_cut(error: Exception) -> None:
    log.warning("a gated stream was ended with an error: %s", type(error).__name__)


def _request(said: object) -> Mapping[str, Any]:
    """The request as a policy sees it; one that is not a JSON object says nothing that could be relied on."""
    if isinstance(said, (bytes, bytearray, str)):
        try:
            said = json.loads(said)
        except ValueError:
            return {}
    return cast("Mapping[str, Any]", said) if isinstance(said, dict) else {}
