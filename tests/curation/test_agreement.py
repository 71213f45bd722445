"""The curve of agreement between predictions and the answers that came after them."""

from postil.curation.agreement import curve_of
from postil.curation.journal import Answer
from postil.text import Span


def guess(key, gold, predicted, number=0):
    spans, predicted = ([Span("PER", start, start + 1) for start in places] for places in (gold, predicted))
    return Answer(
        key=key,
        text="a b c",
        tokens=((0, 1), (2, 3), (4, 5)),
        spans=tuple(spans),
        predicted=tuple(predicted),
        round=number,
    )


def test_agreement_is_that_of_spans():
    answers = [guess("a", [0, 1], [0, 2]), guess("b", [0], [0]), guess("c", [], [], 1), guess("d", [], [1], 2)]
    first, second, third = curve_of(answers)["rounds"]
    assert first == {
        "round": 0,
        "answers": 2,
        "records": 2,
        "unchanged": 0.5,
        "precision": 2 / 3,
        "recall": 2 / 3,
        "f1": 2 / 3,
    }
    assert (second["f1"], second["unchanged"]) == (None, 1.0)
    assert (third["f1"], third["precision"], third["recall"]) == (0.0, 0.0, None)


def test_the_curve_runs_over_the_last_answers():
    wrong, right = [guess(f"w{i}", [0], []) for i in range(30)], [guess(f"r{i}", [0], [0], 1) for i in range(30)]
    assert curve_of(wrong[:4])["points"] == []
    points = curve_of([*wrong, *right])["points"]
    assert [point["answers"] for point in points] == list(range(5, 61))
    assert [point["f1"] for point in points[:26]] == [0.0] * 26 and points[-11]["f1"] == 1.0
    assert points[35]["answers"] == 40 and points[35]["unchanged"] == 0.5 and points[35]["records"] == 20
    many = curve_of(wrong * 40)["points"]
    assert len(many) == 200 and many[-1]["answers"] == 1200
    assert curve_of([answer("a", predicted=None), *wrong[:5]])["points"][0]["answers"] == 6


def answer(key, predicted):
    return Answer(key=key, text="a", tokens=((0, 1),), predicted=predicted)
