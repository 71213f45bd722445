"""Models that learn a class more and keep the others."""

import numpy as np
import pytest

import postil
from oracles import corpora
from postil.curation import Extending
from postil.curation import extension as module
from postil.errors import ConfigurationError, DataError, ForgettingError
from postil.models.storage import to_bytes

SMALL = {"hidden": 16, "seed": 0}


def only(y, *classes):
    return [[label if label[2:] in classes else "O" for label in labels] for labels in y]


@pytest.fixture(scope="module")
def data():
    X, y = corpora.named_entities(120)
    return (X[:60], only(y[:60], "PER")), (X[60:], only(y[60:], "LOC")), corpora.named_entities(60, seed=7)


@pytest.fixture(scope="module")
def tagger(data):
    return postil.Tagger(**SMALL).fit(*data[0])


def test_a_class_more(data, tagger):
    _, new, dev = data
    before = to_bytes(tagger)
    extended = postil.extend(tagger, *new)
    assert extended.labelling.classes == ("PER", "LOC")
    scores = extended.evaluate(*dev).to_dict()["labels"]
    assert scores["PER"]["f1"] > 97 and scores["LOC"]["f1"] > 95
    assert to_bytes(tagger) == before, "the tagger stays as it is"
    naive = postil.Tagger(**SMALL).fit(*new, warm_start=tagger)
    assert naive.evaluate(*dev).to_dict()["labels"]["PER"]["f1"] < 50, "nothing to forget: the test cannot fail"


def test_the_same_seed_gives_the_same_bytes_for_any_number_of_threads(data, tagger):
    _, new, dev = data
    one, two, other = (
        postil.extend(tagger, *new, dev=dev, seed=seed, threads=threads) for seed, threads in ((1, 1), (1, 2), (2, 1))
    )
    assert to_bytes(one) == to_bytes(two) != to_bytes(other)


def test_the_old_model_fills_in_what_the_new_data_do_not_annotate(data, tagger):
    _, (X, y), _ = data
    extending = Extending(tagger, X, y)
    learnt = extending.fitting._gold["main"]
    labels = extending.fitting.parts.labelling.labels
    person = np.array([label.endswith("PER") for label in labels])
    known = tagger.predict(X)
    for numbers, predicted, given in zip(learnt, known, y, strict=True):
        allowed = numbers if numbers.ndim == 2 else np.eye(len(labels), dtype=bool)[numbers]
        for t, label in enumerate(given):
            if label != "O":
                assert not (allowed[t] & person).any(), "what is annotated is certain"
            elif predicted[t].endswith("PER"):
                assert (allowed[t] & person).any(), "what is not annotated may be what the model knows"


def test_old_data_are_rehearsed(data, tagger):
    old, new, dev = data
    extended = postil.extend(tagger, *new, old=old, dev=dev, tolerance=3)
    assert extended.score(*dev) > 0.95
    assert extended.fitted_parts().about["extension"]["old"]["sentences"] == 60


def test_in_old_data_the_new_class_is_unknown(data, tagger):
    old = data[0]
    extending = Extending(tagger, [["they", "saw", "Quito"]], [["O", "O", "B-LOC"]], old=old)
    labels = extending.fitting.parts.labelling.labels
    place = np.array([label.endswith("LOC") for label in labels])
    for numbers, given in zip(extending.fitting._gold["main"][1:], old[1], strict=True):
        allowed = numbers if numbers.ndim == 2 else np.eye(len(labels), dtype=bool)[numbers]
        assert [bool((row & place).any()) for row in allowed] == [label == "O" for label in given]


def test_a_sentence_of_old_and_new_data_has_the_labels_of_both():
    """So the same file, labelled for each class in turn, is the file with all labels."""
    X, y = corpora.named_entities(40)
    distinct = [i for i in range(40) if X.index(X[i]) == i]
    X, y = [X[i] for i in distinct], [y[i] for i in distinct]
    tagger = postil.Tagger(hidden=8, epochs=2).fit(X, only(y, "PER"))
    extending = Extending(tagger, X, only(y, "LOC"), old=(X, only(y, "PER")))
    labelling = extending.fitting.parts.labelling
    assert [numbers.tolist() for numbers in extending.fitting._gold["main"]] == [
        n.tolist() for n in labelling.numbers(y)
    ]
    # Where the two contradict each other, both are learnt, each with what it does not know.
    wrong = [[label.replace("PER", "LOC") for label in labels] for labels in y]
    extending = Extending(tagger, X, wrong, old=(X, only(y, "PER")))
    contradicted = sum("PER" in str(labels) for labels in y)
    assert contradicted > 0 and len(extending.fitting._gold["main"]) == len(X) + contradicted


def test_raw_text_is_labelled_by_the_old_model(data, tagger):
    _, new, dev = data
    raw = corpora.named_entities(50, seed=3)[0]
    extended = postil.extend(tagger, *new, unlabelled=raw, dev=dev, tolerance=3)
    assert extended.score(*dev) > 0.95
    about = extended.fitted_parts().about["extension"]
    assert about["unlabelled"] == {"sentences": 50, "tokens": sum(map(len, raw))} and about["classes"] == ["LOC"]


def test_the_gate_closes_where_a_class_falls(data, tagger, monkeypatch):
    _, (X, y), dev = data
    wrong = [
        ["B-LOC" if word == "Anna" else label for word, label in zip(tokens, labels, strict=True)]
        for tokens, labels in zip(X, y, strict=True)
    ]
    with pytest.raises(ForgettingError, match="the extended model forgets: expected no known class falls by more"):
        postil.extend(tagger, X, wrong, dev=dev)
    # Broken on purpose: scores that are not computed again let it pass.
    monkeypatch.setattr(module, "gate_of", lambda before, after, *others: _original(before, before, *others))
    postil.extend(tagger, X, wrong, dev=dev)


_original = module.gate_of


def test_dev_without_the_new_class_judges_no_epoch_but_the_known_classes(data, tagger):
    _, new, (X, y) = data
    extending = Extending(tagger, *new, dev=(X, only(y, "PER")))
    assert extending.fitting.training.progress.best_score is None
    for _ in extending.fitting:
        pass
    result = extending.result()
    assert result.passed and [one.name for one in result.gate.changes] == ["PER", "LOC"]
    assert result.gate.changes[1].support == 0
    assert extending.fitting.training.progress.best_score is None


def test_new_text_of_known_classes_and_more_of_one(data):
    X, y = corpora.named_entities(80, seed=2)
    tagger = postil.Tagger(**SMALL).fit(X[:40], y[:40])
    dev = corpora.named_entities(60, seed=7)
    for labels in (y[40:], only(y[40:], "LOC")):
        extended = postil.extend(tagger, X[40:], labels, dev=dev, tolerance=2)
        assert extended.labelling.classes == tagger.labelling.classes
        assert extended.fitted_parts().about["extension"]["classes"] == []


@pytest.mark.parametrize("scheme", ["iob1", "iobes"])
def test_schemes_of_model_and_data_may_differ(scheme, data):
    X, y = corpora.named_entities(60, scheme=scheme)
    tagger = postil.Tagger(**SMALL).fit(X, only(y, "PER"))
    before = tagger.labelling.scheme
    extended = postil.extend(tagger, *data[1])
    assert extended.labelling.scheme == before
    X, y = corpora.named_entities(60, seed=7, scheme=scheme)
    assert extended.score(X, y) > 0.95


@pytest.mark.parametrize(
    "settings",
    [
        {"preset": "accurate", "ensemble": 2, "hidden": 12},
        {"preset": "window-wll", "hidden": 16},
        {"preset": "linear-crf"},
        {"preset": "fast", "hidden": 16, "character_dim": 4},
    ],
    ids=lambda settings: settings["preset"],
)
def test_every_kind_of_tagger(settings, data):
    old, new, dev = data
    tagger = postil.Tagger(**settings, seed=0).fit(*old)
    extended = postil.extend(tagger, *new, dev=dev, tolerance=5)
    assert extended.config.ensemble == tagger.config.ensemble
    assert extended.score(*dev) > 0.8
    assert extended.get_params() == {**tagger.get_params(), "seed": 0}


def test_vectors_and_clusters_stay_those_of_the_model(data, tmp_path):
    old, new, dev = data
    words = sorted({word for tokens in [*old[0], *new[0]] for word in tokens})
    rng = np.random.default_rng(0)
    vectors, clusters = tmp_path / "vectors.txt", tmp_path / "clusters.txt"
    numbers = [" ".join(f"{x:.3f}" for x in rng.normal(size=4)) for _ in words]
    vectors.write_text("".join(f"{word.lower()} {row}\n" for word, row in zip(words, numbers, strict=True)))
    clusters.write_text("".join(f"{i % 8:03b}\t{word}\t5\n" for i, word in enumerate(words)))
    tagger = postil.Tagger(vectors=str(vectors), clusters=str(clusters), **SMALL).fit(*old)
    vectors.unlink(), clusters.unlink()
    for options in ({}, {"old": old}):
        extended = postil.extend(tagger, *new, **options)
        parts, before = extended.fitted_parts(), tagger.fitted_parts()
        assert np.array_equal(parts.network.vectors, before.network.vectors)
        assert parts.features.words.lexicons.keys() == before.features.words.lexicons.keys() == {"clusters"}
        assert extended.vectors == str(vectors)
        assert extended.score(*dev) > 0.9


def test_no_sentence_is_stored(data, tagger):
    """The file grows with words, never with sentences: the same sentences twice as often make it no larger."""
    _, (X, y), _ = data
    raw = corpora.named_entities(50, seed=3)[0]
    sizes = [
        len(to_bytes(postil.extend(tagger, list(X) * n, list(y) * n, unlabelled=raw * n, epochs=1, batch_sentences=8)))
        for n in (1, 4)
    ]
    assert abs(sizes[0] - sizes[1]) < 128  # digits of counts and losses; 250 sentences would be thousands
    content = to_bytes(postil.extend(tagger, X, y, unlabelled=raw, epochs=1))
    for tokens in (*X, *raw):
        if len(tokens) > 3:
            assert all(mark.join(tokens).encode() not in content for mark in (" ", "\n", "\0", ""))


def test_one_sentence_and_no_entities(data, tagger):
    _, _, dev = data
    extended = postil.extend(tagger, [["Oslo", "slept"]], [["B-LOC", "O"]])
    assert extended.labelling.classes == ("PER", "LOC")
    extended = postil.extend(tagger, [["they", "met"]], [["O", "O"]], annotates=["PER"], dev=dev, tolerance=5)
    assert extended.labelling.classes == ("PER",)
    with pytest.raises(DataError, match="the new data label nothing"):
        postil.extend(tagger, [["they", "met"]], [["O", "O"]])


def test_annotates_for_each_sentence(data, tagger):
    X = [["Anna", "left", "Oslo"], [], ["Anna", "left", "Rome"]]
    y = [["O", "O", "B-LOC"], [], ["B-PER", "O", "B-LOC"]]
    extending = Extending(tagger, X, y, annotates=[["LOC"], None, ["LOC", "PER"]])
    assert len(extending.fitting._gold["main"]) == 2
    with pytest.raises(DataError, match="a label of a class that is not annotated there"):
        postil.extend(tagger, X, y, annotates=["PER"])


def test_labels_without_a_scheme():
    X, y = corpora.parts_of_speech(60)
    tagger = postil.Tagger(**SMALL).fit(X[:30], y[:30])
    more = [[*tokens, "!"] for tokens in X[30:]]
    extended = postil.extend(tagger, more, [[*labels, "PUNCT"] for labels in y[30:]], dev=(X, y), tolerance=5)
    assert extended.labelling.classes == (*tagger.labelling.classes, "PUNCT")
    with pytest.raises(DataError, match="labels must be labels without a scheme, as the model has"):
        postil.extend(tagger, [["Anna"]], [["B-PER"]])


def test_users_marks_are_kept(tagger):
    extending = Extending(tagger, [["Anna", "left", "Oslo"]], [["?", "O", "B-LOC"]])
    allowed, labels = extending.fitting._gold["main"][0][0], extending.fitting.parts.labelling.labels
    assert {labels[number] for number in np.flatnonzero(allowed)} == {"O", "S-PER", "S-LOC"}


def test_what_cannot_be_extended(data):
    _, new, dev = data
    detector = postil.Detector(label="LOC", hidden=8, epochs=2).fit(*corpora.named_entities(40))
    with pytest.raises(ConfigurationError, match="model to extend: expected a tagger, got a detector"):
        postil.extend(detector, *new)
    tagger = postil.Tagger(hidden=8, epochs=1).fit(*data[0])
    with pytest.raises(DataError, match="dev must have some of the classes of the model: PER"):
        postil.extend(tagger, *new, dev=(dev[0], only(dev[1], "LOC")))
    with pytest.raises(ConfigurationError, match="tolerance must be at least 0"):
        postil.extend(tagger, *new, tolerance=-1)
    with pytest.raises(DataError, match=r"expected names without \|, which marks alternative labels, got 'A\|B'"):
        postil.extend(tagger, [["Oslo"]], [["B-A|B"]], partial=False)
    many = [[f"B-C{number}" for number in range(100)]]
    with pytest.raises(ConfigurationError, match="classes of an extended model: expected at most 100: train it anew"):
        postil.extend(tagger, [["word"] * 100], many)
    with pytest.raises(ConfigurationError, match="architectures differ"):
        postil.extend(tagger, *new, hidden=9)


def test_a_task_of_several(data):
    X, y = corpora.named_entities(60)
    labels = {"names": only(y, "PER"), "words": corpora.parts_of_speech(60)[1]}
    both = postil.MultiTaskTagger(hidden=16, seed=0).fit(X, labels)
    extended = postil.extend(both["names"], *data[1])
    assert extended.labelling.classes == ("PER", "LOC") and extended.score(*data[2]) > 0.9
    assert both["names"].labelling.classes == ("PER",)
