"""Whole taggers on made-up sentences: learning, answers, probabilities, estimator rules."""

import itertools
import pickle
from functools import cache

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities, parts_of_speech
from postil import Constraints
from postil.errors import ConfigurationError, DataError
from postil.metrics import evaluate
from postil.models import PRESETS, storage
from postil.text import labels_from_spans, spans_from_labels

WITHOUT_NOISE = {"input_dropout": 0.0, "hidden_dropout": 0.0}  # a network this small has nothing to spare
TAGGERS = [name for name in PRESETS if name != "margin"]  # that one makes detectors
SMALL = {"hidden": 16, "word_dim": 12, "epochs": 6, "rate": 0.02, "batch_sentences": 8, **WITHOUT_NOISE}
TRAIN = named_entities(60)
TEST = named_entities(40, seed=1)
SHORT = ["Anna", "left", "Oslo"]


@cache
def fitted(preset="fast", **settings):
    return postil.Tagger(preset=preset, **{**SMALL, **settings}).fit(*TRAIN)


@pytest.mark.slow
@pytest.mark.parametrize("preset", TAGGERS)
def test_every_preset_learns(preset):
    X, y = TEST
    everything_outside = evaluate(y, [["O"] * len(labels) for labels in y], scheme="bio").tokens.accuracy
    tagger = fitted(preset)
    assert evaluate(y, tagger.predict(X), scheme="bio").tokens.accuracy > everything_outside + 0.05
    assert tagger.score(X, y) > (0.2 if preset == "average-softmax" else 0.8)  # it does not know which word is meant


@pytest.mark.parametrize("preset", TAGGERS)
def test_a_batch_is_answered_like_its_sentences_one_by_one(preset):
    tagger, X = fitted(preset), [*TEST[0], [], ["unheard-of", "Wörter", "4711"]]
    assert tagger.predict(X) == [tagger.predict([tokens])[0] for tokens in X]
    labels, sure = tagger.predict_with_probabilities(X)
    assert labels == tagger.predict(X)
    for tokens, found, probabilities in zip(X, labels, sure, strict=True):
        marginals = tagger.marginals(tokens)
        assert [m[label] for m, label in zip(marginals, found, strict=True)] == pytest.approx(
            probabilities.tolist(), abs=1e-4
        )


@pytest.mark.parametrize("preset", ["fast", "window-wll", "sentence-wll", "average-softmax", "linear-crf"])
def test_all_labellings_together_give_every_probability(preset):
    tagger = fitted(preset, epochs=1)  # hardly trained: many labellings have a weight that can be seen
    paths = tagger.nbest(SHORT, k=2_000)
    assert len(paths) < 2_000  # these are all there are
    assert len({tuple(labels) for labels, _ in paths}) == len(paths)
    weights = np.array([probability for _, probability in paths])
    assert weights.sum() == pytest.approx(1, abs=1e-4)
    assert (np.diff(weights) <= 1e-9).all()
    assert paths[0][0] == tagger.predict([SHORT])[0]
    for t, marginal in enumerate(tagger.marginals(SHORT)):
        summed = dict.fromkeys(marginal, 0.0)
        for labels, probability in paths:
            summed[labels[t]] += probability
        assert summed == pytest.approx(marginal, abs=1e-4)
    entities = tagger.tag(" ".join(SHORT)).entities
    for entity in entities:
        first, end = (len(" ".join(SHORT)[:place].split()) for place in (entity.start, entity.end))
        with_it = sum(p for labels, p in paths if (entity.label, first, end) in spans_from_labels(labels))
        assert with_it == pytest.approx(entity.probability, abs=1e-4)


@pytest.mark.parametrize("own", [None, Constraints(forbid=[(1, 2, None)])])
@pytest.mark.parametrize("scheme", ["iob1", "iobes"])
def test_marginals_are_those_of_the_labels_that_nbest_spells(scheme, own):
    X, y = TRAIN
    spelt = [labels_from_spans(spans_from_labels(labels), len(labels), scheme) for labels in y]
    tagger = postil.Tagger(**{**SMALL, "epochs": 1}).fit(X, spelt)
    paths = tagger.nbest(SHORT, 2_000, own)
    marginals = tagger.marginals(SHORT, own)
    for t, marginal in enumerate(marginals):
        summed = dict.fromkeys(marginal, 0.0)
        for labels, probability in paths:
            summed[labels[t]] += probability
        assert summed == pytest.approx(marginal, abs=1e-9)
        assert min(marginal.values()) >= 0
    if scheme == "iob1":
        assert marginals[0]["B-PER"] == 0  # nothing stands before it
    (labels,), (sure,) = tagger.predict_with_probabilities([SHORT], constraints=[own])
    assert sure.tolist() == pytest.approx([m[label] for m, label in zip(marginals, labels, strict=True)])


def test_the_probability_of_a_marked_beginning_in_iob1():
    X, y = TRAIN
    spelt = [labels_from_spans(spans_from_labels(labels), len(labels), "iob1") for labels in y]
    tagger = postil.Tagger(**SMALL).fit(X, spelt)
    own = Constraints(require=[(0, 1, "PER"), (1, 2, "PER")])
    (labels,), (sure,) = tagger.predict_with_probabilities([SHORT], constraints=[own])
    assert labels[:2] == ["I-PER", "B-PER"]
    assert sure[:2].tolist() == pytest.approx([1, 1])


def test_there_is_an_entity_whose_probability_is_checked():
    assert fitted("fast").tag("Anna left Oslo").entities


@pytest.mark.parametrize("preset", ["window-wll", "fast"])
def test_answers_are_valid_by_construction(preset):
    tagger = fitted(preset, epochs=1)
    rng = np.random.default_rng(0)
    words = sorted({word for tokens in TRAIN[0] for word in tokens})
    for labels in tagger.predict([[str(w) for w in rng.choice(words, 12)] for _ in range(50)]):
        for before, label in itertools.pairwise(["O", *labels]):
            assert not label.startswith("I-") or before[2:] == label[2:]


def test_without_constraints_anything_may_follow_anything():
    tagger = fitted("window-wll", epochs=1, constrained=False)
    labels = len(tagger.model.codec.labels)
    assert len(tagger.nbest(SHORT, k=labels**3 + 1)) == labels**3


@pytest.mark.parametrize("scheme", ["iob1", "bio", "iobes", "bilou", "bmewo"])
def test_labels_are_answered_in_the_scheme_of_the_data(scheme):
    tagger = postil.Tagger(**SMALL).fit(*named_entities(60, scheme=scheme))
    X, y = named_entities(40, seed=1, scheme=scheme)
    assert tagger.model.codec.scheme == scheme
    assert evaluate(y, tagger.predict(X)).main_score > 0.8
    found = {label for labels in tagger.predict(X) for label in labels}
    assert found <= set(tagger.classes_)
    if scheme not in ("iob1",):
        assert {label.split("-")[0] for label in found} == {label.split("-")[0] for labels in y for label in labels}
        assert set(tagger.marginals(X[0])[0]) == set(tagger.classes_)


def test_labels_without_a_scheme_and_bare_letters():
    X, y = parts_of_speech(60)
    tagger = postil.Tagger(**SMALL).fit(X, y)
    assert tagger.model.codec.scheme == "none"
    assert tagger.classes_ == ["NAME", "VERB", "X|Y"]
    assert tagger.score(*parts_of_speech(40, seed=1)) > 0.9
    assert tagger.tag("Anna left Oslo.").entities == []
    bare = [[label[0] for label in labels] for labels in TRAIN[1]]
    assert set(postil.Tagger(**SMALL).fit(TRAIN[0], bare).classes_) == {"O", "B", "I"}


def test_one_label_alone():
    X, y = TRAIN[0][:10], [["O"] * len(tokens) for tokens in TRAIN[0][:10]]
    tagger = postil.Tagger(**SMALL).fit(X, y)
    assert tagger.predict(X) == y
    assert tagger.marginals(X[0])[0] == {"O": 1.0}


def test_extra_columns_are_features():
    rng = np.random.default_rng(0)
    X = [[(f"w{rng.integers(9)}", str(rng.choice(["n", "v"]))) for _ in range(5)] for _ in range(60)]
    y = [["A" if column == "n" else "B" for _, column in tokens] for tokens in X]
    tagger = postil.Tagger(**SMALL).fit(X, y)
    assert tagger.predict([[("new", "n"), ("new", "v"), ("w1", "n")]]) == [["A", "B", "A"]]
    with pytest.raises(DataError, match="lacks extra columns"):
        tagger.predict([["new"]])


# ------------------------------------------------------------------------------------------------ text


def test_raw_text_keeps_its_offsets():
    text = "They met Anna Clara.  The museums of New York are old!"
    document = fitted("fast").tag(text)
    assert [e.text for e in document.entities] == [text[e.start : e.end] for e in document.entities]
    assert "New York" in [e.text for e in document.entities]
    assert fitted("fast").tag("").entities == []


# ------------------------------------------------------------------------------------------------ model file


@pytest.mark.parametrize("preset", TAGGERS)
def test_saved_equals_loaded(preset, tmp_path):
    tagger, path = fitted(preset), tmp_path / "m.postil"
    tagger.save(path)
    again = postil.load(path)
    assert again.predict(TEST[0]) == tagger.predict(TEST[0])
    assert again.marginals(SHORT) == tagger.marginals(SHORT)
    assert again.get_params() == tagger.get_params()
    assert again.config == tagger.config
    again.save(tmp_path / "again.postil")
    assert (tmp_path / "again.postil").read_bytes() == path.read_bytes()


def test_pickle_and_joblib_carry_the_model(tmp_path):
    import joblib
    from sklearn.base import clone

    tagger = fitted("fast")
    for again in (pickle.loads(pickle.dumps(tagger)), *joblib.Parallel(n_jobs=1)([joblib.delayed(clone)(tagger)])):
        assert again.get_params() == tagger.get_params()
    joblib.dump(tagger, tmp_path / "m.joblib")
    assert joblib.load(tmp_path / "m.joblib").predict(TEST[0]) == tagger.predict(TEST[0])
    assert pickle.loads(pickle.dumps(postil.Tagger(hidden=3))).get_params()["hidden"] == 3


# ------------------------------------------------------------------------------------------------ estimator rules


def test_scikit_learn_clones_searches_and_cross_validates():
    import joblib  # imported here, where it is needed: scikit-learn takes longer to import than all of Postil
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV, cross_val_score

    tagger = postil.Tagger(preset="window-sll", **{**SMALL, "epochs": 2})
    copy = clone(tagger.fit(*TRAIN))
    assert copy._model is None
    assert copy.get_params() == tagger.get_params()
    assert copy.set_params(hidden=20, seed=3).get_params() == {**tagger.get_params(), "hidden": 20, "seed": 3}
    X, y = TRAIN
    assert len(cross_val_score(copy, X, y, cv=2)) == 2
    search = GridSearchCV(copy, {"hidden": [4, 16], "rate": np.array([0.02])}, cv=2, error_score="raise")
    with joblib.parallel_config("threading", n_jobs=2):  # processes would only need pickle, which is tested above
        search.fit(X, y)
    assert search.best_params_["hidden"] in (4, 16)
    assert search.best_estimator_.predict(TEST[0])
    assert storage.from_bytes(storage.to_bytes(search.best_estimator_)).predict(TEST[0])


def test_parameters_are_checked():
    with pytest.raises(ConfigurationError, match="unknown setting"):
        postil.Tagger().set_params(hiden=3)
    for wrong in ({"hiden": 3}, {"hidden": "many"}, {"window": 4}, {"preset": "slow"}, {"threads": 0}, {"seed": -1}):
        with pytest.raises(ConfigurationError):
            postil.Tagger(**wrong).fit(*TRAIN)


def test_mistakes_in_the_data_are_named():
    with pytest.raises(ConfigurationError, match="is not fitted yet"):
        postil.Tagger().predict([["a"]])
    with pytest.raises(DataError, match="sentence 1"):
        postil.Tagger().fit([["a"], ["b", "c"]], [["O"], ["O"]])
    with pytest.raises(DataError, match="nothing to learn from"):
        postil.Tagger().fit([[]], [[]])
    with pytest.raises(DataError, match="list of tokens"):
        fitted("fast").marginals("Anna left")
    with pytest.raises(DataError, match="list of tokens"):
        fitted("fast").predict(["Anna left"])


def test_lists_of_tokens_are_not_annotated():
    tagger = postil.Tagger(hidden=4, epochs=1).fit(*named_entities(10))
    with pytest.raises(DataError, match=r"a sentence to annotate: expected a postil.text.Sentence .*, got a list"):
        tagger.annotate([["Anna", "left"]])
