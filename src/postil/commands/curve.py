"""``postil curve``: what more labelled data would bring."""

import argparse
import json
from pathlib import Path

from postil.commands.options.curating import add_data_arguments, add_tagger_arguments, joined, load_labelled, tagger_of
from postil.commands.options.writing import add_force_argument, check_output
from postil.commands.terminal.rounds import training_progress
from postil.curation.learning_curve import curve
from postil.text.output import write_text

DESCRIPTION = """\
Draw a learning curve: train on growing parts of the sentences, score each model on the same held-out sentences, fit a
power law to the scores and estimate the score with more data of the same kind.

  postil curve train.txt --dev dev.txt
  postil curve train.txt --report curve.html      without --dev, a fifth of the sentences is held out
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", nargs="+", help="labelled files to train on")
    parser.add_argument("--dev", metavar="FILE", help="held-out file to score on")
    parser.add_argument("--sizes", type=int, default=6, metavar="N", help="number of sizes (default: 6)")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="trainings for each size (default: 3)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--report", metavar="FILE", type=Path, help="write an HTML page with the curve")
    add_force_argument(parser)
    add_tagger_arguments(parser, "for each point of the curve")
    add_data_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.report is not None:
        inputs = [*arguments.data, arguments.dev]
        check_output(arguments.report, "report", "report", inputs=inputs, force=arguments.force)
    tagger = tagger_of(arguments)
    split = joined(load_labelled(arguments.data, arguments), "train")
    dev = joined(load_labelled([arguments.dev], arguments), "dev") if arguments.dev else None
    with training_progress() as progress:
        result = curve(
            tagger,
            split.X,
            split.labels,
            None if dev is None else (dev.X, dev.labels),
            sizes=arguments.sizes,
            repeats=arguments.repeats,
            seed=arguments.seed,
            jobs=arguments.threads,
            progress=progress("learning curve"),
        )
    if arguments.report is not None:
        from postil.reports.diagnosis import curve_page

        write_text(arguments.report, [curve_page(result, ", ".join(arguments.data))])
    print(json.dumps(result.to_dict(), indent=2, ensure_ascii=False) if arguments.json else result)
    if arguments.report is not None and not arguments.json:
        print(f"\nThe report is in {arguments.report}: open it in a browser.")
    return 0
