"""``postil train``: from a labelled file to a model file."""

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from postil.commands.kinds import kind_to_train
from postil.commands.labelled import LabelledFile, load
from postil.commands.reading import add_reading_arguments, reading_options
from postil.errors import ConfigurationError, DataError
from postil.models.config import PRESETS, parsed_setting

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
  postil train more.txt --warm-start ner.postil -o ner2.postil         go on with other data, also with new labels
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("train", metavar="TRAIN", help="file to learn from")
    parser.add_argument("--dev", metavar="FILE", help="held-out file: its best epoch is kept")
    parser.add_argument("--test", metavar="FILE", help="another held-out file, scored at the end")
    parser.add_argument("-o", "--output", metavar="MODEL", type=Path, required=True, help="model file to write")
    parser.add_argument("--preset", choices=list(PRESETS), default="fast", help="kind of model (default: fast)")
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
    parser.add_argument("--warm-start", metavar="MODEL", type=Path, help="begin with the parameters of a model")
    parser.add_argument("--log", metavar="FILE", type=Path, help="write one line of JSON per epoch")
    add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    settings = dict(parsed_setting(text) for text in arguments.settings)
    _check_output(arguments.output)
    options = reading_options(arguments)
    train = load(arguments.train, **options)
    dev = load(arguments.dev, **options) if arguments.dev else None
    test = load(arguments.test, **options) if arguments.test else None
    _check_labels(train)

    from postil.commands.training_display import Display
    from postil.models.fitting import Fitting
    from postil.models.storage import load as load_model

    kind = kind_to_train(arguments.preset, settings)
    model = kind.make(
        arguments,
        {
            "preset": arguments.preset,
            "vectors": arguments.vectors,
            "gazetteers": arguments.gazetteer,
            "seed": arguments.seed,
            "threads": arguments.threads,
            "minutes": arguments.minutes,
            **settings,
        },
    )
    checkpoint = arguments.output.with_name(arguments.output.name + ".checkpoint")
    fitting = Fitting(
        model,
        *_examples(train),
        _examples(dev) if dev is not None else None,
        checkpoint=checkpoint,
        resume=arguments.resume,
        warm_start=load_model(arguments.warm_start) if arguments.warm_start else None,
    )
    with _stop_on_request() as stop, Display(fitting, arguments.log) as display:
        for event in fitting.run():
            display.show(event)
            if stop.requested:
                return _interrupted(fitting, arguments)
    model.parts = fitting.parts
    scores = {
        name: kind.evaluation(model, *_examples(file))
        for name, file in (("dev", dev), ("test", test))
        if file is not None
    }
    fitting.parts.about["scores"] = {name: evaluation.as_dict() for name, evaluation in scores.items()}
    model.save(arguments.output)
    checkpoint.unlink(missing_ok=True)
    display.summary(arguments.output, {name: kind.headline(found) for name, found in scores.items()})
    return 0


def _examples(file: LabelledFile) -> tuple[list[Any], list[list[str]]]:
    from postil.models.estimator import tokens_of

    return [tokens_of(sentence) for sentence in file.sentences], file.labels


def _check_output(path: Path) -> None:
    """Find out before the training, not after it, that the model cannot be written."""
    if path.is_dir():
        raise ConfigurationError("model file", expected="the name of a file", got="a folder", where=path)
    if not path.resolve().parent.is_dir():
        raise ConfigurationError("model file", expected="an existing folder", got=f"no {path.parent}", where=path)


def _check_labels(file: LabelledFile) -> None:
    if len({label for labels in file.labels for label in labels}) == 1:
        print(f"postil: {file.path}: every token has the label {file.labels[0][0]!r}", file=sys.stderr)
    if not any(file.tokens):
        raise DataError("nothing to learn from", expected="sentences with words", got="none", where=file.path)


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
        print("postil: stopping after this batch (Ctrl-C again: at once)", file=sys.stderr)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupted(fitting: Any, arguments: argparse.Namespace) -> int:
    fitting.save_checkpoint()
    print(
        f"postil: interrupted; everything so far is in {fitting.checkpoint}: the same command with --resume goes on",
        file=sys.stderr,
    )
    return 130
