"""Mistakes as JSON: all kinds, in the order of the file, as many as the scores count."""

from postil.metrics.evaluation import evaluate_compared, mistakes_as_json, prepare

TOKENS = [["Anna", "of", "Oslo", "Bank"], ["Lima"]]


def test_spans_of_every_kind():
    gold = [["B-PER", "O", "B-LOC", "B-ORG"], ["B-LOC"]]
    predicted = [["O", "B-LOC", "B-ORG", "I-ORG"], ["B-PER"]]
    compared = prepare(gold, predicted)
    found = mistakes_as_json(compared, TOKENS)
    assert [(one["sentence"], one["kind"]) for one in found] == [
        (0, "missed"),
        (0, "spurious"),
        (0, "boundary"),
        (0, "missed"),
        (1, "type"),
    ]
    assert found[0]["gold"] == {"start": 0, "end": 1, "label": "PER"} and found[0]["predicted"] is None
    assert found[2]["gold"] == {"start": 3, "end": 4, "label": "ORG"}
    assert found[2]["predicted"] == {"start": 2, "end": 4, "label": "ORG"}
    assert found[0]["tokens"] == TOKENS[0]
    scores = evaluate_compared(compared).spans
    counted = scores.errors()
    for kind in ("missed", "spurious", "boundary", "type"):
        assert sum(one["kind"] == kind for one in found) == counted[kind]


def test_labels_without_a_scheme_and_nothing_wrong():
    found = mistakes_as_json(prepare([["NN", "VB"]], [["NN", "JJ"]], "none", "none"), [["a", "b"]])
    assert [(one["gold"]["label"], one["predicted"]["label"], one["gold"]["start"]) for one in found] == [
        ("VB", "JJ", 1)
    ]
    assert mistakes_as_json(prepare([["NN"]], [["NN"]], "none", "none"), [["a"]]) == []
