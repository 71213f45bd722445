"""Every kind of finding is found where it is, and clean data have none."""

import pytest

from postil.quality import Split
from postil.quality.checks import CHECKS

CLEAN_X = [["Anna", "met", "Boris", "today"], ["they", "left", "Oslo", "early"]] * 5
CLEAN_Y = [["B-PER", "O", "B-PER", "O"], ["O", "O", "B-LOC", "O"]] * 5


def examined(splits):
    return [finding for check in CHECKS.values() for finding in check.find(splits)]


def found(*sentences, **others):
    """Findings of these sentences after clean ones; ``others`` are further splits."""
    X, y = [list(x) for x, _ in sentences], [list(labels) for _, labels in sentences]
    splits = [Split.of("train", CLEAN_X + X, CLEAN_Y + y)]
    splits += [Split.of(name, *data) for name, data in others.items()]
    return [(finding.kind, finding.where) for finding in examined(splits)]


def test_clean_data_have_no_findings():
    assert found() == []


@pytest.mark.parametrize(
    ("tokens", "labels", "kind", "token"),
    [
        (["so", "Clara"], ["O", "I-PER"], "scheme", 2),
        (["see", "Anna"], ["O", "B-LOC"], "inconsistent", 2),
        (["see", "Anna", "go"], ["O", "O", "O"], "inconsistent", 2),
        (["see", "Ed", ","], ["O", "B-PER", "I-PER"], "boundary", 2),
        (["see", "-"], ["O", "B-PER"], "boundary", 2),
        (["the", "Red", "Cross"], ["O", "B-ORG", "I-ORG"], "rare", 2),
        (["caf\u00c3\u00a9"], ["O"], "character", 1),
        (["two words"], ["O"], "character", 1),
        (["a\u200bb"], ["O"], "character", 1),
        (["bro\ufffdken"], ["O"], "character", 1),
        (["x"] * 201, ["O"] * 201, "length", 1),
    ],
)
def test_a_finding_is_at_its_place(tokens, labels, kind, token):
    assert (kind, f"sentence 11, token {token}") in found((tokens, labels))


@pytest.mark.parametrize("name", [["Yahoo", "!"], ['"', "Hamlet", '"'], ["Washington", "D.C", "."]])
def test_names_that_end_in_their_own_punctuation_are_left_alone(name):
    labels = ["B-PER", *["I-PER"] * (len(name) - 1)]
    assert "boundary" not in {kind for kind, _ in found((["see", *name], ["O", *labels]))}


def test_a_word_that_is_mostly_no_name_is_left_alone():
    often = [(["it", "will", "rain"], ["O", "O", "O"])] * 4
    assert found(*often, (["see", "will"], ["O", "B-PER"])) == []


def test_repeated_sentences():
    same = (["a", "b", "Anna"], ["O", "O", "B-PER"])
    assert found(same, same) == []  # inside a split, with the same labels
    assert ("duplicate", "sentence 12, token 1") in found(same, (same[0], ["O", "O", "B-LOC"]))
    assert ("duplicate", "sentence 1, token 1") in found(same, test=([same[0]], [same[1]]))


def test_near_duplicates_across_splits():
    words = [f"w{i}" for i in range(30)]
    other = [*words[:29], "end"]
    labels = ["O"] * 30
    assert ("near-duplicate", "sentence 1, token 1") in found((words, labels), test=([other], [labels]))
    apart = [f"v{i}" for i in range(30)]
    assert "near-duplicate" not in {kind for kind, _ in found((words, labels), test=([apart], [labels]))}


def test_mentions_that_were_forgotten_in_their_document():
    X = [["Clara", "came"], ["then", "Clara", "left"], ["Clara", "stayed"]]
    y = [["B-PER", "O"], ["O", "O", "O"], ["O", "O"]]
    split = Split("X", X, y, "bio", lambda i, t: f"{i} {t}", documents=[1, 1, 2])
    assert [finding.where for finding in examined([split]) if finding.kind == "forgotten"] == ["1 1"]


def test_classes_missing_from_a_split():
    kinds = found(dev=([["Anna", "left"]], [["B-PER", "O"]]))
    assert ("missing", "dev") in kinds and ("missing", "train") not in kinds


def test_parts_of_speech_are_examined_too():
    split = Split.of("X", [["it", "rains"]] * 6 + [["odd\x07"]], [["PRON", "VERB"]] * 6 + [["X"]])
    assert {finding.kind for finding in examined([split])} == {"rare", "character"}


def test_every_kind_has_a_title_and_advice():
    assert all(check.title and check.advice for check in CHECKS.values())
