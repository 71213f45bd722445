"""What suggestions save: active learning played through on data that are already labelled.

    python -m benchmarks.simulate btc/train.txt btc/test.txt --vectors glove-50d --start 0.1 --growth 1.6 --until 0.4

A run begins with a few random sentences. A model learns from them, suggests sentences of the rest, and is shown their
labels; a new model learns from all so far, and so on. Runs with the same seed begin with the same sentences. The goal:
with the first way of ``--by``, the last round is within one point of a model that learns from everything.
"""

from collections.abc import Iterator
from statistics import mean, stdev
from typing import Any

import joblib
import numpy as np

from benchmarks.measuring import Outcome, parser, report
from postil.metrics import evaluate
from postil.models import Tagger
from postil.quality.suggestion import RANDOM, WAYS, suggest
from postil.text import read

CLOSE = 0.01
ALL = "all data"
Data = tuple[list[list[str]], list[list[str]]]


def main() -> int:
    options = parser(__doc__)
    options.add_argument("train", metavar="TRAIN", help="labelled file to choose sentences from")
    options.add_argument("test", metavar="TEST", help="labelled file to score on")
    options.add_argument("--by", nargs="+", choices=WAYS, default=["entropy"], help="ways to choose, beside random")
    options.add_argument("--vectors", metavar="FILE", help="word vectors, as for `postil train`")
    options.add_argument("--start", type=float, default=0.02, help="share of the tokens labelled at first (0.02)")
    options.add_argument("--growth", type=float, default=1.3, help="growth of the labelled data per round (1.3)")
    options.add_argument("--until", type=float, default=0.6, help="share of the tokens at which to stop (0.6)")
    options.add_argument("--seeds", type=int, default=3, help="runs of each way (3)")
    options.add_argument("--threads", type=int, default=1, help="runs at a time (1)")
    arguments = options.parse_args()
    data, test = _read(arguments.train), _read(arguments.test)
    tokens = sum(map(len, data[0]))
    shares = [arguments.start]
    while shares[-1] * arguments.growth < arguments.until:
        shares.append(shares[-1] * arguments.growth)
    targets = [max(1, round(share * tokens)) for share in [*shares, arguments.until]]
    ways = [ALL, *dict.fromkeys([*arguments.by, RANDOM])]
    runs = [(way, seed) for way in ways for seed in range(arguments.seeds)]
    played = joblib.Parallel(n_jobs=arguments.threads)(
        joblib.delayed(_run)(way, seed, data, test, targets, arguments.vectors) for way, seed in runs
    )
    rows = [
        row for way in ways for row in _rows(way, [one for one, (w, _) in zip(played, runs, strict=True) if w == way])
    ]
    last = {row["way"]: row["F1"] for row in rows}
    return report(
        Outcome(
            name="simulate",
            compared=f"models of suggested and of random sentences, {tokens:,} tokens in all, {arguments.seeds} seeds",
            rows=rows,
            goal=f"{ways[1]}: within {100 * CLOSE:g} point of all data at {arguments.until:.0%} of the tokens",
            passed=last[ways[1]] >= last[ALL] - 100 * CLOSE,
        )
    )


def _read(path: str) -> Data:
    with read(path) as reading:
        sentences = list(reading)
    return [list(one.tokens) for one in sentences], [list(one.labels or []) for one in sentences]


def _rows(way: str, runs: list[list[tuple[int, float]]]) -> Iterator[dict[str, Any]]:
    """The mean over the seeds of each round."""
    for rounds in zip(*runs, strict=False):
        scores = [100 * score for _, score in rounds]
        spread = stdev(scores) if len(scores) > 1 else 0.0
        yield {"way": way, "tokens": round(mean(tokens for tokens, _ in rounds)), "F1": mean(scores), "±": spread}


def _run(
    way: str, seed: int, data: Data, test: Data, targets: list[int], vectors: str | None
) -> list[tuple[int, float]]:
    """Labelled tokens and score of every round."""
    X, y = data
    order = np.random.default_rng(seed).permutation(len(X)).tolist()
    chosen = order if way == ALL else _until(X, order, 0, targets[0])
    rounds = []
    for target in [None] if way == ALL else [*targets[1:], None]:
        tagger = Tagger(vectors=vectors, seed=seed).fit([X[i] for i in chosen], [y[i] for i in chosen])
        labelled = sum(len(X[i]) for i in chosen)
        rounds.append((labelled, float(evaluate(test[1], tagger.predict(test[0])).main_score)))
        taken = set(chosen)
        rest = [i for i in order if i not in taken]
        if target is None or not rest:
            break
        wanted = min(len(rest), 5 + 5 * (target - labelled) * len(X) // sum(map(len, X)))
        found = suggest(tagger, [X[i] for i in rest], max(wanted, 1), by=way, seed=seed + labelled)
        suggested = [rest[one.index] for one in found]
        chosen = chosen + _until(X, list(dict.fromkeys([*suggested, *rest])), labelled, target)
    return rounds


def _until(X: list[list[str]], order: list[int], labelled: int, target: int) -> list[int]:
    """Sentences in this order until so many tokens are labelled; at least one."""
    chosen: list[int] = []
    for i in order:
        if labelled >= target and chosen:
            break
        chosen.append(i)
        labelled += len(X[i])
    return chosen


if __name__ == "__main__":
    raise SystemExit(main())
