"""Ragged batches in the order of time, against plain loops over sentences."""

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.arrays import offsets_from_lengths
from postil.kernels.plain_chain import GROUP_ENTRIES, SCRATCH_ENTRIES, Packing, Scratch, Sentences, sentence_groups

lengths = st.lists(st.integers(0, 6), max_size=6).map(np.array)


@given(lengths)
def test_step_t_has_the_t_th_token_of_every_sentence_that_has_one(lengths):
    offsets = offsets_from_lengths(lengths.astype(np.int64))
    packing = Packing(offsets)
    for t, (first, end) in enumerate(packing.steps):
        expected = {int(offsets[b]) + t for b in range(len(lengths)) if lengths[b] > t}
        assert set(packing.forward[first:end].tolist()) == expected and end - first == len(expected)
    for (first, _), (later, end) in zip(packing.steps, packing.steps[1:], strict=False):
        survivors = packing.sentence[first : first + end - later]  # a plain slice: no gather from step to step
        assert survivors.tolist() == packing.sentence[later:end].tolist()
    assert len(packing.steps) == max(lengths, default=0)


@given(lengths)
def test_both_ways_sweeps_from_each_end(lengths):
    offsets = offsets_from_lengths(lengths.astype(np.int64))
    tokens, left, right = Packing(offsets).both_ways()
    N = int(offsets[-1])
    assert tokens[left].tolist() == tokens[right].tolist() == list(range(N))
    assert sorted([*left, *right]) == list(range(2 * N))
    for first, end in itertools.pairwise(offsets):
        # From the left rows of later tokens come later, from the right those of earlier tokens.
        assert (np.diff(left[first:end]) > 0).all() and (np.diff(right[first:end]) < 0).all()


@given(lengths)
def test_sums_over_sentences(lengths):
    offsets = offsets_from_lengths(lengths.astype(np.int64))
    values = np.random.default_rng(0).normal(size=offsets[-1])
    expected = [values[a:b].sum() for a, b in itertools.pairwise(offsets)]
    assert Sentences(offsets).sums(values) == pytest.approx(expected)


@pytest.mark.parametrize(("labels", "size"), [(int(GROUP_ENTRIES**0.5), 1), (int((GROUP_ENTRIES / 2) ** 0.5), 2)])
def test_groups_are_as_large_as_their_tables_allow(labels, size):
    offsets = np.array([0, 2, 2, 5, 6, 9])
    groups = list(sentence_groups(offsets, labels))
    assert [group.stop - group.start for group, _ in groups] == [size] * (5 // size) + [1] * (5 % size)
    for sentences, tokens in groups:
        assert (tokens.start, tokens.stop) == (offsets[sentences.start], offsets[sentences.stop])


def test_scratch_gives_the_same_aligned_memory_again_and_other_threads_their_own():
    scratch = Scratch()
    first = scratch.array("a", 3, 4)
    assert np.shares_memory(first, scratch.array("a", 12)) and first.ctypes.data % 64 == 0
    assert not np.shares_memory(first, scratch.array("b", 12))
    assert not np.shares_memory(first, scratch.array("a", 12, dtype=np.float32))
    elsewhere = []
    thread = threading.Thread(target=lambda: elsewhere.append(scratch.array("a", 12)))
    thread.start()
    thread.join()
    assert not np.shares_memory(first, elsewhere[0])
    large = scratch.array("a", SCRATCH_ENTRIES + 1)
    assert not np.shares_memory(large, scratch.array("a", SCRATCH_ENTRIES + 1))
