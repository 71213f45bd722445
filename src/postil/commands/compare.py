"""``postil compare``: is one model better than another, and where do they differ?"""

import argparse
import json
from pathlib import Path

from postil.commands.options.labelled import load
from postil.commands.options.models import checked_scheme, inputs_of, open_model, resolve_labels
from postil.commands.options.reading import add_partial_argument, add_reading_arguments, reading_options
from postil.commands.options.tasks import add_task_argument, one_task
from postil.commands.options.writing import add_force_argument, check_output
from postil.curation.comparison import ModelComparison, compare
from postil.errors import ConfigurationError, printable
from postil.models.sentences import takes_characters
from postil.models.tagger import Tagger
from postil.serving.options import check_columns
from postil.text.output import write_text
from postil.text.report import counted

DESCRIPTION = """\
Compare two taggers on labelled data: scores side by side, a paired test (bootstrap and randomisation over sentences),
and the sentences on which they differ.

  postil compare old.postil new.postil test.txt
  postil compare old.postil new.postil test.txt --report differences.html
  postil compare english new.postil test.txt --task names        of a model of several tasks, this one
"""
_SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", metavar="A", help="model file")
    parser.add_argument("second", metavar="B", help="model file to compare with it")
    parser.add_argument("data", metavar="DATA", help="labelled file of any format")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--report", metavar="FILE", type=Path, help="write an HTML page with all differences")
    parser.add_argument("--resamples", type=int, default=2000, metavar="N", help="bootstrap resamples (default: 2000)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the resampling (default: 0)")
    add_task_argument(parser, "models of several tasks: compare this one")
    add_force_argument(parser)
    add_partial_argument(add_reading_arguments(parser))


def run(arguments: argparse.Namespace) -> int:
    names = [arguments.first, arguments.second]
    if arguments.report is not None:
        check_output(arguments.report, "report", "report", inputs=[*names, arguments.data], force=arguments.force)
    first, second = taggers = _taggers(names, arguments)
    file = load(arguments.data, **reading_options(arguments, takes_characters(first.fitted_parts())))
    resolve_labels(first, file, arguments)
    for tagger in taggers:
        checked_scheme(file, tagger.labelling)
    result = compare(first, second, inputs_of(file), file.labels, resamples=arguments.resamples, seed=arguments.seed)
    if arguments.report is not None:
        from postil.reports.comparison import comparison_page

        write_text(arguments.report, [comparison_page(result, names, file)])
    if arguments.json:
        print(json.dumps(result.to_dict(), indent=2, ensure_ascii=False))
        return 0
    _show(result, names)
    for one in result.differences[:_SHOWN]:
        print(printable(f"  {file.where(one.sentence, 0)}: {' '.join(one.tokens)[:90]}"))
    if len(result.differences) > _SHOWN:
        print(f"  … and {len(result.differences) - _SHOWN:,} more: --report shows them side by side")
    if arguments.report is not None:
        print(f"\nThe report is in {arguments.report}: open it in a browser.")
    return 0


def _taggers(names: list[str], arguments: argparse.Namespace) -> list[Tagger]:
    models = [open_model(name) for name in names]
    have_tasks = [bool(getattr(model, "tasks", None)) for model in models]
    taggers = []
    for name, model, has_tasks in zip(names, models, have_tasks, strict=True):
        # A model with one task is compared with that task of the other one.
        tagger = one_task(model, arguments.task) if has_tasks or not any(have_tasks) else model
        if not isinstance(tagger, Tagger):
            raise ConfigurationError("model", expected="must be a tagger", got=f"a {tagger.KIND}", where=name)
        check_columns(tagger, arguments.feature_columns)
        taggers.append(tagger)
    return taggers


def _show(result: ModelComparison, names: list[str]) -> None:
    from postil.commands.terminal.display import make_console, show_table
    from postil.reports.comparison import scores_table

    show_table(make_console(), scores_table(result, names))
    winners = [one.winner for one in result.differences]
    better = f"{winners.count('first'):,} better by {names[0]}, {winners.count('second'):,} by {names[1]}"
    print(f"\n{counted(len(winners), 'sentence')} labelled differently: {better}")
