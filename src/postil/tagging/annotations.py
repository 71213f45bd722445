"""Add to labelled sentences what the writers of CoNLL and JSON Lines then write."""

from collections.abc import Iterable, Sequence
from typing import Any

from postil.errors import ConfigurationError
from postil.tagging.options import TaggingOptions
from postil.text import Entity, Sentence, write
from postil.text.annotations.annotated import CharacterSpan, Record
from postil.text.options import Column
from postil.text.output import Target


def record_of(sentence: Sentence) -> Record:
    """The sentence's JSON object; a new one if it has none."""
    if not isinstance(sentence.rest, Record):
        sentence.rest = Record({}, tokens=[])
    return sentence.rest


def add_to_spans(sentence: Sentence, entities: Sequence[Entity], figures: Iterable[dict[str, Any]]) -> None:
    """Add the text and some figures to start, end and label of each entity."""
    fields = record_of(sentence).span_fields
    for span, entity, values in zip(character_spans(sentence, entities), entities, figures, strict=True):
        fields[span] = {"text": entity.text, **values}


def add_to_tokens(sentence: Sentence, probabilities: Sequence[float] | None) -> None:
    """Add the labels of a labelled sentence, and their probabilities, to the tokens of its JSON object.

    A record that lists its tokens as strings keeps them; its labels and probabilities are lists of the same length.
    """
    record, labels = record_of(sentence), sentence.labels or []
    if record.tokens and all(isinstance(token, str) for token in record.tokens):
        if probabilities is not None:
            record.fields.setdefault("probabilities", []).extend(probabilities)
        return
    tokens: list[dict[str, Any]] = record.fields.setdefault("tokens", [])
    starts, ends = token_places(sentence)
    for number, token in enumerate(sentence.tokens):
        given = record.tokens[number] if record.tokens else {}
        place = {"text": token, "start": starts[number], "end": ends[number], "id": len(tokens)}
        figure = {} if probabilities is None else {"probability": probabilities[number]}
        tokens.append({**given, **place, "label": labels[number], **figure})


def character_spans(sentence: Sentence, entities: Sequence[Entity]) -> list[CharacterSpan]:
    """The spans of entities in the sentence's text, or in the text that the writer joins from its tokens.

    All at once: a sentence may contain very many entities.
    """
    if sentence.text is not None or not entities:
        return [CharacterSpan(e.start, e.end, e.label) for e in entities]
    starts, ends = _offsets(sentence)
    return [CharacterSpan(starts[e.start], ends[e.end - 1], e.label) for e in entities]


def add_column(sentence: Sentence, figures: Iterable[float]) -> None:
    """Add a column of numbers after the others, before the label."""
    columns = sentence.columns or [()] * len(sentence)
    sentence.columns = [(*cells, f"{figure:.4f}") for cells, figure in zip(columns, figures, strict=True)]


def conllu_column(scheme: str, options: TaggingOptions) -> Column:
    """Where labels were to be read from, they are written; labels of spans have a place of their own."""
    is_new = scheme != "none" and options.reading.label in ("auto", None)
    return "misc:NER" if is_new else "auto"


def write_spans(sentences: Iterable[Sentence], target: Target, scheme: str, options: TaggingOptions) -> None:
    """Write labelled tokens; ``scheme`` is that of the labels."""
    output = options.output
    if output == "conllu":
        write(sentences, target, output, scheme=scheme, label=conllu_column(scheme, options))
        return
    if output == "trees":
        raise ConfigurationError(
            "output trees", expected="needs a tree classifier (other models write conll, conllu or jsonl)"
        )
    write(sentences, target, output or "conll", scheme=scheme, offsets=options.offsets)


def token_places(sentence: Sentence) -> tuple[list[int], list[int]]:
    """Starts and ends of the tokens in the sentence's text, or in the text that the writer joins from them."""
    if sentence.text is None or sentence.starts is None or sentence.ends is None:
        return _offsets(sentence)
    return sentence.starts, sentence.ends


def _offsets(sentence: Sentence) -> tuple[list[int], list[int]]:
    """Starts and ends of the tokens in a text that joins them with single spaces."""
    ends, end = [], -1
    for token in sentence.tokens:
        end += 1 + len(token)
        ends.append(end)
    return [end - len(token) for end, token in zip(ends, sentence.tokens, strict=True)], ends
