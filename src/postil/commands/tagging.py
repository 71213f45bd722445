"""What the commands do with taggers."""

import argparse
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from postil.commands.answering import Answering, spans_above
from postil.commands.kinds import Mark, unwanted
from postil.commands.labelled import LabelledFile
from postil.commands.labelled import load as load
from postil.commands.marking import add_column, add_to_spans, record_of, write_spans
from postil.commands.models import checked_scheme, inputs_of
from postil.commands.models import settle as settle
from postil.commands.score import Scored, novelty_parts
from postil.metrics import Calibration, Evaluation, significance
from postil.metrics.evaluation import evaluate_compared, prepare
from postil.models.answers.constraints import Constraints
from postil.models.answers.reliability import reliability
from postil.models.sentences import tokens_of
from postil.models.tagger import Answer, Tagger
from postil.text import Sentence
from postil.text.output import Target

RESAMPLES = 1000  # of the bootstrap


def make(arguments: argparse.Namespace, parameters: dict[str, Any]) -> Tagger:
    unwanted(arguments, "label", "a tagger learns all labels", instead="--preset margin")
    return Tagger(**parameters)


def evaluation(tagger: Tagger, file: LabelledFile) -> Evaluation:
    return tagger.evaluate(inputs_of(file), file.labels)


def headline(found: Evaluation) -> str:
    figures = found.as_dict()
    if found.spans is None:
        return f"accuracy {figures['accuracy']:.2f}"
    return f"F1 {figures['f1']:.2f}  (precision {figures['precision']:.2f}, recall {figures['recall']:.2f})"


def report(tagger: Tagger, name: str, file: LabelledFile) -> Scored:
    """Predictions beside a file's own labels, with a confidence interval."""
    gold_scheme = checked_scheme(file, tagger.labelling)
    X = inputs_of(file)
    predicted = tagger.predict(X)
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
        reliability=reliability(tagger.fitted_parts(), X, file.labels),
    )


def beside_training(scored: Scored, file: LabelledFile, train: LabelledFile) -> Scored:
    span_parts, word_parts = novelty_parts(file, scored.compared, train)
    return replace(scored, span_parts=span_parts, word_parts=word_parts)


def show(scored: Scored) -> None:
    from postil.commands.terminal import score as score_display

    score_display.show(scored)


def page(tagger: Tagger, scored: Scored, name: str, file: LabelledFile) -> str:
    from postil.reports import Answers, Heading, tagger_page

    return tagger_page(
        Heading.of(tagger, model_name=name, data_name=file.path),
        Answers.of(tagger, file.sentences, scored.compared, file.place),
        interval=scored.interval,
        before=_before_calibration(scored),
        span_novelty=scored.span_parts,
        word_novelty=scored.word_parts,
    )


def _before_calibration(scored: Scored) -> Calibration | None:
    found = scored.reliability
    return found.before if found is not None and found.is_calibrated else None


def marker(tagger: Tagger, arguments: argparse.Namespace) -> Mark:
    unwanted(arguments, "scores", "a tagger has probabilities", instead="--probabilities")
    unwanted(arguments, "tree", "only classifiers of trees have it")
    return partial(_marked, tagger=tagger, arguments=arguments, asked=Answering.of(tagger, arguments))


def write(marked: Iterable[Sentence], tagger: Tagger, arguments: argparse.Namespace, target: Target) -> None:
    write_spans(marked, target, tagger.labelling.scheme, arguments)


def _marked(block: list[Sentence], tagger: Tagger, arguments: argparse.Namespace, asked: Answering) -> list[Sentence]:
    options: dict[str, Any] = {"constraints": asked.constraints(block), "threshold": asked.threshold}
    if not arguments.probabilities:
        labels = tagger.predict([tokens_of(sentence) for sentence in block], **options)
        for sentence, found in zip(block, labels, strict=True):
            sentence.labels = found
    elif arguments.output == "jsonl":
        for sentence, answer in zip(block, tagger.answers(block, **options), strict=True):
            _add_probabilities(sentence, answer)
    else:
        _add_probability_column(tagger, block, options)
    if arguments.all_above is not None:
        for sentence, spans in zip(block, spans_above(tagger, block, asked), strict=True):
            record_of(sentence).fields.setdefault("spans_above", []).extend(spans)
    if arguments.nbest:
        for sentence, own in zip(block, options["constraints"] or [None] * len(block), strict=True):
            _add_nbest(tagger, sentence, arguments.nbest, own)
    return block


def _add_probabilities(sentence: Sentence, answer: Answer) -> None:
    sentence.labels = answer.labels
    figures = ({"probability": round(entity.probability or 0.0, 6)} for entity in answer.entities)
    add_to_spans(sentence, answer.entities, figures)
    record_of(sentence).fields.setdefault("labelling_probabilities", []).append(round(answer.probability, 6))


def _add_probability_column(tagger: Tagger, block: list[Sentence], options: dict[str, Any]) -> None:
    tokens = [tokens_of(sentence) for sentence in block]
    answers = tagger.predict_with_probabilities(tokens, **options)
    for sentence, labels, probabilities in zip(block, *answers, strict=True):
        sentence.labels = labels
        add_column(sentence, probabilities)


def _add_nbest(tagger: Tagger, sentence: Sentence, k: int, constraints: Constraints | None) -> None:
    paths: list[dict[str, Any]] = [
        {"labels": labels, "probability": round(probability, 6)}
        for labels, probability in tagger.nbest(tokens_of(sentence), k, constraints)
    ]
    record_of(sentence).fields.setdefault("nbest", []).append(paths)
