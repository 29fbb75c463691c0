"""Framing: bytes to server-sent events, after the WHATWG rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import LimitExceeded
from recorded import sse_vectors
from splits import SPLITS, Split, bytewise, two_way_cuts, whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from feeding import Engine

Triple = tuple[str, str, str]

every_split = pytest.mark.parametrize("split", SPLITS, ids=str)


def frames(engine: Engine, reads: Iterable[bytes]) -> list[Triple]:
    framer = engine.SseFramer()
    return [(event.type, event.data, event.id) for read in reads for event in framer.feed(read)]


def data_of(engine: Engine, reads: Iterable[bytes]) -> list[str]:
    return [data for _, data, _ in frames(engine, reads)]


@pytest.mark.parametrize("vector", sse_vectors())
@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_every_vector_gives_its_events_in_every_split(engine: Engine, vector: dict[str, Any], split: Split) -> None:
    expected = [tuple(event) for event in vector["expect"]]
    assert frames(engine, split(bytes.fromhex(vector["hex"]))) == expected


@pytest.mark.parametrize("vector", sse_vectors())
def test_every_vector_gives_its_events_wherever_it_is_cut_in_two(engine: Engine, vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    expected = [tuple(event) for event in vector["expect"]]
    for reads in two_way_cuts(data):
        assert frames(engine, reads) == expected, f"cut at {len(reads[0])}"


LINE_ENDS = {"lf": b"\n", "cr": b"\r", "crlf": b"\r\n"}


@pytest.mark.parametrize("end", LINE_ENDS.values(), ids=LINE_ENDS)
def test_every_line_end_may_be_cut_anywhere(engine: Engine, end: bytes) -> None:
    data = end.join([b"event: note", b"id: 7", b"data: one", b"data: two", b"", b"data: three", b"", b""])
    expected = [("note", "one\ntwo", "7"), ("message", "three", "7")]
    for reads in two_way_cuts(data):
        assert frames(engine, reads) == expected, f"cut at {len(reads[0])}"
    assert frames(engine, bytewise(data)) == expected


@every_split
def test_line_ends_may_be_mixed(engine: Engine, split: Split) -> None:
    assert data_of(engine, split(b"data: 1\n\r\ndata: 2\r\n\ndata: 3\r\rdata: 4\r\n\r")) == ["1", "2", "3", "4"]


@pytest.mark.parametrize("end", LINE_ENDS.values(), ids=LINE_ENDS)
def test_an_event_is_given_as_soon_as_its_blank_line_is_there(engine: Engine, end: bytes) -> None:
    # With CRLF, the CR already ends the blank line: whoever waits for its LF holds the last event back.
    framer = engine.SseFramer()
    data = b"data: 1" + end + end[:1]
    assert framer.feed(data[:-1]) == []
    assert [event.data for event in framer.feed(data[-1:])] == ["1"]


@every_split
def test_a_byte_order_mark_is_taken_off_the_first_line_only(engine: Engine, split: Split) -> None:
    mark = b"\xef\xbb\xbf"
    assert data_of(engine, split(mark + b"data: 1\n\n" + mark + b"data: 2\n\ndata: 3\n\n")) == ["1", "3"]


@every_split
def test_a_stream_that_starts_with_part_of_a_byte_order_mark_loses_nothing(engine: Engine, split: Split) -> None:
    assert data_of(engine, split(b"\xef\xbb\ndata: 1\n\n")) == ["1"]


@every_split
def test_comments_are_ignored_wherever_they_stand(engine: Engine, split: Split) -> None:
    data = b": OPENROUTER PROCESSING\n\n:\n\ndata: 1\n: between\ndata: 2\n:data: 3\n\n: keep-alive\n\n"
    assert data_of(engine, split(data)) == ["1\n2"]


@every_split
def test_data_on_several_lines_is_joined_with_line_feeds(engine: Engine, split: Split) -> None:
    assert data_of(engine, split(b'data: {"a":\ndata:\ndata:  1}\n\n')) == ['{"a":\n\n 1}']


@every_split
def test_only_line_feed_and_carriage_return_end_a_line(engine: Engine, split: Split) -> None:
    text = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg"
    assert data_of(engine, split(f"data: {text}\n\n".encode())) == [text]


@every_split
def test_characters_of_several_bytes_may_be_cut(engine: Engine, split: Split) -> None:
    assert data_of(engine, split("data: ä€😀\n\n".encode())) == ["ä€😀"]


@every_split
def test_the_last_id_stays_and_the_event_name_does_not(engine: Engine, split: Split) -> None:
    data = b"id: 1\nevent: a\ndata: x\n\ndata: y\n\nid: 2\n\ndata: z\n\n"
    assert frames(engine, split(data)) == [("a", "x", "1"), ("message", "y", "1"), ("message", "z", "2")]


@every_split
def test_an_event_name_without_data_is_no_event(engine: Engine, split: Split) -> None:
    assert frames(engine, split(b"event: a\n\ndata: x\n\n")) == [("message", "x", "")]


@pytest.mark.parametrize("tail", [b"data: 2\n", b"data: 2", b"data: 2\r"])
@every_split
def test_an_unterminated_event_comes_only_at_the_finish(engine: Engine, tail: bytes, split: Split) -> None:
    framer = engine.SseFramer()
    given = [event.data for read in split(b"data: 1\n\n" + tail) for event in framer.feed(read)]
    last = framer.finish()
    assert (given, last.data) == (["1"], "2")


@pytest.mark.parametrize("data", [b"", b"data: 1\n\n", b"data: 1\r\n\r", b": comment", b"event: a\nid: 3", b"\xef\xbb"])
def test_nothing_comes_at_the_finish_where_nothing_was_begun(engine: Engine, data: bytes) -> None:
    framer = engine.SseFramer()
    framer.feed(data)
    assert framer.finish() is None


# An event is as long as its lines with their ends, without the blank line.
EVENT = b"event: a\ndata: 0123456789\n"


def frames_within(engine: Engine, limit: int, reads: Iterable[bytes]) -> int:
    framer = engine.SseFramer(limit_bytes=limit)
    return sum(len(framer.feed(read)) for read in reads)


@pytest.mark.parametrize("room", [0, 1])
@every_split
def test_an_event_up_to_the_limit_is_taken(engine: Engine, room: int, split: Split) -> None:
    reads = split((EVENT + b"\n") * 3)
    assert frames_within(engine, len(EVENT) + room, reads) == 3


@pytest.mark.parametrize(
    "data", [EVENT + b"\n", EVENT, b"data: 1\n\n" + EVENT], ids=["whole", "unterminated", "second"]
)
@every_split
def test_an_event_over_the_limit_is_refused(engine: Engine, data: bytes, split: Split) -> None:
    with pytest.raises(LimitExceeded) as raised:
        frames_within(engine, len(EVENT) - 1, split(data))
    assert (raised.value.limit, raised.value.allowed) == ("frame_bytes", len(EVENT) - 1)


def test_a_line_without_an_end_is_refused_at_the_limit(engine: Engine) -> None:
    with pytest.raises(LimitExceeded):
        frames_within(engine, 1000, [b"data: " + b"x" * 100] * 10)


def test_comments_between_events_do_not_add_up_to_the_limit(engine: Engine) -> None:
    assert frames_within(engine, 64, whole(b": still here\n\n" * 100 + b"data: 1\n\n")) == 1
