"""One training: the same bits again, in any number of threads and after any interruption; warm starts."""

from functools import cache

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities
from postil.errors import ConfigurationError, DataError
from postil.optimisation.loop import Epoch, Step

SMALL = {"hidden": 12, "word_dim": 8, "epochs": 3, "rate": 0.02, "batch_sentences": 8, "shards": 2}
TRAIN, DEV = named_entities(60), named_entities(20, seed=1)
NEW = [["zork", "Glorp", "eats", "Lima"], ["Glorp", "sleeps"]] * 8, [["O", "B-PET", "O", "B-LOC"], ["B-PET", "O"]] * 8


def values(parts):
    return {name: parameter.value.copy() for name, parameter in parts.network.parameters().items()}


def same(one, other):
    return one.keys() == other.keys() and all((one[name] == other[name]).all() for name in one)


def trained(preset="fast", dev=DEV, **parameters):
    return values(postil.Tagger(preset=preset, **{**SMALL, **parameters}).fit(*TRAIN, dev=dev).model)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["fast", "accurate", "sentence-sll", "window-wll"])
def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(preset):
    expected = trained(preset)
    assert same(expected, trained(preset))
    assert same(expected, trained(preset, threads=2))
    assert not same(expected, trained(preset, seed=1))


@cache
def uninterrupted(optimiser):
    return postil.Tagger(optimiser=optimiser, **SMALL).fit(*TRAIN, dev=DEV).model


@pytest.mark.slow
@pytest.mark.parametrize("optimiser", ["adam", "adagrad", "sgd", "sgd-fan-in", "sgd-root-fan-in"])
@pytest.mark.parametrize("stop", [3, 8, 9, 20])  # in an epoch's middle, at its end (an event of its own), later
def test_a_training_goes_on_with_the_same_bits(optimiser, stop, tmp_path):
    def fitting(**options):
        tagger = postil.Tagger(optimiser=optimiser, **SMALL)
        return tagger.fitting(*TRAIN, DEV, checkpoint=tmp_path / "c", **options)

    whole = uninterrupted(optimiser)
    part = fitting()
    for number, _ in enumerate(part, 1):
        if number == stop:
            part.save_checkpoint()
            break
    rest = fitting(resume=True)
    assert len(list(rest)) > 0
    assert same(values(whole), values(rest.model))
    kept = ("epoch", "loss", "score")
    history = [
        [{key: row[key] for key in kept} for row in parts.about["training"]["history"]] for parts in (whole, rest.model)
    ]
    assert history[0] == history[1]


def test_a_foreign_checkpoint_is_refused(tmp_path):
    def fitting(data=TRAIN, dev=DEV, resume=True, **parameters):
        tagger = postil.Tagger(**{**SMALL, **parameters})
        return tagger.fitting(*data, dev, checkpoint=tmp_path / "c", resume=resume)

    with pytest.raises(ConfigurationError, match="nothing to resume"):
        fitting()
    for _ in fitting(resume=False, epochs=1):
        pass
    fitting(epochs=1, threads=2)
    for other in ({"seed": 1}, {"hidden": 13}, {"data": DEV}, {"dev": None}):
        with pytest.raises(ConfigurationError, match="belongs to another training"):
            fitting(**{"epochs": 1, **other})
    postil.Tagger(**SMALL).fit(*TRAIN).save(tmp_path / "c")
    with pytest.raises(ConfigurationError, match="nothing to resume"):
        fitting()


@pytest.mark.slow
def test_the_best_epoch_on_dev_is_kept():
    tagger = postil.Tagger(**{**SMALL, "epochs": 6})
    events = [event for event in tagger.fitting(*TRAIN, DEV) if isinstance(event, Epoch)]
    scores = [event.score for event in events]
    about = tagger.model.about["training"]
    assert about["best_epoch"] == 1 + int(np.argmax(scores))
    assert tagger.score(*DEV) == max(scores) == about["dev_score"]
    assert [event.is_best for event in events] == [s > max(scores[:i], default=-1) for i, s in enumerate(scores)]


def test_without_dev_the_full_schedule_is_run():
    tagger = postil.Tagger(**SMALL)
    events = list(tagger.fitting(*TRAIN))
    assert [event.score for event in events if isinstance(event, Epoch)] == [None] * 3
    assert sum(event.tokens for event in events if isinstance(event, Step)) == 3 * sum(map(len, TRAIN[0]))
    assert tagger.model.about["training"]["best_epoch"] == 3


@pytest.mark.slow
def test_patience_ends_a_training_that_does_not_get_better():
    tagger = postil.Tagger(**{**SMALL, "epochs": 50, "patience": 2})
    epochs = [event for event in tagger.fitting(*TRAIN, DEV) if isinstance(event, Epoch)]
    assert len(epochs) < 50
    assert not any(event.is_best for event in epochs[-2:])


def test_minutes_end_a_training_with_the_schedule_at_its_end():
    tagger = postil.Tagger(**{**SMALL, "epochs": 10_000}, minutes=0.01)
    events = list(tagger.fitting(*TRAIN, DEV))
    assert isinstance(events[-1], Epoch)
    assert sum(isinstance(event, Epoch) for event in events) < 10_000
    assert events[-2].progress > 0.3  # the rest of the time went into the last score on dev
    assert tagger.predict(DEV[0])


def test_an_empty_dev_is_the_same_as_none():
    assert same(trained(dev=([], [])), trained(dev=None))


# ------------------------------------------------------------------------------------------------ warm start


@pytest.mark.parametrize("character_dim", [0, 5])
def test_a_warm_start_keeps_what_is_known_and_learns_what_is_new(character_dim):
    small = {**SMALL, "character_dim": character_dim}
    old = postil.Tagger(**{**small, "epochs": 6}).fit(*TRAIN)
    new = postil.Tagger(**{**small, "epochs": 1, "rate": 1e-9}).fit(*NEW, warm_start=old)
    before, after = old.model, new.model
    assert after.codec.classes == (*before.codec.classes, "PET")
    words = after.features.words.vocabularies["word"]
    assert list(words)[: len(before.features.words.vocabularies["word"])] == list(
        before.features.words.vocabularies["word"]
    )
    assert "glorp" in words
    # A rate of nearly nothing: the scores of known labels on known words are those of the old model.
    known = [i for i, label in enumerate(after.codec.labels) if label in before.codec.labels]
    X = DEV[0]
    scores = after.network.scores(after.features.inputs(X)).value[:, known]
    assert scores == pytest.approx(before.network.scores(before.features.inputs(X)).value, abs=1e-4)
    assert after.network.crf.transitions.value[np.ix_(known, known)] == pytest.approx(
        before.network.crf.transitions.value, abs=1e-6
    )
    counts = after.features.words.counts
    assert counts.sum() == before.features.words.counts.sum() + sum(map(len, NEW[0]))
    assert (
        counts[words.id("lima")]
        == before.features.words.counts[before.features.words.vocabularies["word"].id("lima")] + 8
    )


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["fast", "accurate", "sentence-sll", "neural-crf", "window-wll"])
def test_new_labels_are_learnt_and_old_ones_known(preset):
    old = postil.Tagger(preset=preset, **{**SMALL, "epochs": 6}).fit(*TRAIN)
    both = [a + b for a, b in zip(NEW, named_entities(20, seed=3), strict=True)]
    new = postil.Tagger(preset=preset, **{**SMALL, "epochs": 12}).fit(*both, warm_start=old)
    assert new.score(*NEW) > 0.9
    assert new.score(*DEV) > 0.8
    again = old.fit(*both, warm_start=old)  # with itself
    assert again.score(*DEV) > 0.8


def test_what_does_not_fit_is_refused():
    old = postil.Tagger(**SMALL).fit(*TRAIN)
    with pytest.raises(ConfigurationError, match="expected hidden=12 of the model to start from, got hidden=13"):
        postil.Tagger(**{**SMALL, "hidden": 13}).fit(*NEW, warm_start=old)
    with pytest.raises(ConfigurationError, match="architectures differ"):
        postil.Tagger(preset="window-wll", **SMALL).fit(*NEW, warm_start=old)
    with pytest.raises(DataError, match="spans"):
        postil.Tagger(**SMALL).fit([["a", "b"]], [["NOUN", "VERB"]], warm_start=old)
    with pytest.raises(ConfigurationError, match="extra columns"):
        postil.Tagger(**SMALL).fit([[("a", "x")]], [["B-PER"]], warm_start=old)
    with pytest.raises(ConfigurationError, match="is not fitted yet"):
        postil.Tagger(**SMALL).fit(*NEW, warm_start=postil.Tagger())


def test_vectors_stay_with_a_warm_start(tmp_path):
    file = tmp_path / "vectors.txt"
    file.write_text("".join(f"{word} {i} 1 2\n" for i, word in enumerate(["anna", "oslo", "paris", "lima"])))
    old = postil.Tagger(vectors=file, **SMALL).fit(*TRAIN)
    new = postil.Tagger(**SMALL).fit(*NEW, warm_start=old)
    assert (new.model.network.vectors == old.model.network.vectors).all()
    (tmp_path / "other.txt").write_text("anna 1 2\noslo 2 3\n")
    with pytest.raises(ConfigurationError, match="dimension of the word vectors"):
        postil.Tagger(vectors=tmp_path / "other.txt", **SMALL).fit(*NEW, warm_start=old)


def test_a_warm_start_takes_the_same_vectors_of_more_words(tmp_path):
    """In the scale that the model knows, though the larger file has another mean square."""
    rng = np.random.default_rng(0)
    rows = {word: rng.normal(size=3) for word in ["anna", "oslo", "paris", "lima"]}
    more = rows | {"zork": 9 * rng.normal(size=3), "glorp": 9 * rng.normal(size=3)}
    for name, table in (("few.txt", rows), ("more.txt", more)):
        lines = (f"{word} {' '.join(map(str, row))}\n" for word, row in table.items())
        (tmp_path / name).write_text("".join(lines))
    old = postil.Tagger(vectors=tmp_path / "few.txt", **SMALL).fit(*TRAIN)
    new = postil.Tagger(vectors=tmp_path / "more.txt", **SMALL).fit(*NEW, warm_start=old)
    before, after = ((m.model.features.words.vocabularies["vector"], m.model.network.vectors) for m in (old, new))
    for word in rows:
        assert after[1][after[0].id(word)] == pytest.approx(before[1][before[0].id(word)], rel=1e-5)
    ratio = after[1][after[0].id("glorp")] / more["glorp"]
    assert ratio == pytest.approx(after[1][after[0].id("anna")] / more["anna"], rel=1e-4)

    (tmp_path / "other.txt").write_text("".join(f"{word} {i} 1 2\n" for i, word in enumerate(rows)))
    with pytest.raises(ConfigurationError, match=r"word vectors are not those of the model: .* 4 shared words"):
        postil.Tagger(vectors=tmp_path / "other.txt", **SMALL).fit(*NEW, warm_start=old)


@pytest.fixture(scope="module")
def two_tasks(tmp_path_factory):
    """A loaded model of names and parts of speech with vectors and clusters, as an installed one is."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "v.txt").write_text("".join(f"{word} {i} 1 2\n" for i, word in enumerate(["anna", "oslo", "paris"])))
    (folder / "c.txt").write_text("0\tAnna\t9\n10\tOslo\t9\n11\tleft\t3\n")
    known = {"vectors": folder / "v.txt", "clusters": folder / "c.txt"}
    X, y = {"names": TRAIN[0], "speech": [["Anna", "left"]] * 8}, {"names": TRAIN[1], "speech": [["NOUN", "VERB"]] * 8}
    postil.MultiTaskTagger(**known, **SMALL).fit(X, y).save(folder / "m.postil")
    return postil.load(folder / "m.postil")


def test_words_and_encoder_of_several_tasks_start_a_tagger_of_other_labels(two_tasks, tmp_path):
    X, y = [["zork", "Glorp", "eats"]] * 8, [["O", "B-PET", "O"]] * 8
    still = {**SMALL, "epochs": 1, "rate": 1e-9}
    tagger = postil.Tagger(**still).fit(X, y, warm_start=two_tasks)
    assert tagger.model.codec.classes == ("PET",)
    before, after = values(two_tasks["names"].model), values(tagger.model)
    assert after["encoder.layers.1.W"] == pytest.approx(before["encoder.layers.1.W"], abs=1e-6)
    words = tagger.model.features.words
    assert "anna" in words.vocabularies["word"] and "glorp" in words.vocabularies["word"]
    assert len(words.lexicons["clusters"]) == 3
    assert not np.isclose(after["output0.W"][0], before["output0.W"][0]).any()  # O is fresh, too
    tagger.save(tmp_path / "t.postil")
    assert postil.load(tmp_path / "t.postil").predict(X) == tagger.predict(X)


def test_a_task_that_knows_a_class_is_continued(two_tasks):
    names = postil.Tagger(**{**SMALL, "epochs": 1, "rate": 1e-9}).fit(*NEW, warm_start=two_tasks)
    assert names.model.codec.classes == (*two_tasks["names"].model.codec.classes, "PET")
    assert names.score(*DEV) > 0.7  # which nothing but the known head has learnt
    speech = postil.Tagger(**{**SMALL, "epochs": 1}).fit([["Anna", "is"]], [["NOUN", "AUX"]], warm_start=two_tasks)
    assert speech.model.codec.classes == ("NOUN", "VERB", "AUX")


def test_few_sentences_with_fresh_labels_are_learnt_as_often_as_without_a_model(two_tasks):
    few = {name: SMALL[name] for name in ("hidden", "word_dim")}
    data = [["zork", "Glorp"]] * 30, [["O", "B-PET"]] * 30
    config = postil.Tagger(**few).fitting(*data, warm_start=two_tasks).model.config
    assert config.epochs > 10 and (config.input_dropout, config.hidden_dropout) == (0.5, 0.3)
    assert postil.Tagger(**few).fitting(*NEW, warm_start=two_tasks).model.config.epochs == 10


def test_a_detector_does_not_start_from_several_tasks(two_tasks):
    with pytest.raises(ConfigurationError, match="warm start: expected a detector, got a multi-task-tagger"):
        postil.Detector(label="PET", hidden=12, word_dim=8).fit(*NEW, warm_start=two_tasks)


def test_word_features_learn_at_a_rate_of_their_own():
    def after_a_step(word_rate):
        fitting = postil.Tagger(**SMALL, word_rate=word_rate).fitting(*TRAIN)
        before = values(fitting.model)
        next(fitting)
        return {name: value - before[name] for name, value in values(fitting.model).items()}

    slow, quick = after_a_step(1.0), after_a_step(4.0)
    for name, moved in slow.items():
        times = 4 if name.startswith("forms.") else 1
        assert np.abs(moved).max() > 0 or name.startswith("crf.")
        np.testing.assert_allclose(quick[name], times * moved, atol=1e-6)
