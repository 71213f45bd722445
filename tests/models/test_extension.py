"""Models that learn a class more and keep the others."""

import math
from itertools import product

import numpy as np
import pytest

import postil
from oracles import corpora
from postil.errors import ConfigurationError, DataError, ForgettingError
from postil.metrics import evaluate
from postil.metrics.tables import text
from postil.models import Extending
from postil.models import extension as module
from postil.models.extension import ClassChange, Gate, filled, gate_of
from postil.models.storage import to_bytes
from postil.text.labels.schemes import PartialLabel, violations

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


@pytest.mark.slow
def test_a_class_more(data, tagger):
    _, new, dev = data
    before = to_bytes(tagger)
    extended = postil.extend(tagger, *new)
    assert extended.model.codec.classes == ("PER", "LOC")
    scores = extended.evaluate(*dev).to_dict()["labels"]
    assert scores["PER"]["f1"] > 97 and scores["LOC"]["f1"] > 95
    assert to_bytes(tagger) == before, "the tagger stays as it is"
    naive = postil.Tagger(**SMALL).fit(*new, warm_start=tagger)
    assert naive.evaluate(*dev).to_dict()["labels"]["PER"]["f1"] < 50, "nothing to forget: the test cannot fail"


@pytest.mark.slow
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
    labels = extending.fitting.model.codec.labels
    person = np.array([label.endswith("PER") for label in labels])
    known = tagger.predict(X)
    for numbers, predicted, given in zip(learnt, known, y, strict=True):
        allowed = numbers if numbers.ndim == 2 else np.eye(len(labels), dtype=bool)[numbers]
        for t, label in enumerate(given):
            if label != "O":
                assert not (allowed[t] & person).any(), "what is annotated is certain"
            elif predicted[t].endswith("PER"):
                assert (allowed[t] & person).any(), "what is not annotated may be what the model knows"


@pytest.mark.slow
def test_old_data_are_rehearsed(data, tagger):
    old, new, dev = data
    extended = postil.extend(tagger, *new, old=old, dev=dev, tolerance=3)
    assert extended.score(*dev) > 0.95
    assert extended.model.about["extension"]["old"]["sentences"] == 60


def test_in_old_data_the_new_class_is_unknown(data, tagger):
    old = data[0]
    extending = Extending(tagger, [["they", "saw", "Quito"]], [["O", "O", "B-LOC"]], old=old)
    labels = extending.fitting.model.codec.labels
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
    codec = extending.fitting.model.codec
    assert [numbers.tolist() for numbers in extending.fitting._gold["main"]] == [n.tolist() for n in codec.numbers(y)]
    # Where the two contradict each other, both are learnt, each with what it does not know.
    wrong = [[label.replace("PER", "LOC") for label in labels] for labels in y]
    extending = Extending(tagger, X, wrong, old=(X, only(y, "PER")))
    contradicted = sum("PER" in str(labels) for labels in y)
    assert contradicted > 0 and len(extending.fitting._gold["main"]) == len(X) + contradicted


@pytest.mark.slow
def test_raw_text_is_labelled_by_the_old_model(data, tagger):
    _, new, dev = data
    raw = corpora.named_entities(50, seed=3)[0]
    extended = postil.extend(tagger, *new, unlabelled=raw, dev=dev, tolerance=3)
    assert extended.score(*dev) > 0.95
    about = extended.model.about["extension"]
    assert about["unlabelled"] == {"sentences": 50, "tokens": sum(map(len, raw))} and about["classes"] == ["LOC"]


@pytest.mark.slow
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


@pytest.mark.slow
def test_new_text_of_known_classes_and_more_of_one(data):
    X, y = corpora.named_entities(80, seed=2)
    tagger = postil.Tagger(**SMALL).fit(X[:40], y[:40])
    dev = corpora.named_entities(60, seed=7)
    for labels in (y[40:], only(y[40:], "LOC")):
        extended = postil.extend(tagger, X[40:], labels, dev=dev, tolerance=2)
        assert extended.model.codec.classes == tagger.model.codec.classes
        assert extended.model.about["extension"]["classes"] == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["iob1", "iobes"])
def test_schemes_of_model_and_data_may_differ(scheme, data):
    X, y = corpora.named_entities(60, scheme=scheme)
    tagger = postil.Tagger(**SMALL).fit(X, only(y, "PER"))
    before = tagger.model.codec.scheme
    extended = postil.extend(tagger, *data[1])
    assert extended.model.codec.scheme == before
    X, y = corpora.named_entities(60, seed=7, scheme=scheme)
    assert extended.score(X, y) > 0.95


@pytest.mark.slow
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


@pytest.mark.slow
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
        parts, before = extended.model, tagger.model
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
    assert extended.model.codec.classes == ("PER", "LOC")
    extended = postil.extend(tagger, [["they", "met"]], [["O", "O"]], annotates=["PER"], dev=dev, tolerance=5)
    assert extended.model.codec.classes == ("PER",)
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
    assert extended.model.codec.classes == (*tagger.model.codec.classes, "PUNCT")
    with pytest.raises(DataError, match="labels must be labels without a scheme, as the model has"):
        postil.extend(tagger, [["Anna"]], [["B-PER"]])


def test_users_marks_are_kept(tagger):
    extending = Extending(tagger, [["Anna", "left", "Oslo"]], [["?", "O", "B-LOC"]])
    allowed, labels = extending.fitting._gold["main"][0][0], extending.fitting.model.codec.labels
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


@pytest.mark.slow
def test_a_task_of_several(data):
    X, y = corpora.named_entities(60)
    labels = {"names": only(y, "PER"), "words": corpora.parts_of_speech(60)[1]}
    both = postil.MultiTaskTagger(hidden=16, seed=0).fit(X, labels)
    extended = postil.extend(both["names"], *data[1])
    assert extended.model.codec.classes == ("PER", "LOC") and extended.score(*data[2]) > 0.9
    assert both["names"].model.codec.classes == ("PER",)


# ------------------------------------------------ Which change of which class closes the gate


GOLD = [["B-PER", "O", "B-LOC", "O", "B-PER", "B-ORG"]]
BEFORE = [["B-PER", "O", "B-LOC", "O", "B-PER", "O"]]
AFTER = [["B-PER", "O", "O", "O", "B-PER", "B-ORG"]]


def test_a_known_class_that_falls_is_named():
    gate = gate_of(evaluate(GOLD, BEFORE), evaluate(GOLD, AFTER), ["LOC", "PER"], ["LOC", "PER", "ORG"], 1.0)
    assert [one.name for one in gate.fallen] == ["LOC"] and not gate.passed
    assert gate.changes == [
        ClassChange("LOC", 1, 100.0, 0.0),
        ClassChange("PER", 2, 100.0, 100.0),
        ClassChange("ORG", 1, None, 100.0),
    ]
    rows = [line.split() for line in text(gate.table()).split("\n")]
    assert ["LOC", "100.00", "0.00", "-100.00", "1", "fell"] in rows and ["ORG", "100.00", "1", "new"] in rows
    assert gate.to_dict()["classes"]["ORG"] == {"before": None, "after": 100.0, "support": 1}


@pytest.mark.parametrize(("after", "passed"), [(69.0, True), (68.99, False), (70.0, True), (90.0, True)])
def test_the_tolerance_is_in_points_and_included(after, passed):
    assert Gate([ClassChange("LOC", 5, 70.0, after)], 1.0).passed is passed


def test_what_is_not_in_the_data_cannot_fall_and_a_new_class_neither():
    assert Gate([ClassChange("LOC", 0, 70.0, 0.0), ClassChange("ORG", 3, None, 0.0)], 0.0).passed


def test_labels_without_a_scheme_are_classes():
    gate = gate_of(
        evaluate([["A", "B"]], [["A", "B"]]), evaluate([["A", "B"]], [["B", "B"]]), ["A", "B"], ["A", "B"], 1
    )
    assert [one.name for one in gate.fallen] == ["A", "B"]


def test_impossible_questions(data, tagger):
    _, new, (X, y) = data
    for tolerance in (-1, math.nan):
        with pytest.raises(ConfigurationError, match="tolerance must be at least 0"):
            Extending(tagger, *new, tolerance=tolerance)
    with pytest.raises(DataError, match="dev must have some of the classes of the model: PER"):
        Extending(tagger, *new, dev=(X, only(y, "LOC")))


# ------------------------------------------------ What a model fills in beside enumeration of all labellings


SENTENCE = ["Paris", "and", "Anna", "left", "Oslo"]


@pytest.fixture(scope="module", params=["bio", "iobes", "iob1"])
def teacher(request):
    X, y = corpora.named_entities(40, scheme=request.param)
    return postil.Tagger(hidden=8, epochs=3, seed=0).fit(X, y)


def enumerated(tagger, agrees):
    """(labels, probability) of all valid labellings that agree, given that one of them is right."""
    labellings = [
        (labels, tagger.probability(SENTENCE, list(labels)))
        for labels in product(tagger.classes_, repeat=len(SENTENCE))
        if not violations(labels, "bio") and all(agrees(t, label) for t, label in enumerate(labels))
    ]
    total = sum(probability for _, probability in labellings)
    return [(labels, probability / total) for labels, probability in labellings]


@pytest.mark.parametrize("least", [0.02, 0.3])
def test_labels_are_kept_by_their_probability_given_what_is_annotated(least):
    X, y = corpora.named_entities(40)
    tagger = postil.Tagger(hidden=8, epochs=3, seed=0).fit(X, y)
    given = ["B-ORG", "O", "O", "O", "O"]  # ORG is annotated and unknown to the tagger, which must not see a LOC there
    (answers,) = filled(tagger, [SENTENCE], [given], [("ORG",)], ["ORG"], least)
    posterior = enumerated(tagger, lambda t, label: t > 0 or label == "O")
    best = max(posterior, key=lambda pair: pair[1])[0]
    assert answers[0] == "B-ORG"
    for t in range(1, len(SENTENCE)):
        probable = {label for label in tagger.classes_ if _marginal(posterior, t, label) > least}
        got = set(answers[t].alternatives) if isinstance(answers[t], PartialLabel) else {answers[t]}
        assert got == probable | {best[t]}


def _marginal(posterior, t, label):
    return sum(probability for labels, probability in posterior if labels[t] == label)


def test_annotated_classes_are_never_filled_in(teacher):
    given = ["O"] * len(SENTENCE)
    (answers,) = filled(teacher, [SENTENCE], [given], [("LOC",)], (), 0.0001)
    parts = {part for label in answers for part in (getattr(label, "alternatives", None) or (label,))}
    assert any("PER" in part for part in parts) and not any("LOC" in part for part in parts)


def test_everything_annotated_stays_as_it_is(teacher):
    X, y = corpora.named_entities(3, seed=4, scheme=teacher.model.codec.scheme)
    assert filled(teacher, X, y, [None] * 3) == y
    assert filled(teacher, X, y, [("LOC", "PER")] * 3) == y


def test_hidden_classes_stay_possible_where_nothing_else_is(teacher):
    (answers,) = filled(teacher, [SENTENCE], [["O"] * 5], [()], ["ORG"])
    assert all(isinstance(label, PartialLabel) for label in answers)
    assert [label.endswith("|ORG") for label in answers] == ["O" in label.alternatives for label in answers]
    (answers,) = filled(teacher, [SENTENCE], [["O"] * 5], [("ORG",)], ["ORG"])  # annotated here: an O is none
    assert not any("ORG" in label for label in answers)


def test_users_marks_stay_and_condition_the_rest(teacher):
    (answers,) = filled(teacher, [SENTENCE], [[PartialLabel("?"), *["O"] * 4]], [("ORG",)], ["ORG"])
    assert answers[0] == "?"


def test_every_filled_sentence_has_a_valid_labelling():
    """Labels that are probable one by one may not be possible in a row: those of the best labelling are always kept."""
    X, y = corpora.named_entities(60, seed=1)
    tagger = postil.Tagger(hidden=4, epochs=1, seed=3).fit(X, y)  # unsure everywhere
    answers = filled(tagger, X, [["O"] * len(tokens) for tokens in X], [()] * len(X), (), 0.45)
    best = tagger.predict(X)
    for labels, of_best in zip(answers, best, strict=True):
        for label, one in zip(labels, of_best, strict=True):
            assert one in (getattr(label, "alternatives", None) or (label,))
    assert all(np.any(numbers) or numbers.ndim == 1 for numbers in tagger.model.codec.numbers(answers))


def test_sentences_without_words_and_no_sentences(teacher):
    assert filled(teacher, [[], ["Anna"]], [[], ["O"]], [(), None]) == [[], ["O"]]
    assert filled(teacher, [], [], []) == []


def test_filling_labels_without_a_scheme():
    X = [["the", "red", "house"], ["a", "blue", "door"]] * 10
    y = [["O", "COLOUR", "O"]] * 20
    tagger = postil.Tagger(hidden=8, seed=0).fit(X, y)
    (answers,) = filled(tagger, [["the", "blue", "house"]], [["O", "O", "THING"]], [("THING",)], ["THING"])
    assert answers == ["O", "COLOUR", "THING"]
