"""Planted errors are found, with probabilities that are exact."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import postil
from oracles import corpora
from postil.evaluation import folds
from postil.quality import Split
from postil.quality.suspicions import KINDS, Logistic, alternatives, judged
from postil.text import Span


def suspicions(*given, **settings):
    return judged(*given, **settings).ranked()


SMALL = {"hidden": 16, "epochs": 6, "rate": 0.02}
WRONG = [
    ["Anna", "lives", "in", "Oslo"],
    ["the", "museums", "of", "Lima", "are", "old"],
    ["they", "met", "Clara", "Diego"],
]
WRONG_LABELS = [["B-PER", "O", "O", "O"], ["O", "O", "B-PER", "I-PER", "O", "O"], ["O", "O", "B-LOC", "B-PER"]]


@pytest.fixture(scope="module")
def found():
    X, y = corpora.named_entities(90)
    split = Split.of("X", X + WRONG, y + WRONG_LABELS)
    return split, suspicions(postil.Tagger(**SMALL), split, number=3, repeats=2)


@pytest.mark.slow
def test_planted_errors_come_first(found):
    _, ranked = found
    assert {one.sentence for one in ranked[:3]} == {90, 91, 92}
    by_sentence = {one.sentence: one for one in ranked[:3]}
    assert by_sentence[90].gold == () and by_sentence[90].suggestion == (Span("LOC", 3, 4),)
    assert by_sentence[91].gold == (Span("PER", 2, 4),) and by_sentence[91].suggestion == (Span("LOC", 3, 4),)
    assert by_sentence[92].gold == (Span("LOC", 2, 3),)
    assert all(one.suggestion_probability > 0.5 > one.gold_probability for one in ranked[:3])


def test_probabilities_are_averages_of_held_out_models(found):
    split, ranked = found
    one = next(one for one in ranked if one.sentence == 91)
    expected = []
    for repeat in range(2):
        parts = folds([len(tokens) for tokens in split.X], 3, np.random.default_rng(repeat))
        part = next(part for part in parts if 91 in part.held_out)
        tagger = postil.Tagger(**SMALL, seed=repeat)
        tagger.fit([split.X[i] for i in part.train], [split.labels[i] for i in part.train])
        found_spans = tagger.spans_above(split.X[91], 1e-12)
        spans = {Span(span.label, span.start, span.end): span.probability for span in found_spans}
        expected.append([spans.get(span, 0.0) for span in (one.suggestion[0], one.gold[0])])
    suggestion, gold = np.mean(expected, axis=0)
    assert one.suggestion_probability == pytest.approx(suggestion, abs=1e-9)
    assert one.gold_probability == pytest.approx(gold, abs=0.02)  # what is less probable than that is not reported


@pytest.mark.slow
def test_any_number_of_jobs_gives_the_same(found):
    X, y = corpora.named_entities(30)
    split = Split.of("X", X, y)
    tagger = postil.Tagger(hidden=8, epochs=2)
    assert suspicions(tagger, split, number=2, repeats=1) == suspicions(tagger, split, number=2, repeats=1, threads=2)


def test_unknown_labels_are_not_suspected():
    X, y = corpora.named_entities(40)
    split = Split.of("X", [*X, WRONG[0]], [*y, ["B-PER", "O", "O", "?"]])
    ranked = suspicions(postil.Tagger(**SMALL), split, number=2, repeats=1)
    assert not [one for one in ranked if one.sentence == 40 and one.end == 4]


@pytest.mark.slow
def test_a_class_that_a_model_has_never_seen_is_very_suspicious():
    X, y = corpora.named_entities(40)
    split = Split.of("X", [*X, ["Oslo", "slept"]], [*y, ["B-THING", "O"]])
    ranked = suspicions(postil.Tagger(**SMALL), split, number=2, repeats=1)
    assert any(one.sentence == 40 and one.gold == (Span("THING", 0, 1),) for one in ranked[:3])


def test_wrong_parts_of_speech():
    X, y = corpora.parts_of_speech(60)
    y[7][0] = "VERB"
    split = Split.of("X", X, y)
    ranked = suspicions(postil.Tagger(**SMALL), split, number=3, repeats=1)
    assert (ranked[0].sentence, ranked[0].start, ranked[0].gold[0].label) == (7, 0, "VERB")


def test_models_learn_from_at_most_so_many_sentences(monkeypatch):
    X, y = corpora.named_entities(30)
    learnt = []
    fit = postil.Tagger.fit
    monkeypatch.setattr("postil.quality.suspicions.MOST_LEARNT", 12)
    monkeypatch.setattr(postil.Tagger, "fit", lambda self, X, y: learnt.append(len(X)) or fit(self, X, y))
    judgements = judged(postil.Tagger(hidden=8, epochs=1), Split.of("X", X, y), number=2, repeats=1)
    assert learnt == [12, 12]
    assert all(judgements.marginals(i)[0].sum(axis=1) == pytest.approx(1.0, abs=1e-4) for i in range(30))


# ------------------------------------------------ Errors made on purpose are errors, and stay inside the sentence


@given(st.data())
def test_alternatives_differ_fit_and_overlap_no_other_entity(data):
    tokens = data.draw(st.integers(1, 8))
    edges = sorted(data.draw(st.sets(st.integers(0, tokens), min_size=2)))
    gold = [Span(data.draw(st.sampled_from("AB")), start, end) for start, end in pairwise(edges)]
    span = data.draw(st.sampled_from(gold))
    for kind in KINDS:
        for other in alternatives(kind, span, gold, tokens, "AB"):
            assert other != span
            if other is not None:
                assert 0 <= other.start < other.end <= tokens
                others = [one for one in gold if one != span]
                assert all(other.end <= one.start or one.end <= other.start for one in others)


# ------------------------------------------------ Logistic regression


def rows(seed, shift):
    return np.random.default_rng(seed).normal(shift, [1.0, 3.0, 0.1], (200, 3))


def test_it_is_that_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression  # takes a second, in every process that collects the tests

    ordinary, others = rows(0, 0.0), rows(1, [0.5, 0.0, 0.1])[:80]
    ours = Logistic.between(ordinary, others)
    X = np.concatenate([ordinary, others])
    scaled, target = (X - ours.mean) / ours.scale, np.repeat([0, 1], [200, 80])
    weights = np.where(target == 1, 0.5 / 80, 0.5 / 200)
    theirs = LogisticRegression(C=1e3, tol=1e-10, max_iter=1000).fit(scaled, target, sample_weight=weights)
    assert ours.weights == pytest.approx(theirs.coef_[0], rel=1e-3)
    assert ours.log_odds(X) == pytest.approx(theirs.decision_function(scaled), rel=1e-2, abs=1e-3)


def test_what_can_be_told_apart_completely_has_finite_weights():
    ours = Logistic.between(rows(0, 0.0), rows(1, 100.0))
    assert np.isfinite(ours.weights).all()
    assert ours.log_odds(rows(2, 100.0)).min() > ours.log_odds(rows(2, 0.0)).max()


def test_a_number_that_never_changes_does_no_harm():
    constant = np.ones((20, 1))
    assert Logistic.between(constant, constant).log_odds(constant) == pytest.approx(np.zeros(20), abs=1e-6)
