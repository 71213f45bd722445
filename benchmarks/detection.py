"""A detector beside a tagger: average precision of one label's tokens, by scores and by marginal probabilities.

    python -m benchmarks.detection TRAIN DEV TEST --label LOC --seeds 0 1 2

Both see the same sentences and keep their best epoch on DEV, the detector by average precision, the tagger by its F1
over all labels. The tagger's score of a token is the probability that the token is of the label, in any part of a span.
"""

import argparse
import sys
import time
from collections.abc import Callable
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.accuracy import Part, load_part
from benchmarks.measuring import Outcome, parser, report
from postil.metrics import DetectionScores, best_threshold, score_detection
from postil.models import Detector, Tagger
from postil.models.decoding.codec import Target


def main() -> int:
    arguments = _arguments()
    parts = [load_part(path) for path in arguments.files]
    systems = {"detector, margin": _detector, f"tagger, {arguments.preset}": _tagger}
    rows = [_row(name, run, parts, arguments) for name, run in systems.items()]
    detector, tagger = (row["average precision"] for row in rows)
    return report(
        Outcome(
            name="detection",
            compared=f"tokens of {arguments.label} in the test part, in percent; mean of {len(arguments.seeds)} seeds",
            rows=rows,
            goal="the detector ranks at least as well as the tagger's marginals",
            passed=detector >= tagger,
        )
    )


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("files", nargs=3, metavar="FILE", help="train, dev and test")
    options.add_argument("--label", required=True, help="the label to detect")
    options.add_argument("--preset", default="fast", help="preset of the tagger (fast)")
    options.add_argument("--seeds", nargs="+", type=int, default=[0])
    options.add_argument("--vectors", help="as postil train --vectors")
    return options.parse_args()


def _row(
    name: str, run: Callable[..., DetectionScores], parts: list[Part], arguments: argparse.Namespace
) -> dict[str, Any]:
    began = time.process_time()
    found = [run(parts, arguments, seed) for seed in arguments.seeds]
    seconds = (time.process_time() - began) / len(found)
    return {
        "model": name,
        "average precision": mean(100 * scores.average_precision for scores in found),
        "F1 of tokens": mean(100 * scores.counts.f1 for scores in found),
        "CPU s": seconds,
    }


def _detector(parts: list[Part], arguments: argparse.Namespace, seed: int) -> DetectionScores:
    train, dev, test = parts
    detector = Detector(label=arguments.label, vectors=arguments.vectors, seed=seed)
    return detector.fit(*train, dev=dev).evaluate(*test)


def _tagger(parts: list[Part], arguments: argparse.Namespace, seed: int) -> DetectionScores:
    train, dev, test = parts
    tagger = Tagger(preset=arguments.preset, vectors=arguments.vectors, seed=seed).fit(*train, dev=dev)
    target = Target.of(arguments.label, train[1])

    def truth_and_scores(part: Part) -> tuple[Any, Any]:
        X, y = part
        probabilities = [
            sum(p for label, p in token.items() if target.plain(label) == target.label)
            for tokens in X
            for token in tagger.marginals(tokens)
        ]
        return np.concatenate(target.numbers(y)).astype(bool), np.array(probabilities)

    threshold = best_threshold(*truth_and_scores(dev)).value
    return score_detection(*truth_and_scores(test), threshold, label=arguments.label, sentences=len(test[0]))


if __name__ == "__main__":
    sys.exit(main())
