"""What a model fills in beside enumeration of all labellings."""

from itertools import product

import numpy as np
import pytest

import postil
from oracles import corpora
from postil.curation.filling import filled
from postil.text.labels.partial_label import PartialLabel
from postil.text.labels.schemes import violations

SENTENCE = ["Paris", "and", "Anna", "left", "Oslo"]


@pytest.fixture(scope="module", params=["bio", "iobes", "iob1"])
def tagger(request):
    X, y = corpora.named_entities(40, scheme=request.param)
    return postil.Tagger(hidden=8, epochs=3, seed=0).fit(X, y)


def enumerated(tagger, agrees):
    """(labels, probability) of all valid labellings that agree, given that one of them is right."""
    labellings = [
        (labels, tagger.probability(SENTENCE, list(labels)))
        for labels in product(tagger.classes_, repeat=len(SENTENCE))
        if not violations(labels, "bio") and all(agrees(t, label) for t, label in enumerate(labels))
    ]
    total = sum(probability for _, probability in labellings)
    return [(labels, probability / total) for labels, probability in labellings]


@pytest.mark.parametrize("least", [0.02, 0.3])
def test_labels_are_kept_by_their_probability_given_what_is_annotated(least):
    X, y = corpora.named_entities(40)
    tagger = postil.Tagger(hidden=8, epochs=3, seed=0).fit(X, y)
    given = ["B-ORG", "O", "O", "O", "O"]  # ORG is annotated and unknown to the tagger, which must not see a LOC there
    (answers,) = filled(tagger, [SENTENCE], [given], [("ORG",)], ["ORG"], least)
    posterior = enumerated(tagger, lambda t, label: t > 0 or label == "O")
    best = max(posterior, key=lambda pair: pair[1])[0]
    assert answers[0] == "B-ORG"
    for t in range(1, len(SENTENCE)):
        probable = {label for label in tagger.classes_ if _marginal(posterior, t, label) > least}
        got = set(answers[t].alternatives) if isinstance(answers[t], PartialLabel) else {answers[t]}
        assert got == probable | {best[t]}


def _marginal(posterior, t, label):
    return sum(probability for labels, probability in posterior if labels[t] == label)


def test_annotated_classes_are_never_filled_in(tagger):
    given = ["O"] * len(SENTENCE)
    (answers,) = filled(tagger, [SENTENCE], [given], [("LOC",)], (), 0.0001)
    parts = {part for label in answers for part in (getattr(label, "alternatives", None) or (label,))}
    assert any("PER" in part for part in parts) and not any("LOC" in part for part in parts)


def test_everything_annotated_stays_as_it_is(tagger):
    X, y = corpora.named_entities(3, seed=4, scheme=tagger.labelling.scheme)
    assert filled(tagger, X, y, [None] * 3) == y
    assert filled(tagger, X, y, [("LOC", "PER")] * 3) == y


def test_hidden_classes_stay_possible_where_nothing_else_is(tagger):
    (answers,) = filled(tagger, [SENTENCE], [["O"] * 5], [()], ["ORG"])
    assert all(isinstance(label, PartialLabel) for label in answers)
    assert [label.endswith("|ORG") for label in answers] == ["O" in label.alternatives for label in answers]
    (answers,) = filled(tagger, [SENTENCE], [["O"] * 5], [("ORG",)], ["ORG"])  # annotated here: an O is none
    assert not any("ORG" in label for label in answers)


def test_users_marks_stay_and_condition_the_rest(tagger):
    (answers,) = filled(tagger, [SENTENCE], [[PartialLabel("?"), *["O"] * 4]], [("ORG",)], ["ORG"])
    assert answers[0] == "?"


def test_every_filled_sentence_has_a_valid_labelling():
    """Labels that are probable one by one may not be possible in a row: those of the best labelling are always kept."""
    X, y = corpora.named_entities(60, seed=1)
    tagger = postil.Tagger(hidden=4, epochs=1, seed=3).fit(X, y)  # unsure everywhere
    answers = filled(tagger, X, [["O"] * len(tokens) for tokens in X], [()] * len(X), (), 0.45)
    best = tagger.predict(X)
    for labels, of_best in zip(answers, best, strict=True):
        for label, one in zip(labels, of_best, strict=True):
            assert one in (getattr(label, "alternatives", None) or (label,))
    assert all(np.any(numbers) or numbers.ndim == 1 for numbers in tagger.labelling.numbers(answers))


def test_sentences_without_words_and_no_sentences(tagger):
    assert filled(tagger, [[], ["Anna"]], [[], ["O"]], [(), None]) == [[], ["O"]]
    assert filled(tagger, [], [], []) == []


def test_labels_without_a_scheme():
    X = [["the", "red", "house"], ["a", "blue", "door"]] * 10
    y = [["O", "COLOUR", "O"]] * 20
    tagger = postil.Tagger(hidden=8, seed=0).fit(X, y)
    (answers,) = filled(tagger, [["the", "blue", "house"]], [["O", "O", "THING"]], [("THING",)], ["THING"])
    assert answers == ["O", "COLOUR", "THING"]
