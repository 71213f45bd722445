"""``postil crossval``: how good a model of these data is, without a held-out file."""

import argparse
import json
from pathlib import Path

from postil.commands.options.curating import add_data_arguments, add_tagger_arguments, joined, load_labelled, tagger_of
from postil.commands.options.writing import add_force_argument, check_output
from postil.commands.terminal.rounds import training_progress
from postil.curation.cross_validation import CrossValidation, crossval
from postil.curation.folds import groups_of
from postil.metrics.tables import Cell, Table
from postil.text.formats import write

DESCRIPTION = """\
Cross-validate: train several times, each time without one part of the sentences, and score the predictions on that
part. If documents are marked, the sentences of a document are held out together.

  postil crossval all.txt
  postil crossval all.txt --folds 10 --preset accurate --vectors glove-50d --threads 2
  postil crossval all.txt --json
  postil crossval all.txt -o predictions.conll       write the out-of-fold predictions
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", nargs="+", help="labelled files")
    parser.add_argument("--folds", type=int, default=5, metavar="N", help="number of parts (default: 5)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write all out-of-fold predictions as CoNLL")
    add_force_argument(parser)
    add_tagger_arguments(parser, "once for each part")
    add_data_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.output is not None:
        check_output(arguments.output, "predictions", "conll", inputs=arguments.data, force=arguments.force)
    tagger = tagger_of(arguments)
    files = load_labelled(arguments.data, arguments)
    split = joined(files, "data")
    groups = groups_of(split.documents)
    with training_progress() as progress:
        result = crossval(
            tagger,
            split.X,
            split.labels,
            number=arguments.folds,
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
    from postil.commands.terminal.display import make_console, show_table

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
