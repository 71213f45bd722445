"""Viterbi and forward-backward in a graph, beside the kernels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.onnx_graphs import is_word, padded, ragged, run
from postil.arrays import offsets_from_lengths
from postil.export.onnx_graph import Graph
from postil.export.onnx_lattice import LatticeGraph
from postil.objectives.crf import Posterior, path_scores
from postil.objectives.crf_decoding import viterbi
from postil.objectives.lattice import ChainScores, Lattice

pytestmark = [pytest.mark.extra("onnx"), pytest.mark.extra("onnxruntime")]


def answers_of(lattice, bonus=None):
    g, L = Graph(), lattice.chain.labels
    unary = g.input("unary", np.float64, ["B", "T", L])
    words = g.input("words", np.bool_, ["B", "T"])
    found = LatticeGraph(chain=lattice.chain, bonus=bonus).answers(g, unary, words)
    g.output(found.labels, "labels", np.int64, ["B", "T"])
    g.output(found.marginals, "marginals", np.float64, ["B", "T", L])
    g.output(found.probability, "probability", np.float64, ["B"])
    shown = is_word(lattice.offsets)
    batch = padded(lattice.unary, lattice.offsets).reshape(*shown.shape, L)
    answers = run(g, unary=batch, words=shown)
    return [ragged(answers[name], lattice.offsets) for name in ("labels", "marginals")], answers["probability"]


@st.composite
def lattices(draw):
    """Sentences, some of them without words, under rules that leave label 0 possible everywhere."""
    lengths, L = draw(st.lists(st.integers(0, 6), min_size=1, max_size=4)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.sampled_from([0.0, 1.0, 30.0, 2000.0]))
    masks = [rng.random(shape) < 0.6 for shape in [(L, L), (L,), (L,)]]
    for mask in masks:
        mask[..., 0] = True
    masks[0][0] = True
    tables = [spread * rng.normal(size=mask.shape) for mask in masks]
    names = ("transitions", "start", "end")
    chain = ChainScores.under_mask(
        L,
        **dict(zip(names, tables, strict=True)),
        **{f"allowed_{name}": mask for name, mask in zip(names, masks, strict=True)},
    )
    offsets = offsets_from_lengths(lengths)
    return Lattice.over(spread * rng.normal(size=(int(offsets[-1]), L)), offsets, chain)


@settings(max_examples=30)
@given(lattices())
def test_labels_marginals_and_probabilities_are_those_of_the_kernels(lattice):
    (labels, marginals), probability = answers_of(lattice)
    np.testing.assert_array_equal(labels, viterbi(lattice))
    posterior = Posterior.of(lattice)
    np.testing.assert_allclose(marginals, posterior.marginals(), atol=1e-9)
    expected = np.exp(path_scores(lattice, labels) - posterior.log_partition)
    np.testing.assert_allclose(probability, expected, atol=1e-9)


@settings(max_examples=30)
@given(lattices(), st.floats(-3, 3))
def test_a_bonus_moves_the_labels_and_no_probability(lattice, size):
    bonus = size * (np.arange(lattice.chain.labels) % 2)
    (labels, marginals), probability = answers_of(lattice, bonus)
    moved = Lattice(unary=lattice.unary + bonus, offsets=lattice.offsets, chain=lattice.chain)
    np.testing.assert_array_equal(labels, viterbi(moved))
    posterior = Posterior.of(lattice)
    np.testing.assert_allclose(marginals, posterior.marginals(), atol=1e-9)
    expected = np.exp(path_scores(lattice, labels) - posterior.log_partition)
    np.testing.assert_allclose(probability, expected, atol=1e-9)


def test_a_batch_without_any_word():
    chain = ChainScores.under_mask(3)
    lattice = Lattice.over(np.zeros((0, 3)), np.array([0, 0, 0]), chain)
    (labels, marginals), probability = answers_of(lattice)
    assert labels.shape == (0,) and marginals.shape == (0, 3)
    np.testing.assert_array_equal(probability, [1.0, 1.0])


def test_a_very_long_sentence():
    rng = np.random.default_rng(0)
    chain = ChainScores.under_mask(4, transitions=rng.normal(size=(4, 4)))
    lattice = Lattice.over(5 * rng.normal(size=(5000, 4)), np.array([0, 5000]), chain)
    (labels, marginals), probability = answers_of(lattice)
    np.testing.assert_array_equal(labels, viterbi(lattice))
    np.testing.assert_allclose(marginals, Posterior.of(lattice).marginals(), atol=1e-9)
    assert 0 <= probability[0] < 1e-10
