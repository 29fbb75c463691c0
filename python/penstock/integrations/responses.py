"""Responses of httpx and httpx2 behind the gate. The two libraries have the same classes under two names, so this is written once."""

from __future__ import annotations

import importlib
from contextlib import aclosing, closing
from functools import cache
from typing import TYPE_CHECKING, Any

from penstock.integrations.guarding import HttpGuard, kept_headers, missing, refused_answer, refused_path
from penstock.integrations.routes import answer_kind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from penstock.integrations.guarding import Answer
    from penstock.integrations.routes import AnswerKind
    from penstock.protocols import Target

__all__ = ["ResponseGate"]


class ResponseGate:
    """Puts the answers of one of the libraries behind the gate.

    What comes in is a response of the library whose body may not have been read; what leaves is a new one, with the same request.

    Args:
        library: `httpx` or `httpx2`.
        guard: The policy with its options.

    Raises:
        ModuleNotFoundError: The library is not installed.
    """

    def __init__(self, library: str, guard: HttpGuard) -> None:
        self.library = _library(library)
        self.guard = guard

    def refused_path(self) -> Any:
        """What a request to a path gets of which nobody has said what its answers are. It is not sent."""
        return self._whole(refused_path())

    async def judged(self, response: Any, protocol: Target, request: object, *, method: str) -> Any:
        """The response, as it may be read by an async client."""
        match _kind(response, method):
            case "nothing":
                return response
            case "unreadable":
                await response.aclose()
                return self._whole(refused_answer(protocol), response)
            case "body":
                try:
                    answer = await self.guard.body(response.aiter_bytes(), protocol, request)
                finally:
                    await response.aclose()
                return self._whole(answer, response)
            case "stream":
                reads = self.guard.stream(response.aiter_bytes(), protocol, request)
                return self._streamed(_classes(self.library)[0](reads, response), response)

    def judged_blocking(self, response: Any, protocol: Target, request: object, *, method: str) -> Any:
        """The response, as it may be read by a client that cannot await."""
        match _kind(response, method):
            case "nothing":
                return response
            case "unreadable":
                response.close()
                return self._whole(refused_answer(protocol), response)
            case "body":
                with closing(response):
                    answer = self.guard.blocking_body(response.iter_bytes(), protocol, request)
                return self._whole(answer, response)
            case "stream":
                reads = self.guard.blocking_stream(response.iter_bytes(), protocol, request)
                return self._streamed(_classes(self.library)[1](reads, response), response)

    def _streamed(self, stream: Any, response: Any) -> Any:
        headers = kept_headers(response.headers.multi_items())
        return self._new(response.status_code, headers, stream, response)

    def _whole(self, answer: Answer, response: Any = None) -> Any:
        others = [] if response is None or answer.failed else kept_headers(response.headers.multi_items())
        headers = [(name, value) for name, value in others if name.casefold() not in answer.headers]
        stream = self.library.ByteStream(answer.body)
        return self._new(answer.status, [*headers, *answer.headers.items()], stream, response)

    def _new(self, status: int, headers: list[tuple[str, str]], stream: Any, response: Any) -> Any:
        if response is None:
            return self.library.Response(status, headers=headers, stream=stream)
        # At the level of a transport a response does not know its request yet.
        known: Any = {} if getattr(response, "_request", None) is None else {"request": response.request}
        return self.library.Response(status, headers=headers, stream=stream, extensions=response.extensions, **known)


def _kind(response: Any, method: str) -> AnswerKind:
    headers = response.headers
    return answer_kind(method, response.status_code, headers.get("content-type"), headers.get("content-encoding"))


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise missing(name, name, error) from None


class _AsyncReads:
    """A judged stream, with the response that it comes from."""

    def __init__(self, reads: Any, response: Any) -> None:
        self._reads = reads
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async with aclosing(self._reads) as reads:
            async for read in reads:
                yield read

    async def aclose(self) -> None:
        # Each on its own: a stream that was never read from has not begun to close its source.
        try:
            await self._reads.aclose()
        finally:
            await self._response.aclose()


class _Reads:
    """The same, for clients that cannot await."""

    def __init__(self, reads: Any, response: Any) -> None:
        self._reads = reads
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        with closing(self._reads) as reads:
            yield from reads

    def close(self) -> None:
        try:
            self._reads.close()
        finally:
            self._response.close()


@cache
def _classes(library: Any) -> tuple[Any, Any]:
    """The two as classes of the library, whose clients take no others."""
    return (
        type("JudgedAsyncStream", (_AsyncReads, library.AsyncByteStream), {}),
        type("JudgedStream", (_Reads, library.SyncByteStream), {}),
    )
