"""Feature dicts in neural taggers: learnt from, answered about, explained, stored, continued, searched."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import postil
from postil import Detector, Tagger
from postil.errors import ConfigurationError, DataError, LowerCaseWarning
from postil.models.decoding.constraints import Constraints
from postil.models.laboratory import examine_parts
from postil.models.tagger import Ensemble

RNG = np.random.default_rng(3)
WORDS = [f"w{i}" for i in range(30)]

# The words here are made up, and in lower case.
pytestmark = pytest.mark.filterwarnings("ignore::postil.errors.LowerCaseWarning")


def sentence(rng):
    """Labels that no word tells, only the features: a hint before each entity, and its kind."""
    items, labels = [], []
    for _ in range(int(rng.integers(2, 7))):
        kind = int(rng.integers(4))
        items.append({"word": str(rng.choice(WORDS)), "kind": "ab??"[kind], "size": kind / 2, "near": {"left": ["x"]}})
        labels.append(["B-PER", "B-LOC", "O", "O"][kind])
    return items, labels


X, Y = map(list, zip(*(sentence(RNG) for _ in range(80)), strict=True))
X_TEST, Y_TEST = map(list, zip(*(sentence(RNG) for _ in range(20)), strict=True))
SMALL = {"preset": "fast", "word_dim": 4, "hidden": 8, "epochs": 8, "rate": 0.1, "word_key": "word", "seed": 0}


@pytest.fixture(scope="module")
def fitted():
    return Tagger(**SMALL).fit(X, Y, dev=(X_TEST, Y_TEST))


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["fast", "accurate", "linear-crf", "window-softmax", "sentence-sll"])
def test_what_only_the_features_tell_is_learnt(preset):
    tagger = Tagger(**{**SMALL, "preset": preset}).fit(X, Y)
    assert tagger.score(X_TEST, Y_TEST) > 0.97
    words = [[item["word"] for item in items] for items in X_TEST]
    plain = Tagger(**{**SMALL, "preset": preset, "word_key": None}).fit([[i["word"] for i in s] for s in X], Y)
    assert plain.score(words, Y_TEST) < 0.7


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"feature_buckets": 500}, {"ensemble": 2}, {"min_feature_count": 3}])
def test_a_stored_model_gives_the_same_answers(settings, tmp_path):
    tagger = Tagger(**SMALL, **settings).fit(X, Y)
    tagger.save(tmp_path / "model")
    loaded = postil.load(tmp_path / "model")
    assert loaded.word_key == "word" and loaded.score(X_TEST, Y_TEST) > 0.95
    assert loaded.predict(X_TEST) == tagger.predict(X_TEST)
    assert loaded.marginals(X_TEST[0]) == tagger.marginals(X_TEST[0])


def test_probabilities_constraints_and_spans(fitted):
    items = X_TEST[0]
    marginals = fitted.marginals(items)
    assert all(abs(sum(row.values()) - 1) < 1e-5 for row in marginals)
    forced = fitted.predict([items], constraints=[Constraints(require=[(0, 1, "LOC")])])
    assert forced[0][0] == "B-LOC"
    labels, values = fitted.predict_with_probabilities(X_TEST)
    assert labels == fitted.predict(X_TEST) and all(len(v) == len(s) for v, s in zip(values, X_TEST, strict=True))
    best, probability = fitted.nbest(items, 1)[0]
    assert best == labels[0] and fitted.probability(items, best) == pytest.approx(probability)
    assert all(entity.probability >= 0.5 for entity in fitted.spans_above(items, 0.5))


def test_the_order_of_a_batch_changes_nothing(fitted):
    together = fitted.predict(X_TEST)
    assert [fitted.predict([items])[0] for items in X_TEST] == together
    assert fitted.predict([[], *X_TEST])[1:] == together and fitted.predict([]) == []


def test_scores_are_those_of_the_flow_graph(fitted):
    parts = fitted.model
    tokens = [postil.features.named.FeatureToken.of(item["word"], item) for item in X_TEST[0]]
    scores, _ = parts.engine().scores([tokens], [parts.task])
    general = parts.network.unary(parts.features.inputs([tokens]))
    np.testing.assert_allclose(scores[parts.task], general, atol=1e-5)


@pytest.mark.slow
def test_the_gradients_of_a_fitted_model():
    alive = Tagger(**SMALL | {"rate": 0.01}).fit(X, Y)  # at a rate of 0.1 all its hidden units die
    assert not examine_parts(alive.model, np.random.default_rng(0)).failures


def test_explanations_name_the_features(fitted):
    i, t = next((i, t) for i, labels in enumerate(Y_TEST) for t, label in enumerate(labels) if label == "B-PER")
    explanation = fitted.explain(X_TEST[i], t, t + 1, "PER")
    names = [name for name in explanation.features if name.startswith("feature ")]
    assert names == ["feature word", "feature kind", "feature size", "feature near"]
    word = explanation.words[t].features
    assert max(word, key=word.get) == "feature kind"
    assert explanation.features["feature kind"].left_out > 1
    assert "feature kind" in str(explanation) and explanation.to_dict()["words"][t]["features"]["feature kind"] > 0


def test_the_contribution_of_a_feature_is_exact():
    """With one token and two labels the log-odds are a difference of scores: the weights of a feature, to the bit."""
    items = [[{"word": "a", "f": "x"}], [{"word": "a", "f": "y"}]] * 20
    tagger = Tagger(**SMALL, objective="softmax").fit(items, [["A"], ["B"]] * 20)
    explanation = tagger.explain(items[0], 0, 1, "A")
    part = explanation.features["feature f"]
    table, names = tagger.model.network.named.value, list(tagger.model.features.named.names)
    a, b = (tagger.model.codec.labels.index(label) for label in "AB")
    weights = table[names.index("f:x")]
    assert part.gradient == pytest.approx(part.left_out, rel=1e-4)
    assert part.gradient == pytest.approx((weights[a] - weights[b]) / tagger.decoding.temperature, rel=1e-4)


def test_training_goes_on_with_new_features_and_labels(fitted):
    new_X = [[{"word": "w1", "kind": "c"}, {"word": "w2", "kind": "a"}]] * 20
    new_Y = [["B-ORG", "B-PER"]] * 20
    more = Tagger(**{**SMALL, "epochs": 4}).fit([*X, *new_X], [*Y, *new_Y], warm_start=fitted)
    names = list(more.model.features.named.names)
    assert names[: len(fitted.model.features.named)] == list(fitted.model.features.named.names)
    assert more.predict(new_X[:1]) == new_Y[:1] and more.score(X_TEST, Y_TEST) > 0.95
    with pytest.raises(ConfigurationError, match="word_key"):
        Tagger(**{**SMALL, "word_key": None}).fit([["a"]], [["O"]], warm_start=fitted)


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads(fitted):
    again = Tagger(**SMALL, threads=2).fit(X, Y, dev=(X_TEST, Y_TEST))
    for name, parameter in fitted.model.network.parameters().items():
        np.testing.assert_array_equal(parameter.value, again.model.network.parameters()[name].value)


def test_scikit_learn_clones_and_searches():
    tagger = clone(Tagger(**{**SMALL, "epochs": 2}))
    assert tagger.get_params()["word_key"] == "word"
    search = GridSearchCV(tagger, {"feature_buckets": [None, 300]}, cv=2).fit(X, Y)
    assert search.predict(X_TEST[:1]) == search.best_estimator_.predict(X_TEST[:1])


def test_ensembles_and_detectors_take_them_too():
    members = [Tagger(**{**SMALL, "seed": seed}).fit(X, Y) for seed in (0, 1)]
    assert Ensemble(members).score(X_TEST, Y_TEST) > 0.95
    detector = Detector(label="PER", word_key="word", hidden=8, epochs=8, rate=0.1, seed=0).fit(X, Y)
    assert detector.score(X_TEST, Y_TEST) > 0.95
    assert "feature kind" in detector.explain(X_TEST[0], 0, 1).features


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            {"form": "a", "x": 1},
            "a feature dict must have the word under 'word' (got 'form', 'x')",
        ),
        ({}, "a feature dict must have the word under 'word' (got an empty dict)"),
        ({"word": 3}, "a feature dict must have the word under 'word' (got the number 3)"),
        ("a", "a token must be a feature dict, by word_key='word' (got the string 'a')"),
    ],
)
def test_a_word_that_is_missing_is_told_in_one_line(fitted, item, message):
    wrong = [[{"word": "a"}], [{"word": "a"}, item]]
    for call in (lambda: fitted.predict(wrong), lambda: Tagger(**SMALL).fit(wrong, [["O"], ["O", "O"]])):
        with pytest.raises(DataError) as error:
            call()
        assert str(error.value) == f"sentence 1, token 1: {message}"


def test_a_value_that_is_no_feature_is_told(fitted):
    with pytest.raises(DataError, match="value of a feature"):
        fitted.predict([[{"word": "a", "x": object()}]])


def test_feature_dicts_need_the_key():
    with pytest.raises(DataError, match="feature dicts need word_key, the key of the word"):
        Tagger().fit(X, Y)


def test_raw_text_has_no_features(fitted):
    with pytest.raises(DataError, match="token 'Anna' has no features"):
        fitted.tag("Anna left.")


def test_words_without_any_capital_letter_cause_a_warning():
    words = ["Anna", "lives", "in", "Oslo"]
    X = [[{"word": word, "lower": word.lower()} for word in words]] * 5
    y = [["B-PER", "O", "O", "B-LOC"]] * 5
    with pytest.warns(
        LowerCaseWarning, match=r"^word_key='lower': no word has a capital letter; name the key"
    ) as caught:
        Tagger(word_key="lower", hidden=4, epochs=1).fit(X, y)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Tagger(word_key="word", hidden=4, epochs=1).fit(X, y)
        Tagger(word_key="word", hidden=4, epochs=1).fit(
            [[{"word": "东京"}, {"word": "的"}]] * 5, [["B-LOC", "O"]] * 5
        )  # no case at all
