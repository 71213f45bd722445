"""``postil compare``: is one system better than another, and where do they differ?"""

import argparse
import json
from pathlib import Path
from typing import Any

from postil.commands.evaluate import compared_predictions
from postil.commands.labelled import add_task_argument, load, one_task, resolve_labels
from postil.commands.models import checked_scheme, inputs_of, names_model, open_model
from postil.commands.output import add_overwrite_argument, check_output
from postil.commands.reading import (
    add_partial_argument,
    add_reading_arguments,
    column_argument,
    reading_options,
)
from postil.errors import ConfigurationError, printable
from postil.evaluation import ModelComparison, compare_answers, compared_by
from postil.models.tagger import Tagger
from postil.tagging.options import check_columns
from postil.text.labels.schemes import SCHEMES
from postil.text.output import write_text
from postil.text.report import counted

DESCRIPTION = """\
Compare two systems on labelled data: scores side by side, a paired test (bootstrap and randomisation over sentences),
and the sentences on which they differ. A and B are models, or files of predictions for the sentences of GOLD.

  postil compare old.postil new.postil test.txt
  postil compare old.conll new.conll test.conll                  files of predictions
  postil compare crf.conll new.postil test.conll                 one of each
  postil compare old.postil new.postil test.txt --report differences.html
  postil compare english new.postil test.txt --task names        of a multi-task model, this task
"""
SHOWN = "--json --report --overwrite --task --resamples --seed --label-column --from".split()
_LISTED = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", metavar="A", help="model file or name, or a file of predictions")
    parser.add_argument("second", metavar="B", help="the other one")
    parser.add_argument("data", metavar="GOLD", help="labelled file of any format")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--report", metavar="FILE", type=Path, help="write an HTML page with all differences")
    parser.add_argument("--resamples", type=int, default=2000, metavar="N", help="bootstrap resamples (default: 2000)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed of the resampling (default: 0)")
    add_task_argument(parser, "multi-task models: compare this task")
    add_overwrite_argument(parser)
    reading = add_reading_arguments(parser)
    add_partial_argument(reading)
    reading.add_argument(
        "--predicted-column", type=column_argument, metavar="C", help="predictions: column of the label, if it differs"
    )
    reading.add_argument("--scheme", choices=SCHEMES, help="predictions: scheme of GOLD (default: detected)")
    reading.add_argument(
        "--predicted-scheme", choices=SCHEMES, help="predictions: scheme of their labels (default: detected)"
    )


def run(arguments: argparse.Namespace) -> int:
    names = [arguments.first, arguments.second]
    if arguments.report is not None:
        inputs = [*names, arguments.data]
        check_output(arguments.report, "report", "report", inputs=inputs, overwrite=arguments.overwrite)
    models: dict[str, Any] = {name: open_model(name) for name in names if names_model(name)}
    taggers = _taggers(models, arguments)
    # Both models label the same tokens: characters if one of them needs them.
    segmenters = sorted((tagger.model.segmenter for tagger in taggers.values()), key=lambda one: not one.characters)
    options = reading_options(arguments, *segmenters[:1])
    gold = load(arguments.data, **options)
    answers = []
    for name in names:
        if name in taggers:
            tagger = taggers[name]
            resolve_labels(tagger, gold, arguments)
            checked_scheme(gold, tagger.model.codec)
            answers.append(compared_by(tagger, inputs_of(gold), gold.labels))
        else:
            column = {} if arguments.predicted_column is None else {"label": arguments.predicted_column}
            answers.append(compared_predictions(gold, load(name, **{**options, **column}), arguments))
    result = compare_answers(inputs_of(gold), *answers, resamples=arguments.resamples, seed=arguments.seed)
    if arguments.report is not None:
        from postil.reports.data import comparison_page

        write_text(arguments.report, [comparison_page(result, names, gold)])
    if arguments.json:
        print(json.dumps(result.to_dict(), indent=2, ensure_ascii=False))
        return 0
    _show(result, names)
    for one in result.differences[:_LISTED]:
        print(printable(f"  {gold.where(one.sentence, 0)}: {' '.join(one.tokens)[:90]}"))
    if len(result.differences) > _LISTED:
        print(f"  … and {len(result.differences) - _LISTED:,} more: --report shows them side by side")
    if arguments.report is not None:
        print(f"\nThe report is in {arguments.report}: open it in a browser.")
    return 0


def _taggers(models: dict[str, Any], arguments: argparse.Namespace) -> dict[str, Tagger]:
    """The taggers of models. A model with one task is compared with that task of the other one."""
    has_tasks = any(getattr(model, "tasks", None) for model in models.values())
    taggers = {}
    for name, model in models.items():
        tagger = one_task(model, arguments.task) if getattr(model, "tasks", None) or not has_tasks else model
        if not isinstance(tagger, Tagger):
            raise ConfigurationError("model", expected="must be a tagger", got=f"a {tagger.KIND}", where=name)
        check_columns(tagger, arguments.feature_columns)
        taggers[name] = tagger
    if not models and arguments.task is not None:
        raise ConfigurationError("--task cannot be used here: it is for multi-task models")
    return taggers


def _show(result: ModelComparison, names: list[str]) -> None:
    from postil.commands.console import make_console, show_table

    show_table(make_console(), result.table(names))
    winners = [one.winner for one in result.differences]
    better = f"{winners.count('first'):,} better by {names[0]}, {winners.count('second'):,} by {names[1]}"
    print(f"\n{counted(len(winners), 'sentence')} labelled differently: {better}")
