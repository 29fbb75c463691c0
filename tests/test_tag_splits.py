"""Where a text is cut changes nothing, and both engines read the same: texts of others, and ten thousand that are made."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from feeding import merged, run
from penstock.events import BlockCompleted, BlockGrew, BlockStarted
from penstock.vocabularies import PRESETS
from recorded import tag_texts
from tag_texts import VOCABULARIES, generated, markers
from tagged import read

if TYPE_CHECKING:
    from feeding import Engine, Outcome
    from penstock.events import Event

PER_TEST = 100
TESTS = 100


def randomly(text: str, seed: int) -> list[str]:
    chance = random.Random(seed)
    cuts = sorted(chance.randrange(len(text) + 1) for _ in range(chance.randrange(1, 6)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def said(outcome: Outcome) -> tuple[Any, ...]:
    return outcome.events, outcome.quirks


def trace(engine: Engine, tags: Any, *pieces: str) -> list[Event]:
    """The events of a text, with neighbours that grow the same as one."""
    return merged(run(engine, pieces, source="text", tags=tags))


def check_every_cut(engine: Engine, tags: Any, text: str) -> None:
    whole = trace(engine, tags, text)
    for cut in range(1, len(text)):
        assert trace(engine, tags, text[:cut], text[cut:]) == whole, (cut, text)


def check(outcome: Outcome, tags: Any) -> None:
    """What holds for any text: starts and ends pair, pieces add up to the block, and no tag is shown as text."""
    open_blocks: list[int] = []
    grown: dict[int, str] = {}
    for event in outcome.events:
        match event:
            case BlockStarted(block):
                assert not open_blocks, "blocks of tags stand one behind the other"
                open_blocks.append(block)
                grown[block] = ""
            case BlockGrew(block, part, text):
                assert open_blocks == [block]
                grown[block] += text if part != "name" else ""
            case BlockCompleted(block):
                assert open_blocks.pop() == block
            case _:
                pass
    assert not open_blocks
    for number, block in enumerate(outcome.state.blocks):
        assert grown[number] == (block.arguments if block.type == "tool_call" else block.content)
        if block.type == "content" and not isinstance(tags, list):
            assert not shown_tags(tags, block.content)


def shown_tags(vocabulary: Any, text: str) -> list[str]:
    """The plain markers that a text holds; those of single results are words elsewhere."""
    results = {marker for pair in (*vocabulary.result_items, *vocabulary.error_items) for marker in pair}
    plain = [each for each in markers(vocabulary) if "{" not in each and each not in results]
    return [each for each in plain if each in text] if vocabulary.code_fences == "tags" else []


@pytest.mark.parametrize("text", tag_texts())
@pytest.mark.parametrize("name", ["claude-xml", "think-any", "qwen3-coder", "hermes"])
def test_every_cut_of_a_text_gives_the_same_and_so_does_the_reference(
    core: Engine, reference: Engine, text: str, name: str
) -> None:
    whole = read(core, text, name)
    check(whole, PRESETS[name])
    assert said(read(reference, text, name)) == said(whole)
    assert said(read(core, list(text), name)) == said(whole)
    check_every_cut(core, name, text)
    for seed in range(5):
        assert said(read(core, randomly(text, seed), name)) == said(whole), seed
    assert said(read(core, text.encode(), name)) == said(whole)


@pytest.mark.parametrize("text", tag_texts())
def test_the_reference_minds_no_cut_either(reference: Engine, text: str) -> None:
    whole = read(reference, text)
    assert said(read(reference, list(text))) == said(whole)
    for seed in range(5):
        assert said(read(reference, randomly(text, seed))) == said(whole), seed


def variant(seed: int) -> Any:
    """A preset, as it is or with some of its options changed."""
    vocabulary = VOCABULARIES[seed % len(VOCABULARIES)]
    match seed // len(VOCABULARIES) % 6:
        case 1:
            return replace(vocabulary, code_fences="text")
        case 2:
            return replace(vocabulary, entities="decoded", cdata="unwrapped")
        case 3:
            return replace(vocabulary, call_in_thinking="ends", stop=("12", "\n\nx"))
        case 4:
            return replace(vocabulary, values="json", line_ends="trimmed", prefix="any")
        case 5:
            return [vocabulary, PRESETS["claude-xml"]]
        case _:
            return vocabulary


@pytest.mark.parametrize("batch", range(TESTS))
def test_a_made_text_gives_the_same_in_any_pieces_and_on_both_engines(
    core: Engine, reference: Engine, batch: int
) -> None:
    for seed in range(batch * PER_TEST, (batch + 1) * PER_TEST):
        tags = variant(seed)
        text = generated(tags[0] if isinstance(tags, list) else tags, seed)
        whole = read(core, text, tags)
        check(whole, tags)
        check_every_cut(core, tags, text)
        expected = said(whole)
        assert said(read(core, list(text), tags)) == expected, (seed, text)
        assert said(read(core, randomly(text, seed), tags)) == expected, (seed, text)
        assert said(read(reference, randomly(text, seed), tags)) == expected, (seed, text)


@pytest.mark.parametrize("seed", range(len(VOCABULARIES)))
def test_no_more_than_the_limit_is_ever_held(core: Engine, seed: int) -> None:
    vocabulary = VOCABULARIES[seed]
    opening = markers(vocabulary)[0]
    text = opening[:-1] + "x " * 400
    processor = core.StreamProcessor(source="text", emit="events", tags=vocabulary)
    shown = 0
    for fed, character in enumerate(text, start=1):
        shown += sum(len(event.text) for event in processor.feed(character) if isinstance(event, BlockGrew))
        assert fed - shown <= 256
