"""Span scores beside seqeval's on the same labels, in the same run; both must find the same F1.

    python benchmarks/scoring.py train.txt [more.txt …] [--noise 0.05]

Labels are the last column of CoNLL files. Predictions are the gold labels with some of them replaced at random.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from seqeval.metrics import classification_report, f1_score

from postil.metrics.evaluation import evaluate
from postil.metrics.significance import bootstrap_interval, f1
from postil.metrics.spans import score_spans, sentence_counts
from postil.text.labels.schemes import spans_from_labels


def read_labels(path: Path) -> list[list[str]]:
    """Last column of every token, sentence by sentence."""
    blocks = path.read_text(encoding="utf-8").replace("\r\n", "\n").split("\n\n")
    return [[line.split()[-1] for line in block.split("\n") if line.strip()] for block in blocks if block.strip()]


def with_noise(gold: list[list[str]], share: float, rng: np.random.Generator) -> list[list[str]]:
    """A copy in which about ``share`` of the labels are drawn at random."""
    labels = sorted({label for sentence in gold for label in sentence})
    return [
        [labels[rng.integers(len(labels))] if rng.random() < share else label for label in sentence]
        for sentence in gold
    ]


def best_seconds(function: Callable[[], object], repeats: int = 5) -> float:
    """Shortest of several runs."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--noise", type=float, default=0.05)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    gold = [sentence for path in arguments.files for sentence in read_labels(path)]
    predicted = with_noise(gold, arguments.noise, rng)
    ours, theirs = score_spans(gold, predicted).overall.f1, f1_score(gold, predicted)
    if abs(ours - theirs) > 1e-9:
        raise SystemExit(f"F1 differs: ours {ours}, seqeval {theirs}")
    counts = sentence_counts(*([spans_from_labels(labels) for labels in side] for side in (gold, predicted)))
    seconds = {
        "seqeval, F1 alone": best_seconds(lambda: f1_score(gold, predicted)),
        "seqeval, classification report": best_seconds(lambda: classification_report(gold, predicted)),
        "postil, span scores and kinds of mistakes": best_seconds(lambda: score_spans(gold, predicted)),
        "postil, everything (schemes recognised, tokens too)": best_seconds(lambda: evaluate(gold, predicted)),
        "postil, bootstrap interval of 2,000 resamples": best_seconds(lambda: bootstrap_interval(counts, f1, rng=rng)),
    }
    tokens, peer = sum(map(len, gold)), seconds["seqeval, F1 alone"]
    print(f"{tokens:,} tokens, F1 {100 * ours:.2f} by both")
    for name, time_taken in seconds.items():
        print(f"{name:<52} {time_taken:6.3f} s   {peer / time_taken:5.1f} x the first row")


if __name__ == "__main__":
    main()
