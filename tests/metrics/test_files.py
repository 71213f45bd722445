"""Scores of labelled files. Texts of tables and JSON are tested with ``postil evaluate``."""

import numpy as np
import pytest

from postil.errors import DataError
from postil.evaluation import compare_answers
from postil.metrics.evaluation import compare_files, novelty_parts, score_compared
from postil.text import Sentence
from postil.text.labelled import LabelledFile


def file(path, *rows):
    return LabelledFile(path, "conll", [Sentence(tokens.split(), labels.split(), line=1) for tokens, labels in rows])


GOLD = file("gold", ("Anna left Oslo", "B-PER O B-LOC"), ("Rome fell", "B-LOC O"))
PREDICTED = file("predicted", ("Anna left Oslo", "S-PER O S-LOC"), ("Rome fell", "S-PER O"))


def test_schemes_are_recognised_and_scores_have_an_interval():
    compared = compare_files(GOLD, PREDICTED, "", "")
    scores = score_compared("gold", "predicted", compared, np.random.default_rng(0), resamples=50)
    assert (compared.scheme, compared.predicted_scheme) == ("bio", "iobes")
    assert scores.to_dict()["f1"] == pytest.approx(200 / 3)
    assert scores.interval.low <= 2 / 3 <= scores.interval.high
    assert "calibration" not in scores.to_dict()


def test_labels_of_two_kinds_are_refused():
    tags = file("tags", ("Anna left Oslo", "N V N"), ("Rome fell", "N V"))
    with pytest.raises(DataError, match=r"^predicted: predicted labels are IOBES: expected labels without a scheme"):
        compare_files(tags, PREDICTED, "", "")
    with pytest.raises(DataError, match=r"^tags: training labels have no labelling scheme"):
        novelty_parts(GOLD, compare_files(GOLD, PREDICTED, "", ""), tags)


def test_seen_and_new_entities_have_scores_of_their_own():
    train = file("train", ("Anna slept", "B-PER O"))
    spans, words = novelty_parts(GOLD, compare_files(GOLD, PREDICTED, "", ""), train)
    assert sum(part.overall.gold for part in spans.values()) == 3
    assert sum(part.tokens for part in words.values()) == 5


def test_two_systems():
    compared = compare_files(GOLD, PREDICTED, "", "")
    perfect = compare_files(GOLD, GOLD, "", "")
    test = compare_answers(GOLD.tokens, compared, perfect, resamples=50).test
    assert (test.first, test.second) == (pytest.approx(2 / 3), 1)
