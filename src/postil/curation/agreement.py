"""How well a model agrees with the answers of a person that came after its predictions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from postil.curation.journal import Answer

WINDOW = 20
"""Answers over which a point of the curve is computed; the first one comes after ``FEWEST``."""
FEWEST = 5
MOST_POINTS = 200


def curve_of(answers: Sequence[Answer]) -> dict[str, Any]:
    """How well predictions agreed with the answers that came after them.

    points   after each answer, over the last ``WINDOW`` that had a prediction; at most ``MOST_POINTS`` of them
    rounds   over all answers that came while one model was in use

    Each has precision, recall and F1 of the spans, and the share of records in which nothing was changed.
    """
    judged = [(number, one) for number, one in enumerate(answers, 1) if one.predicted is not None]
    counts = np.array([_counts(one) for _, one in judged], dtype=np.int64).reshape(-1, 5)
    sums = np.concatenate([np.zeros((1, 5), np.int64), counts.cumsum(axis=0)])
    ends = np.unique(np.linspace(FEWEST, len(judged), MOST_POINTS).round().astype(int)) if len(judged) >= FEWEST else ()
    points = [(judged[end - 1][0], sums[end] - sums[max(0, end - WINDOW)]) for end in ends]
    rounds: dict[int, list[int]] = {}
    for place, (_, one) in enumerate(judged):
        rounds.setdefault(one.round or 0, []).append(place)
    return {
        "points": [{"answers": number, **_agreement(total)} for number, total in points],
        "rounds": [
            {"round": key, "answers": judged[places[-1]][0], **_agreement(counts[places].sum(axis=0))}
            for key, places in sorted(rounds.items())
        ],
    }


def _counts(answer: Answer) -> tuple[int, int, int, int, int]:
    """Records, unchanged records, spans that agree, spans of the answer, spans of the prediction."""
    gold, guessed = set(answer.spans), set(answer.predicted or ())
    return 1, gold == guessed, len(gold & guessed), len(gold), len(guessed)


def _agreement(counts: Any) -> dict[str, Any]:
    records, unchanged, right, gold, guessed = map(int, counts)
    return {
        "records": records,
        "unchanged": unchanged / records,
        "precision": right / guessed if guessed else None,
        "recall": right / gold if gold else None,
        "f1": 2 * right / (gold + guessed) if gold + guessed else None,
    }
