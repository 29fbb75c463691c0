"""What an HTTP exchange is to the gate."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.integrations.routes import Routes, answer_kind

PLACES = {
    "/v1/chat/completions": "openai_chat",
    "/chat/completions": "openai_chat",
    "/openai/deployments/x/chat/completions": "openai_chat",
    "/v1/messages": "anthropic_messages",
    "/v1/responses": "openai_responses",
    "/v1/responses/resp_1": "openai_responses",
    "/models/responses": "openai_responses",
    "/V1//Chat/Completions/": "openai_chat",
    "v1/messages": "anthropic_messages",
    "/v1/messages/count_tokens": "unguarded",
    "/v1/models": "unguarded",
    "/v1/models/m": "unguarded",
    "/v1beta/models/m:generateContent": "unknown",
    "/v1/models/../messages": "unknown",
    "/v1/messages/batches": "unknown",
    "/v1/xmessages": "unknown",
    "/v1/files": "unknown",
    "/": "unknown",
    "": "unknown",
}


@pytest.mark.parametrize("path", PLACES)
def test_the_vendors_paths_are_known(path: str) -> None:
    assert Routes().place(path) == PLACES[path]


def test_a_path_of_one_s_own_comes_before_all_others() -> None:
    routes = Routes(guarded={"/v1/messages": "openai_chat"}, unguarded=["/**"])
    assert routes.place("/v1/messages") == "openai_chat"


def test_a_star_never_opens_a_path_that_is_guarded() -> None:
    routes = Routes(unguarded=["/**"])
    assert routes.place("/v1/responses") == "openai_responses"
    assert routes.place("/docs") == "unguarded"


def test_a_path_that_is_spelt_out_is_opened() -> None:
    assert Routes(unguarded=["/board/messages"]).place("/board/messages") == "unguarded"


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/static/**", "/static", True),
        ("/static/**", "/static/a/b", True),
        ("/static/**", "/statics", False),
        ("/a/*/b", "/a/x/b", True),
        ("/a/*/b", "/a/x/y/b", False),
        ("/a.b", "/aXb", False),
        ("**/health", "/health", True),
        ("**/health", "/x/health", True),
        ("/health", "/x/health", False),
    ],
)
def test_stars_stand_for_segments(pattern: str, path: str, matches: bool) -> None:  # noqa: FBT001
    assert (Routes(unguarded=[pattern]).place(path) == "unguarded") is matches


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"guarded": {"/x": "gemini"}}, "the wire format of '/x' must be one of"),
        ({"unguarded": "/x"}, "unguarded must be paths, not one string"),
        ({"unguarded": ["x"]}, 'a path must begin with "/"'),
        ({"unguarded": [7]}, "a path must be a string, not int"),
    ],
)
def test_what_is_no_path_is_said_in_one_line(options: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        Routes(**options)


@pytest.mark.parametrize(
    ("method", "status", "content_type", "kind"),
    [
        ("POST", 200, "text/event-stream", "stream"),
        ("POST", 200, "Text/Event-Stream; charset=utf-8", "stream"),
        ("POST", 201, "application/json", "body"),
        ("POST", 200, "application/x-ndjson", "unreadable"),
        ("POST", 200, None, "unreadable"),
        ("GET", 101, None, "unreadable"),
        ("HEAD", 200, "application/json", "nothing"),
        ("POST", 204, None, "nothing"),
        ("POST", 307, None, "nothing"),
        ("POST", 500, "text/html", "nothing"),
    ],
)
def test_an_answer_is_judged_by_its_kind(method: str, status: int, content_type: str | None, kind: str) -> None:
    assert answer_kind(method, status, content_type) == kind
