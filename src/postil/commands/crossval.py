"""``postil crossval``: how good a model of these data is without a held-out file, and what more data would add."""

import argparse
from pathlib import Path

from postil.commands.console import show_table, training_progress
from postil.commands.labelled import joined_split, load_labelled, tagger_of, tagger_options
from postil.commands.output import check_output, check_report, present
from postil.commands.parser import JSON, OVERWRITE, option, refuse
from postil.evaluation import crossval, curve, groups_of
from postil.text.formats import write

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
SHOWN = "--folds --curve --dev --report -o --overwrite --preset --set --vectors --seed --threads --json --from"
OPTIONS = {
    "": [
        option("DATA", "labelled files", nargs="+"),
        option("--folds N", "number of parts (default: 5)"),
        option("--curve", "draw a learning curve instead"),
        option("--dev FILE", "--curve: held-out file to score on"),
        option("--sizes N", "--curve: number of sizes (default: 6)"),
        option("--repeats N", "--curve: training runs for each size (default: 3)"),
        option("--report FILE", "--curve: write an HTML page with the curve", type=Path),
        JSON,
        option("-o --output FILE", "write all out-of-fold predictions as CoNLL", type=Path),
        OVERWRITE,
    ],
    **tagger_options("once for each part, or for each point of the curve"),
}


def run(arguments: argparse.Namespace) -> int:
    if arguments.curve:
        refuse(arguments, "it is not for --curve", "folds", "output")
        return _curve(arguments)
    refuse(arguments, "it is for --curve", "dev", "sizes", "repeats", "report")
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
            folds=5 if arguments.folds is None else arguments.folds,
            groups=groups,
            seed=arguments.seed,
            threads=arguments.threads,
            progress=progress("cross-validation"),
        )
    if arguments.output is not None:
        sentences = [sentence for file in files for sentence in file.sentences]
        for sentence, labels in zip(sentences, result.predictions, strict=True):
            sentence.labels = labels
        write(sentences, arguments.output, "conll")

    def show() -> None:
        kept = "documents stay together" if groups else "no documents are marked: sentences were drawn one by one"
        table = result.table()
        show_table(table._replace(note=f"{table.note}; {kept}"))
        show_table(result.pooled.tables()[0])

    return present(arguments, result, show)


def _curve(arguments: argparse.Namespace) -> int:
    check_report(arguments, *arguments.data, arguments.dev)
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
            threads=arguments.threads,
            progress=progress("learning curve"),
        )

    def page() -> str:
        from postil.reports.data import curve_page

        return curve_page(result, ", ".join(arguments.data))

    return present(arguments, result, lambda: print(result), page)
