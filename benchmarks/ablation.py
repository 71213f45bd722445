"""What each kind of knowledge is worth: scores with and without vectors, clusters, name lists, a teacher, an ensemble.

    python -m benchmarks.ablation TRAIN DEV TEST --seeds 0 1 2 --unlabelled RAW
    python -m benchmarks.ablation TRAIN DEV TEST --rows plain vectors "vectors, clusters" --presets fast
    python -m benchmarks.ablation TRAIN DEV TEST … --test       score the test part too: once, when all is chosen

Every row is trained with every seed; the table has mean and spread on dev. The teacher of a row is one ensemble of
three ``accurate`` networks with the same knowledge, trained once and used for all seeds and presets, as
``postil train --unlabelled`` trains it; its CPU time stands apart.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from statistics import mean, stdev
from typing import Any

from benchmarks.accuracy import Part, load_part
from benchmarks.environments import RESULTS
from benchmarks.measuring import parser
from postil.commands import teaching
from postil.models import Tagger

VECTORS, CLUSTERS = {"vectors": "glove-50d"}, {"clusters": "brown"}
NAMES = {"gazetteers": ("names", "places")}
ROWS: dict[str, dict[str, Any]] = {
    "plain": {},
    "clusters": CLUSTERS,
    "clusters, names": CLUSTERS | NAMES,
    "vectors": VECTORS,
    "vectors, clusters": VECTORS | CLUSTERS,
    "vectors, clusters, names": VECTORS | CLUSTERS | NAMES,
    "teacher": {"teacher": True},
    "vectors, clusters, teacher": VECTORS | CLUSTERS | {"teacher": True},
    "vectors, clusters, ensemble of 3": VECTORS | CLUSTERS | {"ensemble": 3},
}


def main() -> int:
    arguments = _arguments()
    train, dev, test = map(load_part, arguments.files)
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in arguments.rows:
        for preset in arguments.presets:
            runs = [_run(arguments, train, dev, test, preset, seed, dict(ROWS[name])) for seed in arguments.seeds]
            row = {"train": arguments.files[0], "row": name, "preset": preset, "seeds": arguments.seeds, "runs": runs}
            print(_line(row), flush=True)
            with (RESULTS / "ablation.jsonl").open("a", encoding="utf8") as log:
                log.write(json.dumps(row) + "\n")
    return 0


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("files", nargs=3, metavar="FILE", help="train, dev and test")
    options.add_argument("--presets", nargs="+", default=["fast", "accurate"])
    options.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS), metavar="ROW")
    options.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    options.add_argument("--unlabelled", action="append", default=[], metavar="TEXT", help="for rows with a teacher")
    options.add_argument("--unlabelled-tokens", type=int, default=teaching.MOST_TOKENS)
    options.add_argument("--test", action="store_true", help="score the test part as well")
    arguments = options.parse_args()
    if not arguments.unlabelled:
        arguments.rows = [name for name in arguments.rows if "teacher" not in ROWS[name]]
    arguments.seed, arguments.encoding = 0, None  # of the sample of raw text
    return arguments


def _run(
    arguments: argparse.Namespace, train: Part, dev: Part, test: Part, preset: str, seed: int, settings: dict[str, Any]
) -> dict[str, float]:
    lesson, teacher_seconds = {}, 0.0
    if settings.pop("teacher", False):
        lesson, teacher_seconds = _lesson(arguments, tuple(arguments.files), tuple(sorted(settings.items())))
    tagger = Tagger(preset=preset, seed=seed, **settings)
    began = time.process_time()
    tagger.fit(*train, dev=dev, **lesson)
    row = {"cpu": time.process_time() - began, "teacher cpu": teacher_seconds, "dev": 100 * tagger.score(*dev)}
    return row | ({"test": 100 * tagger.score(*test)} if arguments.test else {})


_KEPT: dict[Any, Any] = {}


def _lesson(
    arguments: argparse.Namespace, files: tuple[str, ...], settings: tuple[tuple[str, Any], ...]
) -> tuple[dict[str, Any], float]:
    """Raw text and a teacher with this knowledge, made once."""
    if settings not in _KEPT:
        train, dev = load_part(files[0]), load_part(files[1])
        began = time.process_time()
        teacher = Tagger(preset=teaching.PRESET, ensemble=teaching.MEMBERS, seed=100, **dict(settings))
        teacher.fit(*train, dev=dev)
        seconds = time.process_time() - began
        print(f"teacher: dev {100 * teacher.score(*dev):.2f}, {seconds:.0f} CPU s", flush=True)
        _KEPT[settings] = {"unlabelled": _raw(arguments), "teachers": [teacher]}, seconds
    return _KEPT[settings]  # type: ignore[no-any-return]


def _raw(arguments: argparse.Namespace) -> list[list[str]]:
    if "raw" not in _KEPT:
        _KEPT["raw"] = teaching.raw_sentences(arguments)
    return _KEPT["raw"]  # type: ignore[no-any-return]


def _line(row: dict[str, Any]) -> str:
    runs = row["runs"]
    parts = [f"{part} {_with_spread([run[part] for run in runs])}" for part in ("dev", "test") if part in runs[0]]
    seconds = f"{mean(run['cpu'] for run in runs):.0f} CPU s"
    return f"{row['row']:<34} {row['preset']:<10} {'  '.join(parts)}  {seconds}"


def _with_spread(values: Sequence[float]) -> str:
    return f"{mean(values):.2f} ± {stdev(values):.2f}" if len(values) > 1 else f"{values[0]:.2f}"


if __name__ == "__main__":
    sys.exit(main())
