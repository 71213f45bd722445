"""Token scores against plain loops."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import DataError
from postil.metrics.counts import Counts, TokenScores, score_tokens, sentence_token_counts

Columns = list[list[tuple[str, str]]]
columns = st.lists(st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from("ABC")), max_size=6), max_size=5)


def sides(pairs: Columns) -> tuple[list[list[str]], list[list[str]]]:
    return [[a for a, _ in s] for s in pairs], [[b for _, b in s] for s in pairs]


@given(columns)
def test_against_loops(pairs: Columns) -> None:
    scores = score_tokens(*sides(pairs))
    flat = [pair for sentence in pairs for pair in sentence]
    assert scores.tokens == len(flat)
    assert scores.accuracy == (sum(a == b for a, b in flat) / len(flat) if flat else 0)
    for label, counts in scores.by_label().items():
        right = sum(a == b == label for a, b in flat)
        assert counts == Counts(right, sum(b == label for _, b in flat), sum(a == label for a, _ in flat))
    assert scores.mistakes() == sorted(
        {(a, b, flat.count((a, b))) for a, b in flat if a != b}, key=lambda row: (-row[2], row[0], row[1])
    )


@given(columns)
def test_scores_of_sentences_add_up(pairs: Columns) -> None:
    parts = [score_tokens(*sides([sentence])) for sentence in pairs]
    assert sum(parts, TokenScores()) == score_tokens(*sides(pairs))
    rows = sentence_token_counts(*sides(pairs))
    assert rows.shape == (len(pairs), 2)
    assert rows.tolist() == [[part.correct, part.tokens] for part in parts]


def test_to_dict() -> None:
    scores = score_tokens([["A", "B", "B", "C"]], [["A", "B", "A", "C"]])
    assert scores.to_dict() == {"tokens": 4, "correct_tokens": 3, "accuracy": 75}
    assert scores.confusion_dict() == {"A": {"A": 1}, "B": {"A": 1, "B": 1}, "C": {"C": 1}}


def test_sides_that_do_not_fit() -> None:
    with pytest.raises(DataError, match=r"sentence 1: .*expected 2, got 1"):
        score_tokens([["A", "A"]], [["A"]])
