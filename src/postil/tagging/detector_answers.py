"""Answers of detectors: the tokens of one label and their scores."""

from collections.abc import Iterable
from functools import partial

from postil.models.detector import Detector
from postil.tagging.annotations import add_column, add_to_spans, conllu_column, write_spans
from postil.tagging.general_path import Annotate
from postil.tagging.options import TAGGER_OPTIONS, TaggingOptions
from postil.text import Sentence
from postil.text.options import Column
from postil.text.output import Target


def annotator(detector: Detector, options: TaggingOptions) -> Annotate:
    options.refuse("tree", why="only tree classifiers build trees")
    options.refuse("probabilities", why="a margin model has scores instead")
    options.refuse(*TAGGER_OPTIONS, why="a margin model decides about each token alone")
    return partial(_annotate, detector=detector, options=options)


def _annotate(block: list[Sentence], detector: Detector, options: TaggingOptions) -> list[Sentence]:
    for sentence, detected in zip(block, detector.annotate_with_scores(block), strict=True):
        if options.scores and options.output == "jsonl":
            add_to_spans(sentence, detected.entities, ({"score": round(score, 6)} for score in detected.entity_scores))
        elif options.scores:
            add_column(sentence, detected.token_scores)
    return block


def columns(detector: Detector, options: TaggingOptions) -> list[Column]:
    return [conllu_column(detector.model.codec.span_scheme, options)]


def write(sentences: Iterable[Sentence], detector: Detector, options: TaggingOptions, target: Target) -> None:
    write_spans(sentences, target, detector.model.codec.span_scheme, options)
