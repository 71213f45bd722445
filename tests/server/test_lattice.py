"""The lattice that the page draws: its scores are the library's own."""

import json

import numpy as np
import pytest

import postil
from oracles.loops import finished
from postil.models.decoding.posteriors import Posteriors

pytestmark = pytest.mark.extra("starlette")


def test_scores_are_those_of_the_library(registry, names_model):
    from postil.server.api import TextAsked
    from postil.server.machinery import lattices

    tokens = ["Anna", "lives", "in", "Oslo"]
    (shown,) = json.loads(finished(lattices(registry, TextAsked(tokens=tokens, model="names"))))["sentences"]
    tagger = postil.load(names_model)
    _, lattice = next(Posteriors(tagger.model).lattices([tokens]))
    assert shown["labels"] == tagger.model.codec.labels and shown["tokens"] == tokens
    expected = {
        "unary": lattice.unary,
        **{name: getattr(lattice.chain, name) for name in ("transitions", "start", "end")},
    }
    for name, scores in expected.items():
        found = np.array(shown[name], float)  # null is nan
        np.testing.assert_allclose(np.where(np.isnan(found), -np.inf, found), scores, atol=1e-9)
    allowed = [[value is not None for value in row] for row in shown["transitions"]]
    assert allowed == tagger.model.codec.mask.transitions.tolist(), "what is impossible is null"


def test_one_token_and_no_token(registry):
    from postil.server.api import TextAsked
    from postil.server.machinery import lattices

    (one,) = json.loads(finished(lattices(registry, TextAsked(tokens=["Oslo"], model="names"))))["sentences"]
    assert len(one["unary"]) == 1
    assert json.loads(finished(lattices(registry, TextAsked(text="", model="names"))))["sentences"] == []
