"""``postil train``: labelled files in, a model file out."""

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from postil.commands.kinds.table import kind_of, kind_to_train, refuse
from postil.commands.options.mapping import add_map_argument
from postil.commands.options.models import open_model, warn_of_long_sentences
from postil.commands.options.reading import CHARACTERS, add_partial_argument, add_reading_arguments, reading_options
from postil.commands.options.tasks import Source, task_sources
from postil.commands.options.writing import add_force_argument, check_output
from postil.commands.training import gains, teaching
from postil.commands.training.files import LoadedTask, TrainingFiles, examples
from postil.commands.training.raw_encoders import remove_encoders
from postil.commands.training.stopping import interrupted, stop_on_request
from postil.errors import ConfigurationError
from postil.models.config import PRESETS, TaggerConfig, parsed_setting
from postil.models.estimator import Estimator
from postil.models.parts import MAIN, is_encoder
from postil.models.sentence_estimator import SentenceEstimator
from postil.models.sentences import INPUT
from postil.models.settings import spelt
from postil.network.tree_compositions import COMPOSITIONS
from postil.text.formats import format_of
from postil.text.labelled import LabelledFile
from postil.threads import training_threads

DESCRIPTION = """\
Train a tagger, a detector of one label or a tree classifier on a labelled file, and write it to a single model file.

Files may be CoNLL columns, CoNLL-U, JSON Lines with spans or bracketed trees, optionally compressed with gzip. Formats
and labelling schemes are detected. With --dev, the epoch with the best score on that file is kept; without it, the full
schedule is run.

  postil train train.txt --dev dev.txt -o ner.postil
  postil train train.txt --dev dev.txt --test test.txt --preset accurate --vectors glove-50d -o ner.postil
  postil train train.conllu --label-column upos -o pos.postil
  postil train chunks.txt --feature-columns 1 -o chunks.postil         use the second column as a feature
  postil train train.txt --dev dev.txt --preset margin --label LOC -o loc.postil     detect one label only
  postil train train.txt --dev dev.txt --set hidden=200 --epochs 15 -o ner.postil
  postil train train.txt --dev dev.txt --minutes 2 -o ner.postil       with a time budget
  postil train train.txt --dev dev.txt --report training.html -o ner.postil
  postil train train.txt --dev dev.txt --resume -o ner.postil          continue after an interruption
  postil train persons.txt places.txt --annotates persons.txt=PER --annotates places.txt=LOC -o ner.postil
  postil train more.txt --warm-start ner.postil -o ner2.postil         continue with other data and new labels
  postil train mine.txt --warm-start english -o mine.postil            words and encoder of the English model
  postil train train.txt --dev dev.txt --vectors glove-50d --clusters brown -o ner.postil
  postil train --task names=ner.txt --task upos=pos.txt:1 --dev names=dev.txt -o both.postil     several tasks
  postil train --task upos=pos.conllu --warm-start ner.postil --freeze-encoder -o both.postil    one more task
  postil train train.txt --map train.txt=politician:PER,band:ORG -o ner.postil
  postil train train.txt --dev dev.txt --unlabelled raw.txt -o ner.postil    self-training on raw text
  postil train train.trees --dev dev.trees -o sentiment.postil         a tree classifier of sentences and phrases
  postil train train.trees --dev dev.trees --composition tensor --set loss=root -o sentiment.postil
  postil train train.ptb --dev dev.ptb --preset fast -o pos.postil     a tagger, from the labels of the words in trees
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("train", metavar="TRAIN", nargs="*", help="labelled files to train on")
    parser.set_defaults(usage_error=parser.error)
    parser.add_argument(
        "--task",
        metavar="NAME=FILE[:COLUMN]",
        action="append",
        default=[],
        help="several tasks instead of TRAIN: a labelled file of one, and the column of its labels (repeatable)",
    )
    parser.add_argument(
        "--dev",
        metavar="[NAME=]FILE",
        action="append",
        default=[],
        help="held-out file (of a task): keep the epoch with the best score on it",
    )
    parser.add_argument(
        "--test",
        metavar="[NAME=]FILE",
        action="append",
        default=[],
        help="another held-out file (of a task) to score at the end",
    )
    parser.add_argument("-o", "--output", metavar="MODEL", type=Path, required=True, help="model file to write")
    parser.add_argument(
        "--preset", choices=list(PRESETS), metavar="NAME", help="kind of model: see `postil presets` (default: fast)"
    )
    parser.add_argument("--label", metavar="NAME", help="--preset margin: the label to detect")
    parser.add_argument(
        "--composition", choices=list(COMPOSITIONS), help="trees: how two phrases are combined into one"
    )
    parser.add_argument(
        "--binarise", choices=["left", "right"], help="trees: how to split nodes with more than two children"
    )
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="change one setting (repeatable): see `postil presets NAME`",
    )
    parser.add_argument("--epochs", type=int, metavar="N", help="the same as --set epochs=N")
    parser.add_argument(
        "--vectors",
        metavar="FILE",
        action="append",
        default=[],
        help="word vectors: a GloVe, word2vec or fastText file, or glove-50d (repeatable)",
    )
    parser.add_argument(
        "--clusters", metavar="FILE", help="word clusters: a file of paths and words, or brown (an installed package)"
    )
    parser.add_argument(
        "--pretrained",
        metavar="FILE",
        help="from `postil pretrain`: vectors and clusters together, or with the encoder that goes on from there",
    )
    parser.add_argument(
        "--gazetteer",
        metavar="FILE",
        action="append",
        default=[],
        help="names of a class, one per line; or names, places (installed packages; repeatable)",
    )
    parser.add_argument("--ensemble", type=int, metavar="N", help="train N networks and average them")
    teaching.add_arguments(parser)
    gains.add_arguments(parser)
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    parser.add_argument(
        "--threads",
        type=int,
        default=training_threads(),
        help="number of cores to use; does not change the result (default: all, at most 4)",
    )
    parser.add_argument("--minutes", type=float, metavar="M", help="time budget in minutes")
    parser.add_argument("--resume", action="store_true", help="continue from MODEL.checkpoint")
    parser.add_argument("--warm-start", metavar="MODEL", help="start from the weights and the preset of this model")
    parser.add_argument(
        "--freeze-encoder",
        action="store_true",
        help="--task with --warm-start: only the heads of the tasks learn, the model's other tasks stay as they are",
    )
    parser.add_argument("--log", metavar="FILE", type=Path, help="append one line of JSON per epoch to this file")
    parser.add_argument("--report", metavar="FILE", type=Path, help="write an HTML page about the training")
    add_force_argument(parser)
    reading = add_reading_arguments(parser)
    reading.add_argument(
        "--input",
        choices=["text", CHARACTERS],
        default="text",
        help="JSON Lines: raw text is split into words (text, the default), or every character of it is a token",
    )
    add_partial_argument(reading)
    add_map_argument(reading)
    reading.add_argument(
        "--annotates",
        metavar="[FILE=]C,C",
        action="append",
        default=[],
        help="the only classes that TRAIN (or this FILE) annotates: O may hide any other class",
    )


def run(arguments: argparse.Namespace) -> int:
    _take_pretrained(arguments)
    sources = _sources(arguments)
    _check_outputs(arguments, sources)
    for name in ("epochs", "ensemble"):
        if getattr(arguments, name) is not None:
            arguments.settings.append(f"{name}={getattr(arguments, name)}")
    teaching.check_arguments(arguments)
    gains.check_arguments(arguments)
    if arguments.task and (len(sources.train) > 1 or arguments.warm_start):
        refuse(arguments, "gains", "it is for one task")
        from postil.commands.kinds.multi_tasking import new_fitting as new_task_fitting

        return _train(*new_task_fitting(arguments, sources, _checkpoint(arguments)), arguments)
    refuse(arguments, "freeze_encoder", "it is for --task with --warm-start")
    if not arguments.task and _learns_from_trees(arguments):
        for option in ("clusters", "ensemble", "unlabelled", "map", "gains", "pretrained"):
            refuse(arguments, option, "it is for taggers of words")
        from postil.commands.kinds.tree_classifying import new_fitting

        return _train(*new_fitting(arguments, _checkpoint(arguments)), arguments)
    model, fitting, held_out, learnt = _new_fitting(arguments, sources)
    gains_of = partial(gains.show, arguments, model, *learnt) if gains.are_wanted(arguments) else None
    return _train(model, fitting, held_out, arguments, gains_of)


def _take_pretrained(arguments: argparse.Namespace) -> None:
    """Treat a pretrained file as a file of vectors and one of clusters, so that --gains tells them apart.

    An encoder stays one: its preset and its architecture are the defaults.
    """
    from postil.features.pretrained import holds_model
    from postil.features.sources import with_pretrained

    arguments.vectors, arguments.clusters = with_pretrained(arguments.vectors, arguments.clusters, arguments.pretrained)
    if arguments.pretrained is None or not holds_model(arguments.pretrained):
        arguments.pretrained = None
        return
    known: Any = open_model(arguments.pretrained, for_training=True)
    if is_encoder(known.fitted_parts()) and arguments.preset in (None, known.preset):  # what is none is refused later
        arguments.preset = known.preset
        inherited = [f"{name}={spelt(TaggerConfig, name, value)}" for name, value in _of_architecture(known).items()]
        arguments.settings = inherited + arguments.settings


def _sources(arguments: argparse.Namespace) -> TrainingFiles:
    """The files by task; without --task, the only task is called main, and ``dev`` and ``test`` are single files."""
    if bool(arguments.train) == bool(arguments.task):
        arguments.usage_error("TRAIN and --task exclude each other" if arguments.task else "TRAIN or --task is needed")
    if arguments.task:
        found = TrainingFiles(
            *(task_sources(getattr(arguments, name), f"--{name}") for name in ("task", "dev", "test"))
        )
        if not arguments.warm_start:
            for option, files in (("--dev", found.dev), ("--test", found.test)):
                for task in files:
                    if task not in found.train:
                        expected = f"must name one of the tasks {', '.join(found.train)}"
                        raise ConfigurationError(option, expected=expected, got=repr(task))
        return found
    for name in ("dev", "test"):
        files = getattr(arguments, name)
        if len(files) > 1:
            raise ConfigurationError(f"--{name}", expected="must be one file without --task", got=", ".join(files))
        setattr(arguments, name, files[0] if files else None)
    train = {MAIN: [Source(path) for path in arguments.train]}
    return TrainingFiles(train, *({MAIN: [Source(path)]} if path else {} for path in (arguments.dev, arguments.test)))


def _check_outputs(arguments: argparse.Namespace, sources: TrainingFiles) -> None:
    """The model file, its checkpoint, the log and the report: none of them replaces data."""
    others = [
        arguments.clusters,
        arguments.pretrained,
        arguments.warm_start,
        *arguments.unlabelled,
        *arguments.teacher,
    ]
    inputs = [*sources.paths(), *arguments.vectors, *arguments.gazetteer, *others]
    force = arguments.force
    check_output(arguments.output, "model file", "model", inputs=inputs, force=force)
    check_output(_checkpoint(arguments), "checkpoint", "model", inputs=inputs, force=force)
    if arguments.log is not None:
        written = [arguments.output, _checkpoint(arguments)]
        check_output(arguments.log, "log", "log", inputs=[*inputs, *written], force=force)
    if arguments.report is not None:
        written = [arguments.output, _checkpoint(arguments), arguments.log]
        check_output(arguments.report, "report", "report", inputs=[*inputs, *written], force=force)


def _learns_from_trees(arguments: argparse.Namespace) -> bool:
    """A preset means a tagger or a detector. Without one, a file of trees means a tree classifier."""
    if arguments.preset or arguments.label:
        for option in ("composition", "binarise"):
            refuse(arguments, option, "it is for tree classifiers, which take neither --preset nor --label")
        return False
    if arguments.composition or arguments.binarise:
        return True
    # A pipe can be read only once.
    first = arguments.train[0]
    return Path(first).is_file() and format_of(first, arguments.encoding) == "trees"


def _new_fitting(
    arguments: argparse.Namespace, sources: TrainingFiles
) -> tuple[SentenceEstimator[Any, Any], Any, dict[str, LabelledFile], tuple[Any, Mapping[str, Any]]]:
    """The tagger or detector, its training, the files to score it on at the end, and what it learns from."""
    settings = dict(parsed_setting(text) for text in arguments.settings)
    known = _known(arguments)
    model = _model(arguments, settings, known)
    options = reading_options(arguments)
    files = LoadedTask.load(sources, next(iter(sources.train)), options, arguments)
    train, held_out = files.train, files.held_out
    if train[0].format == "trees" and not (arguments.preset or arguments.label or known):
        raise ConfigurationError(  # a pipe cannot be looked into before it is read
            "trees from a pipe", expected="--composition for a tree classifier, or --preset for a tagger of words"
        )
    files.check(arguments)
    warn_of_long_sentences(model, [len(tokens) for file in (*train, *held_out.values()) for tokens in file.tokens])
    data = *examples(*train), examples(held_out["dev"]) if "dev" in held_out else None
    lesson = teaching.lesson(arguments, model, data)
    fitting = model.fitting(
        *data,
        checkpoint=_checkpoint(arguments),
        # A training that was interrupted while its teacher learnt has no checkpoint of its own.
        resume=arguments.resume and (_checkpoint(arguments).exists() or not arguments.unlabelled),
        **{"warm_start": known, "partial": arguments.partial} | lesson,
    )
    if options["characters"]:
        fitting.parts.about[INPUT] = CHARACTERS
    return model, fitting, held_out, (data, lesson)


def _known(arguments: argparse.Namespace) -> Any:
    """The model to start from: a tagger, a detector, or a model of several tasks."""
    known: Any = open_model(arguments.warm_start, for_training=True) if arguments.warm_start else None
    if known is not None and not (isinstance(known, SentenceEstimator) or known.fitted_parts().heads):
        raise ConfigurationError("--warm-start", expected="a tagger or a detector", got=f"a {known.KIND}")
    return known


def _inherited(known: Any) -> dict[str, Any]:
    """The settings of the model to start from; of several tasks, only those that its words and encoder depend on."""
    return known.settings if isinstance(known, SentenceEstimator) else _of_architecture(known)


def _of_architecture(known: Any) -> dict[str, Any]:
    from postil.models.fitting.warm_start import ARCHITECTURE

    return {name: value for name, value in known.settings.items() if name in ARCHITECTURE}


def _checkpoint(arguments: argparse.Namespace) -> Path:
    path: Path = arguments.output
    return path.with_name(path.name + ".checkpoint")


def _model(arguments: argparse.Namespace, settings: dict[str, Any], known: Any) -> SentenceEstimator[Any, Any]:
    """The estimator that the command line asks for, with the preset and settings of ``known`` as defaults."""
    if known is not None and arguments.preset in (None, known.preset):
        arguments.preset, settings = known.preset, _inherited(known) | settings
        arguments.label = arguments.label or known.get_params().get("label")
    parameters = {
        "preset": arguments.preset or "fast",
        "vectors": arguments.vectors or None,
        "clusters": arguments.clusters,
        "gazetteers": arguments.gazetteer,
        "pretrained": arguments.pretrained,
        **{name: getattr(arguments, name) for name in ("seed", "threads", "minutes")},
        **settings,
    }
    model: SentenceEstimator[Any, Any] = kind_to_train(parameters["preset"], settings).make(arguments, parameters)
    model.check()
    return model


def _train(
    model: Estimator[Any, Any],
    fitting: Any,
    held_out: Mapping[str, Any],
    arguments: argparse.Namespace,
    gains_of: Callable[[], list[tuple[str, float]]] | None = None,
) -> int:
    """Train, write the model, show how good it is. ``gains_of`` measures what each kind of knowledge adds."""
    from postil.commands.terminal.training import Display

    with stop_on_request() as stop, Display(fitting, arguments.log) as display:
        for event in fitting:
            display.show(event)
            if stop.by is not None:
                return interrupted(fitting, stop.by)
    kind = kind_of(model)
    scores = {name: kind.evaluation(model, file) for name, file in held_out.items()}
    fitting.parts.about["scores"] = {name: evaluation.to_dict() for name, evaluation in scores.items()}
    model.save(arguments.output)
    for path in (fitting.checkpoint, teaching.teacher_path(arguments)):
        path.unlink(missing_ok=True)
    remove_encoders(arguments)
    display.summary(
        arguments.output,
        {name: kind.headline(evaluation) for name, evaluation in scores.items()},
        dev_score=getattr(scores.get("dev"), "main_score", None),
    )
    measured = gains_of() if gains_of is not None else []
    if arguments.report is not None:
        from postil.commands.training import report as training_report

        training_report.write(arguments, model, fitting, held_out, measured)
    return 0
