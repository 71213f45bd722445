"""The evaluation as a whole: schemes made comparable, and the keys that users of the JSON rely on."""

import json

import pytest

from postil.errors import DataError
from postil.metrics import significance
from postil.metrics.evaluation import evaluate, prepare
from postil.text import with_marks
from postil.text.labels.schemes import Span, labels_from_spans

GOLD = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "O"]]
PREDICTED = [["B-PER", "I-PER", "O", "O"], ["O", "B-LOC"]]


def test_spans() -> None:
    evaluation = evaluate(GOLD, PREDICTED)
    report = evaluation.to_dict()
    assert (report["tokens"], report["sentences"], report["scheme"]) == (6, 2, "bio")
    assert report["accuracy"] == pytest.approx(100 * 4 / 6)
    assert (report["precision"], report["recall"], report["f1"]) == (50, 50, 50)
    assert evaluation.main_score == 0.5
    assert {"precision", "recall", "f1", "support"} <= report["labels"]["PER"].keys()
    assert json.loads(json.dumps(report)) == report


def test_parts_of_speech() -> None:
    evaluation = evaluate([["DET", "NOUN"], ["VERB"]], [["DET", "VERB"], ["VERB"]])
    report = evaluation.to_dict()
    assert (report["scheme"], report["tokens"]) == ("none", 3)
    assert evaluation.main_score == pytest.approx(2 / 3)
    assert "f1" not in report
    assert report["labels"]["VERB"]["precision"] == 50
    assert json.loads(json.dumps(report)) == report


def test_schemes_that_differ_are_made_equal_before_tokens_are_compared() -> None:
    iobes = [["B-PER", "E-PER", "O", "S-LOC"], ["O", "O"]]
    evaluation = evaluate(GOLD, iobes)
    assert (evaluation.tokens.accuracy, evaluation.main_score) == (1, 1)


@pytest.mark.parametrize("one", ["bio", "iob1", "iobes", "bilou", "bmewo"])
@pytest.mark.parametrize("other", ["bio", "iob1", "iobes", "bilou", "bmewo"])
def test_any_two_spellings_of_the_same_spans_agree(one: str, other: str) -> None:
    spans, lengths = [[Span("PER", 0, 2), Span("PER", 2, 3), Span("", 4, 7)], []], [8, 2]
    gold, predicted = (
        [labels_from_spans(*sentence, scheme) for sentence in zip(spans, lengths, strict=True)]
        for scheme in (one, other)
    )
    given = evaluate(gold, predicted, one, other)
    assert (given.tokens.accuracy, given.main_score) == (1, 1)
    if (one, other) != ("bio", "iob1"):
        recognised = evaluate(gold, predicted)
        assert (recognised.tokens.accuracy, recognised.main_score) == (1, 1)


def test_mistakes_in_bio_are_not_taken_for_iob1() -> None:
    compared = prepare([["O", "B-PER", "I-PER"]], [["O", "I-PER", "I-PER"]])
    assert compared.predicted_scheme == "bio"
    assert evaluate(compared.gold, compared.predicted).tokens.accuracy == pytest.approx(2 / 3)
    assert evaluate([["O", "I-PER", "I-PER"]], [["O", "B-PER", "I-PER"]]).tokens.accuracy == 1


def test_counts_for_significance() -> None:
    counts, statistic = prepare(GOLD, PREDICTED).sentence_counts()
    assert counts.tolist() == [[1, 1, 2], [0, 1, 0]]
    assert statistic is significance.f1
    counts, statistic = prepare([["A", "C"]], [["A", "D"]]).sentence_counts()
    assert counts.tolist() == [[1, 2]]
    assert statistic is significance.accuracy


def test_a_given_scheme_is_used() -> None:
    assert evaluate(GOLD, PREDICTED, "none").spans is None
    assert prepare([["I-PER", "O"]], [["O", "O"]], "bio").gold_spans == [[Span("PER", 0, 1)]]


def test_predictions_of_another_kind() -> None:
    with pytest.raises(DataError, match=r"predicted labels have no labelling scheme: expected .*\(BIO\)"):
        evaluate(GOLD, [["DET", "NOUN", "VERB", "NOUN"], ["X", "X"]])


@pytest.mark.parametrize("scheme", ["iob1", "bio", "iobes", "bilou", "bmewo"])
def test_other_spans_are_decided_as_predicted_ones_are(scheme: str) -> None:
    """Predicted spans are decided by `prepare`; asked again, beside others, they get the same answer."""
    spans = [Span("PER", 0, 2), Span("LOC", 3, 4), Span("LOC", 6, 8)]
    gold = labels_from_spans(spans, 8, scheme)
    first, second = gold[0].replace("PER", "ORG"), gold[6].replace("LOC", "ORG")
    marks = [f"{gold[0]}|{first}", *gold[1:3], "?", *gold[4:6], f"{gold[6]}|{second}", gold[7]]
    (labels,) = with_marks([marks], partial=True)
    asked = [Span("PER", 0, 2), Span("LOC", 2, 3), Span("LOC", 3, 4), Span("PER", 5, 6), Span("LOC", 6, 8)]
    compared = prepare([labels], [labels_from_spans(asked, 8, scheme)], scheme, scheme)
    assert Span("LOC", 3, 4) not in compared.predicted_spans[0] and Span("PER", 5, 6) in compared.predicted_spans[0]
    assert list(compared.decided([asked])[0]) == list(compared.predicted_spans[0])


def test_without_unknown_labels_all_spans_are_decided() -> None:
    asked = [[Span("PER", 0, 4)], []]
    assert prepare(GOLD, PREDICTED).decided(asked) is asked
