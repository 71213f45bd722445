"""Clusters of words: bigrams, paths in the tree, the file, k-means."""

import numpy as np
import pytest

from postil.errors import ConfigurationError
from postil.pretraining import CorpusConfig, brown_clusters, read_corpus
from postil.pretraining import clusters as module
from postil.pretraining.clusters import bigrams_of, paths_of

NAMES, CITIES = ["anna", "peter", "maria", "omar"], ["oslo", "lima", "cairo", "quito"]
VERBS = ["visited", "left", "likes", "knows"]
_PICKED = np.random.default_rng(0).integers(0, 4, (300, 3))
TEXT = [f"{NAMES[i]} {VERBS[j]} {CITIES[k]} ." for i, j, k in _PICKED]


def test_bigrams_stop_at_sentences_and_unknown_words(monkeypatch):
    with read_corpus(["a b a b c a", "b zebra a"], CorpusConfig(min_count=1, words=3)) as corpus:
        for at_once in (1 << 23, 4):
            monkeypatch.setattr(module, "_PAIRS_AT_ONCE", at_once)
            found = bigrams_of(corpus)
            pairs = zip(found.first, found.second, found.counts.tolist(), strict=True)
            named = {corpus.words[i] + corpus.words[j]: count for i, j, count in pairs}
            assert named == {"ab": 2, "ba": 1, "bc": 1, "ca": 1}


def test_paths_lead_from_the_root_to_the_clusters():
    merges = np.array([[0, 4], [3, 5], [1, 2], [0, 1], [3, 0]])  # words 4 and 5 join; then a tree of 0, 1, 2, 3
    assert paths_of(merges, 4) == ["10", "110", "111", "0", "10", "0"]


def test_words_with_the_same_neighbours_come_together(tmp_path):
    with read_corpus(TEXT, CorpusConfig(min_count=1)) as corpus:
        clusters = brown_clusters(corpus, 6)
        counts = dict(zip(corpus.words, corpus.counts.tolist(), strict=True))
    groups = {}
    for word, path in zip(clusters.words, clusters.paths, strict=True):
        groups.setdefault(path, set()).add(word)
    assert len(groups) == 6
    for group in groups.values():  # none has words of two classes
        assert sum(bool(group & set(alike)) for alike in (NAMES, VERBS, CITIES)) <= 1
    clusters.save(tmp_path / "x.paths")
    rows = [line.split("\t") for line in (tmp_path / "x.paths").read_text().splitlines()]
    assert [row[0] for row in rows] == sorted(clusters.paths)
    assert {word: int(count) for _, word, count in rows} == counts
    assert not any(a != b and b.startswith(a) for a in groups for b in groups)  # a path ends at a leaf


def test_wrong_number_of_clusters():
    with read_corpus(TEXT, CorpusConfig(min_count=1)) as corpus:
        for number in (1, len(corpus.words)):
            with pytest.raises(ConfigurationError, match="clusters must be 2 to 12, less than the words"):
                brown_clusters(corpus, number)
