"""Adding to tagged sentences what the writers of CoNLL and JSON Lines then write."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from postil.errors import ConfigurationError
from postil.text import Entity, Sentence, write
from postil.text.alignment import CharacterSpan
from postil.text.output import Target
from postil.text.records import Record


def record_of(sentence: Sentence) -> Record:
    """The sentence's JSON object, one of its own where it had none."""
    if not isinstance(sentence.rest, Record):
        sentence.rest = Record({}, tokens=[])
    return sentence.rest


def add_to_spans(sentence: Sentence, entities: Sequence[Entity], figures: Iterable[dict[str, Any]]) -> None:
    """Put the text and some figures beside start, end and label of each entity."""
    fields = record_of(sentence).span_fields
    for place, entity, own in zip(in_characters(sentence, entities), entities, figures, strict=True):
        fields[place] = {"text": entity.text, **own}


def in_characters(sentence: Sentence, entities: Sequence[Entity]) -> list[CharacterSpan]:
    """The entities' places in the sentence's text, or in the one that the writer puts together from its tokens.

    All at once, because a sentence may be a whole book of entities.
    """
    if sentence.text is not None or not entities:
        return [CharacterSpan(e.start, e.end, e.label) for e in entities]
    starts, ends = _offsets(sentence)
    return [CharacterSpan(starts[e.start], ends[e.end - 1], e.label) for e in entities]


def add_column(sentence: Sentence, figures: Iterable[float]) -> None:
    """A column of numbers behind the others, before the label."""
    columns = sentence.columns or [()] * len(sentence)
    sentence.columns = [(*cells, f"{figure:.4f}") for cells, figure in zip(columns, figures, strict=True)]


def write_spans(sentences: Iterable[Sentence], target: Target, scheme: str, arguments: argparse.Namespace) -> None:
    """Labelled tokens; ``scheme`` is that of the labels."""
    if arguments.output == "trees":
        raise ConfigurationError("--output trees", expected="a model that labels trees, or --output conll or jsonl")
    write(sentences, target, arguments.output or "conll", scheme=scheme)


def _offsets(sentence: Sentence) -> tuple[list[int], list[int]]:
    """Characters of tokens with one space between."""
    ends, end = [], -1
    for token in sentence.tokens:
        end += 1 + len(token)
        ends.append(end)
    return [end - len(token) for end, token in zip(ends, sentence.tokens, strict=True)], ends
