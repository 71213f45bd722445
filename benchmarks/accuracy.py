"""Taggers on labelled corpora: scores and training time of presets, over seeds, with and without vectors.

    python -m benchmarks.accuracy TRAIN DEV TEST --presets fast accurate --seeds 0 1 2
    python -m benchmarks.accuracy TRAIN DEV TEST --presets fast --vectors glove-50d
    python -m benchmarks.accuracy TRAIN DEV TEST --folds 5        five folds over all three files together
    python -m benchmarks.accuracy TRAIN DEV TEST --presets crfsuite fast      CRFsuite with rich features first

A fold's test part is one contiguous fifth of the sentences, its dev part the first half of the next fifth: neighbouring
sentences of one text do not stand on both sides. CPU seconds are of the training alone, dev scores included.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, stdev
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.contestants.driving import CRFSUITE as CRFSUITE_PACKAGES
from benchmarks.contestants.driving import Process, Tool
from benchmarks.environments import RESULTS
from benchmarks.measuring import parser
from postil.metrics import evaluate
from postil.models import PRESETS, Tagger
from postil.models.config import parsed_setting
from postil.text import read, recognise
from postil.text.labels.schemes import convert

Part = tuple[list[list[str]], list[list[str]]]
CRFSUITE = "crfsuite"


def main() -> int:
    arguments = _arguments()
    settings = dict(parsed_setting(text) for text in arguments.set)
    RESULTS.mkdir(parents=True, exist_ok=True)
    for preset in arguments.presets:
        runs = [
            _crfsuite(parts) if preset == CRFSUITE else _run(parts, preset, seed, arguments.vectors, settings)
            for parts in splits(arguments.files, arguments.folds)
            for seed in (arguments.seeds if preset != CRFSUITE else [0])
        ]
        row = _row(arguments, preset, runs)
        print(_line(row), flush=True)
        with (RESULTS / "accuracy.jsonl").open("a", encoding="utf8") as log:
            log.write(json.dumps(row) + "\n")
    return 0


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("files", nargs=3, metavar="FILE", help="train, dev and test")
    options.add_argument("--presets", nargs="+", choices=[CRFSUITE, *PRESETS], default=["fast", "accurate"])
    options.add_argument("--seeds", nargs="+", type=int, default=[0])
    options.add_argument("--vectors", help="as postil train --vectors")
    options.add_argument("--folds", type=int, help="folds over all three files together")
    options.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="as postil train --set")
    return options.parse_args()


def load_part(path: str) -> Part:
    sentences = list(read(path, features=()))
    return [sentence.tokens for sentence in sentences], [sentence.labels or [] for sentence in sentences]


def splits(files: Sequence[str], folds: int | None = None) -> Iterator[tuple[Part, Part, Part]]:
    """Train, dev and test; with ``folds``, as many splits of all three files together."""
    parts = [load_part(path) for path in files]
    if not folds:
        yield parts[0], parts[1], parts[2]
        return
    X, y = [s for part in parts for s in part[0]], [s for part in parts for s in part[1]]
    N, n = len(X), folds
    for fold in range(n):
        test = range(fold * N // n, (fold + 1) * N // n)
        first = (fold + 1) % n * N // n
        dev = range(first, first + N // (2 * n))
        train = [i for i in range(N) if i not in test and i not in dev]
        yield tuple(([X[i] for i in which], [y[i] for i in which]) for which in (train, dev, test))  # type: ignore[misc]


def _run(
    parts: tuple[Part, Part, Part], preset: str, seed: int, vectors: str | None, settings: dict[str, Any]
) -> dict[str, float]:
    train, dev, test = parts
    tagger = Tagger(preset=preset, seed=seed, vectors=vectors, **settings)
    began = time.process_time()
    tagger.fit(*train, dev=dev)
    seconds = time.process_time() - began
    run = {"dev": 100 * tagger.score(*dev), "test": 100 * tagger.score(*test), "seconds": seconds}
    print(f"  {preset} seed {seed}: " + ", ".join(f"{k} {v:.2f}" for k, v in run.items()), file=sys.stderr, flush=True)
    return run


def _crfsuite(parts: tuple[Part, Part, Part]) -> dict[str, float]:
    """The same files through CRFsuite; span labels as IOBES, as a careful user would."""
    (X, y), dev, test = parts
    scheme = recognise(y)
    labels = y if scheme == "none" else [convert(labels, scheme, "iobes") for labels in y]
    found, seconds = crfsuite_labels((X, labels), test[0] + dev[0], "rich")
    tested, held_out = found[: len(test[0])], found[len(test[0]) :]
    inner = "none" if scheme == "none" else "iobes"
    scores = [evaluate(y, found, scheme, inner).main_score for y, found in ((test[1], tested), (dev[1], held_out))]
    return {"dev": 100 * scores[1], "test": 100 * scores[0], "seconds": seconds}


def crfsuite_labels(train: Part, X: list[list[str]], features: str) -> tuple[list[list[str]], float]:
    """The labels of X by CRFsuite, trained in an environment of its own, and the CPU seconds of its training."""
    tool = Tool(environment="crfsuite", packages=CRFSUITE_PACKAGES, script=["crfsuite.py", features])
    with TemporaryDirectory() as folder, Process(tool.command(), threads=1) as process:
        data = Path(folder, "data.json")
        content = {"train": list(zip(*train, strict=True)), "dev": [], "test": X}
        data.write_text(json.dumps(content), encoding="utf8")
        trained = process.ask(do="train", data=str(data), model=str(Path(folder, "model")))
        labels: list[list[str]] = process.ask(do="labels", data=str(data))["labels"]
    return labels, trained["checkpoints"][-1]["cpu"]


def _row(arguments: argparse.Namespace, preset: str, runs: list[dict[str, float]]) -> dict[str, Any]:
    tests = [run["test"] for run in runs]
    return {
        "train": arguments.files[0],
        "preset": preset,
        "vectors": arguments.vectors,
        "folds": arguments.folds,
        "seeds": arguments.seeds,
        "test": mean(tests),
        "deviation": stdev(tests) if len(tests) > 1 else 0.0,
        "dev": mean(run["dev"] for run in runs),
        "seconds": mean(run["seconds"] for run in runs),
    }


def _line(row: dict[str, Any]) -> str:
    return (
        f"{row['preset']:<16} {row['vectors'] or 'no vectors':<10}  test {row['test']:6.2f} ± {row['deviation']:.2f}  "
        f"dev {row['dev']:6.2f}  training {row['seconds']:5.1f} CPU s"
    )


if __name__ == "__main__":
    sys.exit(main())
