"""Made-up sentences of any size."""

from collections import Counter

import numpy as np
import pytest

from postil.samples.zipf import ZipfCorpus, made_up_word
from postil.text import recognise
from postil.text.labels.schemes import convert


def test_every_number_has_a_word_of_its_own():
    words = [made_up_word(number) for number in range(200_000)]
    assert len(set(words)) == len(words)
    assert all(word.isalpha() and word.islower() for word in words)


@pytest.mark.parametrize("length", [1, 2, 20])
def test_lengths_and_labels_fit(length):
    X, y = ZipfCorpus(words=100, length=length, classes=3).sentences(200, np.random.default_rng(0))
    assert len(X) == len(y) == 200
    assert all(len(tokens) == len(labels) for tokens, labels in zip(X, y, strict=True))
    assert recognise(y) == "bio"
    assert all(convert(labels, "bio", "bio") == labels for labels in y)
    assert {label[2:] for labels in y for label in labels} == {"", "C0", "C1", "C2"}
    assert abs(np.mean(list(map(len, X))) - length) <= 0.1 * length + 0.01


def test_words_follow_zipf_and_all_occur():
    X, y = ZipfCorpus(words=500, spans=False, classes=7).sentences(1000, np.random.default_rng(0))
    counts = Counter(word for tokens in X for word in tokens)
    assert len(counts) == 500
    ordered = sorted(counts.values(), reverse=True)
    assert 3 < ordered[0] / ordered[9] < 8  # (9 + 2.7) / 2.7 = 4.3
    assert len({label for labels in y for label in labels}) == 7


def test_the_same_seed_makes_the_same_sentences():
    first, second = (ZipfCorpus(words=50).sentences(20, np.random.default_rng(3)) for _ in range(2))
    assert first == second


def test_lengths_can_be_all_the_same():
    X, _ = ZipfCorpus(words=50, length=7, varies=False).sentences(20, np.random.default_rng(3))
    assert {len(tokens) for tokens in X} == {7}
    assert ZipfCorpus().sentences(0, np.random.default_rng(0)) == ([], [])
