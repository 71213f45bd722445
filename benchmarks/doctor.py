"""Planted label errors: how well `postil doctor` ranks them, beside cleanlab's scores on the same probabilities.

    python -m benchmarks.doctor wikigold ncbi_disease                  a corpus is a folder with train.txt
    python -m benchmarks.doctor wikigold --share 0.02 --seeds 1 2 3
    python -m benchmarks.doctor wikigold --cleanlab                    the library itself, in an environment of its own

Some entities are removed, some lose or gain a token, some get another class. Sentences are ranked by their most
suspicious stretch. Printed are the average precision of the ranking, for all errors and by kind (sentences with errors
of other kinds are then left out), and "at n", the share of errors among as many sentences as have one.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.environments import environment
from benchmarks.measuring import Outcome, parser, report
from postil.models import Tagger
from postil.quality import Split
from postil.quality.suspicions import KINDS, Judgements, alternatives, judged
from postil.text import Span, read
from postil.text.labels.schemes import labels_from_spans, recognise, spans_from_labels

CLEANLAB = ["cleanlab==2.7.1"]


def planted(
    labels: list[list[str]], share: float, rng: np.random.Generator
) -> tuple[list[list[str]], dict[int, set[str]]]:
    """The labels with errors in this share of their entities, and the kinds of errors in each changed sentence."""
    scheme = recognise(labels)
    spans = [spans_from_labels(one, scheme) for one in labels]
    classes = sorted({span.label for one in spans for span in one})
    places = [(i, j) for i, one in enumerate(spans) for j in range(len(one))]
    changed: list[list[Span | None]] = [list(one) for one in spans]
    errors: dict[int, set[str]] = {}
    for place in rng.choice(len(places), round(share * len(places)), replace=False):
        i, j = places[place]
        others = [span for k, span in enumerate(changed[i]) if k != j and span is not None]
        for kind in rng.permutation(KINDS):
            found = alternatives(str(kind), spans[i][j], [*others, spans[i][j]], len(labels[i]), classes)
            if found:
                changed[i][j] = found[int(rng.integers(len(found)))]
                errors.setdefault(i, set()).add(str(kind))
                break
    return [
        labels_from_spans([span for span in one if span is not None], len(before), scheme)
        for one, before in zip(changed, labels, strict=True)
    ], errors


def average_precision(scores: np.ndarray, wrong: np.ndarray) -> float:
    found = wrong[np.argsort(-scores, kind="stable")]
    precision = np.cumsum(found) / np.arange(1, len(found) + 1)
    return float((precision * found).sum() / max(found.sum(), 1))


def by_kind(scores: np.ndarray, errors: dict[int, set[str]]) -> dict[str, float]:
    """Average precision of all errors and of each kind, and precision at the number of sentences with an error."""
    wrong = np.array([i in errors for i in range(len(scores))], float)
    first = np.argsort(-scores, kind="stable")[: int(wrong.sum())]
    answer = {"all": average_precision(scores, wrong), "at n": float(wrong[first].mean())}
    for kind in KINDS:
        of_kind = np.array([kind in errors.get(i, ()) for i in range(len(scores))], float)
        kept = (of_kind > 0) | (wrong == 0)
        if of_kind.any():
            answer[kind] = average_precision(scores[kept], of_kind[kept])
    return answer


def fixed_scores(judgements: Judgements, sentences: int) -> dict[str, np.ndarray]:
    """cleanlab's two ways, self-confidence of tokens and then minimum or soft minimum, by their formulas."""
    lowest, soft = np.zeros(sentences), np.zeros(sentences)
    for i in range(sentences):
        marginals, given = judgements.marginals(i)
        own = np.array([row[label] if label >= 0 else 0.0 for row, label in zip(marginals, given, strict=True)])
        weight = np.exp((own.min() - own) / 0.05)
        lowest[i], soft[i] = 1 - own.min(), 1 - float((own * weight).sum() / weight.sum())
    return {"smallest": lowest, "soft minimum": soft}


def cleanlab_scores(judgements: Judgements, sentences: int) -> dict[str, np.ndarray]:
    """The same by the library."""
    python = environment("cleanlab", CLEANLAB)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "probabilities.npz"
        pairs = [judgements.marginals(i) for i in range(sentences)]
        offsets = np.cumsum([0, *(len(given) for _, given in pairs)])
        marginals = np.concatenate([rows for rows, _ in pairs])
        np.savez(path, marginals=marginals, given=np.concatenate([given for _, given in pairs]), offsets=offsets)
        script = Path(__file__).parent / "peers" / "cleanlab_scores.py"
        done = subprocess.run([str(python), str(script), str(path)], check=False, capture_output=True, text=True)
    if done.returncode:
        print(f"cleanlab failed: {(done.stderr.strip().splitlines() or ['killed'])[-1]}", file=sys.stderr)
        return {}
    return {f"cleanlab, {name}": 1 - np.array(scores) for name, scores in json.loads(done.stdout).items()}


def measured(folder: Path, share: float, seed: int, arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Average precisions by way of ranking."""
    with read(str(folder / "train.txt")) as sentences:
        corpus = list(sentences)
    X, gold = [sentence.tokens for sentence in corpus], [sentence.labels or [] for sentence in corpus]
    labels, errors = planted(gold, share, np.random.default_rng(seed))
    split = Split.of(folder.name, X, labels)
    judgements = judged(Tagger(vectors=arguments.vectors), split, repeats=arguments.repeats, threads=arguments.threads)
    ours = np.full(len(X), -np.inf)
    for one in judgements.ranked():
        ours[one.sentence] = max(ours[one.sentence], one.score)
    rankings = {"postil doctor": ours, **fixed_scores(judgements, len(X))}
    if arguments.cleanlab:
        rankings |= cleanlab_scores(judgements, len(X))
    return {name: by_kind(scores, errors) for name, scores in rankings.items()}


def main() -> int:
    options = parser(__doc__)
    options.add_argument("corpora", nargs="+", type=Path, metavar="FOLDER", help="with a file train.txt")
    options.add_argument("--share", type=float, default=0.05, help="of the entities that are changed (default: 0.05)")
    options.add_argument("--seeds", type=int, nargs="+", default=[1], help="of the errors (default: 1)")
    options.add_argument("--repeats", type=int, default=2, help="how often a sentence is held out (default: 2)")
    options.add_argument("--threads", type=int, default=1, help="trainings at a time (default: 1)")
    options.add_argument("--vectors", help="word vectors of the models")
    options.add_argument("--cleanlab", action="store_true", help="also by the library itself (366 MB)")
    arguments = options.parse_args()
    rows: list[dict[str, Any]] = []
    ahead = True
    for folder in arguments.corpora:
        for seed in arguments.seeds:
            found = measured(folder, arguments.share, seed, arguments)
            rows += [
                {"corpus": folder.name, "seed": seed, "ranked by": name, **scores} for name, scores in found.items()
            ]
            others = [scores for name, scores in found.items() if name != "postil doctor"]
            ahead &= all(found["postil doctor"][kind] >= max(other[kind] for other in others) for kind in others[0])
    return report(
        Outcome(
            name="doctor",
            compared=f"{100 * arguments.share:g} % planted errors: average precision over sentences",
            rows=rows,
            goal="ahead of the fixed scores, for every kind of error",
            passed=ahead,
        )
    )


if __name__ == "__main__":
    raise SystemExit(main())
