"""Postil beside CRFsuite, spaCy and PyTorch: the same data, machine and run; training, tagging, start, memory, size.

    python -m benchmarks.contest TRAIN DEV TEST
    python -m benchmarks.contest TRAIN DEV TEST --only "postil fast" "crfsuite rich" --threads 2
    python -m benchmarks.contest TRAIN DEV TEST --minutes 5          at most so much CPU time for any one training
    python -m benchmarks.contest TRAIN DEV TEST --text RAW --threads 2     also a file of raw text to a labelled file
    python -m benchmarks.contest --made-up                           sentences that Postil makes up, no corpus needed

Every tool has an environment of its own and is driven through one protocol (``contestants/protocol.py``): lists of
words in, lists of labels out. They train one after the other; then they tag the test part in turns, one at a time, so
that a noisy moment of the machine hits all of them. Threads of BLAS and PyTorch are held to ``--threads``. With
``--text``, each labels a file of raw text into a file of columns, with its own tokeniser (CRFsuite behind NLTK's), on
one core and on ``--threads`` of them, with and without probabilities. Writes a
table, benchmarks/results/contest.json, and two plots: F1 against tokens a second and against training time, to
``--pictures`` (docs/images; those of made-up sentences go beside the results).
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks import plots
from benchmarks.accuracy import Part, load_part
from benchmarks.contestants.driving import CRFSUITE, Process, Tool
from benchmarks.environments import RESULTS, ROOT, TORCH, environment
from benchmarks.measuring import Outcome, parser, report
from postil.metrics import evaluate
from postil.samples.corpora import made_up_sentences
from postil.text import recognise
from postil.text.labels.schemes import convert

POSTIL = [str(ROOT)]


TOOLS = {
    "postil fast": Tool(environment="postil", packages=POSTIL, script=["postil_tagger.py", "fast"]),
    "postil accurate": Tool(environment="postil", packages=POSTIL, script=["postil_tagger.py", "accurate"]),
    "postil window-sll": Tool(environment="postil", packages=POSTIL, script=["postil_tagger.py", "window-sll"]),
    "crfsuite tutorial": Tool(environment="crfsuite", packages=CRFSUITE, script=["crfsuite.py", "tutorial"]),
    "crfsuite rich": Tool(environment="crfsuite", packages=CRFSUITE, script=["crfsuite.py", "rich"]),
    "sklearn-crfsuite tutorial": Tool(
        environment="sklearn-crfsuite",
        packages=["sklearn-crfsuite==0.5.0"],
        script=["sklearn_crfsuite_tutorial.py"],
    ),
    "pytorch window": Tool(environment="torch", packages=TORCH, script=["pytorch_window.py", "20"]),
    "spacy": Tool(environment="spacy", packages=["spacy==3.8.18"], script=["spacy_ner.py"]),
}


def main() -> int:
    arguments = _arguments()
    _install_postil()
    train, dev, test = made_up_parts() if arguments.made_up else map(load_part, arguments.files)
    scheme = recognise(train[1])
    with TemporaryDirectory() as folder:
        data = _written(Path(folder), train, dev, test, scheme)
        figures = {name: _trained(name, data, Path(folder), arguments) for name in arguments.only}
        _tag_in_turns(figures, data, Path(folder), arguments)
        if arguments.text is not None:
            _label_files(figures, Path(folder), arguments)
        for name, row in figures.items():
            row |= _scores(row.pop("labels"), test[1], scheme) | _cold_start(
                name, data, Path(folder), arguments.threads
            )
            row["model MB"] = _megabytes(Path(folder).glob(f"{_model(name)}*"))
            row["install MB"] = installed_megabytes(TOOLS[name].environment)
    curves = {name: row.pop("curve") for name, row in figures.items()}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "contest_curves.json").write_text(json.dumps(curves, indent=2), encoding="utf8")
    draw(figures, curves, arguments.pictures or (RESULTS if arguments.made_up else ROOT / "docs" / "images"))
    return report(_outcome(figures, curves, arguments))


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("files", nargs="*", metavar="FILE", help="train, dev and test, with spans")
    options.add_argument("--made-up", action="store_true", help="instead of files: sentences made up by a grammar")
    options.add_argument("--pictures", type=Path, help="folder of the plots")
    options.add_argument("--only", nargs="+", choices=list(TOOLS), default=list(TOOLS), metavar="TOOL", help="which")
    options.add_argument("--minutes", type=float, default=20.0, help="CPU minutes for one training at most (20)")
    options.add_argument("--threads", type=int, default=1, help="threads of every tool (1)")
    options.add_argument("--turns", type=int, default=5, help="times that the test part is tagged (5)")
    options.add_argument("--text", type=Path, help="a file of raw text, a paragraph a line")
    options.add_argument("--megabytes", type=float, default=4.0, help="of the raw text, at most (4)")
    options.add_argument("--tokens", type=int, default=200_000, help="the test part is repeated up to so many tokens")
    arguments = options.parse_args()
    if len(arguments.files) != (0 if arguments.made_up else 3):
        options.error("expected three files (train, dev and test), or --made-up and none")
    return arguments


def made_up_parts() -> tuple[Part, Part, Part]:
    """Train, dev and test from the grammar of the demo; the last two have names that the first lacks."""
    rng = np.random.default_rng(0)
    sizes = ((3000, False), (500, True), (500, True))
    made = [made_up_sentences(count, rng, new_names=new) for count, new in sizes]
    parts = [([list(s.tokens) for s in part], [list(s.labels) for s in part]) for part in made]
    return parts[0], parts[1], parts[2]


def _install_postil() -> None:
    """Postil as it stands now, whatever the environment has from an earlier run."""
    python = environment("postil", POSTIL)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *POSTIL], check=True)  # what it needs, too: that may have changed
    subprocess.run([*pip, "--force-reinstall", "--no-deps", *POSTIL], check=True)


def _written(folder: Path, train: Part, dev: Part, test: Part, scheme: str) -> dict[str, str]:
    """The files that contestants read: everything, the test part repeated, one sentence."""

    def pairs(part: Part) -> list[Any]:
        return list(zip(part[0], [convert(labels, scheme, "iobes") for labels in part[1]], strict=True))

    contents = {
        "all": {"train": pairs(train), "dev": pairs(dev), "test": test[0]},
        "test": {"test": test[0]},
        "one": {"test": [max(test[0][:50], key=len)]},
    }
    for name, content in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf8")
    return {name: str(folder / f"{name}.json") for name in contents}


def _model(name: str) -> str:
    return name.replace(" ", "-") + ".model"


def _trained(name: str, data: Mapping[str, str], folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Train one tool; what it cost, and the dev F1 on the way."""
    print(f"training {name} …", file=sys.stderr, flush=True)
    with Process(_with_threads(name, arguments.threads), arguments.threads) as process:
        answer = process.ask(do="train", data=data["all"], model=str(folder / _model(name)), minutes=arguments.minutes)
        megabytes = process.ask(do="memory")["megabytes"]
    curve = answer["checkpoints"]
    last = curve[-1]
    return {
        "dev F1": max(point["f1"] for point in curve),
        "training CPU s": last["cpu"],
        "training s": last["wall"],
        "CPU s an epoch": _epoch(curve),
        "training MB": megabytes,
        "curve": curve,
    }


def _epoch(curve: Sequence[Mapping[str, float]]) -> float:
    """CPU seconds of the epoch in the middle; the first one, with all that is done once, only where it is alone."""
    return median(after["cpu"] - before["cpu"] for before, after in pairwise(curve)) if curve[1:] else curve[0]["cpu"]


def _with_threads(name: str, threads: int) -> list[str]:
    command = TOOLS[name].command()
    return [*command, str(threads)] if name.startswith("postil") else command


def _tag_in_turns(
    figures: Mapping[str, dict[str, Any]], data: Mapping[str, str], folder: Path, arguments: argparse.Namespace
) -> None:
    _repeat_test(Path(data["test"]), arguments.tokens)
    with ExitStack() as stack:
        processes = {
            name: stack.enter_context(Process(_with_threads(name, arguments.threads), arguments.threads))
            for name in figures
        }
        for name, process in processes.items():
            process.ask(do="load", model=str(folder / _model(name)))
            figures[name]["labels"] = process.ask(do="labels", data=data["all"])["labels"]
        turns: dict[str, list[dict[str, float]]] = {name: [] for name in figures}
        for turn in range(arguments.turns):
            print(f"tagging, turn {turn + 1} of {arguments.turns} …", file=sys.stderr, flush=True)
            for name, process in processes.items():
                turns[name].append(process.ask(do="tag", data=data["test"]))
        for name, process in processes.items():
            figures[name]["tagging MB"] = process.ask(do="memory")["megabytes"]
    for name, answers in turns.items():
        for clock, title in (("cpu", "tokens/s CPU"), ("wall", "tokens/s")):
            figures[name][title] = median(answer["tokens"] / max(answer[clock], 1e-9) for answer in answers)


def _label_files(figures: Mapping[str, dict[str, Any]], folder: Path, arguments: argparse.Namespace) -> None:
    """Raw text to labelled text, each tool in a process that has its model open; the best of two turns."""
    text, output = folder / "raw.txt", folder / "labelled.txt"
    with arguments.text.open("rb") as file:
        text.write_bytes(file.read(int(arguments.megabytes * 1e6)) + file.readline())
    for name in figures:
        print(f"raw text to labelled text, {name} …", file=sys.stderr, flush=True)
        for threads in sorted({1, arguments.threads}):
            for probabilities in (False, True):
                with Process(_with_threads(name, threads), threads) as process:
                    process.ask(do="load", model=str(folder / _model(name)))
                    request = {"text": str(text), "output": str(output), "threads": threads}
                    answers = [process.ask(do="file", probabilities=probabilities, **request) for _ in range(2)]
                title = f"file, {threads} {'process' if threads == 1 else 'processes'}"
                title += ", probabilities" if probabilities else ""
                for clock, unit in (("wall", "tokens/s"), ("cpu", "tokens/s CPU")):
                    rates = [answer["tokens"] / max(answer[clock], 1e-9) for answer in answers if answer]
                    figures[name][f"{title}: {unit}"] = max(rates, default=float("nan"))


def _repeat_test(path: Path, tokens: int) -> None:
    """A longer test part: short runs measure the start of things."""
    sentences = json.loads(path.read_text(encoding="utf8"))["test"]
    times = max(1, round(tokens / max(sum(map(len, sentences)), 1)))
    path.write_text(json.dumps({"test": sentences * times}), encoding="utf8")


def _scores(labels: list[list[str]], gold: list[list[str]], scheme: str) -> dict[str, float]:
    return {"test F1": 100 * evaluate(gold, labels, scheme, "iobes").main_score}


def _cold_start(name: str, data: Mapping[str, str], folder: Path, threads: int) -> dict[str, float]:
    """Milliseconds from starting Python to the labels of one sentence; the best of three fresh processes."""
    best = float("inf")
    for _ in range(3):
        with Process(_with_threads(name, threads), threads) as process:
            process.ask(do="load", model=str(folder / _model(name)))
            process.ask(do="labels", data=data["one"])
            best = min(best, time.perf_counter() - process.begun)
    return {"cold start ms": 1000 * best}


def installed_megabytes(name: str) -> float:
    """What an environment holds beyond an empty one."""
    packages = next((RESULTS / f"env-{name}" / "lib").glob("python*")) / "site-packages"
    given = ("pip", "pip-", "setuptools", "_distutils_hack", "distutils-precedence", "pkg_resources")
    return _megabytes(path for path in packages.iterdir() if not path.name.startswith(given))


def _megabytes(paths: Iterator[Path]) -> float:
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*"))]
    return sum(file.stat().st_size for file in files if file.is_file() and not file.is_symlink()) / 1e6


GOALS: list[tuple[str, str, str, str, float]] = [
    # (what, of whom, over whom, which figure, at least)
    ("tagging", "postil fast", "crfsuite tutorial", "tokens/s CPU", 5),
    ("tagging", "postil fast", "crfsuite rich", "tokens/s CPU", 20),
    ("tagging", "postil fast", "spacy", "tokens/s CPU", 35),
    ("raw text to labels", "postil fast", "crfsuite tutorial", "file, 1 process: tokens/s CPU", 8),
    ("training epoch", "pytorch window", "postil window-sll", "CPU s an epoch", 4),
]


def _outcome(
    figures: Mapping[str, Mapping[str, Any]], curves: Mapping[str, Any], arguments: argparse.Namespace
) -> Outcome:
    rows = [
        {"figure": title} | {name: _shown(row[title]) for name, row in figures.items()}
        for title in next(iter(figures.values()))
    ]
    said, reached = [], True
    for what, one, other, title, at_least in GOALS:
        if one in figures and other in figures and title in figures[one]:
            ratio = figures[one][title] / figures[other][title]
            said.append(f"{what}, {one} over {other}: {ratio:.1f} (at least {at_least:g})")
            reached &= ratio >= at_least
    for one, other, share in _races(figures):
        seconds = next((p["cpu"] for p in curves[one] if p["f1"] >= figures[other]["dev F1"]), float("inf"))
        ratio = seconds / figures[other]["training CPU s"]
        said.append(f"{one} reaches the dev F1 of {other} in {ratio:.3f} of its CPU time (at most {share:g})")
        reached &= ratio <= share
    return Outcome(
        name="contest",
        compared=f"training once each, tagging in {arguments.turns} turns, threads: {arguments.threads}",
        rows=rows,
        goal="\n      ".join(said) or "none of the pairs was asked for",
        passed=reached,
    )


def _shown(value: float) -> float | str:
    return "" if value != value else float(f"{value:.4g}")  # NaN: what a tool cannot do


def draw(figures: Mapping[str, Mapping[str, Any]], curves: Mapping[str, Any], folder: Path) -> None:
    """F1 against tokens a second and against training time, contest-speed.svg and contest-training.svg."""
    speed = [
        plots.Series(name=name, points=[(row["tokens/s CPU"], row["test F1"])], ours=name.startswith("postil"))
        for name, row in figures.items()
    ]
    title = "Test F1 against tagging speed (up and to the right is better)"
    picture = plots.scatter(title, speed, x_name="tokens a second and core", y_name="F1")
    plots.write(folder / "contest-speed.svg", picture)
    training = [
        plots.Series(name=name, points=_best_so_far(curve), ours=name.startswith("postil"))
        for name, curve in curves.items()
    ]
    title = "Best dev F1 so far against training time (up and to the left is better)"
    picture = plots.curves(title, training, x_name="CPU seconds", y_name="F1")
    plots.write(folder / "contest-training.svg", picture)


def _best_so_far(curve: Sequence[Mapping[str, float]]) -> list[tuple[float, float]]:
    bests = accumulate((point["f1"] for point in curve), max)
    return [(point["cpu"], best) for point, best in zip(curve, bests, strict=True)]


def _races(figures: Mapping[str, Any]) -> Iterator[tuple[str, str, float]]:
    for one in ("postil fast", "postil accurate"):
        for other, share in (("spacy", 0.1), ("crfsuite rich", 0.5)):
            if one in figures and other in figures:
                yield one, other, share


if __name__ == "__main__":
    sys.exit(main())
