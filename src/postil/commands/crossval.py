"""``postil crossval``: how good a model of these data is without a held-out file, and what more data would add."""

import argparse
import json
from pathlib import Path

from postil.commands.console import training_progress
from postil.commands.kinds.table import refuse
from postil.commands.labelled import add_data_arguments, add_tagger_arguments, joined_split, load_labelled, tagger_of
from postil.commands.output import add_overwrite_argument, check_output
from postil.evaluation import CrossValidation, crossval, curve, groups_of
from postil.metrics.tables import Cell, Table
from postil.text.formats import write
from postil.text.output import write_text

DESCRIPTION = """\
Cross-validate: train several times, each time without one part of the sentences, and score the predictions on that
part. If documents are marked, the sentences of a document are held out together.

With --curve, draw a learning curve instead: train on growing parts of the sentences, score each model on the same
held-out sentences, fit a power law to the scores and estimate the score with more data of the same kind.

  postil crossval all.txt
  postil crossval all.txt --folds 10 --preset accurate --vectors glove-50d --threads 2
  postil crossval all.txt --json
  postil crossval all.txt -o predictions.conll       write the out-of-fold predictions
  postil crossval train.txt --curve --dev dev.txt
  postil crossval train.txt --curve --report curve.html      without --dev, a fifth of the sentences is held out
"""
SHOWN = "--folds --curve --dev --report -o --overwrite --preset --set --vectors --seed --threads --json --from".split()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", nargs="+", help="labelled files")
    parser.add_argument("--folds", type=int, metavar="N", help="number of parts (default: 5)")
    parser.add_argument("--curve", action="store_true", help="draw a learning curve instead")
    parser.add_argument("--dev", metavar="FILE", help="--curve: held-out file to score on")
    parser.add_argument("--sizes", type=int, metavar="N", help="--curve: number of sizes (default: 6)")
    parser.add_argument("--repeats", type=int, metavar="N", help="--curve: training runs for each size (default: 3)")
    parser.add_argument("--report", metavar="FILE", type=Path, help="--curve: write an HTML page with the curve")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write all out-of-fold predictions as CoNLL")
    add_overwrite_argument(parser)
    add_tagger_arguments(parser, "once for each part, or for each point of the curve")
    add_data_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    unused = ("folds", "output") if arguments.curve else ("dev", "sizes", "repeats", "report")
    for name in unused:
        why = "it is not for --curve" if arguments.curve else "it is for --curve"
        refuse(arguments, name, why)
    return _curve(arguments) if arguments.curve else _crossval(arguments)


def _curve(arguments: argparse.Namespace) -> int:
    if arguments.report is not None:
        inputs = [*arguments.data, arguments.dev]
        check_output(arguments.report, "report", "report", inputs=inputs, overwrite=arguments.overwrite)
    tagger = tagger_of(arguments)
    split = joined_split(load_labelled(arguments.data, arguments), "train")
    dev = joined_split(load_labelled([arguments.dev], arguments), "dev") if arguments.dev else None
    with training_progress() as progress:
        result = curve(
            tagger,
            split.X,
            split.labels,
            None if dev is None else (dev.X, dev.labels),
            sizes=6 if arguments.sizes is None else arguments.sizes,
            repeats=3 if arguments.repeats is None else arguments.repeats,
            seed=arguments.seed,
            jobs=arguments.threads,
            progress=progress("learning curve"),
        )
    if arguments.report is not None:
        from postil.reports.data import curve_page

        write_text(arguments.report, [curve_page(result, ", ".join(arguments.data))])
    print(json.dumps(result.to_dict(), indent=2, ensure_ascii=False) if arguments.json else result)
    if arguments.report is not None and not arguments.json:
        print(f"\nThe report is in {arguments.report}: open it in a browser.")
    return 0


def _crossval(arguments: argparse.Namespace) -> int:
    if arguments.output is not None:
        check_output(arguments.output, "predictions", "conll", inputs=arguments.data, overwrite=arguments.overwrite)
    tagger = tagger_of(arguments)
    files = load_labelled(arguments.data, arguments)
    split = joined_split(files, "data")
    groups = groups_of(split.documents)
    with training_progress() as progress:
        result = crossval(
            tagger,
            split.X,
            split.labels,
            number=5 if arguments.folds is None else arguments.folds,
            groups=groups,
            seed=arguments.seed,
            jobs=arguments.threads,
            progress=progress("cross-validation"),
        )
    if arguments.output is not None:
        sentences = [sentence for file in files for sentence in file.sentences]
        for sentence, labels in zip(sentences, result.predictions, strict=True):
            sentence.labels = labels
        write(sentences, arguments.output, "conll")
    if arguments.json:
        print(json.dumps(result.to_dict(), indent=2, ensure_ascii=False))
    else:
        _show(result, grouped=bool(groups))
    return 0


def _show(result: CrossValidation, *, grouped: bool) -> None:
    from postil.commands.console import make_console, show_table

    console = make_console()
    name = "accuracy" if result.pooled.spans is None else "F1"
    rows: list[tuple[Cell, ...]] = [
        (str(number), fold.sentences, 100 * fold.main_score) for number, fold in enumerate(result.folds, 1)
    ]
    rows.append(("mean", sum(fold.sentences for fold in result.folds), 100 * result.mean))
    kept = "documents stay together" if grouped else "no documents are marked: sentences were drawn one by one"
    note = f"± {100 * result.spread:.2f} over the folds; all answers together: {result.pooled.summary()}; {kept}"
    show_table(console, Table("Cross-validation", ("fold", "sentences", name), rows, note, has_total=True))
    show_table(console, result.pooled._tables()[0])
