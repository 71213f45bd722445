"""``postil extend``: teach a tagger new classes or new text without forgetting what it knows."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from postil.commands.labelled import (
    annotated_by_option,
    examples,
    load,
    resolve_partial_labels,
    warn_of_broken_labels,
    widen,
)
from postil.commands.models import inputs_of, open_model
from postil.commands.notices import note, warn
from postil.commands.output import add_overwrite_argument, check_output
from postil.commands.reading import add_partial_argument, add_reading_arguments, reading_options
from postil.commands.teaching import raw_sentences
from postil.errors import ConfigurationError, DataError
from postil.models import FORGETTING_TOLERANCE, Extending, Extension
from postil.models.config import parsed_setting
from postil.models.multi_task_tagger import MultiTaskTagger
from postil.models.storage import located
from postil.models.tagger import Tagger
from postil.tagging.options import check_columns
from postil.text.labelled import LabelledFile
from postil.text.labels.partial import annotated_classes, classes_of
from postil.text.labels.schemes import recognise
from postil.threads import training_threads

DESCRIPTION = """\
Extend a tagger with data in which only new classes are labelled, or with new text. The old model fills in the classes
that the new data do not label. With --dev, every known class is scored before and after. If the F1 of one falls by more
than --tolerance points, nothing is written and the exit code is 3.

  postil extend ner.postil products.txt --dev dev.txt -o ner2.postil
  postil extend ner.postil products.txt --old train.txt --dev dev.txt -o ner2.postil
      best: also train on the data that the model was trained on
  postil extend ner.postil products.txt --unlabelled raw.txt --dev dev.txt -o ner2.postil
      without these data: the old model labels raw text of the same kind
  postil extend ner.postil tweets.txt --annotates PER,LOC --dev dev.txt --tolerance 0.5 -o ner2.postil
  postil extend english products.txt --task names -o names.postil      one task of a multi-task model
"""
SHOWN = (
    "-o --dev --old --unlabelled --annotates --tolerance --task --set --seed --threads --json --overwrite --from"
).split()
NOT_PASSED = 3
"""The exit code if the score of a known class fell."""
MOST_RAW_TOKENS = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="the tagger to extend; its file stays as it is")
    parser.add_argument("new", metavar="NEW", nargs="+", help="labelled files with the new classes or text")
    parser.add_argument("-o", "--output", metavar="MODEL2", type=Path, required=True, help="model file to write")
    parser.add_argument(
        "--old",
        metavar="FILE",
        action="append",
        default=[],
        help="labelled data that the model was trained on, all or some of them (repeatable)",
    )
    parser.add_argument(
        "--unlabelled",
        metavar="FILE",
        action="append",
        default=[],
        help="raw text that the old model labels, to preserve what it knows (repeatable)",
    )
    parser.add_argument(
        "--unlabelled-tokens",
        metavar="N",
        type=int,
        default=MOST_RAW_TOKENS,
        help=f"how much of the raw text to use, sampled by sentences (default: {MOST_RAW_TOKENS:,})",
    )
    parser.add_argument("--dev", metavar="FILE", help="held-out file on which known classes must not get worse")
    parser.add_argument(
        "--tolerance",
        type=float,
        default=FORGETTING_TOLERANCE,
        metavar="N",
        help=f"points of F1 by which a known class may fall (default: {FORGETTING_TOLERANCE:g})",
    )
    parser.add_argument("--task", metavar="NAME", help="multi-task models: extend this task, as a separate model")
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="change one setting of the training (repeatable)",
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    parser.add_argument(
        "--threads",
        type=int,
        default=training_threads(),
        help="number of cores to use; does not change the result (default: all, at most 4)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    add_overwrite_argument(parser)
    reading = add_reading_arguments(parser)
    add_partial_argument(reading)
    reading.add_argument(
        "--annotates",
        metavar="[FILE=]C,C",
        action="append",
        default=[],
        help="the only classes that NEW (or this FILE) annotates (default: those that occur in it)",
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.unlabelled_tokens < 1:
        raise ConfigurationError("--unlabelled-tokens", expected="must be at least 1", got=arguments.unlabelled_tokens)
    inputs = [located(arguments.model), *arguments.new, *arguments.old, *arguments.unlabelled, arguments.dev]
    check_output(arguments.output, "model file", "model", inputs=inputs, overwrite=arguments.overwrite)
    tagger = _tagger(arguments)
    extending = _extending(tagger, arguments)
    if arguments.dev is None:
        warn("without --dev nothing tells whether the model gets worse at the classes that it knows")
    _train(extending, quiet=arguments.json)
    extension = extending.result()
    if extension.passed:
        if extension.scores is not None:
            extension.tagger.model.about["scores"] = {"dev": extension.scores.to_dict()}
        extension.tagger.save(arguments.output)
    _show(extension, arguments)
    return 0 if extension.passed else NOT_PASSED


def _tagger(arguments: argparse.Namespace) -> Tagger:
    model: Any = open_model(arguments.model)
    if isinstance(model, MultiTaskTagger):
        if arguments.task is None:
            expected = f"--task with one of {', '.join(model.tasks)}: it becomes a separate model"
            raise ConfigurationError("a multi-task model", expected=expected, where=arguments.model)
        model = model[arguments.task]
    elif arguments.task is not None:
        raise ConfigurationError("--task cannot be used here: the model has one task")
    if not isinstance(model, Tagger):
        raise ConfigurationError("model", expected="must be a tagger", got=f"a {model.KIND}", where=arguments.model)
    check_columns(model, arguments.feature_columns)
    return model


def _extending(tagger: Tagger, arguments: argparse.Namespace) -> Extending:
    parts = tagger.model
    settings = dict(parsed_setting(text) for text in arguments.settings)
    options = reading_options(arguments, parts.segmenter)
    new, old, dev = (
        [load(path, **options) for path in paths]
        for paths in (arguments.new, arguments.old, [arguments.dev] if arguments.dev is not None else [])
    )
    for files in (new, old, dev):
        _check(files, tagger, arguments)
    for file in (*old, *dev):
        widen(file, tagger.model.codec)
    annotates = _annotates(new, tagger, arguments)
    raw = None
    if arguments.unlabelled:
        if parts.features.columns or parts.config.word_key is not None or parts.segmenter.characters:
            raise ConfigurationError("--unlabelled cannot be used here: the model needs more than words of raw text")
        raw = raw_sentences(arguments)
    return Extending(
        tagger,
        *examples(*new),
        old=examples(*old) if old else None,
        unlabelled=raw,
        dev=(inputs_of(dev[0]), dev[0].labels) if dev else None,
        tolerance=arguments.tolerance,
        annotates=annotates,
        partial=arguments.partial,
        seed=arguments.seed,
        threads=arguments.threads,
        **settings,
    )


def _check(files: Sequence[LabelledFile], tagger: Tagger, arguments: argparse.Namespace) -> None:
    for file in files:
        if not any(file.tokens):
            raise DataError("no sentences", expected="at least one token with its label", where=file.path)
    resolve_partial_labels(files, arguments.partial, known=tagger.model.codec.answers)
    for file in files:
        warn_of_broken_labels(file, recognise(file.labels))


def _annotates(
    files: Sequence[LabelledFile], tagger: Tagger, arguments: argparse.Namespace
) -> list[tuple[str, ...] | None] | None:
    """The classes that each new sentence annotates: by its comment, by the option, else those of its file."""
    named = annotated_by_option(arguments.annotates, arguments.new)
    if not tagger.model.codec.has_spans:
        if arguments.annotates:
            raise ConfigurationError("--annotates cannot be used here: the labels of the model are no spans")
        return None
    entries: list[tuple[str, ...] | None] = []
    for file in files:
        classes = named[file.path] or tuple(sorted(classes_of(file.labels)))
        if not classes:
            expected = "some entities, or --annotates with the classes that are annotated"
            raise DataError("no entities", expected=expected, where=file.path)
        entries += [stated or classes for stated in annotated_classes(file.sentences)]
        note(f"{file.path}: annotates {', '.join(classes)}")
    return entries


def _train(extending: Extending, *, quiet: bool) -> None:
    from postil.commands.fitting import Display

    if quiet:
        for _ in extending.fitting:
            pass
        return
    note(f"new: {', '.join(extending.new_classes)}" if extending.new_classes else "no new class")
    with Display(extending.fitting, None) as display:
        for event in extending.fitting:
            display.show(event)


def _show(extension: Extension, arguments: argparse.Namespace) -> None:
    from postil.commands.console import make_console, show_table

    gate, written = extension.gate, str(arguments.output) if extension.passed else None
    if arguments.json:
        content = gate.to_dict() if gate is not None else {"passed": None, "classes": {}}
        print(json.dumps({**content, "model": written}, indent=2, ensure_ascii=False))
    elif gate is not None:
        show_table(make_console(), gate.table())
    if gate is not None and not gate.passed:
        fallen = ", ".join(f"{one.name} by {-(one.difference or 0):.2f}" for one in gate.fallen)
        warn(f"nothing is written: {fallen} points worse; more of --old or --unlabelled helps, or a higher --tolerance")
    elif not arguments.json:
        print(f"{arguments.output}: {arguments.output.stat().st_size / 1e6:.1f} MB")
