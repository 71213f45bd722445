"""Answers of taggers: labels, probabilities, n-best, probable spans, under thresholds and constraints."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from postil.errors import ConfigurationError
from postil.models.decoding.constraints import Constraints
from postil.models.sentences import tokens_of
from postil.models.tagger import Tagger
from postil.tagging.annotations import (
    add_column,
    add_to_spans,
    add_to_tokens,
    character_spans,
    conllu_column,
    record_of,
    write_spans,
)
from postil.tagging.general_path import Annotate
from postil.tagging.options import ConstraintSource, TaggingOptions, threshold_of
from postil.text import Sentence
from postil.text.options import Column
from postil.text.output import Target


def annotator(tagger: Tagger, options: TaggingOptions) -> Annotate:
    options.refuse("scores", why="a tagger has probabilities instead")
    options.refuse("tree", why="only tree classifiers build trees")
    if options.all_above is not None and not tagger.model.codec.has_spans:
        raise ConfigurationError("all_above", expected="needs a model of spans", got="labels without spans")
    threshold, constraints = threshold_of(tagger.model.codec, options), ConstraintSource.of(tagger.model.codec, options)
    return partial(_annotate, tagger=tagger, options=options, threshold=threshold, constraints=constraints)


def columns(tagger: Tagger, options: TaggingOptions) -> list[Column]:
    return [conllu_column(tagger.model.codec.scheme, options)]


def write(sentences: Iterable[Sentence], tagger: Tagger, options: TaggingOptions, target: Target) -> None:
    write_spans(sentences, target, tagger.model.codec.scheme, options)


def _annotate(
    block: list[Sentence],
    tagger: Tagger,
    options: TaggingOptions,
    threshold: Mapping[str, float] | None,
    constraints: ConstraintSource,
) -> list[Sentence]:
    of_block = constraints.of_block(block)
    of_words = options.output == "jsonl" and not tagger.model.codec.has_spans
    decoding: dict[str, Any] = {"constraints": of_block, "threshold": threshold}
    if not options.probabilities:
        _add_labels(tagger, block, decoding)
    elif options.output == "jsonl":
        _add_probabilities(tagger, block, decoding)
    else:
        _add_probability_column(tagger, block, decoding)
    if of_words:
        _add_token_fields(tagger, block, decoding, options.probabilities)
    if options.all_above is not None:
        _add_spans_above(tagger, block, options.all_above, of_block)
    if options.nbest:
        for sentence, of_sentence in zip(block, of_block or [None] * len(block), strict=True):
            _add_nbest(tagger, sentence, options.nbest, of_sentence)
    return block


def _add_labels(tagger: Tagger, block: list[Sentence], decoding: dict[str, Any]) -> None:
    predicted = tagger.predict([tokens_of(sentence) for sentence in block], **decoding)
    for sentence, labels in zip(block, predicted, strict=True):
        sentence.labels = labels


def _add_probabilities(tagger: Tagger, block: list[Sentence], decoding: dict[str, Any]) -> None:
    for sentence, answer in zip(block, tagger.answers(block, **decoding), strict=True):
        sentence.labels = answer.labels
        figures = ({"probability": round(entity.probability or 0.0, 6)} for entity in answer.entities)
        add_to_spans(sentence, answer.entities, figures)
        record_of(sentence).fields.setdefault("labelling_probabilities", []).append(round(answer.probability, 6))


def _add_token_fields(tagger: Tagger, block: list[Sentence], decoding: dict[str, Any], probabilities: bool) -> None:
    """If there are no spans, the label of each token with its place, and its probability if that is asked for."""
    figures: Iterable[Iterable[float] | None] = [None] * len(block)
    if probabilities:
        _, figures = tagger.predict_with_probabilities([tokens_of(sentence) for sentence in block], **decoding)
    for sentence, of_tokens in zip(block, figures, strict=True):
        add_to_tokens(sentence, None if of_tokens is None else [round(float(p), 6) for p in of_tokens])


def _add_probability_column(tagger: Tagger, block: list[Sentence], decoding: dict[str, Any]) -> None:
    tokens = [tokens_of(sentence) for sentence in block]
    answers = tagger.predict_with_probabilities(tokens, **decoding)
    for sentence, labels, probabilities in zip(block, *answers, strict=True):
        sentence.labels = labels
        add_column(sentence, probabilities)


def _add_spans_above(
    tagger: Tagger, block: list[Sentence], lowest: float, constraints: list[Constraints | None] | None
) -> None:
    """Every probable span of each sentence as a JSON object, by its characters."""
    for sentence, entities in zip(block, tagger.entities_above(block, lowest, constraints=constraints), strict=True):
        spans = [
            {**span._asdict(), "text": entity.text, "probability": round(entity.probability or 0.0, 6)}
            for span, entity in zip(character_spans(sentence, entities), entities, strict=True)
        ]
        record_of(sentence).fields.setdefault("spans_above", []).extend(spans)


def _add_nbest(tagger: Tagger, sentence: Sentence, k: int, constraints: Constraints | None) -> None:
    labellings: list[dict[str, Any]] = [
        {"labels": labels, "probability": round(probability, 6)}
        for labels, probability in tagger.nbest(tokens_of(sentence), k, constraints)
    ]
    record_of(sentence).fields.setdefault("nbest", []).append(labellings)
