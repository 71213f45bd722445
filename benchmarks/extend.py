"""A class more: `postil extend` beside learning everything at once, and beside plain fine-tuning.

    python -m benchmarks.extend wikigold                            a folder with train.txt, dev.txt and test.txt
    python -m benchmarks.extend wikigold --halves --unlabelled raw.txt
    python -m benchmarks.extend btc --to wnut17 --map person:PER,location:LOC,corporation:ORG,group:ORG
    python -m benchmarks.extend wikigold --test --seeds 0 1 2         once, at the end

The first model learns train.txt without the class (--new, ORG). Then it is extended by a file in which only that class
is labelled: train.txt again, or with --halves its second half (the first model then has the first half), or train.txt
of another corpus (--to). Rows:

    before          the first model
    fine-tuned      it goes on with the new file, in which everything else seems to be O
    warm start      the same with `annotates`: everything else is unknown
    extended        `postil.extend` with the new file alone; + raw text; + the old data
    at once         a model that learns all labels of both

Scores are F1 of each class on dev.txt (with --test on test.txt), means over the seeds. Small corpora have small dev
files: --held-out N draws that share from train.txt and dev.txt together, for each seed anew.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import Outcome, parser, report
from postil.models import Extending, Tagger
from postil.text import read

Data = tuple[list[list[str]], list[list[str]]]
GOAL = 1.0


def loaded(path: Path, classes: dict[str, str] | None) -> Data:
    """Tokens and BIO labels; with ``classes``, those that it maps under their other names."""
    with read(str(path)) as reading:
        sentences = list(reading)
    y = [list(sentence.labels or []) for sentence in sentences]
    if classes is not None:
        y = [[_mapped(label, classes) for label in labels] for labels in y]
    return [list(sentence.tokens) for sentence in sentences], y


def _mapped(label: str, classes: dict[str, str]) -> str:
    return f"{label[:2]}{classes[label[2:]]}" if label[2:] in classes else "O"


def labelled(data: Data, wanted: Callable[[str], bool]) -> Data:
    return data[0], [[label if label != "O" and wanted(label[2:]) else "O" for label in labels] for labels in data[1]]


def both(one: Data, other: Data) -> Data:
    return one[0] + other[0], one[1] + other[1]


def selected(data: Data, places: Any) -> Data:
    return [data[0][i] for i in places], [data[1][i] for i in places]


def corpora(arguments: argparse.Namespace, seed: int) -> tuple[Data, Data, Data, bool]:
    """Old, new and held-out sentences with all their labels; whether old and new ones differ."""
    names = dict(pair.split(":") for pair in arguments.map.split(",")) if arguments.map else None
    rng = np.random.default_rng(seed)
    held_out = "test" if arguments.test else "dev"
    keep = {name: name for name in arguments.classes.split(",")}
    if arguments.to is not None:
        return (
            loaded(arguments.folder / "train.txt", keep),
            loaded(arguments.to / "train.txt", names or keep),
            loaded(arguments.to / f"{held_out}.txt", names or keep),
            True,
        )
    data, dev = loaded(arguments.folder / "train.txt", keep), loaded(arguments.folder / f"{held_out}.txt", keep)
    if arguments.held_out and not arguments.test:
        data = both(data, dev)
        order = rng.permutation(len(data[0]))
        cut = round((1 - arguments.held_out) * len(order))
        data, dev = selected(data, order[:cut]), selected(data, order[cut:])
    if not arguments.halves:
        return data, data, dev, False
    order = rng.permutation(len(data[0]))
    first, second = np.array_split(order, 2)
    return selected(data, first), selected(data, second), dev, True


def measured(arguments: argparse.Namespace, seed: int, raw: list[list[str]]) -> dict[str, dict[str, float]]:
    """F1 by row and class."""
    *training, dev, differ = corpora(arguments, seed)
    whole, more = ((X[: arguments.sentences], y[: arguments.sentences]) for X, y in training)
    old, new = labelled(whole, lambda name: name != arguments.new), labelled(more, lambda name: name == arguments.new)
    settings = {"preset": arguments.preset, "seed": seed, "threads": arguments.threads}
    first = Tagger(**settings).fit(*old)

    def extended(**options: Any) -> Tagger:
        extending = Extending(first, *new, seed=seed, threads=arguments.threads, **options)
        for _ in extending.fitting:
            pass
        return extending.result().tagger

    ways: dict[str, Callable[[], Tagger]] = {
        "before": lambda: first,
        "fine-tuned": lambda: Tagger(**settings).fit(*new, warm_start=first),
        "warm start": lambda: Tagger(**settings).fit(*new, warm_start=first, annotates=[arguments.new]),
        "extended": extended,
        **({"extended + raw": lambda: extended(unlabelled=raw)} if raw else {}),
        "extended + old": lambda: extended(old=old),
        "at once": lambda: Tagger(**settings).fit(*(both(whole, more) if differ else whole)),
    }
    answers = {}
    for name in arguments.rows or ways:
        scores = ways[name]().evaluate(*dev).to_dict()
        answers[name] = {label: of["f1"] for label, of in scores["labels"].items()} | {"all": scores["f1"]}
        print(seed, name, {label: round(score, 2) for label, score in answers[name].items()}, flush=True)
    return answers


def raw_text(path: str | None, tokens: int) -> list[list[str]]:
    if path is None:
        return []
    with read(path, format="text") as reading:
        sentences = [[str(token) for token in s.tokens] for s in reading if 3 <= len(s.tokens) <= 80]
    order = np.random.default_rng(0).permutation(len(sentences))
    lengths = np.cumsum([len(sentences[i]) for i in order])
    return [sentences[i] for i in order[: int(np.searchsorted(lengths, tokens)) + 1]]


def main() -> int:
    options = parser(__doc__)
    options.add_argument("folder", type=Path, help="with train.txt, dev.txt and test.txt")
    options.add_argument("--to", type=Path, metavar="FOLDER", help="another corpus for the new file and for the scores")
    options.add_argument("--map", metavar="A:B,C:D", help="classes of that corpus, and what they are called here")
    options.add_argument("--classes", default="PER,LOC,ORG", help="to learn (PER,LOC,ORG)")
    options.add_argument("--new", default="ORG", help="the class that comes later (ORG)")
    options.add_argument("--halves", action="store_true")
    options.add_argument("--held-out", type=float, default=0.0, metavar="SHARE")
    options.add_argument("--test", action="store_true")
    options.add_argument("--unlabelled", metavar="FILE")
    options.add_argument("--tokens", type=int, default=60_000, help="of the raw text (60,000)")
    options.add_argument("--preset", default="fast")
    options.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--rows", nargs="+")
    options.add_argument("--sentences", type=int, metavar="N", help="the first of each training file only")
    arguments = options.parse_args()
    raw = raw_text(arguments.unlabelled, arguments.tokens)
    runs = [measured(arguments, seed, raw) for seed in arguments.seeds]
    classes = [*arguments.classes.split(","), "all"]
    means = {
        way: {name: float(np.mean([run[way].get(name, 0) for run in runs])) for name in classes} for way in runs[0]
    }
    where = f"{arguments.folder.name}{f' to {arguments.to.name}' if arguments.to else ''}"
    how = "halves" if arguments.halves else "another corpus" if arguments.to else "the same sentences"
    passed = all(
        means.get("extended + old", {}).get(name, 100) >= means.get("at once", {}).get(name, 0) - GOAL
        for name in classes[:-1]
    )
    return report(
        Outcome(
            name=f"extend-{where.replace(' ', '-')}",
            compared=f"{where}, {how}, {arguments.preset}: {arguments.new} comes later; F1, {len(runs)} seeds",
            rows=[{"model": way, **scores} for way, scores in means.items()],
            goal=f"extended + old within {GOAL:g} point of learning everything at once, every class",
            passed=passed,
        )
    )


if __name__ == "__main__":
    raise SystemExit(main())
