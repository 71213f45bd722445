"""The lattice that the page draws: unscaled forward-backward beside the library's own."""

import json

import numpy as np
import pytest

import postil
from oracles.loops import finished
from postil.models.decoding.posteriors import Posteriors
from postil.objectives.crf import Posterior

pytestmark = pytest.mark.extra("starlette")


def test_messages_and_marginals_are_those_of_the_library(registry, names_model):
    from postil.server.api import LatticeAsked
    from postil.server.machinery import forward_backward, lattices

    tokens = ["Anna", "lives", "in", "Oslo"]
    answer = json.loads(finished(lattices(registry, LatticeAsked(tokens=tokens, model="names", nbest=3), 1000)))
    (shown,) = answer["sentences"]
    tagger = postil.load(names_model)
    _, lattice = next(Posteriors(tagger.model).lattices([tokens]))
    posterior = Posterior.of(lattice)
    alphas, betas, log_partition = forward_backward(lattice)
    assert log_partition == pytest.approx(float(posterior.log_partition[0]), abs=1e-9)
    np.testing.assert_allclose(np.exp(alphas + betas - log_partition), posterior.marginals(), atol=1e-9)
    np.testing.assert_allclose(shown["marginals"], posterior.marginals(), atol=2e-9)
    assert shown["labels"] == tagger.model.codec.labels and shown["tokens"] == tokens
    paths = [([shown["labels"][i] for i in path["labels"]], path["probability"]) for path in shown["paths"]]
    expected = tagger.nbest(tokens, 3)
    assert [p for _, p in paths] == pytest.approx([p for _, p in expected], abs=1e-8)
    allowed = [[value is not None for value in row] for row in shown["transitions"]]
    assert allowed == tagger.model.codec.mask.transitions.tolist(), "what is impossible is null"
    for t in range(4):  # every position sums to Z
        assert np.logaddexp.reduce(alphas[t] + betas[t]) == pytest.approx(log_partition, abs=1e-9)


def test_one_token_and_no_token(registry):
    from postil.server.api import LatticeAsked
    from postil.server.machinery import lattices

    (one,) = json.loads(finished(lattices(registry, LatticeAsked(tokens=["Oslo"], model="names"), 1000)))["sentences"]
    assert len(one["alphas"]) == 1
    assert json.loads(finished(lattices(registry, LatticeAsked(text="", model="names"), 1000)))["sentences"] == []
