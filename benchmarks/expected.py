"""Expected F1 without labels (`evaluate --expected`) compared with the true one, on text like dev and on other text.

    python -m benchmarks.expected CORPUS …            each model on the test part of its own corpus
    python -m benchmarks.expected CORPUS … --names    PER, LOC and ORG only: each model on all test parts

A corpus is a folder with files that begin with train, dev and test. A model is trained and calibrated on the first two;
the third is a text whose labels are used for the true F1 alone. Exit code 1 if fewer than nine of ten intervals contain
the true F1.
"""

import sys
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.accuracy import Part, load_part
from benchmarks.measuring import Outcome, parser, report
from postil.evaluation import expected
from postil.metrics import evaluate
from postil.models import PRESETS, Tagger

KINDS = {"PER": "PER PERSON", "LOC": "LOC LOCATION PLACE", "ORG": "ORG ORGANIZATION ORGANISATION CORPORATION"}
CLASSES = {name: kind for kind, names in KINDS.items() for name in names.split()}


def main() -> int:
    options = parser(__doc__)
    options.add_argument("corpora", nargs="+", type=Path, metavar="CORPUS")
    options.add_argument("--names", action="store_true")
    options.add_argument("--preset", choices=PRESETS, default="fast")
    arguments = options.parse_args()
    corpora = {
        folder.name: {part: _part(folder, part, arguments.names) for part in ("train", "dev", "test")}
        for folder in arguments.corpora
    }
    rows: list[dict[str, Any]] = []
    for trained, parts in corpora.items():
        tagger = Tagger(preset=arguments.preset).fit(*parts["train"], dev=parts["dev"])
        base = expected(tagger, parts["dev"][0]).profile
        for text, others in corpora.items():
            if text == trained or arguments.names:
                rows.append({"trained on": trained, "text": text, **_compared(tagger, others["test"], base)})
                print(rows[-1], file=sys.stderr, flush=True)
    inside = sum(row["low"] <= row["true"] <= row["high"] for row in rows)
    for name in sorted({row["like dev"] for row in rows}):
        some = [row for row in rows if row["like dev"] == name]
        error = mean(abs(row["expected"] - row["true"]) for row in some)
        print(f"like dev: {name}: {len(some)} texts, mean error {error:.1f} points of F1")
    return report(
        Outcome(
            name="expected",
            compared=f"{arguments.preset}: F1 expected without labels, its interval of 90 %, and the true F1",
            rows=rows,
            goal=f"the interval contains the true F1 nine times of ten (here {inside} of {len(rows)})",
            passed=inside >= 0.9 * len(rows),
        )
    )


def _part(folder: Path, name: str, names_only: bool) -> Part:
    X, y = load_part(str(next(path for path in sorted(folder.iterdir()) if path.name.startswith(name))))
    return X, [[_as_name(label) for label in labels] for labels in y] if names_only else y


def _as_name(label: str) -> str:
    prefix, _, kind = label.partition("-")
    return f"{prefix}-{CLASSES[kind.upper()]}" if kind.upper() in CLASSES else "O"


def _compared(tagger: Tagger, test: Part, base: Any) -> dict[str, Any]:
    found = expected(tagger, test[0], base)
    true = 100 * evaluate(test[1], tagger.predict(test[0])).spans.overall.f1
    figures = {"expected": 100 * found.counts.f1, "low": 100 * found.low, "high": 100 * found.high, "true": true}
    return {**figures, "like dev": "yes" if found.is_alike else "no"}


if __name__ == "__main__":
    sys.exit(main())
