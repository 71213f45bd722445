"""Whole tree classifiers on made-up trees: learning, answers, estimator rules, explanations (D4)."""

import pickle
from functools import cache

import joblib
import numpy as np
import pytest

import postil
from oracles.negation import sentiment_trees
from oracles.pages import read_page
from postil.errors import ConfigurationError, DataError
from postil.html.highlight import signed
from postil.models import storage
from postil.models.explaining.tree_explanation import without_phrase
from postil.models.laboratory import examine_parts
from postil.network import COMPOSITIONS
from postil.optimisation.loop import Epoch
from postil.text.trees.tree import Tree, balanced

WITHOUT_NOISE = {"input_dropout": 0.0, "hidden_dropout": 0.0}  # a network this small has nothing to spare
SMALL = {**WITHOUT_NOISE, "hidden": 12, "word_dim": 10, "epochs": 8, "rate": 0.02, "batch_trees": 8}
TRAIN, TEST = sentiment_trees(150), sentiment_trees(60, seed=1)


@cache
def fitted(composition="concatenation", **settings):
    return postil.TreeClassifier(composition=composition, **{**SMALL, **settings}).fit(TRAIN)


def roots(trees):
    return [tree[0] for tree in trees]


@pytest.mark.slow
@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_every_composition_learns_to_negate(composition):
    classifier = fitted(composition, epochs=20)
    assert classifier.score(TRAIN) > 0.95
    assert classifier.score(TEST) > 0.9
    assert classifier.classes_ == ["0", "1"]


def values_before_and_after_a_step(**settings):
    fitting = postil.TreeClassifier(**{**SMALL, **settings}).fitting(TRAIN)
    parameters = fitting.model.network.parameters()
    before = {name: parameter.value.copy() for name, parameter in parameters.items()}
    next(fitting)
    return before, {name: parameter.value for name, parameter in parameters.items()}


def test_word_vectors_learn_at_a_rate_of_their_own():
    before, slow = values_before_and_after_a_step(word_rate=1.0)
    _, quick = values_before_and_after_a_step(word_rate=4.0)
    words = "words.table"
    moved = slow[words] - before[words]
    assert np.abs(moved).max() > 0
    np.testing.assert_allclose(quick[words] - before[words], 4 * moved, atol=1e-6)
    assert all(np.array_equal(quick[name], slow[name]) for name in slow if name != words)


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_a_batch_is_answered_like_its_trees_one_by_one(composition):
    classifier = fitted(composition)
    mixed = [*TEST[:20], ["just", "tokens"], ("1", "good"), balanced(["unheard-of"] * 9)]
    together, alone = classifier.predict_proba(mixed), [classifier.predict_proba([tree])[0] for tree in mixed]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert classifier.predict(mixed) == [classifier.classes_[i] for i in together.argmax(axis=1)]


def test_every_phrase_gets_a_label_and_probabilities():
    classifier = fitted()
    for tree, nodes in zip(TEST, classifier.predict_nodes(TEST), strict=True):
        assert len(nodes) == len(Tree.of(tree))
        for node in nodes:
            assert sum(node.probabilities.values()) == pytest.approx(1, abs=1e-5)
            assert node.probabilities[node.label] == max(node.probabilities.values())
    labels = [nodes[-1].label for nodes in classifier.predict_nodes(TEST)]
    assert labels == classifier.predict(TEST)
    assert classifier.predict_nodes([]) == [] and classifier.predict([]) == []


def test_roots_get_only_labels_that_roots_had():
    trees = [("S", ("A", "x"), ("B", "y")), ("T", ("A", "x"), ("A", "x"))] * 10
    classifier = postil.TreeClassifier(composition="sum", **SMALL).fit(trees)
    assert classifier.classes_ == ["S", "T"]
    assert set(classifier.predict([["x"], ["y"], ["y", "x"]])) <= {"S", "T"}
    probabilities = classifier.predict_nodes([["y"]])[0][-1].probabilities
    assert probabilities["A"] == probabilities["B"] == 0
    assert set(probabilities) == {"A", "B", "S", "T"}
    of_roots = postil.TreeClassifier(composition="sum", **SMALL, loss="root").fit(trees)
    assert set(of_roots.predict_nodes([["y"]])[0][-1].probabilities) == {"S", "T"}


def test_labels_beside_the_trees():
    tokens = [Tree.of(tree).tokens for tree in TRAIN]
    labels = roots(TRAIN)
    classifier = postil.TreeClassifier(composition="concatenation", **SMALL, tree="right")
    classifier.fit(tokens, labels, dev=(tokens[:30], labels[:30]))
    assert classifier.score(tokens, labels) > 0.9
    upside_down = ["10"[int(label)] for label in labels]
    assert classifier.score(TRAIN, upside_down) == pytest.approx(1 - classifier.score(TRAIN, labels))


def test_wide_trees_and_unlabelled_ones():
    trees = [("N", ("X", "a"), ("X", "b"), ("X", "c")), ("M", ("Y", "d"), ("Y", ("Z", "e")))] * 8
    for binarise in ("left", "right"):
        classifier = postil.TreeClassifier(**SMALL, binarise=binarise).fit([*trees, ["no", "label"]])
        assert classifier.score([*trees, ["no", "label"]]) == 1


def test_evaluation_at_roots_and_at_all_nodes():
    classifier = fitted()
    scores = classifier.evaluate(TEST)
    assert scores.roots.accuracy == pytest.approx(classifier.score(TEST))
    nodes = zip(classifier.predict_nodes(TEST), classifier.trees(TEST), strict=True)
    right = [
        found.label == label
        for answers, tree in nodes
        for found, label in zip(answers, tree.labels, strict=True)
        if label
    ]
    assert scores.nodes.tokens == len(right) and scores.nodes.accuracy == pytest.approx(np.mean(right))
    wrong = ["1" if label == "0" else "0" for label in roots(TEST)]
    assert classifier.evaluate(TEST, wrong).roots.accuracy == pytest.approx(1 - scores.roots.accuracy)


def test_a_classifier_of_roots_is_not_judged_by_other_labels():
    trees = [("good", ("N", "a"), ("good", "b")), ("bad", ("N", "a"), ("bad", "c"))] * 5
    classifier = postil.TreeClassifier(**{**SMALL, "loss": "root", "epochs": 1}).fit(trees)
    scores = classifier.evaluate(trees)
    assert (scores.roots.tokens, scores.nodes.tokens) == (10, 20)  # the nodes of N are left out


def test_a_classifier_fitted_again_takes_the_new_shape_of_trees():
    tokens, y = [["a", "b", "c", "d"], ["e", "f", "g", "h"]] * 4, ["0", "1"] * 4
    settings = {**SMALL, "epochs": 1, "word_dropout": 0.0}
    again = postil.TreeClassifier(tree="balanced", **settings).fit(tokens, y).set_params(tree="right").fit(tokens, y)
    fresh = postil.TreeClassifier(tree="right", **settings).fit(tokens, y)
    assert (again.predict_proba(tokens) == fresh.predict_proba(tokens)).all()


@pytest.mark.slow
def test_weights_of_classes():
    trees = [("A", "x")] * 30 + [("B", "x")] * 10
    settings = {**SMALL, "epochs": 40, "word_dropout": 0.0}
    assert _probability_of_b(trees, settings) == pytest.approx(0.25, abs=0.1)
    assert _probability_of_b(trees, {**settings, "class_weights": "balanced"}) == pytest.approx(0.5, abs=0.1)
    assert _probability_of_b(trees, {**settings, "class_weights": {"B": 9}}) == pytest.approx(0.75, abs=0.1)
    with pytest.raises(DataError, match="class_weights of an unknown label: expected one of A, B, got C"):
        _probability_of_b(trees, {**settings, "class_weights": {"C": 2}})


def _probability_of_b(trees, settings):
    return postil.TreeClassifier(composition="sum", **settings).fit(trees).predict_proba([["x"]])[0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("learn", [True, False])
def test_words_that_only_the_vectors_know(tmp_path, learn):
    vectors = tmp_path / "vectors.txt"
    likes = {"good": 1, "fine": 1, "lovely": 1, "great": 1, "bad": -1, "dull": -1, "awful": -1, "poor": -1}
    rng = np.random.default_rng(0)
    lines = [f"{word} {sign} {sign * 0.5} {rng.normal():.3f}" for word, sign in likes.items()]
    vectors.write_text("\n".join([*lines, "not 0 0 3", "very 0.1 0 -1", "is 0 0.2 0"]) + "\n", encoding="utf8")
    classifier = postil.TreeClassifier(
        composition="tree-lstm", vectors=vectors, **{**SMALL, "epochs": 15}, learn_vectors=learn, vector_scale=1.0
    ).fit(TRAIN)
    assert classifier.predict([["great"], ["poor"]]) == ["1", "0"]
    classifier.save(tmp_path / "m.postil")
    assert postil.load(tmp_path / "m.postil").predict([["great"], ["poor"]]) == ["1", "0"]
    assert ("words.table" in classifier.model.network.parameters()) == learn


# ------------------------------------------------------------------------------------------------ training


def test_the_same_bits_for_any_number_of_threads():
    first, second, other = (
        postil.TreeClassifier(**{**SMALL, "epochs": 2}, shards=3, threads=threads, seed=seed).fit(TRAIN, dev=TEST)
        for threads, seed in ((1, 0), (3, 0), (1, 1))
    )
    assert (first.predict_proba(TEST) == second.predict_proba(TEST)).all()
    assert (first.predict_proba(TEST) != other.predict_proba(TEST)).any()


def again(classifier):
    return postil.TreeClassifier(**classifier.get_params())


def test_a_training_stops_and_goes_on_with_the_same_bits(tmp_path):
    classifier = postil.TreeClassifier(**{**SMALL, "epochs": 4, "hidden_dropout": 0.2})
    whole = again(classifier).fit(TRAIN, dev=TEST)
    checkpoint = tmp_path / "checkpoint"
    for event in again(classifier).fitting(TRAIN, dev=TEST, checkpoint=checkpoint):
        if isinstance(event, Epoch) and event.epoch == 2:
            break
    resumed = again(classifier)
    events = list(resumed.fitting(TRAIN, dev=TEST, checkpoint=checkpoint, resume=True))
    assert [event.epoch for event in events if isinstance(event, Epoch)] == [3, 4]
    assert (resumed.predict_proba(TEST) == whole.predict_proba(TEST)).all()
    with pytest.raises(ConfigurationError, match="the checkpoint belongs to another training"):
        list(again(classifier).set_params(rate=0.1).fitting(TRAIN, checkpoint=checkpoint, resume=True))


def test_with_dev_the_best_epoch_is_kept():
    classifier = postil.TreeClassifier(**SMALL)
    events = list(classifier.fitting(TRAIN, dev=TEST))
    scores = [event.score for event in events if isinstance(event, Epoch)]
    assert classifier.score(TEST) == pytest.approx(max(scores))
    about = classifier.model.about
    assert about["training"]["dev_score"] == max(scores) and about["composition"] == "tree-lstm"
    assert about["data"]["sentences"] == len(TRAIN)


def test_a_time_budget_ends_the_training():
    classifier = postil.TreeClassifier(**{**SMALL, "epochs": 100_000}, minutes=0.005).fit(TRAIN)
    assert classifier.model.about["training"]["epochs"] < 1_000


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_the_gradient_check_of_a_fitted_model(composition):
    settings = {"hidden": 4, "word_dim": 3, "epochs": 1}
    report = examine_parts(fitted(composition, **settings).model, np.random.default_rng(0))
    assert report.passed, report.failures
    assert report.checked > 50


# ------------------------------------------------------------------------------------------------ estimator rules


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_saved_equals_loaded(composition, tmp_path):
    classifier = fitted(composition)
    classifier.save(tmp_path / "m.postil")
    loaded = postil.load(tmp_path / "m.postil")
    assert type(loaded) is postil.TreeClassifier
    assert loaded.get_params() == classifier.get_params() and loaded.config == classifier.config
    assert (loaded.predict_proba(TEST) == classifier.predict_proba(TEST)).all()
    loaded.save(tmp_path / "again.postil")
    assert (tmp_path / "again.postil").read_bytes() == (tmp_path / "m.postil").read_bytes()


def test_pickle_and_joblib_carry_the_model(tmp_path):
    classifier = fitted()
    again = pickle.loads(pickle.dumps(classifier))
    assert again.get_params() == classifier.get_params() and again.predict(TEST) == classifier.predict(TEST)
    joblib.dump(classifier, tmp_path / "m.joblib")
    assert joblib.load(tmp_path / "m.joblib").predict(TEST) == classifier.predict(TEST)


def test_scikit_learn_clones_searches_and_cross_validates():
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV, cross_val_score

    classifier = postil.TreeClassifier(composition="sum", **{**SMALL, "epochs": 2}, class_weights={"1": 2})
    copy = clone(classifier.fit(TRAIN))
    assert copy._model is None and copy.get_params() == classifier.get_params()
    tokens, y = [Tree.of(tree) for tree in TRAIN], roots(TRAIN)
    assert len(cross_val_score(copy, tokens, y, cv=2)) == 2
    search = GridSearchCV(copy, {"hidden": [4, 12], "composition": ["sum", "tree-lstm"]}, cv=2, error_score="raise")
    search.fit(tokens, y)
    assert search.best_params_["composition"] in ("sum", "tree-lstm")
    assert storage.from_bytes(storage.to_bytes(search.best_estimator_)).predict(TEST)


def test_parameters_are_checked():
    for wrong in (
        *({"hiden": 3}, {"hidden": 0}, {"composition": "bag"}, {"loss": "leaf"}, {"binarise": "up"}, {"tree": "oak"}),
        *({"class_weights": "heavy"}, {"class_weights": {"a": -1}}, {"input_dropout": 1.0}, {"threads": 0}),
        *({"seed": -1}, {"minutes": 0}, {"rate": 0.0}, {"activation": "cosine"}, {"optimiser": "newton"}),
    ):
        with pytest.raises(ConfigurationError):
            postil.TreeClassifier(**wrong).fit(TRAIN)
    with pytest.raises(ConfigurationError, match="unknown setting"):
        postil.TreeClassifier().set_params(hiden=3)
    with pytest.raises(ConfigurationError, match="this tree-classifier is not fitted yet"):
        postil.TreeClassifier().predict(TEST)


def test_mistakes_in_the_data_are_named():
    classifier = postil.TreeClassifier(**SMALL)
    with pytest.raises(DataError, match="nothing to learn from"):
        classifier.fit([])
    with pytest.raises(DataError, match="no labels to learn from"):
        classifier.fit([["a", "b"]])
    with pytest.raises(DataError, match="trees and labels: expected 2 labels, got 1"):
        classifier.fit([["a"], ["b"]], ["x"])
    with pytest.raises(DataError, match="tree 1: "):
        classifier.fit([["a"], []], ["x", "y"])
    with pytest.raises(DataError, match="nothing to score"):
        fitted().score([["a"]])


# ------------------------------------------------------------------------------------------------ explanations


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_leaving_a_phrase_out_is_really_computing_the_rest(composition):
    classifier = fitted(composition)
    tree = ("1", ("1", ("0", "not"), ("1", "bad")), ("1", ("0", "is"), ("1", "good")))
    found = classifier.explain(tree, label="1")
    assert found.label == "1" and len(found.phrases) == 6 and [w.word for w in found.words] == "not bad is good".split()
    for text, rest in {
        "not": ("", ("", "bad"), ("", ("", "is"), ("", "good"))),
        "not bad": ("", ("", "is"), ("", "good")),
        "good": ("", ("", ("", "not"), ("", "bad")), ("", "is")),
    }.items():
        (phrase,) = (phrase for phrase in found.phrases if phrase.text == text)
        without = classifier.predict_proba([rest])[0][1]
        assert phrase.effect == pytest.approx(found.probability - without, abs=1e-5)


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_gradient_times_input_is_the_slope_of_making_a_word_longer(composition):
    classifier = fitted(composition)
    tree = Tree.of(("1", ("1", ("0", "not"), ("1", "bad")), ("1", "film")))
    found = classifier.explain(tree, label="1")
    table = classifier.model.network.table.table
    words = classifier.model.features.words.vocabularies["word"]
    for word in found.words:
        row, own = words.id(word.word), table.value
        logs = []
        for factor in (0.99, 1.01):
            table.value = own.copy()
            table.value[row] *= factor
            logs.append(np.log(classifier.predict_proba([tree])[0][1]))
        table.value = own
        assert word.effect == pytest.approx((logs[1] - logs[0]) / 0.02, rel=0.05, abs=2e-3)


def test_an_explanation_explains_the_prediction_unless_told_otherwise():
    classifier = fitted()
    assert classifier.explain(TEST[0]).label == classifier.predict(TEST[:1])[0]
    one = classifier.explain(["good"])
    assert one.phrases == () and len(one.words) == 1
    assert set(one.to_dict()) == {"label", "probability", "words", "phrases"}
    assert isinstance(one.to_dict()["words"][0]["effect"], float)
    with pytest.raises(DataError, match="label to explain: expected one of 0, 1, got 'great'"):
        classifier.explain(["good"], label="great")


def test_a_tree_without_a_phrase_keeps_its_order():
    tree = Tree.of(("", ("", ("", "a"), ("", "b")), ("", ("", "c"), ("", ("", "d"), ("", "e")))))
    for node, span in enumerate(tree.spans[:-1]):
        rest = without_phrase(tree, node)
        tokens = tree.tokens
        assert rest.tokens == tokens[: span[0]] + tokens[span[1] :]
        assert rest.is_binary and all(child < i for i, pair in enumerate(rest.children) for child in pair)


def test_answers_and_explanations_in_a_notebook_and_printed():
    classifier = fitted()
    tree = max(TEST[:10], key=lambda tree: len(Tree.of(tree)))
    (binary,) = classifier.trees([tree])
    answers = classifier.predict_nodes([tree])
    assert answers[0].tree == binary
    assert len(list(read_page(answers._repr_html_()).all("rect"))) == len(binary)
    assert len(str(answers).splitlines()) == len(binary)
    why = classifier.explain(tree)
    page = read_page(why._repr_html_())
    nodes = [rect.one("title").text for rect in page.all("rect")]
    effects = [f"{signed(phrase.effect, 4)}: {phrase.text}" for phrase in why.phrases]
    assert [node.split(" ", 1)[1] for node in nodes] == [*effects, f"{why.probability:.4f}: {' '.join(binary.tokens)}"]
    assert str(why).splitlines()[0] == f"{why.label}: probability {why.probability:.4f}"
    alone = classifier.explain(["word"])
    assert "probability" in str(alone) and not list(read_page(alone._repr_html_()).all("svg"))
