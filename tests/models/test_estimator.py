"""Estimator rules: scikit-learn's own checks (which are run, and why the others are not, in one table), signatures."""

import copy
import functools
import inspect
import pickle
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import postil
from postil.errors import ConfigurationError, NotFittedError
from postil.models import UNSET
from postil.models.settings import rules

SMALL = {"hidden": 4, "word_dim": 4, "epochs": 1}


def words(X):
    """Rows of numbers as sentences of words; what is no table stays as it is, to be refused by the estimator."""
    table = np.asarray(X)
    return [[f"{number:.1f}" for number in row] for row in table] if table.ndim == 2 else X


def same_class(X, y):
    """Every word has the class of its row."""
    return [[str(label)] * np.size(row) for row, label in zip(X, y, strict=True)]


def every_other_word(X, y):
    return [["O" if (i + j) % 2 else "1" for j in range(np.size(row))] for i, row in enumerate(X)]


def adapters():
    """Estimator -> methods that take tables of numbers and return numbers, as the checks of scikit-learn want it."""
    fit, predict, decision = postil.Tagger.fit, postil.Tagger.predict, postil.Detector.decision
    fit_trees, predict_trees, predict_proba = (
        getattr(postil.TreeClassifier, name) for name in ("fit", "predict", "predict_proba")
    )

    return {
        postil.Tagger(**SMALL): {
            "fit": lambda self, X, y: fit(self, words(X), same_class(words(X), y)),
            "predict": lambda self, X: np.array([float(labels[0]) for labels in predict(self, words(X))]),
            "score": lambda self, X, y: float(np.mean(self.predict(X) == y)),
        },
        postil.Detector(label="1", **SMALL): {
            "fit": lambda self, X, y: fit(self, words(X), every_other_word(words(X), y)),
            "predict": lambda self, X: np.array([scores[0] for scores in decision(self, words(X))]),
            "score": lambda self, X, y: float(np.mean(self.predict(X) == y)),
        },
        postil.TreeClassifier(**SMALL, loss="root"): {
            "fit": lambda self, X, y: fit_trees(self, words(X), [str(label) for label in y]),
            "predict": lambda self, X: np.array(list(map(float, predict_trees(self, words(X))))),
            "predict_proba": lambda self, X: predict_proba(self, words(X)),
            "score": lambda self, X, y: float(np.mean(self.predict(X) == y)),
        },
    }


def tags_of_tables(self):
    """The adapted estimators take tables of numbers."""
    from sklearn.utils import Tags, TargetTags

    return Tags(estimator_type=None, target_tags=TargetTags(required=True))


ADAPTERS = {estimator: {**methods, "__sklearn_tags__": tags_of_tables} for estimator, methods in adapters().items()}
NUMBERS = "rules about numbers in X: words are strings, and NaN or 1j are words like others"
FEATURES = "X has no columns to count"
RUN = """
    check_estimator_cloneable check_estimator_tags_renamed check_valid_tag_types check_estimator_repr
    check_no_attributes_set_in_init check_fit_score_takes_y check_estimators_overwrite_params
    check_dont_overwrite_parameters check_estimators_fit_returns_self check_readonly_memmap_input
    check_estimators_unfitted check_do_not_raise_errors_in_init_or_set_params check_mixin_order
    check_positive_only_tag_during_fit check_estimators_dtypes check_pipeline_consistency check_estimators_pickle
    check_f_contiguous_array_estimator check_methods_sample_order_invariance check_methods_subset_invariance
    check_fit2d_1sample check_fit2d_1feature check_get_params_invariance check_set_params check_dict_unchanged
    check_fit_idempotent check_fit_check_is_fitted check_fit1d
""".split()
NOT_RUN = {
    "check_parameters_default_constructible": "UNSET is not in its list; see test_arguments_are_kept_unchanged",
    "check_n_features_in_after_fitting": FEATURES,
    "check_n_features_in": FEATURES,
    "check_complex_data": NUMBERS,
    "check_dtype_object": NUMBERS,
    "check_estimators_nan_inf": NUMBERS,
    "check_estimators_empty_data_messages": "wants a message about features; ours is about sentences",
    "check_estimator_sparse_tag": "sentences are never sparse matrices",
    "check_estimator_sparse_array": "sentences are never sparse matrices",
    "check_estimator_sparse_matrix": "sentences are never sparse matrices",
    "check_array_api_input": "sentences are never arrays of an array library",
    "check_fit2d_predict1d": "wants its own words; ours are in tests/models/test_inputs.py",
    "check_requires_y_none": "wants its own words; ours are in tests/models/test_inputs.py",
}


def name_of(check):
    return (check.func if isinstance(check, functools.partial) else check).__name__


def checks_of(estimator):
    from sklearn.utils.estimator_checks import estimator_checks_generator

    with warnings.catch_warnings():  # that the class does not inherit from BaseEstimator: scikit-learn is optional
        warnings.simplefilter("ignore", UserWarning)
        return [check for _, check in estimator_checks_generator(estimator, legacy=True)]


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ADAPTERS, ids=lambda estimator: type(estimator).__name__)
def test_scikit_learn_checks(estimator, monkeypatch):
    for name, method in ADAPTERS[estimator].items():
        monkeypatch.setattr(type(estimator), name, method)
    checks = checks_of(estimator)
    assert {"check_dict_unchanged", "check_fit_idempotent"} <= set(map(name_of, checks))
    for check in checks:
        assert (name_of(check) in RUN) != (name_of(check) in NOT_RUN), f"a new check of scikit-learn: {name_of(check)}"
        if name_of(check) in RUN:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                check(estimator)


def test_what_breaks_a_rule_is_noticed(monkeypatch):
    estimator, methods = next(iter(ADAPTERS.items()))
    predict = methods["predict"]
    methods = {**methods, "predict": lambda self, X: (setattr(self, "surprise", 1), predict(self, X))[1]}
    for name, method in methods.items():
        monkeypatch.setattr(postil.Tagger, name, method)
    (check,) = [check for check in checks_of(estimator) if name_of(check) == "check_dict_unchanged"]
    with pytest.raises(AssertionError, match="changes __dict__"):
        check(estimator)


# ------------------------------------------------------------------------------------------------ signatures

KINDS = [postil.Tagger, postil.Detector, postil.TreeClassifier]


@pytest.mark.parametrize("kind", KINDS)
def test_the_signature_has_every_setting_and_keywords_only(kind):
    parameters = inspect.signature(kind).parameters
    settings = [name for name, parameter in parameters.items() if parameter.default is UNSET]
    assert settings == [name for name in rules(kind._CONFIG) if name != "composition"]
    assert {"vectors", "seed", "threads", "minutes"} <= parameters.keys() - set(settings)
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters.values())


@pytest.mark.parametrize("kind", KINDS)
def test_arguments_are_kept_unchanged(kind):
    """Also what is wrong: only fit refuses it, so that parameters can be set in any order."""
    label = {"label": "LOC"} if kind is postil.Detector else {}
    defaults = {name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()} | label
    assert kind(**label).get_params() == defaults and set(vars(kind(**label))) == set(defaults)
    assert kind(**label).settings == {}
    given = {name: object() for name in defaults}
    assert all(value is given[name] for name, value in kind(**given).get_params().items())
    assert kind(**label).set_params(hidden=None).settings == {"hidden": None}
    with pytest.raises(ConfigurationError, match="hidden"):
        kind(**label, hidden=0).check()


def test_unset_means_the_preset_and_none_the_data():
    assert postil.Tagger().config.hidden == 128
    assert postil.Tagger(hidden=7).config.hidden == 7
    assert postil.Tagger(hidden=7).set_params(hidden=UNSET).config.hidden == 128
    assert postil.Tagger(preset="window-wll", hidden_dropout=0.1).config.hidden_dropout == 0.1
    assert postil.Tagger(preset="window-wll", hidden_dropout=None).config.hidden_dropout is None
    assert postil.Detector(label="LOC").config.epochs == 20
    assert postil.Detector(label="LOC", epochs=None).config.epochs is None  # set, though to None


def test_unset_stays_itself():
    assert repr(UNSET) == "UNSET"
    assert copy.deepcopy(UNSET) is UNSET and pickle.loads(pickle.dumps(UNSET)) is UNSET


@pytest.mark.parametrize("kind", KINDS)
def test_a_misspelt_name_gets_a_suggestion(kind):
    label = {"label": "LOC"} if kind is postil.Detector else {}
    with pytest.raises(ConfigurationError, match=r"unknown setting 'hiden'; did you mean hidden\?"):
        kind(**label, hiden=3)
    estimator = kind(**label)
    with pytest.raises(ConfigurationError, match=r"unknown setting 'sed'; did you mean seed\?"):
        estimator.set_params(hidden=3, sed=3)
    assert estimator.settings == {}
    with pytest.raises(TypeError, match="positional"):
        kind("fast")


def test_repr_has_what_differs_from_the_defaults():
    assert repr(postil.Tagger()) == "Tagger()"
    assert repr(postil.Tagger(seed=0, hidden=20, epochs=None)) == "Tagger(hidden=20, epochs=None)"
    assert repr(postil.TreeClassifier(composition="sum")) == "TreeClassifier(composition='sum')"


def test_history_is_that_of_the_training():
    data = [["Anna", "left"], ["Oslo"]] * 4, [["B-PER", "O"], ["B-LOC"]] * 4
    tagger = postil.Tagger(**{**SMALL, "epochs": 3})
    with pytest.raises(NotFittedError):
        _ = tagger.history_
    assert [epoch["epoch"] for epoch in tagger.fit(*data, dev=data).history_] == [1, 2, 3]
    assert all(epoch["score"] is not None for epoch in tagger.history_)
    assert pickle.loads(pickle.dumps(tagger)).history_ == tagger.history_


def test_a_model_file_holds_what_was_set(tmp_path):
    data = [["Anna", "left"], ["Oslo"]] * 4, [["B-PER", "O"], ["B-LOC"]] * 4
    tagger = postil.Tagger(**SMALL, min_count=None).fit(*data)
    tagger.save(tmp_path / "a.postil")
    assert postil.load(tmp_path / "a.postil").settings == {**SMALL, "min_count": None}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("random_state", "unknown setting 'random_state', it is called 'seed' here"),
        ("n_jobs", "unknown setting 'n_jobs', it is called 'threads' here"),
        ("learning_rate", "unknown setting 'learning_rate', it is called 'rate' here"),
        ("verbose", "unknown setting 'verbose': expected verbose=True as an argument of fit"),
    ],
)
def test_names_of_other_libraries_lead_to_ours(name, hint):
    with pytest.raises(ConfigurationError) as caught:
        postil.Tagger(**{name: 1})
    assert str(caught.value) == hint
    with pytest.raises(ConfigurationError):
        postil.Tagger().set_params(**{name: 1})


def test_scikit_learn_does_not_expect_a_table_of_numbers():
    pytest.importorskip("sklearn")
    from sklearn.utils import get_tags

    assert not get_tags(postil.Tagger()).input_tags.two_d_array


@pytest.mark.slow
def test_a_tagger_may_be_used_by_many_threads_at_once(names_model):
    """All answers are those of one thread, although every text has other words."""
    rng = np.random.default_rng(0)
    texts = [f"Anna Berg met {'x' * int(n)} Oslo in Lima {n} times." for n in rng.integers(1, 60, 48)]
    tokens = [text.split() for text in texts]
    alone = [_answers(postil.load(names_model), text, words) for text, words in zip(texts, tokens, strict=True)]
    model = postil.load(names_model)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            for _ in range(3):
                together = list(pool.map(lambda i: _answers(model, texts[i], tokens[i]), range(len(texts))))
                assert together == alone
    finally:
        sys.setswitchinterval(interval)


def _answers(model, text, words):
    document = model.tag(text)
    entities = [(entity.text, entity.label, entity.probability) for entity in document.entities]
    return entities, model.predict([words]), model.marginals(words), model.nbest(words, 2)


@pytest.mark.parametrize("kind", [postil.Tagger, postil.Detector, postil.MultiTaskTagger])
def test_fit_and_fitting_take_the_same_arguments(kind):
    """They are declared once, and shown by help."""
    parameters = inspect.signature(kind.fit).parameters
    assert (
        list(parameters)[:4] == ["self", "X", "y", "dev"] and "warm_start" in parameters and "options" not in parameters
    )
    assert parameters == inspect.signature(kind.fitting).parameters


def test_an_unknown_argument_of_fit_is_refused():
    with pytest.raises(TypeError, match="epoch"):
        postil.Tagger().fit([["a", "b"]], [["O", "X"]], epoch=3)


def test_the_encoder_of_one_task_cannot_be_frozen():
    with pytest.raises(ConfigurationError, match=r"freeze_encoder needs a MultiTaskTagger.*a tagger"):
        postil.Tagger(**SMALL).fit([["a", "b"]], [["O", "X"]], freeze_encoder=True)


def test_fit_goes_on_from_a_checkpoint(tmp_path):
    data = [["Anna", "left"], ["Oslo"]] * 4, [["B-PER", "O"], ["B-LOC"]] * 4
    whole = postil.Tagger(**{**SMALL, "epochs": 3}).fit(*data, checkpoint=tmp_path / "state")
    again = postil.Tagger(**{**SMALL, "epochs": 3}).fit(*data, checkpoint=tmp_path / "state", resume=True)
    assert again.history_ == whole.history_ and again.predict(data[0]) == whole.predict(data[0])


def test_a_notebook_shows_data_labels_and_the_score_on_dev():
    X, y = [["Anna", "in", "Oslo"], ["Bo", "sleeps"]] * 5, [["B-PER", "O", "B-LOC"], ["B-PER", "O"]] * 5
    tagger = postil.Tagger(seed=0, **SMALL)
    assert "not fitted yet" in tagger._repr_html_()
    shown = tagger.fit(X, y, dev=(X, y))._repr_html_()
    score = max(epoch["score"] for epoch in tagger.history_)
    assert "10 sentences, 25 tokens" in shown and f"{100 * score:.2f} on dev" in shown and "B-PER" in shown


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seed": -1}, "seed must be at least 0 .got -1"),
        ({"seed": "x"}, "setting seed: expected a whole number, got 'x'"),
        ({"threads": 0}, "threads must be at least 1 .got 0"),
        ({"minutes": 0}, "minutes must be a positive number"),
        ({"minutes": "3"}, "setting minutes: expected a number, got '3'"),
    ],
)
def test_parameters_of_every_estimator_are_checked_by_their_rules(wrong, message):
    for kind in (postil.Tagger, postil.TreeClassifier):
        with pytest.raises(ConfigurationError, match=message):
            kind(**wrong).check()
