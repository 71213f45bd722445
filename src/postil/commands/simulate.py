"""``postil simulate``: simulate active learning on data that are already labelled."""

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

from postil.commands.options.curating import add_data_arguments, add_tagger_arguments, joined, load_labelled, tagger_of
from postil.commands.options.writing import add_force_argument, check_output
from postil.commands.terminal.rounds import training_progress
from postil.curation.corpus import Split
from postil.curation.simulation import Round, Run, Simulation, simulate
from postil.curation.suggestion import RANDOM, WAYS
from postil.errors import ConfigurationError
from postil.models.tagger import Tagger
from postil.text.output import write_text

DESCRIPTION = """\
Simulate active learning on data that are already labelled: start with a few random sentences, train, suggest sentences,
reveal their labels, train again. The result is a curve of the score against the number of labelled tokens for each
measure of uncertainty, compared with random sentences, and the number of tokens needed to come within one point of the
score on all data.

  postil simulate train.txt --test test.txt
  postil simulate train.txt --dev dev.txt --by entropy spans --seeds 5 --report simulation.html
  postil simulate train.txt --dev dev.txt --threads 2 --runs runs.jsonl       continues where it was interrupted
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", nargs="+", help="labelled files to choose sentences from")
    held_out = parser.add_mutually_exclusive_group(required=True)
    held_out.add_argument("--dev", metavar="FILE", help="held-out file to score on")
    held_out.add_argument("--test", metavar="FILE", help="the same as --dev")
    parser.add_argument(
        "--by",
        metavar="WAY",
        action="extend",
        nargs="+",
        choices=WAYS,
        default=[],
        help="measures of uncertainty to compare with random: "
        f"{', '.join(way for way in WAYS if way != RANDOM)} (default: entropy)",
    )
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="runs for each measure (default: 3)")
    for name, default, meaning in (
        ("start", 0.02, "share of the tokens that is labelled at the start"),
        ("growth", 1.3, "factor by which the labelled data grow in each round"),
        ("until", 0.6, "share of the tokens at which to stop"),
    ):
        parser.add_argument(
            f"--{name}", type=float, default=default, metavar="X", help=f"{meaning} (default: {default})"
        )
    parser.add_argument("--runs", metavar="FILE", type=Path, help="save every run in this file, and reuse saved runs")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--report", metavar="FILE", type=Path, help="write an HTML page with the curves")
    add_force_argument(parser)
    add_tagger_arguments(parser, "in each round")
    add_data_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    path = arguments.test or arguments.dev
    inputs = [*arguments.data, path]
    if arguments.report is not None:
        check_output(arguments.report, "report", "report", inputs=[*inputs, arguments.runs], force=arguments.force)
    if arguments.runs is not None:
        check_output(arguments.runs, "runs", "runs", inputs=inputs, force=arguments.force)
    tagger = tagger_of(arguments)
    split, held_out = (
        joined(load_labelled(arguments.data, arguments), "data"),
        joined(load_labelled([path], arguments), "held out"),
    )
    result = _simulation(arguments, tagger, split, held_out)
    if arguments.report is not None:
        from postil.reports.simulation import simulation_page

        write_text(arguments.report, [simulation_page(result, ", ".join(arguments.data))])
    if arguments.json:
        print(json.dumps(result.to_dict(), indent=2, ensure_ascii=False))
        return 0
    _show(result)
    if arguments.report is not None:
        print(f"\nThe report is in {arguments.report}: open it in a browser.")
    return 0


def _simulation(arguments: argparse.Namespace, tagger: Tagger, split: Split, held_out: Split) -> Simulation:
    ways = list(dict.fromkeys([*(arguments.by or ["entropy"]), RANDOM]))
    settings = {name: getattr(arguments, name) for name in ("start", "growth", "until")}
    saved = _SavedRuns(arguments.runs, _fingerprint(tagger, split, held_out, settings))
    with training_progress("runs") as progress:
        return simulate(
            tagger,
            split.X,
            split.labels,
            (held_out.X, held_out.labels),
            ways=ways,
            **settings,
            seeds=arguments.seeds,
            seed=arguments.seed,
            jobs=arguments.threads,
            progress=progress("simulation"),
            finished=saved.runs,
            save=saved.add,
        )


def _fingerprint(tagger: Tagger, split: Split, held_out: Split, settings: dict[str, float]) -> str:
    """What a run depends on besides its way and its seed."""
    given = [sorted(tagger.get_params().items(), key=lambda pair: pair[0]), settings]
    given += [split.X, split.labels, held_out.X, held_out.labels]
    return hashlib.sha256(repr([one if not isinstance(one, list) else list(one) for one in given]).encode()).hexdigest()


class _SavedRuns:
    """Runs in a file, which is written anew after each: at any moment it is whole."""

    def __init__(self, path: Path | None, fingerprint: str) -> None:
        self._path, self._fingerprint = path, fingerprint
        self.runs: list[Run] = []
        if path is not None and path.is_file() and path.stat().st_size:
            self.runs = self._read(path)

    def _read(self, path: Path) -> list[Run]:
        try:
            lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            runs = [Run(one["way"], one["seed"], [Round(*each) for each in one["rounds"]]) for one in lines[1:]]
            fingerprint = lines[0]["simulation"]
        except (ValueError, KeyError, TypeError, UnicodeDecodeError):
            raise ConfigurationError("runs", expected="must be a file that --runs has written", where=path) from None
        if fingerprint != self._fingerprint:
            expected = "must be of the same data and settings"
            raise ConfigurationError("runs", expected=expected, got="others", where=path)
        return runs

    def add(self, run: Run) -> None:
        self.runs.append(run)
        if self._path is not None:
            lines: list[Any] = [{"simulation": self._fingerprint}, *(one._asdict() for one in self.runs)]
            write_text(self._path, (json.dumps(line) + "\n" for line in lines))


def _show(result: Simulation) -> None:
    from postil.commands.terminal.display import make_console, show_table
    from postil.reports.simulation import curves_table

    console = make_console()
    show_table(console, curves_table(result))
    console.print()
    for line in result.summary().split("\n"):
        console.print(line, soft_wrap=True)
