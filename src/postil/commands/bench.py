"""``postil bench``: how fast this machine trains and tags."""

import io
import platform
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from postil import kernels
from postil.commands.console import show_table
from postil.commands.models import open_model
from postil.commands.output import present
from postil.commands.parser import JSON, SEED, option
from postil.errors import ConfigurationError, DataError
from postil.metrics.tables import Table
from postil.models import Tagger, TreeClassifier
from postil.optimisation.loop import Epoch
from postil.samples.corpora import made_up_sentences, made_up_trees
from postil.tagging import TaggingOptions, label
from postil.text import read

DESCRIPTION = """\
Measure training and tagging on generated sentences, in less than a minute. With a MODEL and a FILE, measure how fast
the model labels the file, with and without probabilities.

  postil bench --threads 2
  postil bench ner.postil article.txt
"""
SENTENCES, TREES, REPEATS = 3000, 600, 3
MOST_BYTES = 8_000_000


OPTIONS = {
    "": [
        option("MODEL", "a tagger, to label FILE with", nargs="?"),
        option("FILE", "text, tokens, CoNLL columns or JSON Lines", type=Path, nargs="?"),
        option("--threads N=1", "number of cores for training", least=1),
        SEED,
        JSON,
    ]
}


Measured = tuple[str, str, float]
"""What was measured, the unit, and units per second of CPU time (of wall time for training with several threads)."""


def run(arguments: Namespace) -> int:
    is_generated = arguments.model is None
    rows = list(_generated(arguments.threads, arguments.seed) if is_generated else _codec(arguments))
    machine = {
        "postil": version("postil"),
        "kernels": kernels.IN_USE,
        "threads": arguments.threads,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
    }
    table = Table(
        title="Speed on generated sentences" if is_generated else f"Labelling {arguments.file}",
        columns=("what", "speed"),
        rows=[(what, f"{per_second:,.0f} {unit}/s") for what, unit, per_second in rows],
        note=" · ".join(f"{name} {value}" for name, value in machine.items()),
    )
    measured = [dict(zip(("what", "unit", "per_second"), row, strict=True)) for row in rows]
    result = {"machine": machine, "rows": measured}
    return present(arguments, result, lambda: show_table(table))


def _generated(threads: int, seed: int) -> Iterator[Measured]:
    rng = np.random.default_rng(seed)
    sentences = made_up_sentences(SENTENCES, rng)
    X, y = [list(one.tokens) for one in sentences], [list(one.labels) for one in sentences]
    N = sum(map(len, X))
    for preset in ("fast", "accurate"):
        tagger = Tagger(preset=preset, threads=threads, epochs=2)
        yield f"train {preset}", "tokens", N / _epoch(tagger, threads, X, y)
        yield f"tag {preset}", "tokens", N / _best(tagger.predict, X)
        yield f"tag {preset}, with probabilities", "tokens", N / _best(tagger.predict_with_probabilities, X)
    trees = made_up_trees(TREES, rng)
    yield "train trees", "trees", TREES / _epoch(TreeClassifier(threads=threads, epochs=2), threads, trees)


def _epoch(estimator: Tagger | TreeClassifier, threads: int, *data: Any) -> float:
    """Seconds of the second epoch: the first one touches every page of memory for the first time."""
    clock = time.process_time if threads == 1 else time.perf_counter
    marks = [clock() for event in estimator.fitting(*data) if isinstance(event, Epoch)]
    return marks[1] - marks[0]


def _codec(arguments: Namespace) -> Iterator[Measured]:
    """From the bytes of a file, its first megabytes, to the bytes of the labelled one, on one core."""
    path: Path | None = arguments.file
    if path is None:
        raise ConfigurationError("postil bench MODEL needs a FILE to label")
    model = open_model(arguments.model)
    if not isinstance(model, Tagger):
        raise ConfigurationError("the model", expected="a tagger", got=f"a {model.KIND}", where=arguments.model)
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES) + file.readline()
    except OSError as error:
        raise DataError("cannot read the file", got=error.strerror or error, where=path) from None
    if not content.strip():
        raise ConfigurationError("nothing to measure", expected="a file with text", got="an empty one", where=path)
    for what, probabilities in (("labels", False), ("labels and probabilities", True)):
        options = TaggingOptions(probabilities=probabilities)

        def labelled(options: TaggingOptions = options) -> int:
            return label(model, [read(io.BytesIO(content))], options, io.BytesIO()).tokens

        yield what, "tokens", labelled() / _best(labelled)


def _best(function: Callable[..., object], *arguments: object) -> float:
    """CPU seconds of the best of some runs, after one that fills the caches."""
    function(*arguments)
    seconds = []
    for _ in range(REPEATS):
        began = time.process_time()
        function(*arguments)
        seconds.append(time.process_time() - began)
    return max(min(seconds), 1e-9)
