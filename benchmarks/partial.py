"""Learning from partial labels beside taking what is unknown for O.

    python -m benchmarks.partial TRAIN DEV TEST
    python -m benchmarks.partial TRAIN DEV TEST --share 0.3 --preset window-wll --epochs 6

Three corpora are made from TRAIN, which must be labelled with spans:

    unknown    a share of the entities, and as large a share of the other tokens, lose their labels: ``?``, beside O
    halves     every second sentence annotates one half of the classes only, the others the other half
    loose      every second entity has one of two classes: ``PER|ORG``, beside a class drawn from the two

Each is learnt twice: as it is, and with every gap filled the naive way. DEV and TEST are whole. The first row is the
corpus without gaps: what can be reached at most.
"""

import argparse
from collections.abc import Callable

import numpy as np

from benchmarks.measuring import parser
from postil.models import PRESETS, Tagger
from postil.text import read, recognise, spans_from_labels
from postil.text.labels.schemes import convert

Part = tuple[list[list[str]], list[list[str]]]


def main() -> int:
    arguments = _arguments()
    train, dev, test = (_load(path) for path in (arguments.train, arguments.dev, arguments.test))
    rng = np.random.default_rng(arguments.seed)

    def f1(y: list[list[str]], **options: object) -> float:
        tagger = Tagger(preset=arguments.preset, epochs=arguments.epochs, seed=arguments.seed)
        tagger.fit(train[0], y, dev=dev, **options)  # type: ignore[arg-type]
        return 100 * tagger.score(*test)

    print(f"{'corpus':<10} {'partial':>8} {'filled':>8}    F1 on test")
    print(f"{'whole':<10} {f1(train[1]):8.2f}")
    for name in arguments.corpora:
        partial, filled, options = _CORPORA[name](train[1], arguments.share, rng)
        print(f"{name:<10} {f1(partial, **options):8.2f} {f1(filled):8.2f}", flush=True)
    return 0


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    for name in ("train", "dev", "test"):
        options.add_argument(name, metavar=name.upper(), help="labelled file with spans")
    options.add_argument("--share", type=float, default=0.3, help="of the labels that are lost (0.3)")
    options.add_argument("--preset", choices=list(PRESETS), default="fast")
    options.add_argument("--epochs", type=int, default=10)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--corpora", nargs="+", choices=list(_CORPORA), default=list(_CORPORA))
    arguments: argparse.Namespace = options.parse_args()
    return arguments


def _load(path: str) -> Part:
    sentences = list(read(path, features=()))
    labels = [sentence.labels or [] for sentence in sentences]
    scheme = recognise(labels)
    return [sentence.tokens for sentence in sentences], [convert(row, scheme, "bio") for row in labels]


Made = tuple[list[list[str]], list[list[str]], dict[str, object]]


def _unknown(y: list[list[str]], share: float, rng: np.random.Generator) -> Made:
    partial, filled = [], []
    for labels in y:
        lost = np.array(labels) == "O"
        lost &= rng.random(len(labels)) < share
        for span in spans_from_labels(labels):
            lost[span.start : span.end] = rng.random() < share
        partial.append(["?" if gone else label for label, gone in zip(labels, lost, strict=True)])
        filled.append(["O" if gone else label for label, gone in zip(labels, lost, strict=True)])
    return partial, filled, {}


def _halves(y: list[list[str]], share: float, rng: np.random.Generator) -> Made:
    classes = sorted({span.label for labels in y for span in spans_from_labels(labels)})
    halves = [classes[::2], classes[1::2]]
    annotates = [halves[i % 2] for i in range(len(y))]
    kept = [[label if label[2:] in own else "O" for label in labels] for labels, own in zip(y, annotates, strict=True)]
    return kept, kept, {"annotates": annotates}


def _loose(y: list[list[str]], share: float, rng: np.random.Generator) -> Made:
    classes = sorted({span.label for labels in y for span in spans_from_labels(labels)})
    partial, filled = [list(labels) for labels in y], [list(labels) for labels in y]
    for i, labels in enumerate(y):
        for span in spans_from_labels(labels):
            if rng.random() < 0.5:
                pair = [span.label, str(rng.choice([name for name in classes if name != span.label]))]
                taken = pair[int(rng.integers(2))]
                for t in range(span.start, span.end):
                    letter = labels[t][0]
                    partial[i][t] = "|".join(f"{letter}-{name}" for name in pair)
                    filled[i][t] = f"{letter}-{taken}"
    return partial, filled, {}


_CORPORA: dict[str, Callable[[list[list[str]], float, np.random.Generator], Made]] = {
    "unknown": _unknown,
    "halves": _halves,
    "loose": _loose,
}


if __name__ == "__main__":
    raise SystemExit(main())
