"""What the commands about data and scores share: labelled files to train on, and the tagger to train."""

import argparse
from collections.abc import Sequence

from postil.commands.options.labelled import load, resolve_partial_labels, warn_of_broken_labels
from postil.commands.options.models import inputs_of
from postil.commands.options.reading import add_partial_argument, add_reading_arguments, reading_options
from postil.curation.corpus import Split
from postil.curation.folds import documents_of
from postil.errors import ConfigurationError, DataError
from postil.models.config import PRESETS, parsed_setting
from postil.models.tagger import Tagger
from postil.text.labelled import LabelledFile
from postil.text.labels.schemes import recognise


def add_tagger_arguments(parser: argparse.ArgumentParser, trained: str, threads: str = "trainings at a time") -> None:
    """The options of the taggers that a command trains; ``trained`` says what for, ``threads`` what that number is."""
    group = parser.add_argument_group("training", f"the taggers that are trained {trained}")
    presets = [name for name in PRESETS if name != "margin"]  # which is a detector's
    group.add_argument(
        "--preset",
        choices=presets,
        default="fast",
        metavar="NAME",
        help="preset to train with: see `postil presets` (default: fast)",
    )
    group.add_argument(
        "--vectors",
        metavar="FILE",
        action="append",
        default=[],
        help="word vectors, as for `postil train` (repeatable)",
    )
    group.add_argument("--clusters", metavar="FILE", help="word clusters, as for `postil train`")
    group.add_argument(
        "--set",
        dest="settings",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="change one setting (repeatable)",
    )
    group.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    group.add_argument("--threads", type=int, default=1, help=f"{threads}; does not change the result (default: 1)")


def tagger_of(arguments: argparse.Namespace) -> Tagger:
    """The tagger that the options describe, not trained."""
    if arguments.threads < 1:
        raise ConfigurationError("threads", expected="must be at least 1", got=arguments.threads)
    settings = dict(parsed_setting(text) for text in arguments.settings)
    tagger = Tagger(
        preset=arguments.preset,
        vectors=arguments.vectors or None,
        clusters=arguments.clusters,
        seed=arguments.seed,
        **settings,
    )
    tagger.check()
    return tagger


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    add_partial_argument(add_reading_arguments(parser))


def load_labelled(paths: Sequence[str], arguments: argparse.Namespace) -> list[LabelledFile]:
    """Files with labels, all of one kind."""
    files = [load(path, **reading_options(arguments)) for path in paths]
    for file in files:
        if not any(file.tokens):
            raise DataError("no sentences", expected="at least one token with its label", where=file.path)
    resolve_partial_labels(files, arguments.partial)
    scheme = recognise([labels for file in files for labels in file.labels])
    for file in files:
        warn_of_broken_labels(file, scheme)
    return files


def joined(files: Sequence[LabelledFile], name: str) -> Split:
    """Several files as one split; places in it name the file."""
    places = [(file, number) for file in files for number in range(len(file.sentences))]
    sentences = [sentence for file in files for sentence in file.sentences]
    labels = [sentence.labels or [] for sentence in sentences]

    def place(sentence: int, token: int) -> str:
        file, number = places[sentence]
        return file.where(number, token)

    X = [tokens for file in files for tokens in inputs_of(file)]
    return Split(name, X, labels, recognise(labels), place, documents_of(sentences))
