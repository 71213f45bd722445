"""Learning curves: the law is found again, forecasts follow it."""

import numpy as np
import pytest

import postil
from oracles import corpora
from postil.errors import PostilError
from postil.evaluation import curve
from postil.evaluation.cross_validation import CurvePoint, PowerLaw, fit, forecast

SIZES = np.array([100, 141, 200, 283, 400, 566, 800], float)


@pytest.mark.parametrize("law", [PowerLaw(0.9, 2.0, 0.5), PowerLaw(0.7, 0.8, 0.25), PowerLaw(0.95, 30.0, 1.0)])
def test_a_power_law_is_found_again(law):
    found = fit(SIZES, np.array([law(n) for n in SIZES]))
    assert found == pytest.approx(law, rel=1e-3)
    assert law.sentences_for(law(1234)) == pytest.approx(1234)
    assert law.sentences_for(law.ceiling) == np.inf


def test_a_law_never_falls_and_never_exceeds_1():
    assert fit(SIZES, np.linspace(0.8, 0.7, 7)).b == 0
    steep = fit(SIZES, 0.1 + SIZES / 1000)
    assert steep.ceiling <= 1


def test_the_forecast_follows_the_law_and_its_range_contains_it():
    law, rng = PowerLaw(0.9, 2.0, 0.5), np.random.default_rng(0)
    points = [CurvePoint(int(n), 20 * int(n), tuple(law(n) + rng.normal(0, 0.004, 4))) for n in SIZES]
    result = forecast(points, rng)
    for one in result.forecasts:
        assert one.low <= one.score <= one.high
        assert one.score == pytest.approx(law(one.sentences), abs=0.03)
    exact = law.sentences_for(law(800) + 0.01) - 800
    low, high = result.for_one_point[1:]
    assert low <= exact <= high
    assert "more sentences for one more point" in result.summary()


def test_a_flat_curve_promises_nothing():
    points = [CurvePoint(int(n), 1, (0.8, 0.8)) for n in SIZES]
    result = forecast(points, np.random.default_rng(0))
    assert result.to_dict()["for_one_point"]["estimate"] is None
    assert "not expected" in str(result)
    assert "<table>" in result._repr_html_()


@pytest.mark.slow
def test_a_curve_of_a_tagger_rises_and_repeats():
    X, y = corpora.named_entities(80)
    tagger = postil.Tagger(hidden=8, epochs=3)
    dev = corpora.named_entities(40, seed=9)
    one = curve(tagger, X, y, dev, sizes=4, repeats=2, seed=1)
    assert [point.sentences for point in one.points] == [28, 40, 57, 80]
    assert one.points[-1].mean > one.points[0].mean
    assert curve(tagger, X, y, dev, sizes=4, repeats=2, seed=1, threads=2).to_dict() == one.to_dict()


def test_without_dev_a_fifth_is_held_out():
    X, y = corpora.named_entities(50)
    result = curve(postil.Tagger(hidden=8, epochs=1), X, y, sizes=3, repeats=1)
    assert 35 <= result.points[-1].sentences <= 45


@pytest.mark.parametrize("settings", [{"sizes": 2}, {"repeats": 0}, {"sizes": 30}])
def test_impossible_curves_are_refused(settings):
    X, y = corpora.named_entities(20)
    with pytest.raises(PostilError, match=r"must be at least|needs more sentences"):
        curve(postil.Tagger(), X, y, (X, y), **settings)


def test_data_without_entities_or_with_too_few_sentences_have_no_curve():
    X, y = corpora.named_entities(20)
    nothing = [["O"] * len(tokens) for tokens in X]
    with pytest.raises(PostilError, match="needs entities in the data"):
        curve(postil.Tagger(), X, nothing, (X, y))
    with pytest.raises(PostilError, match="needs entities in the sentences to score on"):
        curve(postil.Tagger(), X, y, (X, nothing))
    with pytest.raises(PostilError, match="needs held-out data, or at least 5 sentences"):
        curve(postil.Tagger(), X[:2], y[:2])


def test_the_largest_part_may_be_limited_and_the_forecast_is_for_all():
    X, y = corpora.named_entities(80)
    result = curve(postil.Tagger(hidden=8, epochs=2), X, y, (X, y), sizes=3, repeats=1, most=40)
    assert [point.sentences for point in result.points] == [20, 28, 40]
    assert [one.sentences for one in result.forecasts] == [160, 320]


def test_the_held_out_fifth_needs_five_sentences():
    with pytest.raises(PostilError, match=r"a learning curve needs held-out data, or at least 5 sentences \(got 4\)"):
        curve(postil.Tagger(), [["Anna"]] * 4, [["B-PER"]] * 4)
