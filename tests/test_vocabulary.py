"""Vocabularies: how a marker is written, what a vocabulary must have, and what is said of one that cannot be read."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

import penstock
from penstock import TagVocabulary, aggregate
from penstock.markers import read_marker
from penstock.vocabularies import PRESETS
from penstock.vocabulary import grammar_of
from tagged import read, shapes

if TYPE_CHECKING:
    from feeding import Engine


def literal(text: str) -> tuple[str, str, tuple[()]]:
    return "literal", text, ()


SPACE = ("space", "", ())
CLOSE = (SPACE, literal(">"))


@pytest.mark.parametrize(
    ("marker", "pieces"),
    [
        ("<a>", (literal("<"), literal("a"), ("attributes", "", ()))),
        ("</a.b-c:d>", (literal("</"), literal("a.b-c:d"), *CLOSE)),
        ('<a n="{k}">', (literal("<"), literal("a"), ("attributes", "", (("n", "k"),)))),
        ("<｜X｜a>", (literal("<"), literal("｜X｜a"), ("attributes", "", ()))),
        ("<a={n}>", (literal("<a="), ("capture", "n", ()), literal(">"))),
        ("<|a|> b", (literal("<|a|>"), SPACE, literal("b"))),
        ("{n}[X]", (("capture", "n", ()), literal("[X]"))),
        ("<｜a▁b｜>", (literal("<｜a▁b｜>"),)),
        ("a{}b", (literal("a"), ("capture", "", ()), literal("b"))),
    ],
)
def test_a_marker_is_a_tag_or_is_matched_as_it_is_written(marker: str, pieces: tuple[Any, ...]) -> None:
    assert read_marker(marker, prefix=False) == pieces


def test_only_a_tag_without_a_prefix_may_have_any() -> None:
    assert ("prefix", "", ()) in read_marker("<a>", prefix=True)
    assert ("prefix", "", ()) not in read_marker("<b:a>", prefix=True)
    assert ("prefix", "", ()) not in read_marker("[a]", prefix=True)


def test_a_vocabulary_of_ones_own_is_read(engine: Engine) -> None:
    mine = TagVocabulary(
        "mine",
        thinking=(("(thinks)", "(/thinks)"),),
        calls=(("@{name}(", ")"),),
        call_body="json",
        ignored=("~",),
    )
    text = '(thinks)x(/thinks)a~b @get({"a": ")"}) @now() done'
    assert shapes(read(engine, text, mine)) == [
        ("thinking", "x"),
        ("text", "a"),
        ("text", "b "),
        ("tool_call", "get", '{"a": ")"}'),
        ("text", " "),
        ("tool_call", "now", "{}"),
        ("text", " done"),
    ]


def test_presets_are_found_by_name_and_are_values() -> None:
    assert TagVocabulary.named("think") is PRESETS["think"]
    assert pickle.loads(pickle.dumps(PRESETS["claude-xml"])) == PRESETS["claude-xml"]  # noqa: S301 (its own)
    assert replace(PRESETS["think"], prefill="<think>") != PRESETS["think"]
    assert len({hash(each) for each in PRESETS.values()}) == len(PRESETS)


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (
            {"thinking": (("", "x"),)},
            "thinking of a vocabulary must be a tuple of pairs of markers, such as ((\"<a>\", \"</a>\"),), not (('', 'x'),)",
        ),
        (
            {"thinking": ("<a>", "</a>")},
            "thinking of a vocabulary must be a tuple of pairs of markers, such as ((\"<a>\", \"</a>\"),), not ('<a>', '</a>')",
        ),
        (
            {"thinking": [("<a>", "</a>")]},
            "thinking of a vocabulary must be a tuple of pairs of markers, such as ((\"<a>\", \"</a>\"),), not [('<a>', '</a>')]",
        ),
        (
            {"thinking": (["<a>", "</a>"],)},
            "thinking of a vocabulary must be a tuple of pairs of markers, such as ((\"<a>\", \"</a>\"),), not (['<a>', '</a>'],)",
        ),
        ({"calls": (("<a>", "</a>"),)}, "x: the marker '<a>' of calls must have a {name}"),
        ({"parameters": (("<a>", "</a>"),)}, "x: the marker '<a>' of parameters must have a {key}"),
        ({"values": "text"}, "values of a vocabulary must be 'raw' or 'json', not 'text'"),
        ({"stop": "END"}, "stop of a vocabulary must be a tuple of texts, not 'END'"),
        ({"stop": ("",)}, "stop of a vocabulary must be a tuple of texts, not ('',)"),
        ({"prefill": 1}, "prefill of a vocabulary must be a text, not 1"),
        ({"ignored": (1,)}, "ignored of a vocabulary must be a tuple of texts, not (1,)"),
        (
            {"calls": (("<a {name}>", ""),)},
            'x: calls hold parameters, and there are none; if they hold JSON, call_body="json"',
        ),
        (
            {"calls": (("<a {name}>", ""),), "parameters": (("<{key}>", ""),), "call_body": "json"},
            'x: calls hold JSON, so there are no parameters; if they hold parameters, call_body="parameters"',
        ),
        ({"parameters": (("<{key}>", ""),)}, "x: parameters stand in calls, and there are none"),
        ({"result_items": (("<r>", ""),)}, "x: result_items stand in results, and there are none"),
        ({"error_items": (("<r>", ""),)}, "x: error_items stand in results, and there are none"),
        ({"json_names": ("name",)}, "x: json_names stand in sections, and there are none"),
        (
            {"calls": (("<a {name} {index}>", ""),), "call_body": "json", "call_id": "{name}:{index}:{nope}"},
            "x: call_id has {nope}, and no marker of calls has",
        ),
        (
            {"types": [("a", "b", "raw")]},
            "types of a vocabulary must be a tuple of tool, parameter and rule, not [('a', 'b', 'raw')]",
        ),
        (
            {"types": (("a", "b", "c"),)},
            "types of a vocabulary must be a tuple of tool, parameter and rule, not (('a', 'b', 'c'),)",
        ),
    ],
)
def test_a_bad_vocabulary_is_refused_in_one_line(fields: Any, line: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (the line is compared whole)
        TagVocabulary("x", **fields)
    assert str(refused.value) == line


@pytest.mark.parametrize(
    ("tags", "error", "line"),
    [
        ("claude", ValueError, "tags must name a vocabulary (" + ", ".join(sorted(PRESETS)) + "), not 'claude'"),
        (7, TypeError, "tags must be the name of a vocabulary, a TagVocabulary, or a list of them, not int"),
        (
            ["think", None],
            TypeError,
            "tags must be the name of a vocabulary, a TagVocabulary, or a list of them, not NoneType",
        ),
        (
            ["think", replace(PRESETS["hermes"], entities="decoded")],
            ValueError,
            "think and hermes cannot be read at once: entities differs",
        ),
        (
            TagVocabulary("x", ignored=("y" * 257,)),
            ValueError,
            "a marker of a vocabulary must not be longer than tag_bytes = 256",
        ),
        (
            TagVocabulary("x", ignored=(" y",)),
            ValueError,
            "a marker of a vocabulary must begin with characters of its own",
        ),
    ],
)
def test_tags_that_cannot_be_read_are_refused_in_one_line(
    engine: Engine, tags: Any, error: type[Exception], line: str
) -> None:
    for make in (
        lambda: engine.StreamProcessor(tags=tags),
        lambda: penstock.StreamProcessor(on_chunk_callback=print, tags=tags),
        lambda: aggregate([], tags=tags),
    ):
        with pytest.raises(error) as refused:
            make()
        assert str(refused.value) == line


def test_several_vocabularies_give_their_elements_in_order() -> None:
    both = grammar_of(["think", "claude-xml"], "text")
    assert both.elements == (*PRESETS["think"].elements(), *PRESETS["claude-xml"].elements())


@pytest.mark.parametrize(
    "tools",
    [[{"name": "f"}], [{"name": "f", "input_schema": {}}], [{"function": {"name": "f"}}], [{"type": "web_search"}]],
)
def test_tools_without_a_schema_say_nothing(tools: Any) -> None:
    assert PRESETS["claude-xml"].with_tools(tools).types == ()


STRINGS: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": ["null", "string"]},
    {"anyOf": [{"type": "string"}, {"type": "null"}]},
    {"oneOf": [{"type": "integer"}, {"type": "string", "pattern": "^n/a$"}]},
    {"enum": ["1", "2"]},
    {"enum": [1, "2"]},
    {"const": "1"},
    {"allOf": [{"title": "Zip"}, {"type": "string"}]},
    {"$ref": "#/$defs/zip"},
    {"anyOf": [{"$ref": "#/$defs/zip"}, {"type": "null"}]},
    {"$ref": "#/$defs/a~1b~0c"},
]
OTHERS: list[dict[str, Any]] = [
    {"type": "integer"},
    {"type": ["integer", "null"]},
    {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    {"oneOf": [{"enum": [1, 2]}, {"const": None}]},
    {"type": ["integer", "string"], "enum": [1, 2]},
    {"allOf": [{"type": ["integer", "string"]}, {"type": "integer"}]},
    {"$ref": "#/$defs/list"},
]
OPEN: list[Any] = [
    {},
    True,
    {"title": "anything"},
    {"anyOf": []},
    {"anyOf": [{"type": "integer"}, {}]},
    {"allOf": [{}]},
    {"$ref": "#/$defs/none"},
    {"$ref": "https://example.org/zip.json"},
    {"$ref": "#/$defs/self"},
    {"type": 1},
]
DEFINITIONS: dict[str, Any] = {
    "zip": {"type": "string"},
    "a/b~c": {"type": "string"},
    "list": {"type": "array"},
    "self": {"$ref": "#/$defs/self"},
}


@pytest.mark.parametrize(
    ("declared", "types"),
    [
        *((schema, (("f", "p", "raw"),)) for schema in STRINGS),
        *((schema, (("f", "p", "json"),)) for schema in OTHERS),
        *((schema, ()) for schema in OPEN),
    ],
)
def test_a_schema_says_whether_a_parameter_may_be_a_string(declared: Any, types: Any) -> None:
    tools = [{"name": "f", "input_schema": {"properties": {"p": declared}, "$defs": DEFINITIONS}}]
    assert PRESETS["claude-xml"].with_tools(tools).types == types


@pytest.mark.parametrize("schema", STRINGS + OTHERS)
def test_what_a_schema_says_of_strings_is_what_a_validator_says(schema: dict[str, Any]) -> None:
    whole = {"properties": {"p": schema}, "$defs": DEFINITIONS}
    accepts = Draft202012Validator(whole).is_valid
    assert any(accepts({"p": text}) for text in ("1", "2", "n/a")) == (schema in STRINGS)


@pytest.mark.parametrize(
    ("tools", "error", "line"),
    [
        (None, TypeError, "tools must be a list of tools, not NoneType"),
        ({"name": "f"}, TypeError, "tools must be a list of tools, not dict"),
        ("f", TypeError, "tools must be a list of tools, not str"),
        (["f"], ValueError, "tools[0] must be a tool of a chat, Messages or Responses request, not str"),
        ([{}], ValueError, "tools[0] must be a tool of a chat, Messages or Responses request, not dict"),
        ([{"name": "f"}, {"name": "f"}], ValueError, "tools[1] has the name of a tool before it"),
    ],
)
def test_tools_that_are_none_are_refused_in_one_line(tools: Any, error: type[Exception], line: str) -> None:
    with pytest.raises(error) as refused:
        PRESETS["claude-xml"].with_tools(tools)
    assert str(refused.value) == line


def test_a_schema_whose_references_double_is_read_once() -> None:
    doubling = {f"d{level}": {"anyOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(64)}
    schema = {"properties": {"p": {"$ref": "#/$defs/d0"}}, "$defs": {**doubling, "d64": {"type": "integer"}}}
    assert PRESETS["claude-xml"].with_tools([{"name": "f", "input_schema": schema}]).types == (("f", "p", "json"),)


def test_a_schema_that_is_nested_too_deeply_is_refused_in_one_line() -> None:
    declared: dict[str, Any] = {"type": "string"}
    for _ in range(5000):
        declared = {"anyOf": [declared]}
    with pytest.raises(ValueError, match=r"\Athe schema of the tool 'f' is nested too deeply\Z"):
        PRESETS["claude-xml"].with_tools([{"name": "f", "input_schema": {"properties": {"p": declared}}}])
