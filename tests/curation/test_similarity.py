"""Typical sentences are dense, shared words are similar, and the order of the pool does not matter."""

import numpy as np

from postil.curation.similarity import WordStatistics

POOL = [["the", "cat", "slept"], ["the", "dog", "slept"], ["a", "cat", "ran"], ["the", "cat", "ran"], ["quite", "odd"]]


def statistics(pool, blocks=1):
    words = WordStatistics()
    for block in range(blocks):
        words.add(pool[block::blocks])
    return words


def test_what_shares_no_word_with_the_pool_is_the_least_typical():
    words = statistics(POOL[:4] * 5 + POOL[4:])
    density = words.density([["the", "cat", "slept"], ["quite", "odd"], ["never", "seen"]])
    assert density[0] > density[1] > density[2] >= 0


def test_vectors_are_similar_by_shared_words_and_not_by_case():
    vectors = statistics(POOL).vectors([["cat", "ran"], ["Cat", "RAN"], ["cat", "slept"], ["dog", "odd"]])
    similar = vectors @ vectors[0]
    assert np.allclose(similar[:2], 1)
    assert 0.2 < similar[2] < 0.9 and abs(similar[3]) < 0.2


def test_rare_words_weigh_more_than_common_ones():
    vectors = statistics(POOL).vectors([["the", "dog"], ["dog"], ["the"]])
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


def test_the_order_of_the_pool_and_its_blocks_do_not_matter():
    one, two = statistics(POOL), statistics(POOL[::-1], blocks=2)
    assert np.allclose(one.density(POOL), two.density(POOL))
    assert np.allclose(one.vectors(POOL), two.vectors(POOL))


def test_nothing_in_nothing_out():
    words = statistics([[]])
    assert words.density([[]]).tolist() == [0] and words.vectors([]).shape[0] == 0
