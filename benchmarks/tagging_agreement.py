"""Whether the fast way of tagging gives what the plain one gives, on whole corpora.

    python -m benchmarks.tagging_agreement FOLDER… [--presets fast accurate] [--sentences 600] [--epochs 2]

Every folder holds CoNLL files train*.txt, dev*.txt, test*.txt. A short training on each train file makes a model; all
files of its kind are then tagged both ways. Labels must be equal, but for sentences whose two best paths differ by less
than 1e-4 in score; probabilities must be equal to 1e-4.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import Outcome, parser, report
from postil.models.decoding.posteriors import Posteriors
from postil.models.engine import blocks
from postil.models.sentences import tokens_of
from postil.models.tagger import Tagger
from postil.objectives.crf import Lattice, Posterior, k_best, viterbi
from postil.text.formats import read

TIE = 1e-4
CLOSE = 1e-4


def main() -> int:
    options = parser(__doc__)
    options.add_argument("folders", nargs="+", type=Path)
    options.add_argument("--presets", nargs="+", default=["fast", "accurate"])
    options.add_argument("--sentences", type=int, default=600, help="to learn from")
    options.add_argument("--epochs", type=int, default=2)
    arguments = options.parse_args()
    rows = [
        compared(train, preset, arguments.sentences, arguments.epochs)
        for folder in arguments.folders
        for train in sorted(folder.glob("train*.txt"))
        for preset in arguments.presets
    ]
    return report(
        Outcome(
            name="tagging_agreement",
            compared="Labels and probabilities of the fast way and of the plain one.",
            rows=rows,
            goal=f"no label differs but for ties (below {TIE:g}), probabilities to {CLOSE:g}",
            passed=all(row["equal"] for row in rows),
        )
    )


def compared(train: Path, preset: str, sentences: int, epochs: int) -> dict[str, Any]:
    """One row: a model of one corpus on all of its files."""
    files = sorted(train.parent.glob(train.name.replace("train", "*")))
    data = {path: list(read(path, "conll")) for path in files}
    some = [sentence for sentence in data[train][:sentences] if sentence.labels]
    tagger = Tagger(preset=preset, epochs=epochs, seed=0)
    tagger.fit([tokens_of(s) for s in some], [s.labels or [] for s in some])
    X = [tokens_of(sentence) for found in data.values() for sentence in found]
    wrong, ties, difference = differences(tagger, X)
    return {
        "corpus": f"{train.parent.name}/{train.stem.removeprefix('train').strip('.') or 'all'}",
        "preset": preset,
        "labels": len(tagger.model.codec.labels),
        "tokens": sum(map(len, X)),
        "sentences": len(X),
        "differing": wrong,
        "ties": ties,
        "probabilities differ by": difference,
        "equal": wrong == 0 and difference <= CLOSE,
    }


def differences(tagger: Tagger, X: Sequence[Any]) -> tuple[int, int, float]:
    """Sentences with other labels, those of them that are ties, and the largest difference of a probability."""
    predicted, wrong, ties, largest = tagger.predict(X), 0, 0, 0.0
    parts = tagger.model
    for which in blocks([len(tokens) for tokens in X]):
        plain = parts.network.lattice(parts.features.inputs([X[i] for i in which]))
        labels = viterbi(plain)
        for row, i in enumerate(which):
            if tagger.model.codec.texts(labels[plain.offsets[row] : plain.offsets[row + 1]]) != predicted[i]:
                is_tie = _margin(plain, row) < TIE
                wrong, ties = wrong + (not is_tie), ties + is_tie
        _, fast = next(Posteriors(parts).lattices([X[i] for i in which]))  # one block again, in the order of ``which``
        assert np.array_equal(fast.offsets, plain.offsets)
        found = np.abs(Posterior.of(fast).marginals() - Posterior.of(plain).marginals())
        largest = max(largest, float(found.max(initial=0)))
    return wrong, ties, largest


def _margin(lattice: Lattice, sentence: int) -> float:
    """By how much the best path of a sentence beats the second best."""
    best, second = k_best(lattice.selected(np.array([sentence]))[0], 2)[0]
    return best.score - second.score


if __name__ == "__main__":
    sys.exit(main())
