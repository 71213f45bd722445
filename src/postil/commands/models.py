"""Finding the model that a command names."""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from postil.commands.labelled import LabelledFile, settle_partial_labels, tell, widen
from postil.errors import ConfigurationError, DataError
from postil.features.inputs import Token
from postil.models.answers.labelling import Labelling
from postil.models.config import TaggerConfig
from postil.models.estimator import Estimator
from postil.models.scoring.encoders import ENCODERS
from postil.models.sentence_estimator import SentenceEstimator
from postil.models.sentences import tokens_of
from postil.models.storage import load
from postil.text.partial_label import PartialLabel
from postil.text.schemes import recognise


def open_model(name: str) -> Estimator[Any, Any]:
    """MODEL of the command line: the path of a model file."""
    path = Path(name)
    if path.is_dir():
        raise ConfigurationError("model", expected="a model file", got="a folder", where=name)
    if not path.exists():
        raise ConfigurationError("no such model", expected="the path of a model file", got=repr(name))
    model: Estimator[Any, Any] = load(path)
    return model


def inputs_of(file: LabelledFile) -> list[list[Token]]:
    """The sentences of a file as a tagger or detector takes them."""
    return [tokens_of(sentence) for sentence in file.sentences]


def check_columns(model: Estimator[Any, Any], given: Sequence[object]) -> None:
    """A model that learnt from extra columns needs as many again."""
    expected = len(model.fitted_parts().features.columns)
    if len(given) < expected:
        raise ConfigurationError(
            "the model was trained with extra columns",
            expected=f"--feature-columns with {expected} of them",
            got=len(given),
        )


def checked_scheme(file: LabelledFile, labelling: Labelling) -> str:
    """The scheme of a file's labels, which are to be compared with those of a model: both spell spans, or neither."""
    if not labelling.has_spans:
        _tell_if_none_known(file, labelling)
        return "none"
    scheme = recognise(file.labels)
    if scheme == "none":
        raise DataError(
            "labels without a scheme",
            expected=f"spans such as B-{labelling.classes[0] if labelling.classes else 'PER'}, as in training",
            got=repr(next(label for labels in file.labels for label in labels)),
            where=file.where(0, 0),
        )
    return scheme


def _tell_if_none_known(file: LabelledFile, labelling: Labelling) -> None:
    """A file none of whose labels the model knows is the wrong file, or the wrong column of it."""
    found = dict.fromkeys(label for labels in file.labels for label in labels)
    if not any(isinstance(label, PartialLabel) for label in found) and set(found).isdisjoint(labelling.data_labels()):
        known, got = ", ".join(labelling.data_labels()[:5]), ", ".join(list(found)[:5])
        tell(f"{file.path}: the model knows none of its labels ({got} …), but {known} …; another --label-column?")


def tell_long_sentences(model: Estimator[Any, Any], lengths: Iterable[int]) -> None:
    """The sentence approach sees long sentences in pieces: say so, once, with their number."""
    longest = ENCODERS[model.config.encoder].longest_view if isinstance(model.config, TaggerConfig) else None
    if longest is not None and (number := sum(length > longest for length in lengths)):
        tell(f"{number:,} sentences of more than {longest:,} words are split: each word sees only its own piece")


def settle(model: SentenceEstimator[Any, Any], file: LabelledFile, arguments: argparse.Namespace) -> None:
    """Make out what the labels of a file to be scored on leave open: marks, and classes that it does not annotate."""
    labelling = model.fitted_parts().labelling
    settle_partial_labels([file], arguments.partial, known=labelling.answers)
    widen(file, labelling)
