"""Promises of redaction (`tune --miss`) made on dev, and the share of names that they miss on the test part.

    python -m benchmarks.redaction CORPUS=CLASS,… … [--miss 0.01 0.05 0.1]

A corpus is a folder with files that begin with train, dev and test. Exit code 1 if a test part misses more names than
promised, by more than two standard errors of its own.
"""

import sys
from math import sqrt
from pathlib import Path
from typing import Any

from benchmarks.accuracy import load_part
from benchmarks.measuring import Outcome, parser, report
from postil.errors import DataError
from postil.models import PRESETS, Tagger
from postil.models.decoding.posteriors import Posteriors
from postil.models.decoding.promise import Promise, unlike
from postil.models.decoding.redaction import hidden_tokens, profile_of
from postil.text import recognise, spans_from_labels

FIGURES = ("dev names", "design effect", "test names", "missed", "error", "words hidden")


def main() -> int:
    options = parser(__doc__)
    options.add_argument("corpora", nargs="+", metavar="CORPUS=CLASS,…")
    options.add_argument("--miss", type=float, nargs="+", default=[0.01, 0.05, 0.1])
    options.add_argument("--preset", choices=PRESETS, default="fast")
    arguments = options.parse_args()
    rows = []
    for corpus in arguments.corpora:
        folder, _, classes = corpus.partition("=")
        files = sorted(path for path in Path(folder).iterdir() if ".pos." not in path.name)
        names = {part: next(str(path) for path in files if part in path.name) for part in ("train", "dev", "test")}
        parts = {part: load_part(name) for part, name in names.items()}
        tagger = Tagger(preset=arguments.preset).fit(*parts["train"], dev=parts["dev"])
        for miss in arguments.miss:
            what = {"corpus": Path(folder).name, "classes": classes, "promised": 100 * miss}
            try:
                promise = tagger.promise(*parts["dev"], classes=classes.split(","), miss=miss)
                rows.append({**what, **on_test(tagger, promise, *parts["test"])})
            except DataError as error:
                rows.append({**what, **dict.fromkeys(FIGURES, float("nan")), "note": str(error)})
            print(rows[-1], file=sys.stderr, flush=True)
    broken = [row for row in rows if row["missed"] > row["promised"] + 2 * row["error"]]
    return report(
        Outcome(
            name="redaction",
            compared=f"{arguments.preset}: percent of names missed on test, with its standard error; words hidden",
            rows=rows,
            goal="no test part misses significantly more than promised",
            passed=not broken,
        )
    )


def on_test(tagger: Tagger, promise: Promise, X: Any, y: Any) -> dict[str, Any]:
    found = hidden_tokens(Posteriors(tagger.model), X, promise.classes, promise.threshold)
    scheme = recognise(y)
    hidden = [
        bool(one.hidden[span.start : span.end].all())
        for one, labels in zip(found, y, strict=True)
        for span in spans_from_labels(labels, scheme)
        if span.label in promise.classes
    ]
    missed = 1 - sum(hidden) / len(hidden)
    words = sum(int(one.hidden.sum()) for one in found) / sum(map(len, X))
    error = 100 * sqrt(missed * (1 - missed) / len(hidden))
    figures = promise.names, promise.design_effect, len(hidden), 100 * missed, error, 100 * words
    reasons = unlike(profile_of(tagger.model, X, found), promise.profile)
    note = f"declined: {'; '.join(reasons)}" if reasons else ""
    return {**dict(zip(FIGURES, figures, strict=True)), "note": note}


if __name__ == "__main__":
    sys.exit(main())
