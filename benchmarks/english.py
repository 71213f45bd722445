"""The English model: each corpus of names left out in turn, the speed of the model, and how soon it is loaded.

    python -m benchmarks.english DATA FOLDER              FOLDER: what `python -m recipes.english … -o FOLDER` made
    python -m benchmarks.english DATA FOLDER --left-out wikigold --epochs 3
    python -m benchmarks.english DATA FOLDER --raw wikipedia_en.txt       with a teacher, which has not seen it either
    python -m benchmarks.english DATA FOLDER --spacy 20                   beside spaCy, 20 CPU minutes at most
    python -m benchmarks.english DATA FOLDER --speed

Left out: a tagger of names is trained as the recipe does, on all corpora but one, and scored on the test part of that
one: F1 of PER, LOC and ORG, which all corpora annotate. Beside it stand taggers with the same settings, each trained on
a single other corpus, of which the best counts. With ``--spacy``, spaCy's NER with its defaults for CPUs learns the
same sentences, without copies in other cases; what a corpus leaves open is unknown to it as well.

Speed: tokens per second of CPU time on one core, all tasks, names and UPOS, names alone, and a tagger `fast` of one
task with the same knowledge, in turns. Loading: the best of several fresh processes, after the imports.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import postil
from benchmarks.contestants.driving import Process, Tool
from benchmarks.measuring import Outcome, interleaved, medians, parser, report
from postil.metrics import evaluate
from postil.models.tagger import Tagger
from postil.text import labels_from_spans, spans_from_labels, with_marks
from recipes.english import (
    CASES,
    LESSON_TOKENS,
    SEED,
    SETTINGS,
    knowledge,
    names_to_learn,
    open_names,
    sample,
    train_teacher,
)
from recipes.english_card import core_f1, core_labels
from recipes.english_data import NAMES, Part, read_names, with_cases

SINGLE = ("wikigold", "btc", "wnut17", "gum_open")
"""Corpora with training parts that are large enough to stand alone."""
SPACY = Tool(environment="spacy", packages=["spacy==3.8.18"], script=["spacy_ner.py"])
LEAST_SHARE = 0.6  # of the rate of one task
MOST_SECONDS = 0.050  # to load the model
LOAD = (
    "import time, postil; postil.MultiTaskTagger; began = time.process_time(); postil.load({!r}); "
    "print(time.process_time() - began)"
)


def main() -> int:
    arguments = _arguments()
    return report(_speed(arguments) if arguments.speed else _left_out(arguments))


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("data", type=Path, metavar="DATA")
    options.add_argument("folder", type=Path, metavar="FOLDER")
    options.add_argument("--left-out", nargs="+", choices=list(NAMES), default=["wikigold", "wnut17", "btc"])
    options.add_argument("--epochs", type=int, help="of every training (default: as the recipe)")
    options.add_argument("--raw", type=Path, metavar="TEXT", help="learn from a teacher, too, as the recipe does")
    options.add_argument("--spacy", type=float, metavar="MINUTES", help="beside spaCy's NER, so many CPU minutes")
    options.add_argument("--no-single", action="store_true", help="leave out the taggers of single corpora")
    options.add_argument("--speed", action="store_true", help="measure speed and loading only")
    return options.parse_args()


# ------------------------------------------------------------------------------------------------ left out in turn


def _left_out(arguments: argparse.Namespace) -> Outcome:
    settings = SETTINGS | ({"epochs": arguments.epochs} if arguments.epochs else {})
    tests = {corpus: read_names(arguments.data, corpus, "test") for corpus in arguments.left_out}
    single = {} if arguments.no_single else dict(_single_scores(arguments, settings, tests))
    rows = []
    for corpus, test in tests.items():
        learnt, lesson = names_to_learn(arguments.data, [corpus]), _lesson(arguments, corpus)
        tagger = _trained(learnt, arguments.folder, settings, open_names(arguments.data) if lesson else None, **lesson)
        row: dict[str, Any] = {"left out": corpus, "all others": core_f1(tagger, test)}
        row |= {case: core_f1(tagger, test, case) for case in ("lower", "upper")}
        if lesson:
            row["teacher"] = core_f1(lesson["teachers"][0], test)
        alone = {scores[corpus]: name for name, scores in single.items() if name != corpus}
        row |= {"best single": max(alone), "which": alone[max(alone)]} if alone else {}
        if arguments.spacy:
            row["spaCy"] = spacy_f1(arguments.data, corpus, arguments.spacy)
        print(row, file=sys.stderr, flush=True)
        rows.append(row)
    return Outcome(
        name="english",
        compared="F1 of PER, LOC and ORG on the test part of a corpus that was left out",
        rows=rows,
        goal="above the best model of a single corpus",
        passed=all(row["all others"] > row.get("best single", 0) for row in rows),
    )


def _lesson(arguments: argparse.Namespace, corpus: str) -> dict[str, Any]:
    """Raw text and a teacher that knows nothing of the corpus; the teacher is kept in FOLDER."""
    if arguments.raw is None:
        return {}
    path = arguments.folder / f"teacher-without-{corpus}.postil"
    if not path.exists():
        train_teacher(arguments.data, arguments.folder, path, [corpus])
    return {"unlabelled": sample(arguments.raw, LESSON_TOKENS), "teachers": [postil.load(path)]}


def _single_scores(
    arguments: argparse.Namespace, settings: Mapping[str, Any], tests: Mapping[str, Part]
) -> Iterator[tuple[str, dict[str, float]]]:
    for corpus in SINGLE:
        tagger = _trained(read_names(arguments.data, corpus, "train"), arguments.folder, settings)
        yield corpus, {name: core_f1(tagger, test) for name, test in tests.items() if name != corpus}


def _trained(
    part: Part, folder: Path, settings: Mapping[str, Any], completed: Part | None = None, **lesson: Any
) -> Tagger:
    """A tagger of ``part``, and of the partial labels ``completed`` by the teachers of the lesson."""
    learnt = with_cases(part, CASES, SEED) + (completed or Part([], []))
    return Tagger(preset="fast", **settings, **knowledge(folder)).fit(learnt.X, learnt.y, **lesson)


def spacy_f1(data: Path, left_out: str, minutes: float) -> float:
    """F1 in percent of spaCy's NER on the test part of the corpus that it has not seen."""
    others = [name for name in SINGLE if name != left_out]
    dev = sum((read_names(data, name, "dev") for name in others), Part([], []))
    test = read_names(data, left_out, "test")
    content = {
        "train": _plain(names_to_learn(data, [left_out])),
        "dev": _plain(dev, unknown="O"),
        "test": [[word or "_" for word in words] for words in test.X],
    }
    with TemporaryDirectory() as folder, Process(SPACY.command(), threads=1) as process:
        file = Path(folder) / "data.json"
        file.write_text(json.dumps(content), encoding="utf8")
        process.ask(do="train", data=str(file), model=str(Path(folder) / "model"), minutes=minutes)
        found = process.ask(do="labels", data=str(file))["labels"]
    bio = [labels_from_spans(spans_from_labels(labels, "iobes"), len(labels)) for labels in found]
    return 100 * float(evaluate(with_marks(core_labels(test.y), test.X), core_labels(bio)).main_score)


def _plain(part: Part, unknown: str = "-") -> list[tuple[list[str], list[str]]]:
    """Tokens and IOBES labels of persons, places and organisations."""
    pairs = []
    for words, labels in zip(part.X, core_labels(part.y), strict=True):
        known = ["O" if label == "?" else label for label in labels]
        spelt = labels_from_spans(spans_from_labels(known, "bio"), len(labels), "iobes")
        tokens = [word or "_" for word in words]  # some tweets have empty tokens, which spaCy does not take
        pairs.append((tokens, [unknown if label == "?" else name for label, name in zip(labels, spelt, strict=True)]))
    return pairs


# ------------------------------------------------------------------------------------------------ speed


def _speed(arguments: argparse.Namespace) -> Outcome:
    path = arguments.folder / "english.postil"
    model = postil.load(path)
    X = [tokens for corpus in NAMES for tokens in read_names(arguments.data, corpus, "test").X]
    tokens = sum(map(len, X))
    one = _trained(read_names(arguments.data, "wikigold", "train"), arguments.folder, {**SETTINGS, "epochs": 1})
    ways = {
        "one task, preset fast": lambda: one.predict(X),
        "all tasks": lambda: model.predict(X),
        "names and upos": lambda: model.predict(X, tasks=["names", "upos"]),
        "names": lambda: model.predict(X, tasks=["names"]),
    }
    rates = {name: tokens / seconds for name, seconds in medians(interleaved(ways, 5)).items()}
    loading = min(_loading(path) for _ in range(7))
    share = rates["names and upos"] / rates["one task, preset fast"]
    rows = [{"what": f"{name}, tokens/s", "figure": round(rate, -3)} for name, rate in rates.items()]
    rows += [
        {"what": "names and upos beside one task", "figure": share},
        {"what": "loading, ms", "figure": 1000 * loading},
        {"what": "size, MB", "figure": path.stat().st_size / 1e6},
    ]
    return Outcome(
        name="english_speed",
        compared="The English model beside a tagger of one task",
        rows=rows,
        goal=f"names and upos at {LEAST_SHARE} of one task, loaded in {1000 * MOST_SECONDS:.0f} ms",
        passed=share >= LEAST_SHARE and loading <= MOST_SECONDS,
    )


def _loading(path: Path) -> float:
    return float(
        subprocess.run(
            [sys.executable, "-c", LOAD.format(str(path))], capture_output=True, text=True, check=True
        ).stdout
    )


if __name__ == "__main__":
    sys.exit(main())
