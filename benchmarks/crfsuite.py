"""``postil.crfsuite`` compared with CRFsuite: the optimum, the labels, and the CPU time of training and tagging.

    python -m benchmarks.crfsuite TRAIN [TEST …] [--c1 0.1 --c2 0.1] [--threads 1]

Both train with L-BFGS on the feature dicts of sklearn-crfsuite's tutorial, in one process and in turn. Files are
CoNLL columns, the word first and the label last. CPU seconds are the least of all turns. Needs sklearn-crfsuite.
Goals: objective within 1e-4 relative, training in half of CRFsuite's CPU time; tagging, also one call at a time, 1.5
times as fast, one call with three features an item as fast, marginals as fast, opening a file in at most twice the
time; the online algorithms as fast. Exit code 1 if a goal is missed.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measuring import Outcome, parser, report

Sentences = list[list[str]]


def main() -> int:
    options = parser(__doc__)
    options.add_argument("train", type=Path)
    options.add_argument("test", type=Path, nargs="*")
    options.add_argument("--c1", type=float, default=0.0)
    options.add_argument("--c2", type=float, default=1.0)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--threads", type=int, default=1)
    arguments = options.parse_args()
    import sklearn_crfsuite

    from postil import crfsuite

    words, y = read(arguments.train)
    X = [features(sentence) for sentence in words]
    settings = {"algorithm": "lbfgs", "c1": arguments.c1, "c2": arguments.c2}
    theirs, ours = sklearn_crfsuite.CRF(**settings), crfsuite.CRF(**settings, threads=arguments.threads)
    fits = fastest({"CRFsuite": lambda: theirs.fit(X, y), "Postil": lambda: ours.fit(X, y)}, arguments.repeats)
    rows = [row("training", fits, 2.0)]
    tests = [read(path)[0] for path in arguments.test] or [words]
    told = [features(sentence) for test in tests for sentence in test]
    rows += tagging_rows(theirs, ours, told, arguments.repeats)
    rows += call_rows(theirs.modelfile.name, told[:300], arguments.repeats)
    for algorithm in ("l2sgd", "ap", "pa", "arow"):
        sides = {"CRFsuite": sklearn_crfsuite.CRF, "Postil": crfsuite.CRF}
        online = {name: lambda CRF=CRF, a=algorithm: CRF(a, max_iterations=20).fit(X, y) for name, CRF in sides.items()}
        rows.append(row(algorithm, fastest(online, arguments.repeats), 1.0))
    values = [float(model.training_log_.last_iteration["loss"]) for model in (theirs, ours)]
    difference = abs(values[1] - values[0]) / values[0]
    rows.append(
        {"what": "objective", "CRFsuite": values[0], "Postil": values[1], "ratio": difference, "goal": "≤ 1e-4"}
        | {"reached": values[1] <= values[0] * (1 + 1e-4)}
    )
    rows.append(agreement(theirs, ours, told))
    return report(
        Outcome(
            name="crfsuite",
            compared=f"{arguments.train}: {len(X)} sentences, {sum(map(len, X))} tokens, {settings}",
            rows=rows,
            goal="every row reaches its goal",
            passed=all(r["reached"] for r in rows),
        )
    )


def tagging_rows(theirs: Any, ours: Any, X: list[Any], repeats: int) -> list[dict[str, Any]]:
    """From feature dicts, and from features that are ready: an ItemSequence of each side."""
    import pycrfsuite

    from postil import crfsuite

    ready, ready_ours = [pycrfsuite.ItemSequence(s) for s in X], [crfsuite.ItemSequence(s) for s in X]
    tag = theirs.tagger_.tag
    dicts = {"CRFsuite": lambda: theirs.predict(X), "Postil": lambda: ours.predict(X)}
    sequences = {"CRFsuite": lambda: [tag(s) for s in ready], "Postil": lambda: ours.predict(ready_ours)}
    return [
        row("tagging from dicts", fastest(dicts, repeats), 1.5),
        row("tagging from ready features", fastest(sequences, repeats), 1.5),
    ]


def call_rows(path: str, X: list[Any], repeats: int) -> list[dict[str, Any]]:
    """One call at a time on CRFsuite's model file, in CPU seconds: labels, marginals, and opening the file."""
    import pycrfsuite

    from postil import crfsuite

    sides = {"CRFsuite": pycrfsuite, "Postil": crfsuite}
    taggers = {name: side.Tagger() for name, side in sides.items()}
    for tagger in taggers.values():
        tagger.open(path)
    kinds = {
        "one call, dicts": X,
        "one call, nested dicts": [[{"here": item, "same": item} for item in items] for items in X],
        "one call, lists": [[[f"{key}={value}" for key, value in item.items()] for item in items] for items in X],
        "one call, three features": [[dict([*item.items()][1:4]) for item in items[:5]] for items in X],
    }

    def tag(tagger: Any, sequences: list[Any]) -> Callable[[], object]:
        return lambda: [tagger.tag(items) for items in sequences]

    def marginals(tagger: Any) -> Callable[[], object]:
        def ask() -> None:
            for items in X[:20]:
                tagger.set(items)
                for position in range(len(items)):
                    for label in tagger.labels():
                        tagger.marginal(label, position)

        return ask

    def opened(side: Any) -> Callable[[], object]:
        return lambda: [side.Tagger().open(path) for _ in range(20)]

    turns = 3 * repeats
    calls = {what: {name: tag(tagger, told) for name, tagger in taggers.items()} for what, told in kinds.items()}
    calls["marginals"] = {name: marginals(tagger) for name, tagger in taggers.items()}
    goals = {**dict.fromkeys(kinds, 1.5), "one call, three features": 1.0}
    found = [row(what, fastest(of_sides, turns), goals.get(what, 1.0)) for what, of_sides in calls.items()]
    return [*found, row("opening", fastest({name: opened(side) for name, side in sides.items()}, turns), 0.5)]


def row(what: str, seconds: dict[str, float], goal: float) -> dict[str, Any]:
    ratio = seconds["CRFsuite"] / seconds["Postil"]
    return {"what": what, **seconds, "ratio": ratio, "goal": f"≥ {goal:g}", "reached": ratio >= goal}


def agreement(theirs: Any, ours: Any, X: list[Any]) -> dict[str, Any]:
    """Tokens that both label in the same way."""
    pairs = [pair for a, b in zip(theirs.predict(X), ours.predict(X), strict=True) for pair in zip(a, b, strict=True)]
    same = sum(a == b for a, b in pairs)
    told = {"CRFsuite": float(len(pairs)), "Postil": float(same), "ratio": same / len(pairs)}
    return {"what": "equal labels", **told, "goal": "≥ 0.999", "reached": same / len(pairs) >= 0.999}


def fastest(functions: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """The least CPU seconds of each; they take turns."""
    seconds = dict.fromkeys(functions, float("inf"))
    for _ in range(repeats):
        for name, function in functions.items():
            begin = time.process_time()
            function()
            seconds[name] = min(seconds[name], time.process_time() - begin)
    return seconds


def read(path: Path) -> tuple[Sentences, Sentences]:
    """Words and labels of a file of columns."""
    words: Sentences = []
    labels: Sentences = []
    for block in path.read_text(encoding="utf8").split("\n\n"):
        rows = [line.split() for line in block.splitlines() if line.strip() and not line.startswith("-DOCSTART-")]
        if rows:
            words.append([cells[0] for cells in rows])
            labels.append([cells[-1] for cells in rows])
    return words, labels


def features(sentence: list[str]) -> list[dict[str, Any]]:
    """The features of sklearn-crfsuite's tutorial without its parts of speech."""
    return [token_features(sentence, i) for i in range(len(sentence))]


def token_features(sentence: list[str], i: int) -> dict[str, Any]:
    word = sentence[i]
    found: dict[str, Any] = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
    }
    for shift, edge in ((-1, "BOS"), (1, "EOS")):
        if 0 <= i + shift < len(sentence):
            other = sentence[i + shift]
            found[f"{shift:+}:word.lower()"] = other.lower()
            found[f"{shift:+}:word.istitle()"] = other.istitle()
            found[f"{shift:+}:word.isupper()"] = other.isupper()
        else:
            found[edge] = True
    return found


if __name__ == "__main__":
    sys.exit(main())
