"""Several networks as one tagger."""

import numpy as np
import pytest

import postil
from oracles import corpora
from postil.errors import ConfigurationError
from postil.models.laboratory import examine_parts
from postil.models.networks.network import EnsembleNetwork

SETTINGS = {"hidden": 12, "epochs": 3, "rate": 0.02}


@pytest.fixture(scope="module")
def members():
    X, y = corpora.named_entities(40)
    return [postil.Tagger(seed=seed, **SETTINGS).fit(X, y) for seed in (1, 2, 3)]


@pytest.fixture(scope="module")
def trained():
    X, y = corpora.named_entities(40)
    return postil.Tagger(ensemble=2, **SETTINGS).fit(X, y, dev=corpora.named_entities(20))


def lattice(tagger, tokens):
    return next(tagger._posteriors.lattices([tokens], calibrated=False))[1]


def test_scores_and_transitions_are_the_mean_of_the_members(members):
    X, _ = corpora.named_entities(5)
    together = postil.Ensemble(members)
    for tokens in X:
        of_members = [lattice(member, tokens) for member in members]
        mean = lattice(together, tokens)
        assert np.allclose(mean.unary, np.mean([one.unary for one in of_members], axis=0), atol=1e-5)
        possible = np.isfinite(mean.chain.transitions)
        expected = np.mean([one.chain.transitions for one in of_members], axis=0)
        assert np.allclose(mean.chain.transitions[possible], expected[possible], atol=1e-6)
    for member in members:
        assert member.config.ensemble == 1, "the members stay as they are"


@pytest.mark.parametrize("preset", ["fast", "accurate", "sentence-sll", "linear-crf", "window-wll"])
def test_the_engine_scores_as_the_graph_does(preset):
    X, y = corpora.named_entities(20)
    tagger = postil.Tagger(preset=preset, ensemble=2, hidden=8, epochs=1).fit(X, y)
    parts = tagger.model
    inputs = parts.features.inputs(X[:5])
    graph = parts.network.scores(inputs).value
    scores, _ = parts.engine().scores(X[:5], [parts.task])
    assert np.allclose(graph, scores[parts.task], atol=1e-5)
    assert np.allclose(graph, parts.network.unary(inputs), atol=1e-5)


def test_an_ensemble_knows_extra_columns_and_text(trained):
    X, y = corpora.named_entities(20)
    columns = [[(form, form[0]) for form in tokens] for tokens in X]
    tagger = postil.Tagger(preset="accurate", ensemble=3, hidden=8, epochs=1).fit(columns, y)
    parts = tagger.model
    graph = parts.network.scores(parts.features.inputs(columns[:5])).value
    scores, _ = parts.engine().scores(columns[:5], [parts.task])
    assert np.allclose(graph, scores[parts.task], atol=1e-5)
    tokens = [["Anna", "saw", "Oslo", "."], ["She", "likes", "Paris", "."]]
    found = [sentence.labels for sentence in trained.tag("Anna saw Oslo. She likes Paris.").sentences]
    assert found == trained.predict(tokens)


def test_a_trained_ensemble_is_a_tagger_like_any_other(trained, tmp_path):
    X, y = corpora.named_entities(60)
    assert isinstance(trained.model.network, EnsembleNetwork)
    assert trained.score(X[40:], y[40:]) > 0.5
    trained.save(tmp_path / "e.postil")
    loaded = postil.load(tmp_path / "e.postil")
    assert loaded.predict(X) == trained.predict(X)
    assert loaded.config.ensemble == 2
    document = loaded.tag("Anna Bell lives in Oslo.")
    assert all(0 <= entity.probability <= 1 for entity in document.entities)
    assert loaded.nbest(X[0], 2)[0][1] >= loaded.nbest(X[0], 2)[1][1]


@pytest.mark.slow
def test_members_differ_and_learn_as_they_would_alone(trained):
    """Their losses are summed, so each has its own gradient and none of the others'."""
    one, other = trained.model.network.members
    assert not np.allclose(one.outputs[0].W.value, other.outputs[0].W.value)
    assert examine_parts(trained.model, np.random.default_rng(0)).passed


def test_explanations_of_an_ensemble_add_up(trained):
    X, _ = corpora.named_entities(3)
    explanation = trained.explain(X[0], 0, 1)
    assert np.isclose(explanation.of_words + explanation.of_transitions, explanation.value)
    slopes = sum(word.gradient for word in explanation.words)
    assert np.isclose(slopes, sum(part.gradient for part in explanation.features.values()), atol=1e-6)


def test_training_goes_on_from_an_ensemble(trained):
    X, y = corpora.named_entities(20)
    again = postil.Tagger(ensemble=2, **{**SETTINGS, "epochs": 1}).fit(X, y, warm_start=trained)
    assert len(again.model.network.members) == 2
    with pytest.raises(ConfigurationError, match="ensemble"):
        postil.Tagger(**SETTINGS).fit(X, y, warm_start=trained)


def test_an_ensemble_of_ensembles_has_all_their_members(trained):
    assert len(postil.Ensemble([trained, trained]).model.network.members) == 4


def test_what_does_not_belong_together_is_one_error(members):
    X, y = corpora.named_entities(40)
    with pytest.raises(ConfigurationError, match="at least 2"):
        postil.Ensemble(members[:1])
    for settings, data in (({"hidden": 8}, (X, y)), ({}, (X[:10], y[:10]))):
        other = postil.Tagger(**{**SETTINGS, **settings}).fit(*data)
        with pytest.raises(ConfigurationError, match="members of an ensemble"):
            postil.Ensemble([members[0], other])
    with pytest.raises(ConfigurationError, match="ensemble"):
        postil.Detector(label="PER", ensemble=2).fit(X, y)
