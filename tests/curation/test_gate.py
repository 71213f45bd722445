"""Which change of which class closes the gate."""

import math

import pytest

from postil.curation.gate import ClassChange, Gate, check_judgeable, check_tolerance, gate_of
from postil.errors import ConfigurationError, DataError
from postil.metrics import evaluate
from postil.metrics.tables import text

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


def test_impossible_questions():
    for tolerance in (-1, math.nan):
        with pytest.raises(ConfigurationError, match="tolerance must be at least 0"):
            check_tolerance(tolerance)
    check_judgeable(evaluate(GOLD, BEFORE), ["LOC"])
    with pytest.raises(DataError, match="dev must have some of the classes of the model: TIME"):
        check_judgeable(evaluate(GOLD, BEFORE), ["TIME"])
