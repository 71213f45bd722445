"""Made-up sentences as feature dicts with labels, for what learns from hand-made features."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from postil.features.named import attribute

Dicts = list[list[dict[str, Any]]]
LABELS = ("O", "B-PER", "I-PER", "B-LOC")


def feature_dicts(count: int, seed: int = 0, words: int = 60) -> tuple[Dicts, list[list[str]]]:
    """Sentences whose labels follow from word, shape and the label before, with some noise."""
    rng = np.random.default_rng(seed)
    X: Dicts = []
    y: list[list[str]] = []
    for _ in range(count):
        numbers = [int(n) for n in rng.integers(0, words, int(rng.integers(1, 15)))]
        labels: list[str] = []
        for number in numbers:
            label = LABELS[number % 5] if number % 5 in (1, 3) else "O"
            if labels and labels[-1] in ("B-PER", "I-PER") and number % 3 == 0:
                label = "I-PER"
            labels.append(LABELS[int(rng.integers(4))] if rng.random() < 0.1 else label)
        X.append([_item(numbers, i, rng) for i in range(len(numbers))])
        y.append(labels)
    return X, y


def _item(numbers: list[int], i: int, rng: np.random.Generator) -> dict[str, Any]:
    item: dict[str, Any] = {"bias": 1.0, "word": f"w{numbers[i]}", "odd": numbers[i] % 2 == 1}
    item["length"] = float(rng.random())
    if i:
        item["before"] = {"word": f"w{numbers[i - 1]}", "tags": [f"t{numbers[i - 1] % 7}"]}
    else:
        item["BOS"] = True
    return item


def flattened(item: Any) -> Iterator[tuple[str, float]]:
    """Names and values of the attributes of one item, feature by feature."""
    if not isinstance(item, dict):
        for key in item:
            yield _text(key), 1.0
        return
    for key, value in item.items():
        if isinstance(value, dict | list | set):
            for below, weight in flattened(value):
                yield f"{_text(key)}:{below}", weight
        else:
            yield attribute(_text(key), value)


def _text(key: str | bytes) -> str:
    return key if isinstance(key, str) else key.decode("utf8", errors="surrogateescape")
