"""Taggers trained on 10 to 1,000 sentences, beside CRFsuite with its tutorial's features on the same sentences.

    python -m benchmarks.tiny_data wikigold ncbi_disease btc                        scored on dev: to choose settings
    python -m benchmarks.tiny_data wikigold ncbi_disease btc --parts dev test       and on test: once, at the end
    python -m benchmarks.tiny_data wikigold --sizes 30 --presets fast --set epochs=60
    python -m benchmarks.tiny_data ncbi_disease crossner_music --presets fast --warm-start english       and warm starts
    python -m benchmarks.tiny_data ncbi_disease --presets fast --warm-start english --vectors glove-50d  and vectors

A corpus is a folder with train.txt, dev.txt and test.txt. A seed draws the sentences (a larger sample contains the
smaller ones) and initialises the network. Nothing is held out: a tagger runs its whole schedule, as CRFsuite does. At
most 1,000 sentences are scored. CPU seconds are of the training alone.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import numpy as np

import postil
from benchmarks.accuracy import CRFSUITE, Part, crfsuite_labels, load_part
from benchmarks.measuring import Outcome, parser, report
from postil.metrics import evaluate
from postil.models import PRESETS, Tagger
from postil.models.config import parsed_setting
from postil.text import recognise

SIZES = (10, 30, 100, 300, 1000)
WARM = "warm start"
WITH_VECTORS = ", vectors"
SCORED = 1000


class Run(NamedTuple):
    """One training: what was trained on which sentences, its F1 on each part in percent, its CPU seconds."""

    corpus: str
    size: int
    model: str
    f1: dict[str, float]
    seconds: float


def main() -> int:
    arguments = _arguments()
    settings = dict(parsed_setting(text) for text in arguments.set)
    runs = []
    for seed, size, corpus in product(arguments.seeds, arguments.sizes, arguments.corpora):
        known = postil.load(arguments.warm_start) if arguments.warm_start else None
        data = Path(corpus), _sample(_part(Path(corpus), "train"), size, seed), arguments.parts
        for name, *figures in _scores(*data, _models(arguments, known, seed, settings), known):
            run = Run(Path(corpus).name, size, name, *figures)
            print(json.dumps(run._asdict() | {"seed": seed}), file=sys.stderr, flush=True)
            runs.append(run)
    return report(_outcome(runs, arguments))


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("corpora", nargs="+", metavar="FOLDER", help="with train.txt, dev.txt and test.txt")
    options.add_argument("--parts", nargs="+", choices=["dev", "test"], default=["dev"], help="what to score on")
    options.add_argument("--sizes", nargs="+", type=int, default=SIZES, metavar="N", help="sentences to train on")
    options.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    options.add_argument(
        "--presets", nargs="+", choices=[CRFSUITE, *PRESETS], default=[CRFSUITE, "fast", "accurate", "linear-crf"]
    )
    options.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="as postil train --set")
    options.add_argument("--warm-start", metavar="MODEL", help="also train from this model, with its preset")
    options.add_argument("--vectors", metavar="FILE|NAME", help="also train each tagger with these vectors")
    return options.parse_args()


def _models(
    arguments: argparse.Namespace, known: Any, seed: int, settings: dict[str, Any]
) -> Iterator[tuple[str, Tagger | None]]:
    """The name of each model, and its estimator; None is CRFsuite."""
    for name in [*arguments.presets, *([WARM] if known is not None else [])]:
        if name == CRFSUITE:
            yield name, None
            continue
        preset = known.preset if name == WARM else name
        yield name, Tagger(preset=preset, seed=seed, **settings)
        if arguments.vectors:
            yield f"{name}{WITH_VECTORS}", Tagger(preset=preset, seed=seed, vectors=arguments.vectors, **settings)


def _scores(
    corpus: Path, train: Part, parts: Sequence[str], models: Iterator[tuple[str, Tagger | None]], known: Any
) -> Iterator[tuple[str, dict[str, float], float]]:
    """The name of each model, its F1 on each part, its CPU seconds."""
    scored = {part: [side[:SCORED] for side in _part(corpus, part)] for part in parts}
    everything = [tokens for X, _ in scored.values() for tokens in X]
    for name, tagger in models:
        if tagger is None:
            labels, seconds = crfsuite_labels(train, everything, "tutorial")
        else:
            began = time.process_time()
            tagger.fit(*train, warm_start=known if name.startswith(WARM) else None)
            seconds, labels = time.process_time() - began, tagger.predict(everything)
        answers = iter(labels)
        f1 = {
            part: 100 * evaluate(y, [next(answers) for _ in y], recognise(y)).main_score
            for part, (_, y) in scored.items()
        }
        yield name, f1, seconds


@cache
def _part(corpus: Path, name: str) -> Part:
    return load_part(str(corpus / f"{name}.txt"))


def _sample(train: Part, size: int, seed: int) -> Part:
    X, y = train
    drawn = np.random.default_rng(seed).permutation(len(X))[:size]
    return [X[i] for i in drawn], [y[i] for i in drawn]


def _outcome(runs: Sequence[Run], arguments: argparse.Namespace) -> Outcome:
    cells = product([Path(corpus).name for corpus in arguments.corpora], arguments.sizes, arguments.parts)
    rows = [
        {"corpus": corpus, "sentences": size, "part": part}
        | _means([run for run in runs if run[:2] == (corpus, size)], part)
        for corpus, size, part in cells
    ]
    taggers = {run.model for run in runs} - {CRFSUITE}
    return Outcome(
        name="tiny_data",
        compared=f"F1 and CPU seconds of training, means over {len(arguments.seeds)} seeds",
        rows=rows,
        goal="no preset below CRFsuite",
        passed=all(row[name] >= row.get(CRFSUITE, 0) for row in rows for name in sorted(taggers)),
    )


def _means(runs: Sequence[Run], part: str) -> dict[str, float]:
    by_model = {run.model: [other for other in runs if other.model == run.model] for run in runs}
    scores = {name: round(mean(run.f1[part] for run in group), 1) for name, group in by_model.items()}
    return scores | {f"{name}, s": mean(run.seconds for run in group) for name, group in by_model.items()}


if __name__ == "__main__":
    sys.exit(main())
