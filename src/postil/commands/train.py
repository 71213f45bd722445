"""``postil train``: labelled files in, a model file out."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from postil.commands import teaching
from postil.commands.fitting import interrupted, stop_on_request
from postil.commands.kinds.table import kind_of, kind_to_train, refuse
from postil.commands.labelled import LoadedTask, Source, TrainingFiles, add_map_argument, examples, task_sources
from postil.commands.models import inputs_of, open_model, warn_of_long_sentences
from postil.commands.notices import note
from postil.commands.output import add_overwrite_argument, check_output
from postil.commands.reading import (
    CHARACTERS,
    add_partial_argument,
    add_reading_arguments,
    chosen_segmenter,
    reading_options,
)
from postil.commands.teaching import remove_encoders
from postil.errors import ConfigurationError
from postil.metrics.reliability import Reliability
from postil.models.config import PRESETS, TaggerConfig, parsed_setting
from postil.models.decoding.calibration import reliability
from postil.models.estimator import Estimator
from postil.models.model import INPUT, MAIN, is_encoder
from postil.models.multi_task_tagger import MultiTaskTagger
from postil.models.sentence_estimator import SentenceEstimator
from postil.models.settings import spelt
from postil.models.tagger import Tagger
from postil.reports.answers import Heading
from postil.reports.training import Run, training_page
from postil.text.formats import format_of
from postil.text.labelled import LabelledFile
from postil.text.output import write_text
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
  postil train train.txt --dev dev.txt --set hidden=200 --set epochs=15 -o ner.postil
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
  postil train train.trees --dev dev.trees --set composition=tensor --set loss=root -o sentiment.postil
  postil train train.ptb --dev dev.ptb --preset fast -o pos.postil     a tagger, from the labels of the words in trees
"""
SHOWN = (
    "-o --dev --preset --set --vectors --unlabelled --task --warm-start --seed --threads --minutes --resume --overwrite"
).split()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("train", metavar="TRAIN", nargs="*", help="labelled files to train on")
    parser.set_defaults(usage_error=parser.error)
    parser.add_argument(
        "--task",
        metavar="NAME=FILE[:COLUMN]",
        action="append",
        default=[],
        help="labelled file (and label column) for task NAME; replaces TRAIN (repeatable)",
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
        "--preset",
        choices=list(PRESETS),
        metavar="NAME",
        help="kind of model: see `postil info --presets` (default: fast)",
    )
    parser.add_argument("--label", metavar="NAME", help="--preset margin: the label to detect")
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="change one setting (repeatable): such as epochs=15 or ensemble=3; see `postil info --presets NAME`",
    )
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
    teaching.add_arguments(parser)
    add_gains_argument(parser)
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
        help="--task with --warm-start: train only the given task heads; leave the others unchanged",
    )
    parser.add_argument("--log", metavar="FILE", type=Path, help="append one line of JSON per epoch to this file")
    parser.add_argument("--report", metavar="FILE", type=Path, help="write an HTML page about the training run")
    add_overwrite_argument(parser)
    reading = add_reading_arguments(parser)
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
    teaching.check_arguments(arguments)
    check_gains(arguments)
    if arguments.task and (len(sources.train) > 1 or arguments.warm_start):
        refuse(arguments, "gains", "it is for one task")
        from postil.commands.kinds.multi_tasking import new_fitting as new_task_fitting

        return _train(*new_task_fitting(arguments, sources, _checkpoint(arguments)), arguments)
    refuse(arguments, "freeze_encoder", "it is for --task with --warm-start")
    if not arguments.task and _learns_from_trees(arguments):
        for option in ("clusters", "unlabelled", "map", "gains", "pretrained"):
            refuse(arguments, option, "it is for taggers of words")
        from postil.commands.kinds.tree_classifying import new_fitting

        return _train(*new_fitting(arguments, _checkpoint(arguments)), arguments)
    model, fitting, held_out, learnt = _new_fitting(arguments, sources)
    gains_of = partial(show_gains, arguments, model, *learnt) if are_gains_wanted(arguments) else None
    return _train(model, fitting, held_out, arguments, gains_of)


def _take_pretrained(arguments: argparse.Namespace) -> None:
    """Treat a pretrained file as a file of vectors and one of clusters, so that --gains tells them apart.

    An encoder stays one: its preset and its architecture are the defaults.
    """
    from postil.features.lexicon_files import with_pretrained
    from postil.features.vector_files import holds_model

    arguments.vectors, arguments.clusters = with_pretrained(arguments.vectors, arguments.clusters, arguments.pretrained)
    if arguments.pretrained is None or not holds_model(arguments.pretrained):
        arguments.pretrained = None
        return
    known: Any = open_model(arguments.pretrained, for_training=True)
    if is_encoder(known.model) and arguments.preset in (None, known.preset):  # other models raise an error later
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
    overwrite = arguments.overwrite
    check_output(arguments.output, "model file", "model", inputs=inputs, overwrite=overwrite)
    check_output(_checkpoint(arguments), "checkpoint", "model", inputs=inputs, overwrite=overwrite)
    if arguments.log is not None:
        written = [arguments.output, _checkpoint(arguments)]
        check_output(arguments.log, "log", "log", inputs=[*inputs, *written], overwrite=overwrite)
    if arguments.report is not None:
        written = [arguments.output, _checkpoint(arguments), arguments.log]
        check_output(arguments.report, "report", "report", inputs=[*inputs, *written], overwrite=overwrite)


def _learns_from_trees(arguments: argparse.Namespace) -> bool:
    """A preset means a tagger or a detector. Without one, a file of trees means a tree classifier."""
    if arguments.preset or arguments.label:
        return False
    if any(text.startswith(("composition=", "binarise=")) for text in arguments.settings):
        return True
    # A pipe can be read only once.
    first = arguments.train[0]
    return Path(first).is_file() and format_of(first, arguments.encoding) == "trees"


def _new_fitting(
    arguments: argparse.Namespace, sources: TrainingFiles
) -> tuple[SentenceEstimator, Any, dict[str, LabelledFile], tuple[Any, Mapping[str, Any]]]:
    """The tagger or detector, its training, the files to score it on at the end, and what it learns from."""
    settings = dict(parsed_setting(text) for text in arguments.settings)
    known = _known(arguments)
    model = _model(arguments, settings, known)
    options = reading_options(arguments, chosen_segmenter(known))
    files = LoadedTask.load(sources, next(iter(sources.train)), options, arguments)
    train, held_out = files.train, files.held_out
    if train[0].format == "trees" and not (arguments.preset or arguments.label or known):
        raise ConfigurationError(  # a pipe cannot be looked into before it is read
            "trees from a pipe",
            expected="--set composition=tree-lstm for a tree classifier, or --preset for a tagger of words",
        )
    files.check(arguments)
    warn_of_long_sentences(model, [len(tokens) for file in (*train, *held_out.values()) for tokens in file.tokens])
    data = *examples(*train), examples(held_out["dev"]) if "dev" in held_out else None
    lesson = teaching.lesson(arguments, model, data)
    fitting = model.fitting(
        *data,
        checkpoint=_checkpoint(arguments),
        # A training run that was interrupted while its teacher learned has no checkpoint.
        resume=arguments.resume and (_checkpoint(arguments).exists() or not arguments.unlabelled),
        **{"warm_start": known, "partial": arguments.partial} | lesson,
    )
    if options["segmenter"].characters:
        fitting.model.about[INPUT] = CHARACTERS
    return model, fitting, held_out, (data, lesson)


def _known(arguments: argparse.Namespace) -> Any:
    """The model to start from: a tagger, a detector, or a multi-task model."""
    known: Any = open_model(arguments.warm_start, for_training=True) if arguments.warm_start else None
    if known is not None and not (isinstance(known, SentenceEstimator) or known.model.heads):
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


def _model(arguments: argparse.Namespace, settings: dict[str, Any], known: Any) -> SentenceEstimator:
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
    model: SentenceEstimator = kind_to_train(parameters["preset"], settings).make(arguments, parameters)
    model.check()
    return model


def _train(
    model: Estimator,
    fitting: Any,
    held_out: Mapping[str, Any],
    arguments: argparse.Namespace,
    gains_of: Callable[[], list[tuple[str, float]]] | None = None,
) -> int:
    """Train, write the model, show how good it is. ``gains_of`` measures what each kind of knowledge adds."""
    from postil.commands.fitting import Display

    with stop_on_request() as stop, Display(fitting, arguments.log) as display:
        for event in fitting:
            display.show(event)
            if stop.by is not None:
                return interrupted(fitting, stop.by)
    kind = kind_of(model)
    scores = {name: kind.evaluation(model, file) for name, file in held_out.items()}
    fitting.model.about["scores"] = {name: evaluation.to_dict() for name, evaluation in scores.items()}
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
        write_report(arguments, model, fitting, held_out, measured)
    return 0


# ------------------------------------------------------------------------------------------------ gains


KINDS: dict[str, tuple[str, Any]] = {
    "vectors": ("word vectors", None),
    "clusters": ("word clusters", None),
    "gazetteers": ("lists of names", ()),
    "pretrained": ("a pretrained encoder", None),
}
"""Parameters of an estimator, what they are called, and their values without the knowledge."""
ALONE = "the labelled data alone"
ENCODER, TEACHER = "an encoder that has read raw text", "a teacher's labels of raw text"


def add_gains_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--gains",
        action=argparse.BooleanOptionalAction,
        help="train again without vectors, clusters, names and raw text to show what each of them adds on dev "
        "(default: with --unlabelled and --dev)",
    )


def check_gains(arguments: argparse.Namespace) -> None:
    if arguments.gains and not arguments.dev:
        raise ConfigurationError("--gains needs held-out data to compare on: add --dev FILE")
    if arguments.gains and arguments.warm_start:
        raise ConfigurationError("--gains cannot be used with --warm-start: the old model has its knowledge already")


def are_gains_wanted(arguments: argparse.Namespace) -> bool:
    if arguments.gains is None:
        return bool(arguments.unlabelled and arguments.dev) and not (arguments.warm_start or arguments.minutes)
    return bool(arguments.gains)


class Poorer(NamedTuple):
    """A model to compare with."""

    label: str
    estimator: SentenceEstimator
    start: Tagger | None = None


def show_gains(
    arguments: argparse.Namespace, model: SentenceEstimator, data: Any, lesson: Mapping[str, Any]
) -> list[tuple[str, float]]:
    """Print and return the score on dev without any knowledge, and after each kind is added. The model is written.

    ``lesson`` describes its training on raw text.
    """
    from rich.text import Text

    from postil.commands.console import make_console

    teachers, encoder = lesson.get("teachers", ()), lesson.get("warm_start")
    given = [name for name in KINDS if getattr(model, name)]
    poorer = list(_without_parts(model, given, is_taught=bool(teachers)))
    if encoder is not None:
        poorer.append(Poorer(f"+ {ENCODER}", type(model)(**model.get_params()), encoder))
    if not poorer:
        note("--gains: there is nothing to compare, the model was trained on the labelled data alone")
        return []
    note(f"the model is written; training {len(poorer)} more to see what helped (Ctrl-C skips this)")
    dev = data[2]
    rows: list[tuple[str, float]] = []
    with stop_on_request() as stop:
        for label, estimator, start in poorer:
            for _ in estimator.fitting(*data, partial=arguments.partial, warm_start=start):
                if stop.by is not None:
                    note("the comparison is skipped")
                    return []
            rows.append((label, 100 * estimator.score(*dev)))
    label = TEACHER if teachers else KINDS[given[-1]][0]
    rows.append((f"+ {label}", 100 * model.score(*dev)))
    notes = [_of_teacher(teacher, dev) for teacher in teachers]
    console = make_console()
    for line in (*gains_table(rows), *notes):
        console.print(Text(line))
    return rows


def _without_parts(model: SentenceEstimator, given: Sequence[str], *, is_taught: bool) -> Iterator[Poorer]:
    """Estimators as ``model``, from one without any knowledge to the one that lacks only the last kind."""
    for count in range(len(given) + is_taught):
        missing = {name: KINDS[name][1] for name in given[count:]}
        label = f"+ {KINDS[given[count - 1]][0]}" if count else ALONE
        yield Poorer(label, type(model)(**{**model.get_params(), **missing}))


def gains_table(rows: Sequence[tuple[str, float]]) -> list[str]:
    """Labels with scores, and how much each differs from the one before.

    >>> print(*gains_table([("the labelled data alone", 61.2), ("+ word vectors", 70.0)]), sep="\\n")
    what helped, dev score
      the labelled data alone   61.20
      + word vectors            70.00  +8.80
    """
    width = max(len(label) for label, _ in rows)
    lines = ["what helped, dev score"]
    before: float | None = None
    for label, score in rows:
        gain = "" if before is None else f"  {score - before:+.2f}"
        lines.append(f"  {label:<{width}}  {score:6.2f}{gain}")
        before = score
    return lines


def _of_teacher(teacher: Tagger, dev: Any) -> str:
    networks = teacher.config.ensemble
    return f"  (the teacher, {networks} network{'s' * (networks > 1)}: {100 * teacher.score(*dev):.2f})"


# ------------------------------------------------------------------------------------------------ the report


def write_report(
    arguments: argparse.Namespace,
    model: Estimator,
    fitting: Any,
    held_out: Mapping[str, Any],
    gains: Sequence[tuple[str, float]],
) -> None:
    """Score the model on its held-out files once more, with details, and write the page."""
    scores: dict[str, Any] = {}
    calibrations: dict[str, Reliability] = {}
    for name, part, file in _scored_parts(model, held_out):
        scores[name] = kind_of(part).evaluation(part, file)
        if isinstance(part, Tagger):
            calibrations[name] = reliability(part.model, inputs_of(file), file.labels)
    progress = fitting.training.progress
    run = Run(history=progress.history, seconds=progress.seconds, scores=scores, reliability=calibrations, gains=gains)
    heading = Heading.of(model, model_name=str(arguments.output), data_name=_data_names(arguments))
    write_text(arguments.report, [training_page(heading, model, run)])
    print(f"\nThe report is in {arguments.report}: open it in a browser.")


def _scored_parts(model: Any, held_out: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Name, model and file of everything that is scored: each task of several on its own."""
    if not isinstance(model, MultiTaskTagger):
        return [(name, model, file) for name, file in held_out.items()]
    return [(f"{name}, {task}", model[task], file) for name, files in held_out.items() for task, file in files.items()]


def _data_names(arguments: argparse.Namespace) -> str:
    return ", ".join(map(str, [*arguments.train, *arguments.task]))
