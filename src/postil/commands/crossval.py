"""``postil crossval``: how good a model of these data is without a held-out file, and what more data would add."""

from argparse import Namespace
from pathlib import Path

from postil.commands.console import show_table, training_progress
from postil.commands.labelled import joined_split, load_labelled, tagger_of, tagger_options
from postil.commands.output import present
from postil.commands.parser import JSON, OVERWRITE, needing, option, refuse
from postil.evaluation import crossval, curve, groups_of
from postil.reports.data import curve_page
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
        *needing(
            "--curve",
            option("--dev FILE", "--curve: held-out file to score on"),
            option("--sizes N", "--curve: number of sizes (default: 6)"),
            option("--repeats N", "--curve: training runs for each size (default: 3)"),
            option("--report FILE", "--curve: write an HTML page with the curve", type=Path, writes="report"),
        ),
        JSON,
        option("-o --output FILE", "write all out-of-fold predictions as CoNLL", type=Path, writes="conll"),
        OVERWRITE,
    ],
    **tagger_options("once for each part, or for each point of the curve"),
}


def run(arguments: Namespace) -> int:
    if arguments.curve:
        refuse(arguments, "it is not for --curve", "folds", "output")
    tagger = tagger_of(arguments)
    files = load_labelled(arguments.data, arguments)
    split = joined_split(files, "train" if arguments.curve else "data")
    options = {name: getattr(arguments, name) for name in ("folds", "sizes", "repeats")}
    options = {name: value for name, value in options.items() if value is not None}
    options |= {"seed": arguments.seed, "threads": arguments.threads}
    if arguments.curve:
        dev = joined_split(load_labelled([arguments.dev], arguments), "dev") if arguments.dev else None
        held_out = None if dev is None else (dev.X, dev.labels)
        with training_progress() as progress:
            drawn = curve(tagger, split.X, split.labels, held_out, progress=progress("learning curve"), **options)
        name = ", ".join(arguments.data)
        return present(arguments, drawn, lambda: print(drawn), lambda: curve_page(drawn, name))
    groups = groups_of(split.documents)
    with training_progress() as progress:
        begun = progress("cross-validation")
        result = crossval(tagger, split.X, split.labels, groups=groups, progress=begun, **options)
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
