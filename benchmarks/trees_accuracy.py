"""Tree classifiers on a treebank: the root's label right in the development part, beside the same network in PyTorch.

    python -m benchmarks.trees_accuracy TRAIN DEV [--vectors glove-50d] [--compositions sum tree-lstm] [--seeds 0 1 2]
    python -m benchmarks.trees_accuracy TRAIN DEV --set loss=root
    python -m benchmarks.trees_accuracy TRAIN DEV --lazy-words --set word_rate=1

Both have the same trees, words, vectors, sizes, dropout (of words too), regulariser, optimiser, rates, clipping and
number of epochs, and both take the mean of an epoch's parameters. Every tenth tree of TRAIN is kept out of training:
each side keeps its best epoch on those, and only that one is scored on DEV. What differs is how words learn:
PyTorch's Adam moves every row of the table of words at every step, ours those of the words that occurred, at
``word_rate`` times the rate. With ``--lazy-words`` PyTorch does as ours. PyTorch (about 1 GB) is installed into an
environment of its own, made on the first call under benchmarks/results/. Each pair of runs is noted in
trees_accuracy.jsonl there as soon as it is done; a pair that is noted already, with the same settings, is not run
again. Exit code 1 where a composition is not as good as PyTorch's, over the seeds, within one standard error.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import mean, stdev
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.environments import RESULTS, ROOT, TORCH, environment
from benchmarks.measuring import Outcome, parser, report
from postil.models import TreeClassifier, TreeConfig
from postil.models.config import configured_tree
from postil.models.networks.tree_network import TreeInputs
from postil.models.settings import parsed
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
    learnt_from = [tree for i, tree in enumerate(train) if i % 10 != 9]
    parts = {"train": learnt_from, "held": train[9::10], "dev": dev}
    rows = [_row(name, parts, arguments, settings) for name in arguments.compositions]
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
    options.add_argument("--lazy-words", action="store_true", help="PyTorch's Adam for word vectors is that of ours")
    options.add_argument("--python", help="a Python that has PyTorch (made where it is not given)")
    return options.parse_args()


def _row(
    composition: str, parts: Mapping[str, list[Tree]], arguments: argparse.Namespace, settings: dict[str, Any]
) -> dict[str, Any]:
    pairs = [_pair(composition, seed, parts, arguments, settings) for seed in arguments.seeds]
    ours, theirs = ([pair[side]["score"] for pair in pairs] for side in ("ours", "PyTorch"))
    our_nodes, their_nodes = ([pair[side]["nodes"] for pair in pairs] for side in ("ours", "PyTorch"))
    return {
        "composition": composition,
        "ours": _shown(ours),
        "PyTorch": _shown(theirs),
        "all nodes: ours": _shown(our_nodes),
        "PyTorch ": _shown(their_nodes),
        "published": PUBLISHED[composition],
        "our CPU s": mean(pair["ours"]["seconds"] for pair in pairs),
        "PyTorch's": mean(pair["PyTorch"]["seconds"] for pair in pairs),
        "not worse": bool(mean(ours) >= mean(theirs) - _standard_error(ours, theirs)),
    }


def _pair(
    composition: str,
    seed: int,
    parts: Mapping[str, list[Tree]],
    arguments: argparse.Namespace,
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Our training and PyTorch's, as they stand in the log or run now; scores in percent, CPU seconds of training."""
    config = vars(configured_tree(composition, settings))
    how = {"vectors": arguments.vectors, "lazy_words": arguments.lazy_words, "seed": seed, "settings": config}
    key = {"files": ["/".join(Path(file).parts[-2:]) for file in arguments.files], **how}
    log = RESULTS / "trees_accuracy.jsonl"
    known = [json.loads(line) for line in log.read_text("utf8").splitlines()] if log.exists() else []
    for pair in known:
        if all(pair.get(name) == value for name, value in key.items()):
            return pair
    classifier, ours = _trained(composition, seed, parts, arguments.vectors, settings)
    theirs = _in_pytorch(classifier, parts, arguments)
    print(f"{composition}, seed {seed}: ours {ours['score']:.2f}, PyTorch {theirs['score']:.2f}", file=sys.stderr)
    pair = {**key, "ours": ours, "PyTorch": theirs}
    RESULTS.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf8") as file:
        file.write(json.dumps(pair) + "\n")
    return pair


def _trained(
    composition: str, seed: int, parts: Mapping[str, list[Tree]], vectors: str | None, settings: dict[str, Any]
) -> tuple[TreeClassifier, dict[str, Any]]:
    classifier = TreeClassifier(composition=composition, vectors=vectors, seed=seed, **settings)
    began = time.process_time()
    classifier.fit(parts["train"], dev=parts["held"])
    seconds = time.process_time() - began
    dev = classifier.trees(parts["dev"])
    gold = np.concatenate(classifier.model.codec.numbers([tree.labels for tree in dev]))
    right = np.concatenate([P.argmax(axis=1) for P in classifier.node_probabilities(dev)]) == gold
    held = [100 * epoch["score"] for epoch in classifier.model.about["training"]["history"]]
    nodes = 100 * float(right[gold >= 0].mean())
    return classifier, {"score": 100 * classifier.score(dev), "nodes": nodes, "seconds": seconds, "held": held}


def _shown(scores: list[float]) -> str:
    return f"{mean(scores):.2f} ± {stdev(scores) if len(scores) > 1 else 0:.2f}"


def _standard_error(ours: list[float], theirs: list[float]) -> float:
    """Of the difference of the two means."""
    if len(ours) < 2:
        return 0.0
    return float(np.sqrt((stdev(ours) ** 2 + stdev(theirs) ** 2) / len(ours)))


def _in_pytorch(
    classifier: TreeClassifier, parts: Mapping[str, list[Tree]], arguments: argparse.Namespace
) -> dict[str, Any]:
    """The same training by benchmarks/peers/trees_accuracy.py: arrays in, the scores on dev out."""
    settings = _settings(classifier) | {"lazy_words": arguments.lazy_words}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trees.npz"
        np.savez(path, **_arrays(classifier, parts), settings=np.array(json.dumps(settings)))
        command = [arguments.python or environment("torch", TORCH), "-m", "benchmarks.peers.trees_accuracy", path]
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    answer = json.loads(done.stdout)
    held = [100 * epoch["held"] for epoch in answer["epochs"]]
    return {"score": 100 * answer["score"], "nodes": 100 * answer["nodes"], "seconds": answer["seconds"], "held": held}


def _settings(classifier: TreeClassifier) -> dict[str, Any]:
    labels = classifier.model.codec
    own = {"seed": classifier.seed, "labels": len(labels.labels), "not_at_roots": labels.not_at_roots.tolist()}
    return vars(classifier.config) | own


def _arrays(classifier: TreeClassifier, parts: Mapping[str, list[Tree]]) -> dict[str, Any]:
    """Trees, words and gold of all parts, how often words occur, and the first word vectors."""
    fitted = classifier.model
    network, width = fitted.network, classifier.config.word_dim
    found: dict[str, Any] = {"counts": network.word_counts}
    for name, trees in parts.items():
        inputs = TreeInputs.of(classifier.trees(trees), fitted.features.words)
        found |= {f"{name}_{part}": getattr(inputs.forest, part) for part in ("back", "heights", "offsets")}
        found |= {f"{name}_{part}": getattr(inputs, part) for part in ("words", "vectors")}
        found[f"{name}_gold"] = np.concatenate(fitted.codec.numbers([tree.labels for tree in classifier.trees(trees)]))
    V = len(network.word_counts)
    if network.vectors is not None:
        used = np.unique(np.concatenate([found[f"{name}_vectors"] for name in parts]))
        found |= {f"{name}_vectors": np.searchsorted(used, found[f"{name}_vectors"]) for name in parts}
        return found | {"fixed": network.vectors[used], "table": np.zeros((V, network.vectors.shape[1]), np.float32)}
    bound = np.sqrt(3 / width)
    rng = np.random.default_rng(classifier.seed)
    return found | {"table": rng.uniform(-bound, bound, (V, width)).astype(np.float32)}


if __name__ == "__main__":
    sys.exit(main())
