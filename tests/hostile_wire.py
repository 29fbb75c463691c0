"""Hostile streams: framing, JSON, sizes, and what translation could hide."""

from __future__ import annotations

import json

import responses as r
import wire as w
from hostile import EVIL_JSON, LS, LS_SAFE, RM, RM_EVIL, SAFE_JSON, Row, call, chat, message, more, response, used
from penstock import Limits

GOOD = chat(call())
BOM = b"\xef\xbb\xbf"
FRAME = w.sse(call(EVIL_JSON, RM, index=1, id="call_2"))
HEAD, TAIL = w.sse(w.text("Hello.")), w.sse(w.finish("tool_calls"), w.DONE)


def cut(data: bytes, at: bytes) -> bytes:
    """The stream up to these bytes."""
    return data[: data.index(at)]


def raw(text: str) -> bytes:
    """A chat stream with one chunk as it is written."""
    return HEAD + w.frame(text) + TAIL


def function(text: str) -> bytes:
    """A chat stream whose call has a function as it is written."""
    return raw('{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":' + text + "}]}}]}")


def arguments(text: str) -> bytes:
    """A chat stream whose call has these arguments."""
    return chat(call(text))


WIRE = [
    Row("W-01 a byte order mark first", "openai_chat", BOM + GOOD, "finishes", (LS_SAFE,)),
    Row("W-01 two byte order marks first", "openai_chat", BOM + BOM + GOOD, "ends"),
    Row("W-02 a byte order mark later", "openai_chat", HEAD + BOM + FRAME + TAIL, "ends"),
    Row("W-02 a byte order mark inside an event", "openai_chat", HEAD + b"event: x\n" + BOM + FRAME + TAIL, "ends"),
    Row("W-03 CRLF", "openai_chat", GOOD.replace(b"\n", b"\r\n"), "finishes", (LS_SAFE,)),
    Row("W-03 CR", "openai_chat", GOOD.replace(b"\n", b"\r"), "finishes", (LS_SAFE,)),
    Row("W-03 mixed ends", "openai_chat", GOOD.replace(b"\n\n", b"\n\r\n"), "finishes", (LS_SAFE,)),
    Row(
        "W-04 separators in text", "openai_chat", chat(w.text("a\u2028b\u2029c\u0085d"), call()), "finishes", (LS_SAFE,)
    ),
    Row("W-05 not UTF-8", "openai_chat", GOOD.replace(LS.encode(), b"list_\xff"), "ends"),
    Row("W-06 NUL", "openai_chat", GOOD.replace(LS.encode(), b"list\x00zq"), "ends"),
    Row("W-07 no space", "openai_chat", GOOD.replace(b"data: ", b"data:"), "finishes", (LS_SAFE,)),
    Row(
        "W-08 data in lines",
        "openai_chat",
        GOOD.replace(b'"choices": [', b'"choices":\ndata: ['),
        "finishes",
        (LS_SAFE,),
    ),
    Row("W-09 two chunks in one event", "openai_chat", GOOD.replace(b"\n\ndata: {", b"\ndata: {"), "ends"),
    Row("W-10 comments", "openai_chat", b": " + FRAME.replace(b"\n", b" ") + b"\n\n" + GOOD, "finishes", (LS_SAFE,)),
    Row(
        "W-10 a comment without end",
        "openai_chat",
        HEAD + b":" * 2000,
        "ends",
        options={"limits": Limits(frame_bytes=1000)},
    ),
    Row(
        "W-11 another name than type",
        "anthropic_messages",
        message(*used()).replace(b"event: content_block_start", b"event: ping"),
        "ends",
    ),
    Row(
        "W-12 no names",
        "anthropic_messages",
        b"".join(line for line in message(*used()).splitlines(keepends=True) if not line.startswith(b"event")),
        "finishes",
        (LS_SAFE,),
    ),
    Row("W-13 behind the terminator", "openai_chat", GOOD + FRAME + TAIL, "finishes", (LS_SAFE,), asked=1),
    Row("W-14 more behind the word", "openai_chat", HEAD + w.sse("[DONE] {}", call()) + TAIL, "ends"),
    Row("W-14 space before the word", "openai_chat", HEAD + w.sse(" [DONE]", call()) + TAIL, "ends"),
    Row("W-14 the word in small letters", "openai_chat", HEAD + w.sse("[done]", call()) + TAIL, "ends"),
    Row(
        "W-15 an endless line",
        "openai_chat",
        HEAD + b"data: " + b"x" * 2000,
        "ends",
        options={"limits": Limits(frame_bytes=1000)},
    ),
    Row("W-17 a page", "openai_chat", b"<html><body>" + FRAME + b"</body></html>", "ends"),
    Row("W-17 nothing at all", "openai_chat", b"", "ends"),
    Row("W-18 cut inside an event", "openai_chat", cut(GOOD, b"zq_safe"), "ends"),
    Row("W-18 cut before the finish", "openai_chat", cut(GOOD, b'"finish_reason"'), "ends"),
]

DEEP = 64
NAMES = 1024
DIGITS = 64


def nested(depth: int) -> str:
    """Arguments that deep."""
    return '{"x":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


def named(count: int) -> str:
    """Arguments with that many names."""
    return json.dumps({f"n{number}": 0 for number in range(count)})


def numbered(digits: int) -> str:
    """Arguments with a number of that many digits."""
    return '{"x":' + "1" * digits + "}"


JSON = [
    Row("J-01 a name twice in a chunk", "openai_chat", function(f'{{"name":"{LS}","name":"{RM}","arguments":"{{}}"}}'), "ends"),
    Row("J-01 arguments twice in a chunk", "openai_chat", function(f'{{"name":"{LS}","arguments":"{{}}","arguments":"{{}}"}}'), "ends"),
    Row("J-01 calls twice in a delta", "openai_chat", raw('{"choices":[{"index":0,"delta":{"tool_calls":[],"tool_calls":[]}}]}'), "ends"),
    Row("J-01 a name twice in a block", "anthropic_messages", message(*used()).replace(b'"name": "', b'"name": "' + RM.encode() + b'", "name": "'), "ends"),
    Row("J-01 a name twice in arguments", "openai_chat", arguments('{"path":"/srv","path":"/"}'), "finishes"),
    Row("J-01 a name twice deep in arguments", "anthropic_messages", message(*used('{"a":[{"path":"/srv","path":"/"}]}')), "finishes"),
    Row("J-02 an escaped name twice in a chunk", "openai_chat", raw('{"choices":[{"index":0,"delta":{"tool_calls":[],"tool\\u005fcalls":[]}}]}'), "ends"),
    Row("J-02 an escaped name twice in arguments", "openai_chat", arguments('{"path":"/srv","p\\u0061th":"/"}'), "finishes"),
    Row("J-03 half a pair in a name", "openai_chat", function(f'{{"name":"{RM}\\ud800","arguments":"{{}}"}}'), "ends"),
    Row("J-03 half a pair in arguments", "openai_chat", arguments('{"path":"\\ud800"}'), "finishes"),
    Row("J-04 NaN in a chunk", "openai_chat", raw('{"choices":[{"index":NaN,"delta":{}}]}'), "ends"),
    Row("J-04 NaN in arguments", "openai_chat", arguments('{"x":NaN}'), "finishes"),
    Row("J-04 1e400 in arguments", "openai_chat", arguments('{"x":1e400}'), "finishes"),
    Row("J-05 a big integer", "openai_chat", arguments('{"x":9007199254740993}'), "finishes", ((LS, {"x": 9007199254740993}),)),
    Row("J-06 depth below the limit", "openai_chat", arguments(nested(DEEP - 1)), "finishes", ((LS, json.loads(nested(DEEP - 1))),)),
    Row("J-06 depth at the limit", "openai_chat", arguments(nested(DEEP)), "finishes", ((LS, json.loads(nested(DEEP))),)),
    Row("J-06 depth above the limit", "openai_chat", arguments(nested(DEEP + 1)), "finishes"),
    Row("J-06 depth without end", "openai_chat", arguments('{"x":' + "[" * 20_000), "finishes"),
    Row("J-06 a chunk without end", "openai_chat", raw("[" * 20_000), "ends"),
    Row("J-07 bytes behind the arguments", "openai_chat", arguments(SAFE_JSON + "garbage"), "finishes"),
    Row("J-07 two objects", "openai_chat", arguments(SAFE_JSON + EVIL_JSON), "finishes"),
    Row("J-09 arguments as an object", "openai_chat", function(f'{{"name":"{RM}","arguments":{EVIL_JSON}}}'), "finishes", (RM_EVIL,)),
    Row("J-09 arguments as a list", "openai_chat", function(f'{{"name":"{RM}","arguments":[1]}}'), "ends"),
    Row("J-10 arguments in part", "openai_chat", arguments('{"path":"/tmp","x":["/'), "finishes"),
    Row("J-10 arguments that are a list", "openai_chat", arguments("[1]"), "finishes"),
    Row("J-10 arguments that are text", "openai_chat", arguments('"rm"'), "finishes"),
]  # fmt: skip


def sized(size: int) -> str:
    """Arguments of that many bytes."""
    return '{"x":"' + "y" * (size - 8) + '"}'


def blocks(count: int) -> bytes:
    """A chat stream with that many blocks: text and calls in turns, then a call of its own."""
    parts = [w.call("{}", index=at, id=f"call_{at}", name=LS) if at % 2 else w.text(f"t{at}") for at in range(1, count)]
    return w.sse(w.text("t0"), *parts, w.finish("tool_calls"), w.DONE)


def calls(count: int) -> bytes:
    """A chat stream with that many calls."""
    return chat(*(w.call("{}", index=at, id=f"call_{at}", name=LS) for at in range(count)))


def choices(count: int) -> bytes:
    """A chat stream with that many answers, of which the last has a call."""
    last = count - 1
    said = [w.text("t", at) for at in range(count)]
    finishes = [w.finish("stop", at) for at in range(count)]
    return w.sse(*said, w.call("{}", choice=last, index=0, id="call_1", name=LS), *finishes, w.DONE)


def padded(size: int) -> bytes:
    """A chat stream with a call whose event has that many bytes up to its blank line."""
    bare = len(w.sse({**call(), "pad": ""})) - 1
    return HEAD + w.sse({**call(), "pad": "x" * (size - bare)}) + TAIL


def limit(name: str, size: int) -> dict[str, Limits]:
    """The options of a gate with one small limit."""
    return {"limits": Limits(**{name: size})}


def small(count: int) -> tuple[tuple[str, dict[str, str]], ...]:
    """That many calls without arguments."""
    return tuple((LS, {}) for _ in range(count))


def pieces(count: int) -> list[str]:
    """Arguments in that many pieces."""
    return [*SAFE_JSON[: count - 1], SAFE_JSON[count - 1 :]]


RESOURCES = [
    Row("M-01 one long line", "openai_chat", HEAD + w.sse({**call(), "pad": "x" * 9000}) + TAIL, "ends", options=limit("frame_bytes", 8192)),
    *(Row(f"M-02 arguments of {size} of 100 bytes", "openai_chat", arguments(sized(size)), "ends" if size > 100 else "finishes", () if size > 100 else ((LS, json.loads(sized(size))),), options=limit("argument_bytes", 100)) for size in (99, 100, 101)),
    Row("M-02 held bytes", "openai_chat", chat(call(sized(3000))), "ends", options=limit("held_bytes", 2000)),
    Row("M-02 held bytes of many calls", "openai_chat", chat(*(call(sized(900), index=at, id=f"call_{at}") for at in range(3))), "ends", before=((LS, json.loads(sized(900))),) * 3, options=limit("held_bytes", 500)),
    *(Row(f"M-03 {count} blocks of 4", "openai_chat", blocks(count), "ends" if count > 4 else "finishes", () if count > 4 else small(count // 2), small(2) if count > 4 else (), options=limit("blocks", 4)) for count in (3, 4, 5)),
    *(Row(f"M-03 {count} calls of 3", "openai_chat", calls(count), "ends" if count > 3 else "finishes", () if count > 3 else small(count), small(3) if count > 3 else (), options=limit("calls", 3)) for count in (2, 3, 4)),
    *(Row(f"M-03 {count} choices of 3", "openai_chat", choices(count), "ends", options=limit("choices", 3)) for count in (4,)),
    *(Row(f"M-03 an event of {size} of 400 bytes", "openai_chat", padded(size), "ends" if size > 400 else "finishes", () if size > 400 else (LS_SAFE,), options=limit("frame_bytes", 400)) for size in (399, 400, 401)),
    Row("M-04 an index beyond any list", "openai_chat", chat(call(index=2**32)), "ends"),
    Row("M-05 deltas of one byte", "openai_chat", chat(call(""), *map(more, SAFE_JSON)), "finishes", (LS_SAFE,)),
    *(Row(f"M-05 {count} deltas of 9", "openai_chat", chat(call(""), *map(more, pieces(count - 2))), "ends" if count > 9 else "finishes", () if count > 9 else (LS_SAFE,), options=limit("deltas", 9)) for count in (8, 9, 10)),
    Row("M-05 deltas that say nothing", "openai_chat", chat(call(), *[w.text("")] * 9), "ends", options=limit("deltas", 9)),
    Row("M-07 digits at the limit", "openai_chat", arguments(numbered(DIGITS)), "finishes", ((LS, json.loads(numbered(DIGITS))),)),
    Row("M-07 digits above the limit", "openai_chat", arguments(numbered(DIGITS + 1)), "finishes"),
    Row("M-07 twenty thousand digits", "openai_chat", arguments(numbered(20_000)), "finishes"),
    Row("M-08 names at the limit", "openai_chat", arguments(named(NAMES)), "finishes", ((LS, json.loads(named(NAMES))),)),
    Row("M-08 names above the limit", "openai_chat", arguments(named(NAMES + 1)), "finishes"),
]  # fmt: skip

# What some target has no words for, and must not be made of text.
FOREIGN = w.delta(annotations=[{"url": RM}], audio={"data": RM}, images=[{"image_url": {"url": RM}}])
IN_CHOICE_1 = w.call(EVIL_JSON, choice=1, index=0, id="call_2", name=RM)
SHELL_CALL = {
    "type": "local_shell_call",
    "id": "sh_1",
    "call_id": "call_1",
    "action": {"type": "exec", "command": ["zq_evil"]},
}

TRANSLATION = [
    Row("T-01 what a target has no words for", "openai_chat", chat(FOREIGN, call()), "finishes", (LS_SAFE,), asked=1),
    Row("T-02 a length with a call", "openai_chat", w.sse(call(), w.finish("length"), w.DONE), "finishes", (LS_SAFE,), asked=1),
    Row("T-02 a reason that nobody knows", "openai_chat", w.sse(call(), w.finish("weather"), w.DONE), "ends", before=(LS_SAFE,), asked=1),
    Row("T-07 a call in an answer that the target leaves out", "openai_chat", w.sse(w.text("Hi"), IN_CHOICE_1, w.finish(), w.finish("tool_calls", 1), w.DONE), "finishes", (RM_EVIL,), shown=("openai_chat",), asked=1),
    Row("T-07 a call that the target has no words for", "openai_responses", response(r.added({**SHELL_CALL, "status": "in_progress"}), r.done({**SHELL_CALL, "status": "completed"}), output=({**SHELL_CALL, "status": "completed"},)), "finishes", asked=1),
    Row("T-03 every call at index 0", "openai_chat", chat(call("{}", id="a"), call("{}", id="b"), call("{}", id="c")), "finishes", small(3), asked=3),
    Row("T-04 an id that is too long", "openai_chat", chat(call(id="x" * 300)), "finishes", (LS_SAFE,)),
    Row("T-04 an id of other letters", "openai_chat", chat(call(id="a b\n<é>")), "finishes", (LS_SAFE,)),
    Row("T-05 no arguments", "openai_chat", arguments(""), "finishes", small(1)),
    Row("T-05 empty arguments", "openai_chat", arguments("{}"), "finishes", small(1)),
    Row("T-05 arguments null", "openai_chat", arguments("null"), "finishes", small(1)),
    Row("T-05 no input at all", "anthropic_messages", message(*used("")), "finishes", small(1)),
    Row("T-06 framing in text", "openai_chat", chat(w.text("\n\ndata: {}\n\ndata: [DONE]\n\nevent: error\n"), call()), "finishes", (LS_SAFE,)),
    Row("T-06 framing in arguments", "openai_chat", arguments(json.dumps({"x": "\n\ndata: [DONE]\n\n\r"})), "finishes", ((LS, {"x": "\n\ndata: [DONE]\n\n\r"}),)),
]  # fmt: skip

ROWS = [*WIRE, *JSON, *RESOURCES, *TRANSLATION]
