"""The recall dial: the promised figures are those of the tuned model, and the best of their kind."""

from functools import cache
from itertools import chain

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities, parts_of_speech
from oracles.pages import read_page, table_rows
from postil import Decoding
from postil.errors import ConfigurationError, DataError
from postil.models.decoding.posteriors import Posteriors
from postil.models.decoding.tuning import BIASES, POSITIONS, Dial, Point, best_f1, setting_at, tuned

DATA = named_entities(80, seed=4)


@cache
def fitted():
    return postil.Tagger(hidden=8, word_dim=6, epochs=3, rate=0.02).fit(*named_entities(30))


def tagger():
    model = fitted()
    model.decoding = Decoding(temperature=1.4, shift=0.2)
    return model


def figures(model, data=DATA):
    counts = model.evaluate(*data).spans.overall
    return counts.precision, counts.recall


@pytest.mark.parametrize(
    "wish", [{"recall": 0.65}, {"recall": 0.75}, {"precision": 0.97}, {"precision": 0.99}], ids=str
)
@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_the_figures_to_expect_are_those_of_the_tuned_model(wish, margin):
    model = shy() if "recall" in wish else tagger()
    calibration = model.decoding.temperature, model.decoding.shift
    before = figures(model)
    found = model.tune(*DATA, **wish, margin=margin)
    assert figures(model) == pytest.approx((found.chosen.precision, found.chosen.recall))
    assert (found.before.precision, found.before.recall) == pytest.approx(before)
    ((figure, wanted),) = wish.items()
    assert found.chosen.surely(figure, margin) >= wanted
    assert getattr(found.chosen, figure) >= wanted
    assert (model.decoding.temperature, model.decoding.shift) == calibration
    assert not found.is_met
    other = "precision" if figure == "recall" else "recall"
    # Whatever point of the curve also reaches it has not more of the other, but for what a bisection may miss.
    rivals = [getattr(point, other) for point in found.curve if point.surely(figure, margin) >= wanted]
    assert getattr(found.chosen, other) >= max(rivals) - 0.05


def shy():
    """A tagger that misses entities."""
    model = tagger()
    model.decoding = Decoding(shift=-2.5)
    return model


def test_the_best_f1_is_the_best_of_all_biases_without_a_margin():
    model, f1s = shy(), []
    for bias in BIASES:
        model.decoding = Decoding(shift=-2.5, bias=float(bias))
        f1s.append(model.score(*DATA))
    found = model.tune(*DATA, f1=True, margin=0)
    assert found.chosen.bias == model.decoding.bias == BIASES[np.argmax(f1s)] > 0
    assert model.score(*DATA) == pytest.approx(max(f1s)) == found.chosen.f1
    assert [point.f1 for point in found.curve] == pytest.approx(f1s)
    assert "the best F1" in found._repr_html_() and found.to_dict()["wanted"] == {"F1": None, "margin": 0}


def test_the_margin_of_the_best_f1_is_that_of_resampled_sentences():
    """Sentences drawn anew tell how far two F1 on the same sentences may differ by chance."""
    dial = Dial.of(shy()._posteriors, *DATA)
    rng = np.random.default_rng(0)
    tables = np.stack([dial.counts(bias) for bias in BIASES])
    drawn = rng.multinomial(len(DATA[0]), np.full(len(DATA[0]), 1 / len(DATA[0])), size=2000)
    correct, predicted, gold = np.moveaxis(np.einsum("rb,kbc->rkc", drawn, tables), 2, 0)
    f1s = 2 * correct / (predicted + gold)
    best = int(np.argmax([Point.at(0, table).f1 for table in tables]))
    for margin in (0.5, 1.0, 2.0):
        chosen = best_f1(dial.counts, margin).chosen
        short = [(f1s[:, best] - f1s[:, k]).mean() / max(1e-9, (f1s[:, best] - f1s[:, k]).std()) for k in range(best)]
        i = list(BIASES).index(chosen.bias)
        assert i == best or short[i] <= 1.2 * margin
        assert all(below >= 0.8 * margin for below in short[:i])


def test_fit_chooses_the_bias_by_what_is_held_out():
    X, y = named_entities(30)
    model = postil.Tagger(hidden=8, word_dim=6, epochs=3, rate=0.02).fit(X, y, dev=DATA)
    chosen = model.decoding.bias
    assert chosen == model.tune(*DATA, f1=True).chosen.bias > 0
    assert postil.Tagger(hidden=8, word_dim=6, epochs=3, rate=0.02).fit(X, y).decoding.bias == 0
    empty = (DATA[0], [["O"] * len(x) for x in DATA[0]])
    assert postil.Tagger(hidden=8, word_dim=6, epochs=1).fit(X, y, dev=empty).decoding.bias == 0


def test_nothing_is_changed_where_nothing_is_gained():
    model = tagger()
    exact = list(model.predict(DATA[0]))
    assert model.tune(DATA[0], exact, f1=True).chosen.bias == 0


def test_every_point_of_the_curve_is_what_the_model_does_there():
    model = tagger()
    dial = Dial.of(Posteriors(model.model), *DATA)
    for position in POSITIONS[::5]:
        point = Point.at(position, dial.counts(position))
        model.decoding = dial.decoding(*setting_at(position), Decoding(temperature=1.4, shift=0.2))
        assert figures(model) == pytest.approx((point.precision, point.recall))


def test_the_standard_error_is_that_of_resampled_sentences():
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 5, 400)
    counts = np.stack([rng.binomial(gold, 0.7), gold + 1, gold], axis=1)
    point = Point.at(0, counts)
    resamples = [counts[rng.integers(400, size=400)].sum(axis=0) for _ in range(2000)]
    assert point.recall_error == pytest.approx(np.std([c / g for c, _, g in resamples]), rel=0.1)
    assert point.precision_error == pytest.approx(np.std([c / p for c, p, _ in resamples]), rel=0.1)


def test_positions_of_the_dial():
    assert setting_at(0) == (0, 0)
    assert setting_at(1.5) == (1.5, 0)
    assert setting_at(-0.25) == (0, 0.25)
    counts = np.array([[1, 1, 1]])
    assert [Point.at(p, counts).position for p in POSITIONS] == pytest.approx(POSITIONS.tolist())


def test_what_cannot_be_reached_is_told_with_what_can():
    model = tagger()
    with pytest.raises(ConfigurationError, match=r"no setting reaches this recall .*: expected 100, got \d.* at best"):
        model.tune(*DATA, recall=1.0)
    assert model.decoding.bias == 0
    with pytest.raises(ConfigurationError, match=r"no setting reaches this precision .* has to become better"):
        model.tune(DATA[0], [["B-LOC", "I-LOC", *["O"] * 9][: len(x)] for x in DATA[0]], precision=0.99)


def test_overlapping_spans_reach_more():
    dial = Dial.of(Posteriors(tagger().model), *DATA)
    best = max(Point.at(p, dial.counts(p)).recall for p in POSITIONS)
    assert "overlapping spans do: tag --all-above" in dial.hint("recall", best + 0.001, 0.0)
    assert dial.hint("recall", 1.1, 0.0) == "the model has to become better"


def test_mistakes_are_told():
    model = tagger()
    for wish, message in (
        ({}, "tuning needs recall, precision or f1 .got none of them"),
        ({"recall": 0.5, "precision": 0.5}, "precision or f1 .got recall and precision"),
        ({"recall": 0.5, "f1": True}, "precision or f1 .got recall and F1"),
        ({"recall": 95}, "recall must be a number above 0, at most 1 .got 95"),
        ({"recall": 0.5, "margin": -1}, "margin must be"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            model.tune(*DATA, **wish)
    with pytest.raises(DataError, match="nothing to tune on"):
        model.tune(DATA[0], [["O"] * len(x) for x in DATA[0]], recall=0.5)
    speech = postil.Tagger(hidden=8, epochs=1).fit(*parts_of_speech(20))
    with pytest.raises(ConfigurationError, match="nothing to tune: expected a model of spans, or with a label O"):
        speech.tune(*parts_of_speech(20), recall=0.5)


def test_labels_without_a_scheme_but_with_o_are_counted_by_token():
    def flat(data):
        return data[0], [[label.partition("-")[2] or "O" for label in labels] for labels in data[1]]

    model = postil.Tagger(hidden=8, word_dim=6, epochs=3, rate=0.02).fit(*flat(named_entities(30)))
    X, y = flat(DATA)
    found = model.tune(X, y, recall=0.6)

    def recall():
        pairs = zip(chain.from_iterable(model.predict(X)), chain.from_iterable(y), strict=True)
        return np.mean([one == other for one, other in pairs if other != "O"])

    assert recall() == pytest.approx(found.chosen.recall)
    assert recall() >= 0.6
    found = model.tune(X, y, precision=0.8)
    assert found.chosen.precision >= 0.8
    assert recall() == pytest.approx(found.chosen.recall)


def test_what_only_the_margin_keeps_from_being_reached_is_told():
    model = tagger()
    highest = max(point.recall for point in model.tune(*DATA, recall=0.01, margin=0).curve)
    with pytest.raises(ConfigurationError, match=r"without the margin it is reached \(margin 0\)"):
        model.tune(*DATA, recall=highest, margin=1)


def test_sentences_with_unknown_labels_are_left_out():
    X, y = DATA
    hidden = [["?" if i % 3 == 0 and t == 0 else label for t, label in enumerate(labels)] for i, labels in enumerate(y)]
    rest = [i for i in range(len(X)) if i % 3]
    expected = tagger().tune([X[i] for i in rest], [y[i] for i in rest], recall=0.5)
    assert tagger().tune(X, hidden, recall=0.5) == expected


def test_in_a_notebook_and_printed():
    found = shy().tune(*DATA, recall=0.7)
    page = read_page(found._repr_html_())
    figures = f"precision {100 * found.chosen.precision:.2f}, recall {100 * found.chosen.recall:.2f}"
    assert figures in page.one("p", class_="answer").text and figures in str(found).splitlines()[0]
    ring = f"settings: recall {found.chosen.recall:.3f}, precision {found.chosen.precision:.3f}"
    assert page.one("svg").one("circle", class_="ring").one("title").text == ring
    assert [row[5] for row in table_rows(page.one("table"))].count("chosen") == 1
    assert str(found).count("chosen") == str(found).count("untuned:") == 1


def clean():
    """Data on which the model makes no mistake, so that many settings score the same."""
    model = tagger()
    return model, (DATA[0], list(model.predict(DATA[0])))


@pytest.mark.parametrize("wish", [{"precision": 0.99}, {"precision": 0.5}, {"recall": 0.9}, {"recall": 0.1}])
@pytest.mark.parametrize("decoding", [{}, {"bias": 0.25}, {"thresholds": {"LOC": 0.3}}], ids=str)
def test_a_target_that_is_already_met_changes_nothing(wish, decoding):
    model, _ = clean()
    model.decoding = Decoding(temperature=1.4, shift=0.2, **decoding)
    present = model.decoding
    found = model.tune(DATA[0], list(model.predict(DATA[0])), **wish)
    assert model.decoding == present
    assert found.is_met and found.to_dict()["already_met"]
    assert (found.chosen.bias, found.chosen.threshold) == (present.bias, present.thresholds.get("LOC", 0))
    assert found.chosen.precision == found.chosen.recall == 1
    assert str(found).startswith("the target is already met, nothing changes: ")


def test_the_present_setting_is_measured_as_the_model_answers():
    model = tagger()
    for decoding in (Decoding(bias=1.5, thresholds={"LOC": 0.4, "PER": 0.9}), Decoding(bias=-1.0), Decoding(bias=2.0)):
        model.decoding = decoding
        present = Dial.of(model._posteriors, *DATA).present(decoding)
        assert (present.precision, present.recall) == pytest.approx(figures(model))


def test_the_smallest_change_wins_among_equals():
    """Settings whose figures are equal, at both ends of the dial and near its middle."""

    def counts(position):
        good = np.array([[1, 1, 1]] * 20)
        return np.array([[1, 2, 1]] * 20) if -0.3 < position < 0.7 else good

    def chosen(position):
        present = Point.at(position, counts(position))
        return tuned(counts, present, "precision", 0.9, 0.0, str).chosen.position

    assert chosen(0) == pytest.approx(-0.3, abs=0.01)
    assert chosen(0.6) == 1


def test_the_untuned_setting_wins_among_equals():
    def counts(position):
        return np.array([[1, 1, 1]] * 20) if position <= 1 else np.array([[1, 2, 1]] * 20)

    chosen = tuned(counts, Point.at(2, counts(2)), "precision", 0.9, 0.0, str).chosen
    assert (chosen.bias, chosen.threshold) == (0, 0)


@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_equal_f1_leave_the_bias_at_zero(margin):
    assert best_f1(lambda position: np.array([[1, 2, 1]] * 20), margin).chosen.position == 0
