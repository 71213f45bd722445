"""What the commands do with taggers."""

import argparse
from functools import partial
from typing import Any

import numpy as np

from postil.commands.kinds import Mark, unwanted
from postil.commands.labelled import LabelledFile
from postil.commands.marking import add_column, add_to_span, record_of
from postil.commands.models import checked_scheme
from postil.commands.score import Scored
from postil.metrics import Evaluation, significance
from postil.metrics.evaluation import evaluate_compared, prepare
from postil.models.tagger import Tagger, tokens_of
from postil.text import Entity, Sentence

RESAMPLES = 1000  # of the bootstrap


def make(arguments: argparse.Namespace, parameters: dict[str, Any]) -> Tagger:
    unwanted(arguments, "label", "a tagger learns all labels", instead="--preset margin")
    return Tagger(**parameters)


def evaluation(tagger: Tagger, X: list[Any], y: list[list[str]]) -> Evaluation:
    return tagger.evaluate(X, y)


def headline(found: Evaluation) -> str:
    figures = found.as_dict()
    if found.spans is None:
        return f"accuracy {figures['accuracy']:.2f}"
    return f"F1 {figures['f1']:.2f}  (precision {figures['precision']:.2f}, recall {figures['recall']:.2f})"


def report(tagger: Tagger, name: str, file: LabelledFile) -> Scored:
    """Predictions beside a file's own labels, with a confidence interval."""
    gold_scheme = checked_scheme(file, tagger.labelling)
    predicted = tagger.predict([tokens_of(sentence) for sentence in file.sentences])
    compared = prepare(file.labels, predicted, gold_scheme, tagger.labelling.scheme)
    counts, statistic = compared.sentence_counts()
    rng = np.random.default_rng(0)
    return Scored(
        gold=file.path,
        predicted=name,
        compared=compared,
        evaluation=evaluate_compared(compared),
        interval=significance.bootstrap_interval(counts, statistic, rng=rng, resamples=RESAMPLES),
        broken={},
    )


def show(scored: Scored) -> None:
    from postil.commands import score_display

    score_display.show(scored)


def marker(tagger: Tagger, arguments: argparse.Namespace) -> Mark:
    unwanted(arguments, "scores", "a tagger has probabilities", instead="--probabilities")
    return partial(_marked, tagger=tagger, arguments=arguments)


def written_scheme(tagger: Tagger) -> str:
    return tagger.labelling.scheme


def _marked(block: list[Sentence], tagger: Tagger, arguments: argparse.Namespace) -> list[Sentence]:
    if not arguments.probabilities:
        labels = tagger.predict([tokens_of(sentence) for sentence in block])
        for sentence, found in zip(block, labels, strict=True):
            sentence.labels = found
    elif arguments.output == "jsonl":
        for sentence, entities in zip(block, tagger.annotate(block), strict=True):
            _add_probabilities(sentence, entities)
    else:
        _add_probability_column(tagger, block)
    if arguments.nbest:
        for sentence in block:
            _add_nbest(tagger, sentence, arguments.nbest)
    return block


def _add_probabilities(sentence: Sentence, entities: list[Entity]) -> None:
    for entity in entities:
        add_to_span(sentence, entity, {"probability": round(entity.probability or 0.0, 6)})


def _add_probability_column(tagger: Tagger, block: list[Sentence]) -> None:
    tokens = [tokens_of(sentence) for sentence in block]
    for sentence, labels, probabilities in zip(block, *tagger.predict_with_probabilities(tokens), strict=True):
        sentence.labels = labels
        add_column(sentence, probabilities)


def _add_nbest(tagger: Tagger, sentence: Sentence, k: int) -> None:
    paths: list[dict[str, Any]] = [
        {"labels": labels, "probability": round(probability, 6)}
        for labels, probability in tagger.nbest(tokens_of(sentence), k)
    ]
    record_of(sentence).fields.setdefault("nbest", []).append(paths)
