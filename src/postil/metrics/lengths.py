"""Scores apart for short and long spans."""

from collections import Counter

from postil.metrics.spans import Outcome, Spans, SpanScores, align

LONG = 5
"""Spans of this many tokens and more are counted together."""


def spans_by_length(gold: Spans, predicted: Spans) -> dict[str, SpanScores]:
    """Scores by number of tokens; they add up to the whole. A pair is counted in the group of its gold span."""
    outcomes: dict[int, Counter[Outcome]] = {length: Counter() for length in range(1, LONG + 1)}
    for one, other in zip(gold, predicted, strict=True):
        for pair in align(one, other):
            span = pair.gold or pair.predicted
            if span is not None:
                outcomes[min(span.end - span.start, LONG)][pair.outcome] += 1
    names = {length: f"{length} token{'s' * (length > 1)}{' or more' * (length == LONG)}" for length in outcomes}
    return {names[length]: SpanScores(counter) for length, counter in outcomes.items() if counter}
