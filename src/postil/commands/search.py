"""``postil search``: settings that suit the data better than a preset's."""

import argparse
import json
from pathlib import Path
from typing import Any

from postil.commands.options.curating import add_data_arguments, add_tagger_arguments, joined, load_labelled, tagger_of
from postil.commands.options.writing import add_force_argument, check_output
from postil.commands.terminal.rounds import training_progress
from postil.curation.halving import BRACKET, SearchResult, search
from postil.errors import ConfigurationError
from postil.models.config import parsed_setting
from postil.models.preset_files import write_preset
from postil.text.output import write_text

DESCRIPTION = """\
Look for settings that score better on --dev than those of a preset, by successive halving: many candidates are trained
for a few epochs, the best third of them for longer, and the last ones to the end with several seeds, together with the
preset itself. The result is a preset file for `postil train --preset FILE`. Every training run is logged in
FILE.trials.jsonl as soon as it ends; --resume continues an interrupted search.

  postil search train.txt --dev dev.txt -o mine.json
  postil search train.txt --dev dev.txt --minutes 30 --threads 2 -o mine.json
  postil search train.txt --dev dev.txt --try hidden=64,128,256 --try window=3,5 -o mine.json     only these
  postil train train.txt --dev dev.txt --preset mine.json -o model.postil
"""
_SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="TRAIN", nargs="+", help="labelled files to train on")
    parser.add_argument("--dev", metavar="FILE", help="held-out file to score on (default: a fifth of TRAIN)")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="preset file to write")
    parser.add_argument(
        "--try",
        dest="space",
        metavar="NAME=VALUE,VALUE",
        action="append",
        default=[],
        help="search these values of a setting, and only those named (repeatable; default: values around the preset's)",
    )
    parser.add_argument(
        "--trials", type=int, default=BRACKET, metavar="N", help=f"candidates to start with (default: {BRACKET})"
    )
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="training runs of each finalist (default: 3)")
    parser.add_argument("--minutes", type=float, metavar="M", help="try new candidates until M minutes have passed")
    parser.add_argument("--resume", action="store_true", help="continue an interrupted search from its log")
    parser.add_argument(
        "--replay", metavar="LOG", help="repeat the training runs of this log only; the scores must be the same"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--report", metavar="FILE", type=Path, help="write an HTML page with all trials")
    add_force_argument(parser)
    add_tagger_arguments(parser, "in the search")
    add_data_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    log = arguments.output.with_name(f"{arguments.output.name}.trials.jsonl")
    _check_outputs(arguments, log)
    tagger = tagger_of(arguments)
    space = _space(arguments.space)
    split = joined(load_labelled(arguments.data, arguments), "train")
    dev = joined(load_labelled([arguments.dev], arguments), "dev") if arguments.dev else None
    with training_progress() as progress:
        result = search(
            tagger,
            split.X,
            split.labels,
            None if dev is None else (dev.X, dev.labels),
            space=space,
            trials=arguments.trials,
            seeds=arguments.seeds,
            minutes=arguments.minutes,
            seed=arguments.seed,
            jobs=arguments.threads,
            log=log,
            resume=arguments.resume,
            replay=arguments.replay,
            progress=progress("search"),
        )
    about = {"score": round(100 * result.best.mean, 2), "data": arguments.data, "dev": arguments.dev}
    if result.baseline is not None:
        about["preset_score"] = round(100 * result.baseline.mean, 2)
    write_preset(arguments.output, result.preset, tagger.settings | result.settings, **about)
    if arguments.report is not None:
        from postil.reports.search import search_page

        write_text(arguments.report, [search_page(result, ", ".join(arguments.data))])
    if arguments.json:
        print(json.dumps(result.to_dict(), indent=2, ensure_ascii=False))
    else:
        _show(result, arguments, log)
    return 0


def _check_outputs(arguments: argparse.Namespace, log: Path) -> None:
    inputs = [*arguments.data, arguments.dev, arguments.replay, *arguments.vectors, arguments.clusters]
    if Path(arguments.preset).is_file():
        inputs.append(arguments.preset)
    check_output(arguments.output, "preset file", "preset", inputs=inputs, force=arguments.force)
    check_output(log, "log", "trials", inputs=inputs, force=arguments.force)
    if arguments.resume and arguments.replay:
        arguments.usage_error("--resume and --replay exclude each other")
    if log.exists() and not (arguments.resume or arguments.replay or arguments.force):
        expected = "--resume to continue the search, or --force to begin anew"
        raise ConfigurationError("a log of a search is there", expected=expected, where=log)
    if arguments.report is not None:
        outputs = [arguments.output, log]
        check_output(arguments.report, "report", "report", inputs=[*inputs, *outputs], force=arguments.force)


def _space(texts: list[str]) -> dict[str, list[Any]] | None:
    """Name of a setting -> values, in the types of the config."""
    space: dict[str, list[Any]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        # where the setting itself is a list, the commas are its own
        each = [text] if name.endswith("_lengths") or not values else [f"{name}={one}" for one in values.split(",")]
        space.setdefault(name, []).extend(parsed_setting(one)[1] for one in each)
    return space or None


def _show(result: SearchResult, arguments: argparse.Namespace, log: Path) -> None:
    from postil.commands.terminal.display import make_console, show_table
    from postil.reports.search import trials_table

    show_table(make_console(), trials_table(result, _SHOWN))
    print(f"\n{result.summary()}")
    if not result.complete:
        print(f"{result.trainings:,} trainings, then the time was over; {log} has them all: --resume goes on")
    print(f"  postil train {' '.join(arguments.data)} --preset {arguments.output} -o MODEL")
    if arguments.report is not None:
        print(f"\nThe report is in {arguments.report}: open it in a browser.")
