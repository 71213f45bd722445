"""The metrics of sklearn-crfsuite: scikit-learn's over all items of all sequences. They need scikit-learn."""

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any


def flatten(y: Any) -> list[Any]:
    """A list of lists as one list."""
    return list(chain.from_iterable(y))


def flat_accuracy_score(y_true: Any, y_pred: Any) -> float:
    """The share of items with the right label."""
    gold, found = flatten(y_true), flatten(y_pred)
    if len(gold) != len(found):
        from sklearn.utils import check_consistent_length

        check_consistent_length(gold, found)
    return float(sum(a == b for a, b in zip(gold, found, strict=True)) / max(1, len(gold)))


def _of_scikit_learn(name: str, y_true: Any, y_pred: Any, **options: Any) -> Any:
    """A metric of ``sklearn.metrics`` over items, with its options."""
    from sklearn import metrics

    return getattr(metrics, name)(flatten(y_true), flatten(y_pred), **options)


flat_precision_score = partial(_of_scikit_learn, "precision_score")
flat_recall_score = partial(_of_scikit_learn, "recall_score")
flat_f1_score = partial(_of_scikit_learn, "f1_score")


def flat_fbeta_score(y_true: Any, y_pred: Any, beta: float, **kwargs: Any) -> Any:
    """F-beta over items; options as of ``sklearn.metrics.fbeta_score``."""
    return _of_scikit_learn("fbeta_score", y_true, y_pred, beta=beta, **kwargs)


def flat_classification_report(y_true: Any, y_pred: Any, labels: Any = None, **kwargs: Any) -> Any:
    """The report of ``sklearn.metrics.classification_report`` over items."""
    return _of_scikit_learn("classification_report", y_true, y_pred, labels=labels, **kwargs)


def sequence_accuracy_score(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """The share of sequences that are right in every item."""
    if not len(y_true):
        return 0
    return sum(list(a) == list(b) for a, b in zip(y_true, y_pred, strict=True)) / len(y_true)


__all__ = [
    *["flatten", "flat_accuracy_score", "flat_precision_score", "flat_recall_score", "flat_f1_score"],
    *["flat_fbeta_score", "flat_classification_report", "sequence_accuracy_score"],
]
