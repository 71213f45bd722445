"""Learning from partial labels: what is unknown teaches nothing, what is one of several teaches that."""

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities, parts_of_speech
from oracles.partial import compatible_labellings, valid_labellings
from postil.errors import DataError
from postil.metrics import evaluate
from postil.models.decoding.codec import LabelCodec
from postil.models.decoding.posteriors import Posteriors
from postil.objectives import loss_and_gradient, path_scores
from postil.text import PartialLabel, with_marks

SMALL = {"hidden": 16, "word_dim": 12, "epochs": 6, "rate": 0.02, "batch_sentences": 8}
QUIET = {"input_dropout": 0.0, "hidden_dropout": 0.0, "word_dropout": 0.0}
X, y = named_entities(60)
TEST = named_entities(40, seed=1)
PRESETS = ["fast", "window-wll"]


def with_gaps(y, share, fill, seed=0):
    rng = np.random.default_rng(seed)
    return [[fill if rng.random() < share else label for label in labels] for labels in y]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.filterwarnings("ignore::postil.errors.SchemeWarning")  # gaps break entities
def test_unknown_is_better_than_outside(preset):
    scores = [postil.Tagger(preset=preset, **SMALL).fit(X, with_gaps(y, 0.5, fill)).score(*TEST) for fill in ("?", "O")]
    assert scores[0] > scores[1] + 0.1


@pytest.mark.parametrize("preset", PRESETS)
def test_corpora_with_different_classes_are_learnt_together(preset):
    classes = sorted({label[2:] for labels in y for label in labels if label != "O"})
    annotates = [[classes[i % len(classes)]] for i in range(len(X))]
    kept = [[x if x[2:] in own else "O" for x in labels] for labels, own in zip(y, annotates, strict=True)]
    together = postil.Tagger(preset=preset, **SMALL).fit(X, kept, annotates=annotates).score(*TEST)
    as_outside = postil.Tagger(preset=preset, **SMALL).fit(X, kept).score(*TEST)
    assert together > as_outside + 0.1


@pytest.mark.parametrize("preset", PRESETS)
def test_sentences_of_which_nothing_is_known_change_nothing(preset):
    settings = {**SMALL, "epochs": 2, **QUIET}
    more = [*X, ["Never", "seen"]], [*y, ["?", "?"]]
    one, other = (postil.Tagger(preset=preset, **settings).fit(*data) for data in ((X, y), more))
    for name, parameter in one.model.network.parameters().items():
        assert (parameter.value == other.model.network.parameters()[name].value).all()


def test_sets_of_one_label_are_that_label():
    """The loss over sets is the ordinary one where each holds one label."""
    settings = {**SMALL, "epochs": 1, **QUIET}
    doubled = [[f"{label}|{label}" for label in labels] for labels in y]
    for preset in PRESETS:
        one, other = (postil.Tagger(preset=preset, **settings).fit(X, labels) for labels in (y, doubled))
        for name, parameter in one.model.network.parameters().items():
            assert parameter.value == pytest.approx(other.model.network.parameters()[name].value, abs=2e-4)


def test_the_loss_of_a_crf_sums_over_all_labellings_that_agree():
    labels = [PartialLabel("?"), "I-PER", PartialLabel("LOC|O")]
    tagger = postil.Tagger(**{**SMALL, "epochs": 1}).fit(X, y)
    codec = tagger.model.codec
    (allowed,) = codec.numbers([labels])
    _, lattice = next(Posteriors(tagger.model).lattices([["a", "b", "c"]], calibrated=False))
    (loss,), _ = loss_and_gradient(lattice, allowed)
    agreeing = compatible_labellings(codec.labels, "iobes", "bio", labels, [True, False, True])
    everything = valid_labellings(codec.labels, "iobes", 3)

    def total(paths):
        return np.logaddexp.reduce([path_scores(lattice, np.array(path))[0] for path in paths])

    assert loss == pytest.approx(total(everything) - total(agreeing), abs=1e-9)


def test_parts_of_speech_with_unknown_ones():
    X, y = parts_of_speech(40)
    gaps = with_gaps(y, 0.4, "?")
    tagger = postil.Tagger(preset="window-softmax", **SMALL).fit(X, gaps)
    assert "?" not in tagger.classes_ and tagger.score(X, y) > 0.8
    literal = postil.Tagger(preset="window-softmax", **SMALL).fit(X, gaps, partial=False)
    assert "?" in literal.classes_
    assert literal.evaluate(X, gaps).left_out.tokens == 0  # the model knows it as a label
    assert tagger.evaluate(X, gaps).left_out.tokens == sum(row.count("?") for row in gaps)


def test_nothing_known_is_an_error():
    with pytest.raises(DataError, match=r"every token is unknown: expected some labels, got nothing but '\?'"):
        postil.Tagger().fit([["a", "b"]], [["?", "?"]])
    with pytest.raises(DataError, match="every token is unknown"):
        LabelCodec.of([[PartialLabel("?")]])


def test_the_model_says_how_much_was_unknown():
    fitting = postil.Tagger(**SMALL).fitting([*X, ["Anna", "left", "Oslo"]], [*y, ["?", "O", "PER|LOC"]])
    assert fitting.model.about["data"]["partial"] == {"unknown": 1, "several": 1}


def test_going_on_with_a_corpus_of_another_class_keeps_the_first_ones_possible():
    first = [[label if label[2:] == "PER" else "O" for label in labels] for labels in y]
    known = postil.Tagger(**SMALL).fit(X, first)
    second = [[label if label[2:] == "LOC" else "O" for label in labels] for labels in y]
    tagger = postil.Tagger(**SMALL).fit(X, second, warm_start=known, annotates=["LOC"])
    found = {label[2:] for labels in tagger.predict(TEST[0]) for label in labels} - {""}
    assert {"PER", "LOC"} <= found


def test_a_detector_learns_and_counts_only_what_is_known():
    gaps = with_gaps(y, 0.3, "?")
    detector = postil.Detector(label="LOC", hidden=12, word_dim=8, epochs=4).fit(X, gaps)
    found = detector.evaluate(X, gaps)
    assert found.tokens == sum(label != "?" for labels in gaps for label in labels)
    assert detector.score(*TEST) > 0.6


# ------------------------------------------------------------------------------------------------ evaluation


def scored(gold, predicted):
    return evaluate(with_marks([gold], partial=True), [predicted], scheme="bio")


def test_an_entity_on_unknown_tokens_is_no_mistake():
    found = scored(["B-PER", "O", "?"], ["B-PER", "O", "B-LOC"])
    assert (found.spans.overall.correct, found.spans.overall.predicted, found.spans.overall.gold) == (1, 1, 1)
    assert found.left_out == (1, 0, 1) and found.tokens.tokens == 2
    assert found.to_dict()["left_out"] == {"tokens": 1, "gold_entities": 0, "predicted_entities": 1}


def test_an_entity_that_may_go_on_is_left_out_on_both_sides():
    for predicted in (["B-PER", "I-PER"], ["B-PER", "O"]):
        found = scored(["B-PER", "?"], predicted)
        assert found.spans.overall.predicted == found.spans.overall.gold == 0
        assert found.left_out == (1, 1, 1)


def test_what_is_wrong_in_any_case_is_counted():
    found = scored(["O", "?", "O"], ["B-PER", "I-PER", "O"])  # its first word is in no entity
    assert found.spans.overall.predicted == 1 and found.left_out.predicted_entities == 0
    assert scored(["PER|LOC", "O"], ["B-ORG", "O"]).spans.overall.predicted == 1
    assert scored(["PER|LOC", "O"], ["B-LOC", "O"]).left_out.predicted_entities == 1


def test_classes_that_are_not_annotated_are_left_out():
    codec = LabelCodec("bio", ("LOC", "PER"))
    gold = codec.widened([["B-PER", "O", "O", "O"]], ["PER"])
    found = evaluate(gold, [["B-PER", "B-LOC", "O", "B-PER"]], scheme="bio")
    assert (found.spans.overall.correct, found.spans.overall.predicted) == (1, 2)
    assert found.left_out == (3, 0, 1)
