"""Tables of scores as HTML, and what notebooks and ``print`` show of scores."""

import json

import pytest

from oracles.pages import read_page, table_rows
from postil.metrics import DetectionScores, Table, evaluate, score_trees
from postil.metrics.counts import Counts
from postil.metrics.tables import drawn_table, headline, label_table, text
from postil.text import Tree

HOSTILE = "<script>alert(1)</script>"


def test_rows_totals_notes_and_bars():
    table = Table("t", ("name", "share", "n"), [(HOSTILE, 50.0, 3), ("all", 25.0, 1234)], "a < b", has_total=True)
    page = read_page(drawn_table(table, bars=("share",)))
    assert table_rows(page.one("table")) == [["name", "share", "n"], [HOSTILE, "50.00", "3"], ["all", "25.00", "1,234"]]
    assert [bar.attributes["style"] for bar in page.all("td", class_="bar")] == ["--share:0.5000", "--share:0.2500"]
    assert page.one("tr", class_="total").text == "all25.001,234"
    assert page.one("p", class_="note").text == "a < b"


def test_the_headline():
    assert read_page(headline("F1 1.00", "(more)", "3 sentences")).one("p").text == "F1 1.00 (more) 3 sentences"


def test_of_very_many_labels_the_most_frequent_have_rows():
    counts = {f"L{i}": Counts(1, 1, i) for i in range(5)}
    table = label_table(counts, most=2)
    assert [row[0] for row in table.rows] == ["L3", "L4"] and table.note == "3 rarer labels are not shown"
    assert len(label_table(counts).rows) == 5 and not label_table(counts).note


GOLD = [["B-PER", "I-PER", "O"], [f"B-{HOSTILE}", "O", "O"]]
FOUND = [["B-PER", "O", "O"], [f"B-{HOSTILE}", "O", "B-PER"]]
DEGREES = [Tree.of(("3", ("2", "good"), ("2", "film"))), Tree.of(("1", "bad"))]
NODES = [[(label or "2", {label or "2": 1.0, "0": 0.0}) for label in tree.labels] for tree in DEGREES]

RESULTS = {
    "spans": evaluate(GOLD, FOUND),
    "tokens": evaluate([["NOUN", HOSTILE]], [["NOUN", "NOUN"]], "none"),
    "nothing wrong": evaluate(GOLD, GOLD),
    "detection": DetectionScores(
        label=HOSTILE, sentences=2, tokens=9, counts=Counts(2, 3, 4), average_precision=0.5, threshold=0.25
    ),
    "trees": score_trees(DEGREES, NODES),
}


@pytest.mark.parametrize("name", RESULTS)
def test_scores_in_a_notebook(name):
    scores = RESULTS[name]
    page = read_page(scores._repr_html_())
    main, _, others = scores.summary().partition("  ")
    assert page.one("p", class_="answer").one("strong").text == main and others in page.one("p", class_="answer").text
    assert not list(page.all("script")) and len(list(page.all("style"))) == 1
    assert list(page.all("table"))


@pytest.mark.parametrize("name", RESULTS)
def test_scores_are_printed_and_put_into_dicts(name):
    scores = RESULTS[name]
    lines = str(scores).splitlines()
    assert lines[0] == scores.summary() and len(lines) > 4
    json.dumps(scores.to_dict())


def test_figures_of_the_table_are_those_of_the_dict():
    scores = RESULTS["spans"]
    rows = {row[0]: row[1:] for row in table_rows(next(read_page(scores._repr_html_()).all("table")))}
    assert rows["PER"][:3] == ["0.00", "0.00", "0.00"] and rows[HOSTILE][2] == "100.00"
    assert rows["all"][2] == f"{scores.to_dict()['f1']:.2f}"
    assert "Mistakes" in scores._repr_html_() and "Mistakes" not in RESULTS["nothing wrong"]._repr_html_()


def test_control_characters_of_labels_do_not_reach_a_terminal():
    table = label_table({"\x1b[31mPER": Counts(1, 1, 1)})
    assert "\x1b" not in text(table) and r"\x1b[31mPER" in text(table)
    assert "\x1b" not in str(evaluate([["\x1b[31mNOUN"]], [["X"]], "none"))
