import pickle
from dataclasses import replace

import numpy as np
import pytest

import postil
from oracles.corpora import made_up_sentences
from postil import archive
from postil.errors import ConfigurationError, DataError, ModelFileError
from postil.models.fitting.sentences import batches_with_label
from postil.models.laboratory import examine_parts

SMALL = {"hidden": 20, "epochs": 6, "word_dim": 16, "batch_sentences": 10}


def data(count, seed, scheme="none"):
    sentences = made_up_sentences(count, np.random.default_rng(seed))
    X = [list(s.tokens) for s in sentences]
    if scheme == "none":
        return X, [list(s.labels) for s in sentences]
    return X, [["O" if label == "O" else f"B-{label}" for label in s.labels] for s in sentences]


TRAIN, DEV, TEST = data(150, 0), data(60, 1), data(60, 2)


@pytest.fixture(scope="module")
def fitted():
    return postil.Detector(label="LOC", seed=3, **SMALL).fit(*TRAIN, dev=DEV)


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one.decision(TEST[0]), other.decision(TEST[0]), strict=True))


# ------------------------------------------------------------------------------------------------ learning


def test_it_learns_to_detect_places_by_their_context(fitted):
    assert fitted.score(*TEST) > 0.95
    scores = fitted.evaluate(*TEST)
    assert scores.counts.f1 > 0.9 and scores.average_precision == fitted.score(*TEST)
    place, person = fitted.decision(["the museums of Paris are quiet".split(), "Paris Moss drove to Lima".split()])
    assert place[3] > fitted.threshold > person[0]


def test_answers_are_the_label_where_the_score_is_above_the_threshold(fitted):
    for scores, labels in zip(fitted.decision(TEST[0]), fitted.predict(TEST[0]), strict=True):
        assert labels == ["LOC" if score > fitted.threshold else "O" for score in scores]
    assert fitted.predict([]) == fitted.decision([]) == []
    assert fitted.predict([[], ["Oslo"]])[0] == []
    assert fitted.classes_ == ["LOC", "O"]


def test_one_sentence_at_a_time_scores_as_many_do(fitted):
    together = fitted.decision(TEST[0])
    for tokens, scores in zip(TEST[0][:10], together, strict=False):
        np.testing.assert_allclose(fitted.decision([tokens])[0], scores, rtol=1e-4, atol=1e-5)


def with_threshold(detector, threshold):
    """The detector with another threshold."""
    model, head = detector.model, detector.model.heads["main"]
    head = replace(head, codec=replace(head.codec, threshold=threshold))
    return detector._with_model(replace(model, heads={"main": head}))


@pytest.mark.slow
def test_the_threshold_has_the_best_f1_on_dev(fitted):
    def f1(threshold):
        return with_threshold(fitted, threshold).evaluate(*DEV).counts.f1

    best = f1(fitted.threshold)
    assert all(f1(score - 1e-6) <= best for score in np.concatenate(fitted.decision(DEV[0])))


def test_without_dev_the_threshold_comes_from_the_training_data():
    detector = postil.Detector(label="PER", **SMALL).fit(*TRAIN)
    assert detector.evaluate(*TRAIN).counts.f1 > 0.9
    assert detector.model.about["training"]["best_epoch"] == SMALL["epochs"]


@pytest.mark.parametrize("preset", ["average-softmax", "linear-crf", "sentence-wll", "accurate"])
def test_any_preset_gives_features_and_encoder(preset):
    settings = {
        "hidden": 16,
        "epochs": 5,
        "word_dim": 8,
        "rate": 0.01,
        "word_dropout": 0.0,
        "input_dropout": 0.0,
        "hidden_dropout": 0.0,
    }
    detector = postil.Detector(label="LOC", preset=preset, **settings).fit(*TRAIN)
    assert detector.config.objective == "margin"
    assert detector.score(*TEST) > 2 * np.mean([label == "LOC" for labels in TEST[1] for label in labels])


def test_the_scheme_of_the_labels_does_not_matter(fitted):
    bio = postil.Detector(label="LOC", seed=3, **SMALL).fit(*data(150, 0, "bio"), dev=data(60, 1, "bio"))
    assert same(fitted, bio) and bio.threshold == fitted.threshold
    assert fitted.model.codec.scheme == "none" and bio.model.codec.scheme == "bio"


def test_a_sum_over_pairs_learns_too():
    detector = postil.Detector(label="LOC", pairs="sum", shards=2, **SMALL).fit(*TRAIN)
    assert detector.score(*TEST) > 0.95


@pytest.mark.slow
def test_same_seed_same_bits_for_any_number_of_threads(fitted):
    one, two = (postil.Detector(label="LOC", seed=3, shards=3, threads=n, **SMALL).fit(*TRAIN) for n in (1, 2))
    assert same(one, two)
    assert not same(one, fitted)


@pytest.mark.slow
def test_an_interrupted_training_goes_on_with_the_same_bits(fitted, tmp_path):
    checkpoint = tmp_path / "loc.checkpoint"
    half = fitted.fitting(*TRAIN, DEV, checkpoint=checkpoint)
    for number, _ in enumerate(half):
        if number == 40:  # in the middle of an epoch
            half.save_checkpoint()
            break
    rest = fitted.fitting(*TRAIN, DEV, checkpoint=checkpoint, resume=True)
    for _ in rest:
        pass
    resumed = fitted._with_model(rest.model)
    assert same(resumed, fitted) and resumed.threshold == fitted.threshold
    with pytest.raises(ConfigurationError, match="the checkpoint belongs to another training"):
        postil.Detector(label="PER", seed=3, **SMALL).fitting(*TRAIN, DEV, checkpoint=checkpoint, resume=True)


def test_a_warm_start_goes_on_from_what_a_detector_knows(fitted):
    X, y = [["museums", "in", "Zembla", "are", "quiet"]] * 10, [["O", "O", "LOC", "O", "O"]] * 10
    settings = {**SMALL, "epochs": 1, "rate": 1e-6, "input_dropout": 0.0, "hidden_dropout": 0.0}
    warm = postil.Detector(label="LOC", **settings).fit(X, y, warm_start=fitted)
    for one, other in zip(warm.decision(TEST[0]), fitted.decision(TEST[0]), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)
    with pytest.raises(ConfigurationError, match="label of the warm start: expected 'PER', got 'LOC'"):
        postil.Detector(label="PER", **SMALL).fit(*TRAIN, warm_start=fitted)
    with pytest.raises(ConfigurationError, match="warm start: expected a tagger, got a detector"):
        postil.Tagger().fit(*TRAIN, warm_start=fitted)


@pytest.mark.slow
def test_the_gradient_of_a_fitted_detector(fitted):
    report = examine_parts(fitted.model, np.random.default_rng(1))
    assert report.passed and report.checked > 100


# ------------------------------------------------------------------------------------------------ batches


def gold_with(places, sentences):
    return [np.array([0, int(i in places)]) for i in range(sentences)]


def test_every_batch_has_the_label_and_every_sentence_its_turn():
    batches = batches_with_label(gold_with({1, 5, 6, 9, 15, 17, 30}, 40), 10, np.random.default_rng(0))
    assert len(batches) == 4
    assert all(set(batch) & {1, 5, 6, 9, 15, 17, 30} for batch in batches)
    assert sorted(np.concatenate(batches)) == list(range(40))


def test_a_rare_label_makes_few_batches_with_other_sentences_each_time():
    rng, gold = np.random.default_rng(0), gold_with({7, 400}, 1000)
    first, second = (batches_with_label(gold, 10, rng) for _ in range(2))
    assert [len(batch) for batch in first] == [10, 10]
    assert {7, 400} <= set(np.concatenate(first)) and {7, 400} <= set(np.concatenate(second))
    assert set(np.concatenate(first)) != set(np.concatenate(second))


def test_batches_of_one_have_a_sentence_of_either_kind():
    batches = batches_with_label(gold_with({0, 1}, 6), 1, np.random.default_rng(0))
    assert sorted(len(batch) for batch in batches) == [2, 2]
    detector = postil.Detector(label="LOC", **{**SMALL, "epochs": 1, "batch_sentences": 1}).fit(*TRAIN)
    assert detector.score(*TEST) > 0.8


def test_batches_in_which_all_windows_are_true_teach_nothing_and_do_no_harm():
    X, y = [["Oslo"], ["Lima"], ["in", "Paris"]], [["LOC"], ["LOC"], ["O", "LOC"]]
    detector = postil.Detector(label="LOC", batch_sentences=1, epochs=3, hidden=5).fit(X, y)
    assert np.isfinite(np.concatenate(detector.decision(X))).all()


# ------------------------------------------------------------------------------------------------ estimator rules


def test_estimator_rules():
    detector = postil.Detector(label="LOC", seed=4, hidden=30)
    assert detector.get_params()["label"] == "LOC" and detector.get_params()["hidden"] == 30
    detector.set_params(label="PER", corrupt=7)
    assert detector.label == "PER" and detector.config.corrupt == 7
    assert repr(detector) == "Detector(label='PER', seed=4, hidden=30, corrupt=7)"
    with pytest.raises(TypeError):
        postil.Detector("LOC")


@pytest.mark.slow
def test_scikit_learn_clones_and_cross_validates():
    base = pytest.importorskip("sklearn.base")
    selection = pytest.importorskip("sklearn.model_selection")
    detector = postil.Detector(label="LOC", **SMALL)
    assert base.clone(detector).get_params() == detector.get_params()
    assert selection.cross_val_score(detector, *TRAIN, cv=2).min() > 0.7


# ------------------------------------------------------------------------------------------------ model file


def test_saved_loaded_and_pickled_models_answer_alike(fitted, tmp_path):
    fitted.save(tmp_path / "loc.postil")
    loaded = postil.load(tmp_path / "loc.postil")
    assert type(loaded) is postil.Detector
    for other in (loaded, pickle.loads(pickle.dumps(fitted))):
        assert same(fitted, other)
        assert other.threshold == fitted.threshold and other.get_params() == fitted.get_params()
    unfitted = pickle.loads(pickle.dumps(postil.Detector(label="LOC")))
    assert unfitted._model is None and unfitted.label == "LOC"


def test_a_file_says_which_kind_of_model_it_holds(fitted, tmp_path):
    path = tmp_path / "model.postil"
    postil.Tagger(hidden=10, epochs=1).fit(*TRAIN).save(path)
    assert type(postil.load(path)) is postil.Tagger
    arrays, metadata = archive.load(path)
    archive.save(tmp_path / "other.postil", arrays, metadata | {"kind": "oracle"})
    kinds = "tagger or multi-task-tagger or detector or role-labeller or tree-classifier"
    with pytest.raises(ModelFileError, match=f"another kind of model: expected {kinds}, got 'oracle'"):
        postil.load(tmp_path / "other.postil")
    archive.save(tmp_path / "wrong.postil", arrays, metadata | {"kind": "detector"})
    with pytest.raises(ModelFileError, match="not a valid model"):
        postil.load(tmp_path / "wrong.postil")


# ------------------------------------------------------------------------------------------------ tagging


def test_raw_text_gets_entities_in_characters(fitted):
    text = "museums in Oslo are quiet"
    document = fitted.tag(text)
    assert [(e.text, e.label, e.start, e.end, e.probability) for e in document.entities] == [
        ("Oslo", "LOC", 11, 15, None)
    ]
    assert document.sentences[0].labels == ["O", "O", "B-LOC", "O", "O"]


# ------------------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "crf"}, "objective of a detector: expected margin, got crf"),
        ({"corrupt": 0}, "corrupt"),
        ({"margin": -1.0}, "margin"),
        ({"pairs": "max"}, "pairs must be one of mean, sum .got 'max'"),
    ],
)
def test_impossible_settings_are_refused(settings, message):
    with pytest.raises(ConfigurationError, match=message):
        postil.Detector(label="LOC", **settings).fit(*TRAIN)


def test_a_tagger_cannot_learn_by_the_margin():
    with pytest.raises(ConfigurationError, match="objective of a tagger: expected softmax or crf, got margin"):
        postil.Tagger(preset="margin").fit(*TRAIN)


def test_labels_and_data_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="no token has the label to detect"):
        postil.Detector(label="ORG").fit(*TRAIN)
    with pytest.raises(DataError, match="no token of dev has the label to detect: expected 'LOC'"):
        postil.Detector(label="LOC").fit(*TRAIN, dev=([["we", "left"]], [["O", "O"]]))
    with pytest.raises(ConfigurationError, match="this detector is not fitted yet"):
        postil.Detector(label="LOC").predict([["Oslo"]])


def test_scoring_needs_a_label_for_every_token(fitted):
    with pytest.raises(DataError, match="sentence 0: tokens and labels: expected 2 labels, got 1"):
        fitted.score([["Oslo", "is"]], [["LOC"]])
    with pytest.raises(DataError, match="nothing to score"):
        fitted.score([], [])
