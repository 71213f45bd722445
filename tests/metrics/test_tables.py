"""Tables as text, to the letter."""

from postil.metrics import tables
from postil.metrics.calibration import calibrate
from postil.metrics.counts import Counts, score_tokens
from postil.metrics.evaluation import known_from, spans_by_novelty, tokens_by_novelty
from postil.metrics.spans import SpanScores, score_spans
from postil.text.labels.schemes import Span

SCORES = score_spans([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "O", "O", "B-LOC"]])


def lines(table: tables.Table) -> list[str]:
    return tables.text(table).splitlines()


def test_classes() -> None:
    assert lines(tables.label_table(SCORES.by_label(), SCORES.overall)) == [
        "Classes",
        "class  precision  recall      F1  gold  predicted  correct",
        "----------------------------------------------------------",
        "LOC       100.00  100.00  100.00     1          1        1",
        "PER         0.00    0.00    0.00     1          1        0",
        "----------------------------------------------------------",
        "all        50.00   50.00   50.00     2          2        1",
    ]


def test_large_counts_and_a_class_without_a_name() -> None:
    assert lines(tables.label_table({"": Counts(1000, 2000, 4000)}))[3] == (
        "(unnamed)      50.00   25.00  33.33  4,000      2,000    1,000"
    )


def test_matching_and_errors() -> None:
    assert lines(tables.matching_table(SCORES))[5].split()[:4] == ["partial", "75.00", "75.00", "75.00"]
    assert lines(tables.errors_table(SCORES))[3].split()[:3] == ["boundary", "1", "100.00"]
    assert len(tables.errors_table(score_spans([], [])).rows) == 5
    apart = tables.errors_table(SCORES, {"first half": SCORES, "second half": SpanScores()})
    assert apart.columns == ("kind", "spans", "percent", "first half", "second half")
    assert apart.rows[0] == ("boundary", 1, 100.0, 1, 0)


def test_confusion() -> None:
    scores = score_spans([["B-PER", "O", "B-LOC"]], [["B-LOC", "B-PER", "O"]])
    assert lines(tables.confusion_table(scores)) == [
        "Confusion of overlapping spans",
        "gold \\ predicted  LOC  PER  (missed)",
        "------------------------------------",
        "LOC                                1",
        "PER                 1",
        "(spurious)               1",
    ]


def test_confusion_of_many_classes_is_a_list() -> None:
    gold = [[f"B-{letter}-class", "O"] for letter in "ABCDEFGHIJK"]
    predicted = [["B-Z", "O"] for _ in gold]
    table = tables.confusion_table(score_spans(gold, predicted))
    assert table.rows[0] == ("A-class", "Z", 1)
    assert len(table.rows) == 10
    assert table.note == "and 1 rarer ones"


def test_novelty() -> None:
    tokens, spans = [["Anna"]], [[Span("PER", 0, 1)]]
    known = known_from(tokens, spans)
    assert tables.span_novelty_table(spans_by_novelty(tokens, spans, spans, known)).rows[0] == (
        "seen entity", 100.0, 100.0, 100.0, 1, 1, 1,
    )  # fmt: skip
    parts = tokens_by_novelty(tokens, [["A"]], [["B"]], known)
    assert tables.token_novelty_table(parts).rows == [("seen word", 0.0, 1, 0), ("unseen word", 0.0, 0, 0)]


def test_mistakes() -> None:
    scores = score_tokens([["A", "A", "B"]], [["B", "B", "A"]])
    assert tables.mistakes_table(scores.mistakes(), "Mistakes").rows == [("A", "B", 2), ("B", "A", 1)]


def test_calibration() -> None:
    assert lines(tables.calibration_table(calibrate([0.95, 0.85, 0.9], [True, True, False]))) == [
        "Reliability",
        "probability %  answers  predicted %  observed %",
        "-----------------------------------------------",
        "80-90                2        87.50       50.00",
        "90-100               1        95.00      100.00",
        "expected calibration error 26.67 %; about 18.24 % would be expected by chance",
    ]
