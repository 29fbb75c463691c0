"""The vocabularies that are in real use, by name; `docs/tags.md` says which models write them."""

from __future__ import annotations

from penstock.vocabulary import TagVocabulary

__all__ = ["PRESETS"]

_THINK = (("<think>", "</think>"),)

_CLAUDE = TagVocabulary(
    "claude-xml",
    thinking=(("<thinking>", "</thinking>"),),
    sections=(("<function_calls>", "</function_calls>"),),
    calls=(('<invoke name="{name}">', "</invoke>"),),
    parameters=(('<parameter name="{key}">', "</parameter>"),),
    results=(("<function_results>", "</function_results>"),),
    result_items=(('<result tool_use_id="{id}">', "</result>"),),
    error_items=(('<error tool_use_id="{id}">', "</error>"),),
    values="json",
    prefix="any",
)

_THINK_ANY = TagVocabulary(
    "think-any",
    thinking=(
        *_THINK,
        ("<thinking>", "</thinking>"),
        ("<reason>", "</reason>"),
        ("<reasoning>", "</reasoning>"),
        ("<thought>", "</thought>"),
        ("<Thought>", "</Thought>"),
        ("<seed:think>", "</seed:think>"),
        ("<mm:think>", "</mm:think>"),
        ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ("[THINK]", "[/THINK]"),
        ("◁think▷", "◁/think▷"),
    ),
    ignored=("<|begin_of_solution|>", "<|end_of_solution|>"),
)

_HERMES = TagVocabulary(
    "hermes",
    thinking=(*_THINK, ("<scratch_pad>", "</scratch_pad>")),
    sections=(("<tool_call>", "</tool_call>"),),
    json_names=("name",),
    json_arguments=("arguments", "parameters"),
)

_QWEN = TagVocabulary(
    "qwen3-coder",
    thinking=_THINK,
    sections=(("<tool_call>", "</tool_call>"),),
    calls=(("<function={name}>", "</function>"),),
    parameters=(("<parameter={key}>", "</parameter>"),),
    line_ends="trimmed",
)

_SEED = TagVocabulary(
    "seed-oss",
    thinking=(("<seed:think>", "</seed:think>"),),
    sections=(("<seed:tool_call>", "</seed:tool_call>"),),
    calls=(("<function={name}>", "</function>"),),
    parameters=(("<parameter={key}>", "</parameter>"),),
    line_ends="trimmed",
)

_GLM = TagVocabulary(
    "glm",
    thinking=_THINK,
    calls=(("<tool_call> {name}", "</tool_call>"),),
    parameters=(("<arg_key>{key}</arg_key> <arg_value>", "</arg_value>"),),
    values="json",
)

_MINIMAX = TagVocabulary(
    "minimax-m2",
    thinking=_THINK,
    sections=(("<minimax:tool_call>", "</minimax:tool_call>"),),
    calls=(('<invoke name="{name}">', "</invoke>"),),
    parameters=(('<parameter name="{key}">', "</parameter>"),),
)

_DEEPSEEK_SECTION = (("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),)

_DEEPSEEK_V3 = TagVocabulary(
    "deepseek-v3",
    thinking=_THINK,
    sections=_DEEPSEEK_SECTION,
    calls=(("<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name} ```json", "```<｜tool▁call▁end｜>"),),
    call_body="json",
)

_DEEPSEEK_V31 = TagVocabulary(
    "deepseek-v3.1",
    thinking=_THINK,
    sections=_DEEPSEEK_SECTION,
    calls=(("<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),),
    call_body="json",
)

_DEEPSEEK_V32 = TagVocabulary(
    "deepseek-v3.2",
    thinking=_THINK,
    sections=(
        ("<｜DSML｜function_calls>", "</｜DSML｜function_calls>"),
        ("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"),
    ),
    calls=(('<｜DSML｜invoke name="{name}">', "</｜DSML｜invoke>"),),
    parameters=(('<｜DSML｜parameter name="{key}" string="{string}">', "</｜DSML｜parameter>"),),
)

_KIMI = TagVocabulary(
    "kimi-k2",
    thinking=_THINK,
    sections=(("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),),
    calls=(
        (
            "<|tool_call_begin|> functions.{name}:{index} <|tool_call_argument_begin|>",
            "<|tool_call_end|>",
        ),
    ),
    call_body="json",
    call_id="functions.{name}:{index}",
)

_MISTRAL = TagVocabulary(
    "mistral",
    thinking=(("[THINK]", "[/THINK]"),),
    sections=(("[TOOL_CALLS]", ""),),
    calls=(("{name}[ARGS]", ""), ("{name}[CALL_ID]{id}[ARGS]", "")),
    call_body="json",
    json_names=("name",),
)

_COHERE = TagVocabulary(
    "cohere",
    thinking=(("<|START_THINKING|>", "<|END_THINKING|>"),),
    sections=(("<|START_ACTION|>", "<|END_ACTION|>"),),
    json_names=("tool_name",),
    json_arguments=("parameters",),
    ignored=("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
)

# A message of gpt-oss: who writes it, unless the prompt has said so; the channel; to whom, before the channel or behind it; its format.
_STARTS = ("", "<|start|>assistant")
_FORMATS = ("", "<|constrain|>{}", "{}")

_HARMONY = TagVocabulary(
    "gpt-oss",
    thinking=tuple((f"{start}<|channel|>analysis<|message|>", "<|end|>") for start in _STARTS),
    calls=(
        *(
            (f"{start}<|channel|>{channel} to=functions.{{name}} {form}<|message|>", "<|call|>")
            for start in _STARTS
            for channel in ("commentary", "analysis")
            for form in _FORMATS
        ),
        *(
            (f"<|start|>assistant to=functions.{{name}}<|channel|>{channel} {form}<|message|>", "<|call|>")
            for channel in ("commentary", "analysis")
            for form in _FORMATS
        ),
    ),
    call_body="json",
    ignored=(
        *(f"{start}<|channel|>{channel}<|message|>" for start in _STARTS for channel in ("final", "commentary")),
        "<|end|>",
        "<|return|>",
    ),
)

PRESETS = {
    each.name: each
    for each in (
        _CLAUDE,
        TagVocabulary("think", thinking=_THINK),
        _THINK_ANY,
        _HERMES,
        _QWEN,
        _SEED,
        _GLM,
        _MINIMAX,
        _DEEPSEEK_V3,
        _DEEPSEEK_V31,
        _DEEPSEEK_V32,
        _KIMI,
        _MISTRAL,
        _COHERE,
        _HARMONY,
    )
}
