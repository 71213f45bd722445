"""Whatever has an order is read by it; a mistake gets one line that says what was passed and what to pass instead."""

import pickle
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, train_test_split

from postil import Detector, Tagger, TreeClassifier, errors
from postil.errors import ConfigurationError, DataError, NotFittedError, PostilError
from postil.models.decoding.codec import Predictions
from postil.models.decoding.constraints import Constraints
from postil.models.inputs import (
    checked_dev,
    checked_for_scores,
    checked_label_sequence,
    checked_labelled,
    checked_root_labels,
    checked_sentence,
    checked_sentences,
    checked_trees,
    described,
    in_order,
)
from postil.text import Sentence, Tree
from postil.text.labels.schemes import PartialLabel

X = [["Anna", "met", "Bob"], ["in", "Rome"], ["Paris", "is", "big", "."], ["a", "b"], ["Bob", "ran"]] * 4
Y = [["B-PER", "O", "B-PER"], ["O", "B-LOC"], ["B-LOC", "O", "O", "O"], ["O", "O"], ["B-PER", "O"]] * 4
TREES = [("1", ("2", "good"), ("2", "film")), ("0", ("2", "bad"), ("2", "film"))] * 6
ROOTS = ["1", "0"] * 6


class Series:
    """As much of a pandas Series as matters here: items are found by label, iteration goes by position."""

    def __init__(self, values, labels):
        self._values, self._labels, self.iloc = list(values), list(labels), None

    def __len__(self):
        return len(self._values)

    def __iter__(self):
        return iter(self._values)

    def __getitem__(self, label):
        return self._values[self._labels.index(label)]

    def tolist(self):
        return list(self._values)


def shuffled(values, seed=0):
    """A series whose labels are in another order than its positions, and its values by position."""
    order = np.random.default_rng(seed).permutation(len(values)).tolist()
    return Series([values[i] for i in order], order), [values[i] for i in order]


def column(values):
    array = np.empty(len(values), object)
    array[:] = values
    return array


FORMS = {
    "series": lambda values: Series(values, reversed(range(len(values)))),
    "array": column,
    "tuple": tuple,
    "iterator": iter,
    "generator": lambda values: (value for value in values),
    "nested tuples": lambda values: tuple(map(tuple, values)),
    "nested arrays": lambda values: [np.array(value) for value in values],
    "nested generators": lambda values: ((item for item in value) for value in values),
}


@pytest.fixture(scope="module")
def tagger():
    return Tagger(epochs=3).fit(X, Y, dev=(X[:5], Y[:5]))


@pytest.fixture(scope="module")
def detector():
    return Detector(label="PER", epochs=2).fit(X, Y)


@pytest.fixture(scope="module")
def classifier():
    return TreeClassifier(epochs=2).fit(TREES, ROOTS)


# ------------------------------------------------------------------------------------------------ order


def test_a_plain_list_is_not_copied():
    assert checked_sentences(X) is X
    assert checked_labelled(X, Y)[1] is Y


@pytest.mark.parametrize("form", FORMS)
def test_every_form_means_its_order(form, tagger, detector):
    make = FORMS[form]
    assert checked_labelled(make(X), make(Y)) == (X, Y)
    assert tagger.predict(make(X)) == tagger.predict(X)
    labels, probabilities = tagger.predict_with_probabilities(make(X))
    assert labels == tagger.predict(X)
    assert [len(values) for values in probabilities] == [len(tokens) for tokens in X]
    assert tagger.evaluate(make(X), make(Y)).main_score == tagger.score(X, Y) == tagger.score(make(X), make(Y))
    assert detector.predict(make(X)) == detector.predict(X)
    assert detector.score(make(X), make(Y)) == detector.score(X, Y)
    assert detector.evaluate(make(X), make(Y)) == detector.evaluate(X, Y)


@pytest.mark.parametrize("form", FORMS)
def test_training_on_every_form_is_the_same_training(form, tagger):
    make = FORMS[form]
    fitted = Tagger(epochs=3).fit(make(X), make(Y), dev=(make(X[:5]), make(Y[:5])))
    assert fitted.model.about == tagger.model.about
    for name, parameter in fitted.model.network.parameters().items():
        assert np.array_equal(parameter.value, tagger.model.network.parameters()[name].value)


@pytest.mark.parametrize("form", [name for name in FORMS if not name.startswith("nested")])
def test_trees_in_every_form(form, classifier):
    make = FORMS[form]
    assert classifier.predict(make(TREES)) == classifier.predict(TREES)
    assert np.array_equal(classifier.predict_proba(make(TREES)), classifier.predict_proba(TREES))
    assert classifier.score(make(TREES), make(ROOTS)) == classifier.score(TREES, ROOTS)
    TreeClassifier(epochs=1).fit(make(TREES), make(ROOTS), dev=(make(TREES), make(ROOTS)))


def test_positions_of_a_series_count_and_not_its_labels(tagger, classifier):
    series, values = shuffled(X)
    assert series[0] != values[0]
    assert tagger.predict(series) == tagger.predict(values)
    series, values = shuffled(TREES)
    assert classifier.predict(series) == classifier.predict(values)
    constraints, wanted = shuffled([Constraints(require=[(0, 1, "LOC")]), *[None] * (len(X) - 1)])
    assert tagger.predict(X, constraints=constraints) == tagger.predict(X, constraints=wanted)


def test_pandas(tagger):
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(X).sample(frac=1, random_state=0)
    assert tagger.predict(series) == [tagger.predict(X)[i] for i in series.index]
    with pytest.raises(DataError, match=r"select one column, table\[name\]"):
        tagger.predict(pandas.DataFrame({"tokens": X}))
    with pytest.raises(DataError, match=r"sentence 1: .*NaN, a missing value"):
        tagger.predict(pandas.Series([["a"], np.nan]))


def test_calibrate_tune_and_annotate_take_iterators(tagger, detector):
    decoding = tagger.decoding
    try:
        assert tagger.calibrate(iter(X), iter(Y)) == tagger.calibrate(X, Y)
        assert tagger.tune(iter(X), iter(Y), recall=0.1).chosen == tagger.tune(X, Y, recall=0.1).chosen
    finally:
        tagger.decoding = decoding
    for model in (tagger, detector):
        sentences = [Sentence(["Anna", "met"]), Sentence(["b"])]
        assert model.annotate(iter(sentences)) == model.annotate(sentences)
        assert [len(sentence.labels) for sentence in sentences] == [2, 1]


def test_one_sentence_may_be_an_iterator(tagger):
    assert tagger.marginals(iter(X[0])) == tagger.marginals(X[0])
    assert tagger.nbest(np.array(X[0])) == tagger.nbest(X[0])
    assert tagger.probability(iter(X[0]), iter(Y[0])) == tagger.probability(X[0], Y[0])
    assert repr(tagger.explain(iter(X[0]), 0, 1)) == repr(tagger.explain(X[0], 0, 1))


# ------------------------------------------------------------------------------------------------ scikit-learn


@pytest.mark.parametrize("make", [list, column])
def test_model_selection(make):
    model = Tagger(epochs=2)
    X_train, X_test, y_train, y_test = train_test_split(make(X), make(Y), random_state=0)
    model.fit(X_train, y_train, dev=(X_test, y_test))
    assert 0 <= model.score(X_test, y_test) <= 1
    assert len(cross_val_score(model, make(X), make(Y), cv=2)) == 2
    answers = cross_val_predict(model, make(X), make(Y), cv=2)
    assert [len(labels) for labels in answers] == [len(tokens) for tokens in X]
    assert GridSearchCV(model, {"epochs": [1, 2]}, cv=2).fit(make(X), make(Y)).best_params_["epochs"] in (1, 2)


def test_model_selection_with_detectors_and_trees():
    assert len(cross_val_predict(Detector(label="PER", epochs=1), X, Y, cv=2)) == len(X)
    assert len(cross_val_predict(TreeClassifier(epochs=1), TREES, ROOTS, cv=2)) == len(TREES)


def test_predictions_are_a_column_of_lists():
    answers = Predictions([["O", "B"], ["O", "O"]])
    assert answers == [["O", "B"], ["O", "O"]]
    assert np.asarray(answers).shape == (2,)
    assert np.concatenate([answers, Predictions([["O"]])]).tolist() == [["O", "B"], ["O", "O"], ["O"]]


@pytest.mark.parametrize("model", [Tagger(), Detector(label="PER"), TreeClassifier()], ids=lambda m: m.KIND)
def test_unfitted_use_is_an_error_of_both_libraries(model):
    with pytest.raises(SklearnNotFittedError, match="is not fitted yet") as caught:
        model.predict(None)
    assert isinstance(caught.value, PostilError | ConfigurationError) and isinstance(caught.value, NotFittedError)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is type(caught.value) and str(copy) == str(caught.value)
    assert not hasattr(model, "classes_")


def test_unfitted_use_without_scikit_learn(monkeypatch):
    errors._not_fitted_error.cache_clear()
    monkeypatch.setitem(sys.modules, "sklearn.exceptions", None)
    try:
        with pytest.raises(NotFittedError, match="is not fitted yet") as caught:
            Tagger().predict([["a"]])
        assert type(caught.value) is NotFittedError
    finally:
        errors._not_fitted_error.cache_clear()


# ------------------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (X[0], r"X must be a list of sentences, each a list of tokens \(got a list of strings: for one sentence give"),
        ("Anna met", r"X must be a list of sentences.*got the string 'Anna met'"),
        ([["a"], "Anna met"], "sentence 1: a sentence: expected a list of tokens, got the string 'Anna met'"),
        (None, r"X must be .* \(got None\)"),
        (3, r"X must be .* \(got the number 3\)"),
        ({"a": 1}, r"X must be .* \(got a dict: a MultiTaskTagger .*\)"),
        ({"a"}, r"X must be .* \(got a set\)"),
        (np.array("a"), "got an array without dimensions"),
        ([1, 2], "sentence 0: .*got the number 1"),
        ([b"ab"], "sentence 0: .*got bytes"),
        ([["a"], None], "sentence 1: .*got None"),
        ([{"word": "a"}], "feature dicts need word_key"),
        ([[{"word": "a"}]], "sentence 0, token 0: .*feature dicts need word_key"),
        ([["a"], ["b", None]], r"sentence 1, token 1: a token must be a string, or a tuple of strings.*got None"),
        ([["a", 1]], r"sentence 0, token 1: .*got the number 1"),
        ([["a", float("nan")]], r"sentence 0, token 1: .*got NaN, a missing value"),
        ([X], "sentence 0, token 0: a token must be .*got a list"),
        ([[()]], "sentence 0, token 0: a token must be .*got a tuple"),
        ([[(None, "x")]], "sentence 0, token 0: a value of a token must be a string .got None"),
        ([Sentence(["a"])], r"got a Sentence: give its tokens, or call annotate\(\[sentence\]\)"),
    ],
)
def test_mistakes_in_sentences(given, message, tagger, detector):
    labels = [["O"]] * (len(given) if isinstance(given, list) else 1)
    for use in (
        checked_sentences,
        tagger.predict,
        tagger.predict_with_probabilities,
        detector.predict,
        lambda given: tagger.score(given, labels),
        lambda given: tagger.fit(given, labels),
        lambda given: detector.fit(given, labels),
    ):
        with pytest.raises(DataError, match=message):
            use(given)


def test_a_model_that_is_not_scored_the_fast_way_finds_the_same_mistakes():
    slow = Tagger(preset="sentence-sll", epochs=1).fit(X, Y)
    for wrong in (None, 1, float("nan"), {}, ["a"]):
        with pytest.raises(DataError, match="sentence 0, token 1: a token must be"):
            slow.predict([["a", wrong]])


@pytest.mark.parametrize("name", ["marginals", "nbest"])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (X, "got a list of lists: give one sentence at a time"),
        ("Anna met", "a sentence: expected a list of tokens, got the string 'Anna met'"),
        (None, "got None"),
        (["a", None], "token 1: a token must be"),
    ],
)
def test_mistakes_in_one_sentence(name, given, message, tagger, detector):
    for use in (
        getattr(tagger, name),
        lambda tokens: tagger.explain(tokens, 0, 1),
        lambda tokens: detector.explain(tokens, 0, 1),
        lambda tokens: tagger.probability(tokens, ["O"]),
        lambda tokens: tagger.spans_above(tokens, 0.1),
    ):
        with pytest.raises(DataError, match=message):
            use(given)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["OO", "O"], "got a list of strings such as 'OO': a tagger needs a label for each token"),
        ([["O", "O"], "O"], "sentence 1: labels must be a list of labels .got the string 'O'"),
        (None, r"y must be a list with one list of labels for each sentence \(got None\)"),
        ("OOO", "got the string 'OOO'"),
        ([["O", None], ["O"]], r"sentence 0, token 1: a label must be a string \(got None\)"),
        ([["O", "O"], [1]], r"sentence 1, token 0: a label must be a string \(got the number 1\)"),
        ([["O", "O"], [{}]], r"a label must be a string \(got a dict\)"),
        ([["O", "O"], float("nan")], "sentence 1: labels must be .*NaN"),
        ([["O", "O"]], "expected 2 of each, got 1 label sequences"),
        ([["O", "O"], ["O", "O"]], "sentence 1: tokens and labels: expected 1 labels, got 2"),
    ],
)
def test_mistakes_in_labels(y, message, tagger, detector):
    sentences = [["a", "b"], ["c"]]
    for use in (tagger.fit, tagger.score, tagger.evaluate, tagger.calibrate, detector.fit, detector.score):
        with pytest.raises(DataError, match=message):
            use(sentences, y)
    with pytest.raises(DataError, match=message):
        tagger.tune(sentences, y, recall=0.5)


@pytest.mark.parametrize(
    ("dev", "message"),
    [
        (X, r"dev must be a pair \(X_dev, y_dev\) \(got 20 items\)"),
        (X[:2], r"dev must be a pair \(X_dev, y_dev\) \(got sentences without labels\)"),
        (3, "dev must be a pair .*the number 3"),
        ((X, None), r"y_dev must be a list .*\(got None\)"),
        ((X, Y[:3]), "expected 20 of each, got 3"),
    ],
)
def test_mistakes_in_dev(dev, message):
    for model in (Tagger(), Detector(label="PER")):
        with pytest.raises(DataError, match=message):
            model.fit(X, Y, dev=dev)


def test_dev_without_sentences_is_no_dev():
    assert checked_dev(None) is checked_dev(([], [])) is None


def test_nothing_to_score(tagger, detector):
    for use in (tagger.score, tagger.evaluate, tagger.calibrate, detector.score, checked_for_scores):
        with pytest.raises(DataError, match="nothing to score: expected at least one sentence, got none"):
            use([], [])
    assert tagger.predict([]) == detector.predict(iter([])) == []


def test_labels_of_one_sentence():
    assert checked_label_sequence(iter("AB"), ["a", "b"]) == ["A", "B"]
    with pytest.raises(DataError, match=r"labels must be a list of labels \(got the string 'OO'"):
        checked_label_sequence("OO", ["a", "b"])


def test_strings_become_pythons_own_and_marks_stay():
    (tokens,) = checked_sentences([[np.str_("a"), ("b", np.str_("N"))]])
    assert tokens == ["a", ("b", "N")]
    assert {type(tokens[0]), type(tokens[1][1])} == {str}
    _, (labels,) = checked_labelled([["a", "b"]], [[np.str_("O"), PartialLabel("?")]])
    assert [type(label) for label in labels] == [str, PartialLabel]
    assert checked_sentence([("a", "N")]) == [("a", "N")]


@pytest.mark.parametrize("given", [None, "text", Sentence(["a"]), 3])
def test_mistakes_in_what_is_annotated(given, tagger, detector):
    for model in (tagger, detector):
        with pytest.raises(DataError, match=r"expected a list of postil\.text\.Sentence objects"):
            model.annotate(given)


@pytest.mark.parametrize("given", [None, ["a"], b"a"])
def test_mistakes_in_texts(given, tagger):
    with pytest.raises(DataError, match="a text to tag must be a string; predict takes lists of tokens"):
        tagger.tag(given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, r"trees must be a list of trees \(got None\)"),
        ("good", "got the string 'good'"),
        (Tree.of(TREES[0]), r"got one tree: give \[tree\]"),
        (TREES[0], "tree 0: not a tree"),
        ([TREES[0], float("nan")], "tree 1: a tree: .*NaN"),
        ([{}], "tree 0: a tree: .*got a dict"),
        ([None], "tree 0: a tree: .*got None"),
    ],
)
def test_mistakes_in_trees(given, message, classifier):
    for use in (classifier.predict, classifier.predict_proba, classifier.predict_nodes, classifier.score):
        with pytest.raises(DataError, match=message):
            use(given)
    with pytest.raises(DataError, match=message):
        TreeClassifier().fit(given)


def test_labels_of_roots():
    assert checked_root_labels(np.array([0, 1]), 2) == ["0", "1"]
    mistakes = (("01", "the string"), ([None, "1"], "tree 0: a label.*None"), ([0, float("nan")], "NaN"))
    for wrong, message in mistakes:
        with pytest.raises(DataError, match=message):
            TreeClassifier().fit(TREES[:2], wrong)
    assert checked_trees([np.array(["good", "film"])]) == [["good", "film"]]


def test_a_value_in_words():
    assert described("x" * 100).endswith("…'")
    assert in_order(range(2), "numbers", "numbers") == [0, 1]
