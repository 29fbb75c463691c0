"""What the text of a call becomes: the arguments that a native call would have."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from penstock import Limits, TagVocabulary
from penstock.errors import LimitExceeded
from tagged import invoke, read, shapes

if TYPE_CHECKING:
    from feeding import Engine

CLAUDE_XML = TagVocabulary.named("claude-xml")
QWEN = TagVocabulary.named("qwen3-coder")


def arguments(engine: Engine, text: str, tags: Any = CLAUDE_XML) -> str:
    """The arguments of the one call of a text, which are the same whole and in pieces."""
    (call,) = read(engine, text, tags).state.blocks
    assert [block.arguments for block in read(engine, list(text), tags).state.blocks] == [call.arguments]
    return call.arguments


def value(engine: Engine, text: str, tags: Any = CLAUDE_XML) -> Any:
    return json.loads(arguments(engine, invoke("f", v=text), tags))["v"]


@pytest.mark.parametrize(
    "text", ["42", "-7", "3.14", "1e3", "true", "null", '"quoted"', '[1, "two"]', '{"k": {"n": 1}}', " [1]\n"]
)
def test_a_value_that_is_json_is_json(engine: Engine, text: str) -> None:
    assert value(engine, text) == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "007",
        "1.",
        "+1",
        "Infinity",
        "NaN",
        "  padded  ",
        "\nlines\n",
        "{a: 1}",
        '{"a": 1',
        '"a" "b"',
        "tru",
        "",
        " ",
        "[" * 200 + "]" * 200,
    ],
)
def test_any_other_value_is_a_string_as_it_stands(engine: Engine, text: str) -> None:
    assert value(engine, text) == text


def test_json_in_a_value_is_kept_to_the_letter(engine: Engine) -> None:
    text = '{"big": 12345678901234567890, "x": 1.00,\n "y" : "\\u00e9"}'
    assert arguments(engine, invoke("f", v=text)) == f'{{"v":{text}}}'


def test_raw_values_are_strings_whatever_they_look_like(engine: Engine) -> None:
    vocabulary = replace(CLAUDE_XML, values="raw")
    assert arguments(engine, invoke("f", a="42", b="[1]", c=""), vocabulary) == '{"a":"42","b":"[1]","c":""}'


@pytest.mark.parametrize(
    "text", ['a "b" \\ c', "tab\tline\nreturn\r", "\x00\x01\x1f\x7f", "é 🎉 \u2028", "</b> &amp; <"]
)
def test_a_string_is_escaped_so_that_it_reads_back_the_same(engine: Engine, text: str) -> None:
    assert value(engine, text) == text


TOOLS: list[dict[str, Any]] = [
    {"name": "f", "input_schema": {"properties": {"s": {"type": "string"}, "n": {"type": "integer"}}}},
    {"type": "function", "function": {"name": "g", "parameters": {"properties": {"s": {"type": ["string", "null"]}}}}},
    {"type": "function", "name": "h", "parameters": {"properties": {"o": {"type": "object"}, "any": {"anyOf": []}}}},
]


def test_the_request_tells_strings_from_other_values(engine: Engine) -> None:
    claude, qwen = CLAUDE_XML.with_tools(TOOLS), replace(QWEN, types=CLAUDE_XML.with_tools(TOOLS).types)
    assert arguments(engine, invoke("f", s="1", n="1", x="1"), claude) == '{"s":"1","n":1,"x":1}'
    assert arguments(engine, invoke("f", n="one"), claude) == '{"n":"one"}'
    assert arguments(engine, invoke("g", s="null", n="1"), claude) == '{"s":"null","n":1}'
    text = "<function=h><parameter=o>\n{}\n</parameter><parameter=any>1</parameter></function>"
    assert arguments(engine, text, qwen) == '{"o":{},"any":"1"}'


def test_a_line_end_on_either_side_may_belong_to_the_markers(engine: Engine) -> None:
    text = (
        "<function=f><parameter=a>\n\nx\n\n</parameter><parameter=b>\n</parameter><parameter=c>y</parameter></function>"
    )
    assert arguments(engine, text, QWEN) == '{"a":"\\nx\\n","b":"","c":"y"}'
    assert arguments(engine, "<function=f><parameter=a>\nx\n", QWEN) == '{"a":"x\\n'


def test_entities_are_left_alone_unless_the_vocabulary_says_otherwise(engine: Engine) -> None:
    text = "a &lt; b &amp;&amp; c &gt;&quot;&apos; &#65;&#x1F389; &nbsp; &#xD800; &"
    assert value(engine, text) == text
    vocabulary = replace(CLAUDE_XML, entities="decoded")
    assert value(engine, text, vocabulary) == "a < b && c >\"' A🎉 &nbsp; &#xD800; &"
    assert value(engine, "&lt;/parameter&gt;", vocabulary) == "</parameter>"
    attributes = '<invoke name="a&amp;b"><parameter name="&quot;k&quot;">v</parameter></invoke>'
    assert shapes(read(engine, attributes, vocabulary)) == [("tool_call", "a&b", '{"\\"k\\"":"v"}')]
    assert shapes(read(engine, "&lt;thinking&gt; &amp;", vocabulary)) == [("text", "&lt;thinking&gt; &amp;")]


def test_cdata_is_left_alone_unless_the_vocabulary_says_otherwise(engine: Engine) -> None:
    text = "x<![CDATA[if (a < b) { </parameter> &lt; ]] }]]>y"
    vocabulary = replace(CLAUDE_XML, cdata="unwrapped", entities="decoded")
    assert value(engine, text, vocabulary) == "xif (a < b) { </parameter> &lt; ]] }y"
    assert value(engine, "a<![CDATA[b]]>") == "a<![CDATA[b]]>"
    assert shapes(read(engine, "<![CDATA[x]]>", vocabulary)) == [("text", "<![CDATA[x]]>")]


def test_a_parameter_that_comes_twice_is_written_twice_and_counted(engine: Engine) -> None:
    text = '<invoke name="f"><parameter name="p">1</parameter><parameter name="p">2</parameter></invoke>'
    result = read(engine, text)
    assert result.state.blocks[0].arguments == '{"p":1,"p":2}'
    assert result.quirks == {"repeated_attribute": 1}


def test_of_a_name_that_comes_twice_the_first_counts(engine: Engine) -> None:
    result = read(engine, '<invoke name="ls" name="rm"></invoke>')
    assert shapes(result) == [("tool_call", "ls", "{}")]
    assert result.quirks == {"repeated_attribute": 1}


@pytest.mark.parametrize("text", ["<invoke>a</invoke>", '<invoke name="">a</invoke>', '<invoke id="x">a</invoke>'])
def test_a_call_without_a_name_is_none(engine: Engine, text: str) -> None:
    result = read(engine, text)
    assert (shapes(result), result.quirks) == ([("text", "a")], {"stray_tag": 1, "stray_close_tag": 1})


@pytest.mark.parametrize("size", [9, 10, 11])
@pytest.mark.parametrize("rule", ["raw", "json"])
def test_arguments_have_their_limit(engine: Engine, size: int, rule: Any) -> None:
    # {"v":"…"} has 8 characters around the value, and a number is as long as its digits.
    text = invoke("f", v="1" * (size - (8 if rule == "raw" else 6)))
    vocabulary, limits = replace(CLAUDE_XML, values=rule), Limits(argument_bytes=10)
    if size <= 10:
        assert len(read(engine, text, vocabulary, limits=limits).state.blocks[0].arguments) == size
    else:
        with pytest.raises(LimitExceeded):
            read(engine, text, vocabulary, limits=limits)


def test_a_value_that_may_be_json_is_not_kept_back_beyond_the_limit(engine: Engine) -> None:
    processor = engine.StreamProcessor(
        source="text", emit="events", tags="claude-xml", limits=Limits(argument_bytes=100)
    )
    processor.feed('<invoke name="f"><parameter name="v">[')
    with pytest.raises(LimitExceeded):
        processor.feed("1, " * 50)


# Calls that are JSON objects.


def hermes(*bodies: str) -> str:
    return "".join(f"<tool_call>\n{body}\n</tool_call>" for body in bodies)


@pytest.mark.parametrize(
    ("body", "name", "expected"),
    [
        ('{"name": "f", "arguments": {"a": 1}}', "f", '{"a": 1}'),
        ('{"arguments": {"a": "}"}, "name": "f"}', "f", '{"a": "}"}'),
        ('{"name": "f"}', "f", "{}"),
        ('{"name": "f", "arguments": {}}', "f", "{}"),
        ('{"name": "f", "parameters": {"a": [1, {"b": "]"}]}}', "f", '{"a": [1, {"b": "]"}]}'),
        ('{"id": 12, "x": [1, "}"], "name": "f", "y": -1.5e3, "arguments": {}}', "f", "{}"),
        ('{"name": "f", "arguments": "{\\"a\\": \\"\\u00e9\\ud83c\\udf89\\"}"}', "f", '{"a": "é🎉"}'),
        ('{"name": "\\u0066", "arguments": 12 }', "f", "12 "),
        ('{"name": "f", "arguments": {"a": "</tool_call>"}}', "f", '{"a": "</tool_call>"}'),
    ],
)
def test_a_json_object_is_a_call(engine: Engine, body: str, name: str, expected: str) -> None:
    for pieces in (hermes(body), list(hermes(body))):
        assert shapes(read(engine, pieces, "hermes"))[0] == ("tool_call", name, expected.strip())


def test_objects_may_stand_in_a_list_or_behind_one_another(engine: Engine) -> None:
    one, two = '{"name": "f", "arguments": {}}', '{"name": "g", "arguments": {"a": 1}}'
    expected = [("tool_call", "f", "{}"), ("tool_call", "g", '{"a": 1}')]
    for body in (f"[{one}, {two}]", f"{one}\n{two}", f"{one},{two}"):
        assert shapes(read(engine, hermes(body), "hermes")) == expected


@pytest.mark.parametrize("body", ["{bad", '{"nam": 1}', '{"name": 1}', "{}", "hello", '{"x": {"name": "f"}}'])
def test_what_is_no_call_is_text(engine: Engine, body: str) -> None:
    assert shapes(read(engine, hermes(body), "hermes")) == [("text", f"{body}\n")]


@pytest.mark.parametrize(
    "body",
    [
        '{"name": "f", "arguments": {"a": 1',
        '{"name": "f"',
        '{"name": "f", "arguments": {"a": x}}',
        '{"name": "f", "arguments": "{\\x"}',
        '{"arguments": {',
    ],
)
def test_an_object_that_is_not_whole_gives_no_whole_arguments(engine: Engine, body: str) -> None:
    for text in (hermes(body), f"<tool_call>{body}"):
        call = read(engine, text, "hermes").state.blocks[0]
        assert (call.type, call.arguments_complete, call.extras.get("unclosed_tag")) == ("tool_call", False, [True])


def test_a_second_name_or_second_arguments_are_left_out_and_counted(engine: Engine) -> None:
    body = '{"name": "ls", "arguments": {}, "name": "rm", "arguments": {"a": 1}}'
    result = read(engine, hermes(body), "hermes")
    assert (shapes(result), result.quirks) == ([("tool_call", "ls", "{}")], {"contradiction": 2})


def test_a_close_marker_in_a_string_of_json_is_text_and_noted(engine: Engine) -> None:
    result = read(engine, hermes('{"name": "f", "arguments": {"a": "</tool_call><think>"}}'), "hermes")
    assert result.state.blocks[0].extras == {"tag_in_value": [True]}


KIMI = "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>%s<|tool_call_end|>"


@pytest.mark.parametrize(
    ("body", "expected", "is_whole"),
    [
        (' {"a": 1}\n', '{"a": 1}', True),
        ("", "{}", True),
        ('{"a": "<|tool_call_end|>"}', '{"a": "<|tool_call_end|>"}', True),
        ('{"a": 1} x', '{"a": 1}x', False),
        ('{"a": ', '{"a": ', False),
        ("{<|x|>}", "{<|x|>}", False),
    ],
)
def test_arguments_that_stand_there_as_json_are_handed_on(
    engine: Engine,
    body: str,
    expected: str,
    is_whole: bool,  # noqa: FBT001 (a case)
) -> None:
    (call,) = read(engine, KIMI % body, "kimi-k2").state.blocks
    assert (call.name, call.arguments, call.arguments_complete) == ("f", expected, is_whole)
    assert arguments(engine, KIMI % body, "kimi-k2") == expected


def test_a_call_without_an_end_of_its_own_ends_with_its_json(engine: Engine) -> None:
    text = '[TOOL_CALLS]f[ARGS]{"a": "}"}g[ARGS] {} \nThen text.'
    assert shapes(read(engine, text, "mistral")) == [
        ("tool_call", "f", '{"a": "}"}'),
        ("tool_call", "g", "{}"),
        ("text", "Then text."),
    ]


def test_the_last_marker_may_be_missing_where_the_json_is_whole(engine: Engine) -> None:
    text = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}'
    result = read(engine, text, "gpt-oss", strict=True)
    assert shapes(result) == [("tool_call", "f", '{"a": 1}')]


def test_ids_of_the_text_are_taken_and_none_is_given_twice(engine: Engine) -> None:
    result = read(engine, "".join(KIMI % "{}" for _ in range(2)), "kimi-k2")
    assert [block.id for block in result.state.blocks] == ["functions.f:0", "functions.f:0_1"]
    result = read(engine, "[TOOL_CALLS]f[CALL_ID]abc[ARGS]{}g[ARGS]{}", "mistral")
    assert [block.id for block in result.state.blocks] == ["abc", "tag_call_1"]


def test_a_marker_of_several_vocabularies_means_what_the_first_says(engine: Engine) -> None:
    text = invoke("f", n="1")
    assert shapes(read(engine, text, ["claude-xml", "minimax-m2"])) == [("tool_call", "f", '{"n":1}')]
    assert shapes(read(engine, text, ["minimax-m2", "claude-xml"])) == [("tool_call", "f", '{"n":"1"}')]
