"""How cost grows with the number of sentences, labels, words and with the length of a sentence: exponents and plots.

    python -m benchmarks.growth             some ten minutes
    python -m benchmarks.growth --quick     the small end of everything, a minute

Made-up sentences (``postil/commands/zipf.py``), CPU time of one thread. Timed are one epoch of training, with all that
comes before it, and tagging of sentences whose words are known. The exponent is the slope of the line through the
points of the large end on doubly logarithmic paper: 1 means that twice as much costs twice as much. Exit code 1 where
one lies above its goal. Plots go to ``--pictures``.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import plots
from benchmarks.measuring import Outcome, parser, report
from benchmarks.zipf import ZipfCorpus
from postil.models import Tagger

# Small, so that the large end ends: what grows is the same.
SMALL = {"hidden": 32, "word_dim": 16, "window": 3, "batch_sentences": 128, "epochs": 1}
TAGGED = 20_000  # tokens at least, so that the clock has something to measure


@dataclass(frozen=True, kw_only=True)
class Axis:
    """What grows: its values, how a corpus of each is made, the largest exponents of training and tagging."""

    name: str
    sizes: Sequence[int]
    quick: Sequence[int]
    corpus: Callable[[int, bool], tuple[ZipfCorpus, int]]  # and the number of sentences; quick ones are smaller
    at_most: float
    note: str


AXES = [
    Axis(
        name="sentences",
        sizes=(10, 100, 1_000, 10_000, 100_000, 1_000_000),
        quick=(10, 100, 1_000, 10_000),
        corpus=lambda n, _: (ZipfCorpus(words=5_000, length=6), n),
        at_most=1.1,
        note="1 is what theory says",
    ),
    Axis(
        name="labels",
        sizes=(2, 5, 10, 20, 50, 100, 200, 500),
        quick=(2, 10, 50, 100),
        corpus=lambda n, _: (ZipfCorpus(words=5_000, spans=False, classes=n), 500),
        at_most=2.1,
        note="a CRF compares every label with every label: 2 is what theory says",
    ),
    Axis(
        name="vocabulary",
        sizes=(1_000, 10_000, 100_000, 1_000_000),
        quick=(1_000, 10_000, 50_000),
        corpus=lambda n, quick: (ZipfCorpus(words=n), 5_250 if quick else 105_000),
        at_most=1.0,
        note="the same tokens, in which all words occur: 0 while a word costs less than its tokens, then towards 1",
    ),
    Axis(
        name="sentence length",
        sizes=(1, 10, 100, 1_000, 10_000, 100_000),
        quick=(1, 10, 100, 1_000),
        corpus=lambda n, _: (ZipfCorpus(words=5_000, length=n, varies=False), max(1, 100_000 // n)),
        at_most=0.1,
        note="the same 100,000 tokens in fewer, longer sentences: 0 is what theory says",
    ),
]


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--quick", action="store_true", help="the small end of everything; plots only where asked for")
    options.add_argument("--pictures", type=Path, help="folder of the plots (default: none)")
    arguments = options.parse_args()
    rows = [row for axis in AXES for row in _along(axis, arguments)]
    slopes = {axis.name: [row for row in rows if row["what grows"] == axis.name] for axis in AXES}
    verdicts = [(axis, *_exponents(slopes[axis.name])) for axis in AXES]
    said = [
        f"{axis.name}: training {train:.2f}, tagging {tag:.2f} (at most {axis.at_most:g}; {axis.note})"
        for axis, train, tag in verdicts
    ]
    return report(
        Outcome(
            name="growth",
            compared="CPU time of one thread as things grow, `fast` with 32 hidden units",
            rows=rows,
            goal="exponents\n      " + "\n      ".join(said),
            passed=all(max(train, tag) <= axis.at_most for axis, train, tag in verdicts),
        )
    )


def _along(axis: Axis, arguments: argparse.Namespace) -> list[dict[str, float | str | int]]:
    rows = [measured(axis, size, arguments.quick) for size in (axis.quick if arguments.quick else axis.sizes)]
    folder = arguments.pictures
    if folder is not None:
        series = [
            plots.Series(name=name, points=[(float(row["size"]), float(row[column])) for row in rows], ours=ours)
            for name, column, ours in (("training", TRAINING, False), ("tagging", TAGGING, True))
        ]
        title = f"CPU seconds as the {axis.name} grow{'' if axis.name.endswith('s') else 's'}"
        picture = plots.curves(title, series, x_name=axis.name, y_name="CPU seconds", log_y=True)
        plots.write(folder / f"growth-{axis.name.replace(' ', '-')}.svg", picture)
    return rows


TRAINING, TAGGING = "training CPU s", "tagging CPU s"


def measured(axis: Axis, size: int, quick: bool = False) -> dict[str, float | str | int]:
    corpus, count = axis.corpus(size, quick)
    X, y = corpus.sentences(count, np.random.default_rng(0))
    tokens = sum(map(len, X))
    tagger = Tagger(preset="fast", **SMALL)
    began = time.process_time()
    tagger.fit(X, y)
    training = time.process_time() - began
    tagger.predict(X)
    times = max(1, TAGGED // tokens)
    began = time.process_time()
    for _ in range(times):
        tagger.predict(X)
    tagging = (time.process_time() - began) / times
    print(f"{axis.name} {size:,}: {training:.2f} s, {tagging:.3f} s", file=sys.stderr, flush=True)
    return {
        "what grows": axis.name,
        "size": size,
        "sentences": count,
        "tokens": tokens,
        TRAINING: training,
        "training µs a token": 1e6 * training / tokens,
        TAGGING: tagging,
        "tagging tokens/s": round(tokens / tagging),
    }


def _exponents(rows: Sequence[dict[str, float | str | int]]) -> tuple[float, float]:
    """Slopes at the large end, where what is paid once no longer counts: of training and of tagging."""
    large = rows[-max(3, -(-len(rows) // 3)) :]
    sizes = np.log([float(row["size"]) for row in large])
    slopes = [np.polyfit(sizes, np.log([float(row[name]) for row in large]), 1)[0] for name in (TRAINING, TAGGING)]
    return float(slopes[0]), float(slopes[1])


if __name__ == "__main__":
    sys.exit(main())
