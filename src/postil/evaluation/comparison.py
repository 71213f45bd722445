"""Two models on the same labelled sentences: is one better, and where do they differ?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from postil.errors import DataError
from postil.features.inputs import Sentences, forms_of
from postil.html.fragments import fragment
from postil.metrics import significance
from postil.metrics.evaluation import Compared, Evaluation, evaluate_compared, prepare
from postil.metrics.tables import Cell, Table, drawn_table, show_class, text
from postil.models.inputs import checked_for_scores
from postil.models.tagger import Tagger
from postil.text import Span, with_marks
from postil.text.labels.partial import Labels
from postil.text.report import counted


class Difference(NamedTuple):
    """A sentence that two models label differently; without a scheme, a span is one token."""

    sentence: int
    tokens: list[str]
    gold: Sequence[Span]
    first: Sequence[Span]
    second: Sequence[Span]
    winner: str
    """"first", "second" or "": whose answers are right more often here, counting missing and wrong ones."""


@final
@dataclass(frozen=True, slots=True)
class ModelComparison:
    """Scores of both models, a paired test, and the sentences on which they differ."""

    first: Evaluation
    second: Evaluation
    test: significance.Comparison
    differences: list[Difference]

    def summary(self) -> str:
        test = self.test
        verdict = f"{100 * test.difference:+.2f} (95 % interval {100 * test.low:+.2f} to {100 * test.high:+.2f})"
        note = f" ({test.note})" if test.note else ""
        return f"{100 * test.first:.2f} and {100 * test.second:.2f}: {verdict}, p = {test.p_value:.3g}{note}"

    def table(self, names: Sequence[str] = ("first", "second")) -> Table:
        """F1 (or accuracy) of every label by both models, and over all labels."""
        test = self.test
        sides = [(one.tokens if one.spans is None else one.spans).by_label() for one in (self.first, self.second)]
        rows: list[tuple[Cell, ...]] = []
        for label in sorted({*sides[0], *sides[1]}):
            one, two = (100 * side[label].f1 if label in side else None for side in sides)
            rows.append((show_class(label), one, two, None if one is None or two is None else two - one))
        rows.append(("all", 100 * test.first, 100 * test.second, 100 * test.difference))
        interval = f"95 % interval of the difference {100 * test.low:+.2f} to {100 * test.high:+.2f}"
        note = f"{interval}, p = {test.p_value:.3g}" + (f"; {test.note}" if test.note else "")
        what = "accuracy" if self.first.spans is None else "F1"
        return Table(what, ("label", *names, "difference"), rows, note, has_total=True)

    def verdict(self, names: Sequence[str] = ("the first model", "the second")) -> str:
        """How many sentences are labelled differently, and by which model better."""
        winners = [one.winner for one in self.differences]
        better = f"{winners.count('first'):,} better by {names[0]}, {winners.count('second'):,} by {names[1]}"
        return f"{counted(len(winners), 'sentence')} labelled differently: {better}"

    def __str__(self) -> str:
        return f"{text(self.table())}\n\n{self.verdict()}"

    def _repr_html_(self) -> str:
        return fragment(drawn_table(self.table(), bars=("first", "second")))

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "first": self.first.to_dict(),
            "second": self.second.to_dict(),
            "comparison": self.test.to_dict(),
            "differences": [one._asdict() for one in self.differences],
        }


def compare(
    first: Tagger, second: Tagger, X: Sentences, y: Labels, *, resamples: int = 2000, seed: int = 0
) -> ModelComparison:
    """Label the sentences with both models and compare their scores by paired bootstrap and randomisation.

    Parameters
    ----------
    first, second : Tagger
    X, y : sequences
        Sentences of tokens, and their gold labels.
    resamples : int, default=2000
        Bootstrap resamples.
    seed : int, default=0
        Seed of the resamples.

    Returns
    -------
    ModelComparison
        Both scores, the difference with its interval and p-value, and the sentences on which the models differ.
    """
    X, y = checked_for_scores(X, y)
    return compare_answers(X, compared_by(first, X, y), compared_by(second, X, y), resamples=resamples, seed=seed)


def compare_answers(
    X: Sentences, one: Compared, two: Compared, *, resamples: int = 2000, seed: int = 0
) -> ModelComparison:
    """Compare two systems by their answers to the same labelled sentences."""
    if (one.scheme == "none") != (two.scheme == "none"):
        raise DataError("two systems", expected="both with spans or both without", got="one of each")
    counts, statistic = one.sentence_counts()
    others, _ = two.sentence_counts()
    rng = np.random.default_rng(seed)
    test = significance.compare_systems(counts, others, statistic, rng=rng, resamples=resamples)
    found = []
    for number, tokens in enumerate(X):
        (gold, first), (_, second) = one.spans_of(number), two.spans_of(number)
        if set(first) != set(second):
            mistakes = [len({*answers} ^ {*gold}) for answers in (first, second)]
            winner = "" if mistakes[0] == mistakes[1] else ("first", "second")[mistakes[1] < mistakes[0]]
            difference = Difference(number, forms_of(tokens), gold, first, second, winner)
            found.append((-abs(mistakes[0] - mistakes[1]), difference))
    # Those with the largest difference in mistakes first.
    differences = [one for _, one in sorted(found, key=lambda pair: (pair[0], pair[1].sentence))]
    return ModelComparison(evaluate_compared(one), evaluate_compared(two), test, differences)


def compared_by(tagger: Tagger, X: Sentences, y: Labels) -> Compared:
    """Gold labels and the labels that a tagger predicts."""
    gold = with_marks(y, X, known=tagger.model.codec.answers)
    return prepare(gold, list(tagger.predict(X)), tagger.model.codec.scheme)
