"""Labels of the network in the scheme of the data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.onnx_graphs import is_word, padded, ragged, run
from postil.arrays import offsets_from_lengths
from postil.export.onnx_graph import Graph
from postil.export.onnx_labels import DataLabels
from postil.export.onnx_lattice import LatticeGraph
from postil.models.answers.distribution import Distribution
from postil.models.answers.labelling import Labelling
from postil.objectives.lattice import ChainScores, Lattice

pytestmark = [pytest.mark.extra("onnx"), pytest.mark.extra("onnxruntime")]

LABELLINGS = {
    **{scheme: Labelling(scheme, ("A", "B-C")) for scheme in ("bio", "iob1", "iobes", "bilou", "bmewo")},
    "one class without a name": Labelling("iob1", ("",)),
    "none": Labelling("none", ("NOUN", "VERB", "X")),
}


@pytest.mark.parametrize("name", LABELLINGS)
@settings(max_examples=12)
@given(lengths=st.lists(st.integers(0, 6), min_size=1, max_size=3).filter(any), seed=st.integers(0, 999))
def test_labels_and_marginals_are_those_of_the_posterior(name, lengths, seed):
    labelling, rng, offsets = LABELLINGS[name], np.random.default_rng(seed), offsets_from_lengths(lengths)
    L, mask = len(labelling.labels), labelling.mask
    chain = ChainScores.under_mask(
        L,
        transitions=rng.normal(size=(L, L)),
        allowed_transitions=mask.transitions,
        allowed_start=mask.start,
        allowed_end=mask.end,
    )
    lattice = Lattice.over(2 * rng.normal(size=(int(offsets[-1]), L)), offsets, chain)

    g, of_chain, names = Graph(), LatticeGraph(chain=chain), DataLabels(labelling)
    found = of_chain.answers(g, g.input("unary", np.float64, ["B", "T", L]), g.input("words", np.bool_, ["B", "T"]))
    numbers, marginals = names.answers(g, found, of_chain)
    g.output(numbers, "labels", np.int64, ["B", "T"])
    g.output(marginals, "marginals", np.float64, ["B", "T", len(names.names)])
    answers = run(g, unary=padded(lattice.unary, offsets), words=is_word(offsets))

    posterior = Distribution(which=[], lattice=lattice, labelling=labelling)
    texts = [label for labels in posterior.texts(posterior.best(0.0)) for label in labels]
    assert [names.names[number] for number in ragged(answers["labels"], offsets)] == texts
    marked = posterior.marked_beginnings() if labelling.scheme == "iob1" else None
    expected = labelling.marginals(posterior.marginals(), marked)
    for row, by_label in zip(ragged(answers["marginals"], offsets), expected, strict=True):
        assert names.names == list(by_label)
        np.testing.assert_allclose(row, list(by_label.values()), atol=1e-9)
