"""``postil compare``: is one system better than another, and where do they differ?"""

from argparse import Namespace
from pathlib import Path
from typing import Any

from postil.commands.console import show_table
from postil.commands.evaluate import PREDICTIONS, compared_predictions, load_predictions
from postil.commands.labelled import groups_with, in_groups, load, resolve_labels
from postil.commands.models import checked_scheme, inputs_of, names_model, one_tagger, open_model
from postil.commands.output import present
from postil.commands.parser import JSON, OVERWRITE, SEED, option
from postil.commands.reading import PARTIAL, reading_arguments, reading_options
from postil.errors import ConfigurationError, printable
from postil.evaluation import compare_answers, compared_by
from postil.models.tagger import Tagger
from postil.reports.data import comparison_page
from postil.tagging.options import check_columns

DESCRIPTION = """\
Compare two systems on labelled data: scores side by side, a paired test (bootstrap and randomisation over sentences),
and the sentences on which they differ. A and B are models, or files of predictions for the sentences of GOLD.

  postil compare old.postil new.postil test.txt
  postil compare old.conll new.conll test.conll                  files of predictions
  postil compare crf.conll new.postil test.conll                 one of each
  postil compare old.postil new.postil test.txt --report differences.html
  postil compare english new.postil test.txt --task names        of a multi-task model, this task
"""
SHOWN = "--json --report --overwrite --task --resamples --seed --label-column --from"
_LISTED = 10
OPTIONS = {
    "": [
        option("A", "model file or name, or a file of predictions", dest="first"),
        option("B", "the other one", dest="second"),
        option("GOLD", "labelled file of any format", dest="data"),
        JSON,
        option("--report FILE", "write an HTML page with all differences", type=Path, writes="report"),
        option("--resamples N=2000", "bootstrap resamples"),
        SEED,
        option("--task NAME", "multi-task models: use this task"),
        OVERWRITE,
    ],
    "reading": reading_arguments(PARTIAL, *PREDICTIONS),
}


def run(arguments: Namespace) -> int:
    names = [arguments.first, arguments.second]
    models: dict[str, Any] = {name: open_model(name) for name in names if names_model(name)}
    if not models and arguments.task is not None:
        raise ConfigurationError("--task cannot be used here: it is for multi-task models")
    # A model with one task is compared with that task of the other one.
    has_tasks = any(getattr(model, "tasks", None) for model in models.values())
    taggers: dict[str, Tagger] = {}
    for name, model in models.items():
        task = arguments.task if getattr(model, "tasks", None) or not has_tasks else None
        taggers[name] = one_tagger(model, task, where=name)
        check_columns(taggers[name], arguments.feature_columns)
    # Both models label the same tokens: characters if one of them needs them.
    segmenters = sorted((tagger.model.segmenter for tagger in taggers.values()), key=lambda one: not one.characters)
    in_group = next((tagger for tagger in taggers.values() if groups_with(tagger)), None)
    groups = {} if in_group is None else groups_with(in_group)
    options = reading_options(arguments, *segmenters[:1], groups=bool(groups))
    gold = load(arguments.data, **options)
    gold = gold if in_group is None else in_groups(gold, groups, arguments.partial)[in_group.model.task]
    answers = []
    for name in names:
        if name in taggers:
            resolve_labels(taggers[name], gold, arguments.partial)
            checked_scheme(gold, taggers[name].model.codec)
            answers.append(compared_by(taggers[name], inputs_of(gold), gold.labels))
        else:
            answers.append(compared_predictions(gold, load_predictions(name, arguments, options), arguments))
    result = compare_answers(inputs_of(gold), *answers, resamples=arguments.resamples, seed=arguments.seed)

    def show() -> None:
        show_table(result.table(names))
        print(f"\n{result.verdict(names)}")
        for one in result.differences[:_LISTED]:
            print(printable(f"  {gold.where(one.sentence, 0)}: {' '.join(one.tokens)[:90]}"))
        if len(result.differences) > _LISTED:
            print(f"  … and {len(result.differences) - _LISTED:,} more: --report shows them side by side")

    return present(arguments, result, show, lambda: comparison_page(result, names, gold))
