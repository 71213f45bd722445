"""Tree classifiers on a treebank: the root's label right in the development part, beside the same network in PyTorch.

    python -m benchmarks.trees_accuracy TRAIN DEV [--vectors glove-50d] [--compositions sum tree-lstm] [--seeds 0 1 2]
    python -m benchmarks.trees_accuracy TRAIN DEV --set loss=root

Both have the same trees, words, vectors, sizes, dropout, regulariser, optimiser, rates and number of epochs, and keep
their best epoch on DEV; ours keeps the mean of an epoch's parameters, as it always does. PyTorch (about 1 GB) is
installed into an environment of its own, made on the first call under benchmarks/results/. Exit code 1 where a
composition is not as good as PyTorch's, over the seeds, within one standard error.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean, stdev
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.environments import ROOT, TORCH, environment
from benchmarks.measuring import Outcome, parser, report
from postil.models import TreeClassifier, TreeConfig
from postil.models.settings import parsed
from postil.models.tree_classifier import tree_inputs
from postil.models.tree_network import TreeInputs
from postil.network import COMPOSITIONS
from postil.text import Tree, read_trees

# Five classes at the root of the Stanford Sentiment Treebank, its test part: what was published, with which vectors.
PUBLISHED = {
    "sum": "",
    "concatenation": "43.2 (RNN, 30-d learnt)",
    "tensor": "45.7 (RNTN, 30-d learnt)",
    "tree-lstm": "51.0 (300-d)",
}


def main() -> int:
    arguments = _arguments()
    train, dev = (list(read_trees(path)) for path in arguments.files)
    settings = dict(parsed(text, TreeConfig) for text in arguments.set)
    rows = [_row(name, train, dev, arguments, settings) for name in arguments.compositions]
    return report(
        Outcome(
            name="trees_accuracy",
            compared=f"roots right in {Path(arguments.files[1]).name}, percent, mean of {len(arguments.seeds)} seeds; "
            f"vectors: {arguments.vectors or 'none'}; published figures are of SST's test part",
            rows=rows,
            goal="each composition at least as good as the same network in PyTorch, within one standard error",
            passed=all(row["not worse"] for row in rows),
        )
    )


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("files", nargs=2, metavar="FILE", help="train and dev")
    options.add_argument("--vectors", help="as postil train --vectors")
    options.add_argument("--compositions", nargs="+", choices=list(COMPOSITIONS), default=list(COMPOSITIONS))
    options.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    options.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="as postil train --set")
    options.add_argument("--python", help="a Python that has PyTorch (made where it is not given)")
    return options.parse_args()


def _row(
    composition: str, train: list[Tree], dev: list[Tree], arguments: argparse.Namespace, settings: dict[str, Any]
) -> dict[str, Any]:
    ours, theirs, seconds = [], [], {"ours": 0.0, "theirs": 0.0}
    for seed in arguments.seeds:
        classifier = TreeClassifier(composition=composition, vectors=arguments.vectors, seed=seed, **settings)
        began = time.process_time()
        classifier.fit(train, dev=dev)
        seconds["ours"] += time.process_time() - began
        ours.append(100 * classifier.score(dev))
        answer = _in_pytorch(classifier, train, dev, arguments.python)
        seconds["theirs"] += answer["seconds"]
        theirs.append(100 * answer["score"])
    return {
        "composition": composition,
        "ours": _shown(ours),
        "PyTorch": _shown(theirs),
        "published": PUBLISHED[composition],
        "our CPU s": seconds["ours"] / len(ours),
        "PyTorch's": seconds["theirs"] / len(ours),
        "not worse": bool(mean(ours) >= mean(theirs) - _standard_error(ours, theirs)),
    }


def _shown(scores: list[float]) -> str:
    return f"{mean(scores):.2f} ± {stdev(scores) if len(scores) > 1 else 0:.2f}"


def _standard_error(ours: list[float], theirs: list[float]) -> float:
    """Of the difference of the two means."""
    if len(ours) < 2:
        return 0.0
    return float(np.sqrt((stdev(ours) ** 2 + stdev(theirs) ** 2) / len(ours)))


def _in_pytorch(classifier: TreeClassifier, train: list[Tree], dev: list[Tree], python: str | None) -> dict[str, Any]:
    """The same training by benchmarks/peers/trees_accuracy.py: arrays in, the best score on dev out."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trees.npz"
        np.savez(path, **_arrays(classifier, train, dev), settings=np.array(json.dumps(_settings(classifier))))
        command = [python or environment("torch", TORCH), "-m", "benchmarks.peers.trees_accuracy", path]
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _settings(classifier: TreeClassifier) -> dict[str, Any]:
    labels = classifier.fitted_parts().labelling
    own = {"seed": classifier.seed, "labels": len(labels.labels), "not_at_roots": labels.not_at_roots.tolist()}
    return vars(classifier.config) | own


def _arrays(classifier: TreeClassifier, train: list[Tree], dev: list[Tree]) -> dict[str, Any]:
    """Trees, words and gold of both parts, and the first word vectors.

    A word is a row of one table: that of the learnt word, or where there are fixed vectors, of the pair of both.
    """
    parts = classifier.fitted_parts()
    network = parts.network
    found: dict[str, Any] = {}
    inputs: dict[str, TreeInputs] = {}
    for name, trees in (("train", classifier.trees(train)), ("dev", classifier.trees(dev))):
        inputs[name] = tree_inputs(parts.features, trees)
        forest = inputs[name].forest
        gold = np.concatenate(parts.labelling.numbers([tree.labels for tree in trees]))
        found |= {f"{name}_{part}": getattr(forest, part) for part in ("back", "heights", "offsets")}
        found[f"{name}_gold"] = gold
    pairs = np.concatenate([np.stack([i.words, i.vectors], axis=1) for i in inputs.values()])
    distinct, rows = np.unique(pairs, axis=0, return_inverse=True)
    rows = rows.reshape(-1)
    if network.vectors is not None:
        table = network.vectors[distinct[:, 1]]
    else:
        bound = np.sqrt(3 / classifier.config.word_dim)
        rng = np.random.default_rng(classifier.seed)
        table = rng.uniform(-bound, bound, (len(distinct), classifier.config.word_dim)).astype(np.float32)
    cut = len(inputs["train"].words)
    return found | {"train_words": rows[:cut], "dev_words": rows[cut:], "table": table}


if __name__ == "__main__":
    sys.exit(main())
