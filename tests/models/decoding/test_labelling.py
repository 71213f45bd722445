"""Labels of the data and of the network: with many classes the network keeps BIO, and nothing else changes."""

import itertools

import numpy as np
import pytest

from postil.arrays import offsets_from_lengths
from postil.models.decoding import codec as module
from postil.models.decoding.codec import LabelCodec
from postil.models.tagger import Tagger
from postil.text import Span

SENTENCES = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-LOC", "B-LOC", "I-LOC"]]


def test_few_classes_are_learnt_as_iobes_and_answered_in_bio():
    labels = LabelCodec.of(SENTENCES)
    assert labels.inner == "iobes" and len(labels.labels) == 9
    assert [labels.texts(numbers) for numbers in labels.numbers(SENTENCES)] == SENTENCES
    assert labels.answers == ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]


@pytest.fixture
def few_are_many(monkeypatch):
    monkeypatch.setattr(module, "MANY_CLASSES", 1)


def test_many_classes_stay_bio(few_are_many):
    labels = LabelCodec.of(SENTENCES)
    assert labels.inner == "bio" and labels.labels == ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
    assert [labels.texts(numbers) for numbers in labels.numbers(SENTENCES)] == SENTENCES
    assert [span.label for span in labels.spans(labels.numbers(SENTENCES)[0])] == ["PER", "LOC"]


def test_many_classes_of_another_scheme_are_learnt_as_iobes(few_are_many):
    labels = LabelCodec.of([["B-PER", "E-PER", "O", "S-LOC"]])
    assert labels.inner == "iobes" and len(labels.labels) == 9


def test_probabilities_of_a_tagger_that_keeps_bio_add_up(few_are_many):
    tokens = ["Anna", "in", "Oslo"]
    X, y = (
        [[*tokens], ["Rio", "de", "Lima", "Oslo"]] * 8,
        [["B-PER", "O", "B-LOC"], ["B-LOC", "I-LOC", "I-LOC", "B-LOC"]] * 8,
    )
    tagger = Tagger(preset="fast", hidden=8, word_dim=8, epochs=10, seed=0).fit(X, y)
    paths = tagger.nbest(tokens, k=10_000)
    assert sum(p for _, p in paths) == pytest.approx(1, abs=1e-6)
    first = tagger.marginals(tokens)[0]
    for label, probability in first.items():
        assert probability == pytest.approx(sum(p for labels, p in paths if labels[0] == label), abs=1e-6)
    document = tagger.tag("Anna in Oslo")
    for entity in document.entities:
        start = document.sentences[0].starts.index(entity.start)
        alike = [
            p for labels, p in paths if labels[start] == f"B-{entity.label}" and _ends(labels, start, entity.label)
        ]
        assert entity.probability == pytest.approx(np.sum(alike), abs=1e-6)


def _ends(labels, start, name):
    return start + 1 == len(labels) or labels[start + 1] != f"I-{name}"


# ------------------------------------------------------------------------------------------------ whole batches

SCHEMES = ["bio", "iob1", "iobes", "bilou", "bmewo", "none"]


def random_batch(labels, rng, *, valid):
    """Label numbers of some sentences; valid ones are drawn step by step."""
    lengths = rng.integers(0, 9, 6)
    sentences = []
    for T in lengths:
        numbers = []
        while len(numbers) < T:
            allowed = labels.mask.transitions[numbers[-1]] if numbers else labels.mask.start
            numbers.append(rng.choice(np.flatnonzero(allowed)) if valid else rng.integers(len(labels.labels)))
            if valid and len(numbers) == T and not labels.mask.end[numbers[-1]]:
                numbers.clear()  # begin again
        sentences.append(np.array(numbers, np.int64))
    return np.concatenate(sentences), offsets_from_lengths(lengths)


@pytest.mark.parametrize("many", [1, 100])
@pytest.mark.parametrize("valid", [True, False])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_batch_is_spelt_like_its_sentences(scheme, valid, many, monkeypatch):
    monkeypatch.setattr(module, "MANY_CLASSES", many)
    for classes in (("LOC", "PER"), ("",), ("LOC", "Some-Thing", "PER")):
        labels, rng = LabelCodec(scheme, classes), np.random.default_rng(0)
        for _ in range(20):
            numbers, offsets = random_batch(labels, rng, valid=valid)
            cut = [numbers[a:b] for a, b in itertools.pairwise(offsets)]
            assert labels.texts_of_sentences(numbers, offsets) == [labels.texts(part) for part in cut]
            rows = labels.spans_of_sentences(numbers, offsets).tolist()
            found = [(b, Span(labels.classes[k], s, e)) for b, s, e, k in rows]
            assert found == [(b, span) for b, part in enumerate(cut) for span in labels.spans(part)]
