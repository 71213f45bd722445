"""``postil train``: from a labelled file to a model file."""

import argparse
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from postil.commands.kinds import kind_of, kind_to_train
from postil.commands.labelled import LabelledFile, load, settle_partial_labels, tell, tell_broken_labels, widen
from postil.commands.models import checked_scheme, open_model, tell_long_sentences
from postil.commands.reading import add_partial_argument, add_reading_arguments, reading_options
from postil.errors import ConfigurationError, DataError
from postil.models.config import PRESETS, parsed_setting
from postil.models.estimator import Estimator, tokens_of
from postil.models.labelling import Labelling
from postil.text.partial import parse_classes

DESCRIPTION = """\
Learn a tagger, or a detector of one label, from a labelled file and write it into one model file.

Files may be CoNLL columns, CoNLL-U or JSON Lines with spans, plain or gzip; formats and labelling schemes are
recognised. With --dev the best epoch on that file is kept; without it the full schedule is run.

  postil train train.txt --dev dev.txt -o ner.postil
  postil train train.txt --dev dev.txt --test test.txt --preset accurate --vectors glove-50d -o ner.postil
  postil train train.conllu --label-column upos -o pos.postil
  postil train chunks.txt --feature-columns 1 -o chunks.postil         the second column is a feature
  postil train train.txt --dev dev.txt --preset margin --label LOC -o loc.postil     detect the words of one label
  postil train train.txt --dev dev.txt --set hidden=200 --set epochs=15 -o ner.postil
  postil train train.txt --dev dev.txt --minutes 2 -o ner.postil       within a time budget
  postil train train.txt --dev dev.txt --resume -o ner.postil          go on after an interruption
  postil train persons.txt places.txt --annotates persons.txt=PER --annotates places.txt=LOC -o ner.postil
  postil train more.txt --warm-start ner.postil -o ner2.postil         go on with other data, also with new labels
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("train", metavar="TRAIN", nargs="+", help="files to learn from, together")
    parser.add_argument("--dev", metavar="FILE", help="held-out file: its best epoch is kept")
    parser.add_argument("--test", metavar="FILE", help="another held-out file, scored at the end")
    parser.add_argument("-o", "--output", metavar="MODEL", type=Path, required=True, help="model file to write")
    parser.add_argument("--preset", choices=list(PRESETS), help="kind of model (default: fast)")
    parser.add_argument("--label", metavar="NAME", help="--preset margin: the label whose words are to be detected")
    parser.add_argument(
        "--set", dest="settings", metavar="NAME=VALUE", action="append", default=[], help="change one setting"
    )
    parser.add_argument(
        "--vectors", metavar="FILE", help="word vectors: a GloVe, word2vec or fastText file, or glove-50d"
    )
    parser.add_argument("--gazetteer", metavar="FILE", action="append", default=[], help="names of a class, one a line")
    parser.add_argument("--seed", type=int, default=0, help="of all randomness (default: 0)")
    parser.add_argument("--threads", type=int, default=1, help="cores to use; the result is the same (default: 1)")
    parser.add_argument("--minutes", type=float, metavar="M", help="time budget")
    parser.add_argument("--resume", action="store_true", help="go on from MODEL.checkpoint")
    parser.add_argument("--warm-start", metavar="MODEL", help="begin with what a model knows (and its preset)")
    parser.add_argument("--log", metavar="FILE", type=Path, help="write one line of JSON per epoch")
    reading = add_reading_arguments(parser)
    add_partial_argument(reading)
    reading.add_argument(
        "--annotates",
        metavar="[FILE=]C,C",
        action="append",
        default=[],
        help="classes that TRAIN (or one FILE of several) annotates; an O there may be any other class",
    )


def run(arguments: argparse.Namespace) -> int:
    settings = dict(parsed_setting(text) for text in arguments.settings)
    _check_output(arguments)
    known = open_model(arguments.warm_start) if arguments.warm_start else None
    model = _model(arguments, settings, known)
    options = reading_options(arguments)
    train = [load(path, **options) for path in arguments.train]
    held_out = {name: load(path, **options) for name in ("dev", "test") if (path := getattr(arguments, name))}
    _check_data(train, held_out, arguments)
    tell_long_sentences(model, [len(tokens) for file in (*train, *held_out.values()) for tokens in file.tokens])

    from postil.models.fitting import Fitting

    fitting = Fitting(
        model,
        *_examples(*train),
        _examples(held_out["dev"]) if "dev" in held_out else None,
        checkpoint=arguments.output.with_name(arguments.output.name + ".checkpoint"),
        resume=arguments.resume,
        warm_start=known,
        partial=arguments.partial,
    )
    return _train(model, fitting, held_out, arguments)


def _model(
    arguments: argparse.Namespace, settings: dict[str, Any], known: Estimator[Any, Any] | None
) -> Estimator[Any, Any]:
    """What the command line asks for; with a known model its preset and settings, where nothing else is said."""
    if known is not None and arguments.preset in (None, known.preset):
        arguments.preset, settings = known.preset, known.settings | settings
        arguments.label = arguments.label or known.get_params().get("label")
    parameters = {
        "preset": arguments.preset or "fast",
        "vectors": arguments.vectors,
        "gazetteers": arguments.gazetteer,
        **{name: getattr(arguments, name) for name in ("seed", "threads", "minutes")},
        **settings,
    }
    model: Estimator[Any, Any] = kind_to_train(parameters["preset"], settings).make(arguments, parameters)
    model.check()
    return model


def _train(
    model: Estimator[Any, Any], fitting: Any, held_out: dict[str, LabelledFile], arguments: argparse.Namespace
) -> int:
    from postil.commands.training_display import Display

    with _stop_on_request() as stop, Display(fitting, arguments.log) as display:
        for event in fitting.run():
            display.show(event)
            if stop.requested:
                return _interrupted(fitting)
    model.parts = fitting.parts
    kind = kind_of(model)
    scores = {name: kind.evaluation(model, *_examples(file)) for name, file in held_out.items()}
    fitting.parts.about["scores"] = {name: evaluation.as_dict() for name, evaluation in scores.items()}
    model.save(arguments.output)
    fitting.checkpoint.unlink(missing_ok=True)
    display.summary(arguments.output, {name: kind.headline(found) for name, found in scores.items()})
    return 0


def _examples(*files: LabelledFile) -> tuple[list[Any], list[list[str]]]:
    sentences = [sentence for file in files for sentence in file.sentences]
    return [tokens_of(sentence) for sentence in sentences], [sentence.labels or [] for sentence in sentences]


def _check_output(arguments: argparse.Namespace) -> None:
    """Find out before the training, not after it, that something cannot be written."""
    path: Path = arguments.output
    if path.is_dir():
        raise ConfigurationError("model file", expected="the name of a file", got="a folder", where=path)
    if not path.resolve().parent.is_dir():
        raise ConfigurationError("model file", expected="an existing folder", got=f"no {path.parent}", where=path)


def _check_data(train: list[LabelledFile], held_out: dict[str, LabelledFile], arguments: argparse.Namespace) -> None:
    """What cannot work is an error; what is probably not meant is told."""
    for file in (*train, *held_out.values()):
        if not any(file.tokens):
            raise DataError("no sentences", expected="at least one token with its label", got="none", where=file.path)
    settle_partial_labels(train, arguments.partial)
    names, all_labels = ", ".join(file.path for file in train), _examples(*train)[1]
    labels = {label for labels in all_labels for label in labels}
    if len(labels) == 1:
        tell(f"{names}: every token has the label {labels.pop()!r}")
    labelling = Labelling.of(all_labels)
    annotated = _annotated_by_option(arguments)
    for file in train:
        tell_broken_labels(file, labelling.scheme)
        widen(file, labelling, annotated[file.path])
    for file in held_out.values():
        settle_partial_labels([file], arguments.partial, known=labelling.answers)
        tell_broken_labels(file, checked_scheme(file, labelling))
        unseen = sorted({*Labelling.of(file.labels).classes} - {*labelling.classes})
        if unseen:
            tell(f"{file.path}: {len(unseen)} of its labels do not occur in {names}: {', '.join(unseen[:5])}")
        widen(file, labelling)


def _annotated_by_option(arguments: argparse.Namespace) -> dict[str, tuple[str, ...] | None]:
    """For each training file the classes that --annotates says."""
    found: dict[str, tuple[str, ...] | None] = dict.fromkeys(arguments.train)
    for text in arguments.annotates:
        path, equals, classes = text.rpartition("=")
        if equals and path not in found:
            raise ConfigurationError("--annotates", expected="one of the training files", got=repr(path))
        for name in [path] if equals else found:
            found[name] = parse_classes(classes)
    return found


class _Stop:
    requested = False


@contextmanager
def _stop_on_request() -> Iterator[_Stop]:
    """Ctrl-C asks for an end between two batches, where the state is whole; a second Ctrl-C ends at once."""
    stop = _Stop()

    def ask(number: int, frame: Any) -> None:
        if stop.requested:
            raise KeyboardInterrupt
        stop.requested = True
        tell("stopping after this batch (Ctrl-C again: at once)")

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupted(fitting: Any) -> int:
    fitting.save_checkpoint()
    tell(f"interrupted; everything so far is in {fitting.checkpoint}: the same command with --resume goes on")
    return 130
