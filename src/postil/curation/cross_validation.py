"""Cross-validation: every sentence is labelled by a model that has not seen it."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from postil.curation import jobs as parallel
from postil.curation.corpus import check_entities
from postil.curation.folds import folds
from postil.features.inputs import Token
from postil.metrics import evaluate
from postil.metrics.evaluation import Evaluation
from postil.models.inputs import checked_labelled
from postil.models.tagger import Tagger
from postil.text import with_marks
from postil.text.labels import scheme_checks, schemes


@final
@dataclass(frozen=True, slots=True)
class CrossValidation:
    """The scores of each fold, and those of all out-of-fold answers together."""

    folds: list[Evaluation]
    pooled: Evaluation
    predictions: list[list[str]]
    """The labels of every sentence, by the model that it was held out from."""
    fold_of: list[int]
    """Which fold each sentence was held out in."""

    @property
    def mean(self) -> float:
        """Of the main score (F1 of spans, else accuracy) over folds, 0 to 1."""
        return float(np.mean([fold.main_score for fold in self.folds]))

    @property
    def spread(self) -> float:
        """Standard deviation over folds."""
        return float(np.std([fold.main_score for fold in self.folds], ddof=1))

    def __str__(self) -> str:
        score = "accuracy" if self.pooled.spans is None else "F1"
        lines = [f"fold {number}: {fold.summary()}" for number, fold in enumerate(self.folds, 1)]
        lines.append(f"{score} {100 * self.mean:.2f} ± {100 * self.spread:.2f} over {len(self.folds)} folds")
        return "\n".join([*lines, f"all answers together: {self.pooled}"])

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, scores in percent."""
        return {
            "mean": 100 * self.mean,
            "spread": 100 * self.spread,
            "pooled": self.pooled.to_dict(),
            "folds": [fold.to_dict() for fold in self.folds],
        }


def crossval(
    estimator: Tagger,
    X: Sequence[Sequence[Token]],
    y: Sequence[Sequence[str]],
    *,
    number: int = 5,
    groups: Sequence[Hashable] = (),
    seed: int = 0,
    jobs: int = 1,
    progress: parallel.Progress | None = None,
) -> CrossValidation:
    """Train ``number`` times, each time without one part of the sentences, and score the answers on that part.

    ``groups`` names the document, author or source of each sentence: those of one group are held out together.
    ``estimator`` only lends its hyperparameters. The same seed gives the same result for any number of ``jobs``.
    """
    X, y = checked_labelled(X, y)
    gold = with_marks(y, X)
    scheme_checks.check(gold, where="y")
    check_entities(gold, "cross-validation")
    scheme = schemes.recognise(gold)
    parts = folds([len(tokens) for tokens in X], number, np.random.default_rng(seed), groups)
    tasks = [
        (estimator, [X[i] for i in part.train], [gold[i] for i in part.train], [X[i] for i in part.held_out])
        for part in parts
    ]
    predictions: list[list[str]] = [[] for _ in X]
    scores: list[Evaluation] = []
    fold_of = np.zeros(len(X), np.int64)
    for part, answers in zip(parts, parallel.run(_answers, tasks, jobs, progress), strict=True):
        for i, labels in zip(part.held_out, answers, strict=True):
            predictions[i] = labels
        fold_of[part.held_out] = len(scores)
        scores.append(evaluate([gold[i] for i in part.held_out], answers, scheme=scheme))
    return CrossValidation(scores, evaluate(gold, predictions, scheme=scheme), predictions, fold_of.tolist())


def _answers(
    estimator: Tagger, X: list[list[Token]], y: list[list[str]], held_out: list[list[Token]]
) -> list[list[str]]:
    return list(map(list, parallel.unfitted(estimator, threads=1).fit(X, y).predict(held_out)))
