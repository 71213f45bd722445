"""The model that a command names, and whether a file goes with it."""

import argparse
import os
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from postil.archive import is_model_file
from postil.commands.terminal.notices import note, warn
from postil.errors import ConfigurationError, DataError, UnicodeVersionWarning
from postil.features.inputs import Token
from postil.models.answers.labelling import Labelling
from postil.models.config import TaggerConfig
from postil.models.estimator import Estimator
from postil.models.installed import ENGLISH, installed_path, is_name, located, misspelt
from postil.models.parts import is_encoder
from postil.models.scoring.encoders import ENCODERS
from postil.models.sentence_estimator import SentenceEstimator
from postil.models.sentences import tokens_of
from postil.models.storage import load
from postil.text.labels.partial_label import PartialLabel
from postil.text.labels.schemes import recognise
from postil.text.lines import shortened

if TYPE_CHECKING:
    from postil.models.tagger import Tagger
    from postil.text.labelled import LabelledFile


def take_model(words: Sequence[str]) -> tuple[str, list[str]]:
    """The path of MODEL and the inputs, from the words of a command whose MODEL may be left out.

    The first word is MODEL where it names an installed model, or a file that begins as a model file does. Otherwise all
    words are inputs, and the model is the installed English one, which is reported.
    """
    if words and _is_model(words[0]):
        return str(located(words[0])), list(words[1:])
    english = installed_path(ENGLISH)
    if english is None:
        what = f"{words[0]}: not a Postil model file, and no" if words and not is_text(words[0]) else "no"
        install = "run pip install postil-english (the folder of that name in the repository), or name a model file"
        raise ConfigurationError(f"{what} English model is installed: {install}")
    note(f"no MODEL named: using the installed model {ENGLISH}")
    return str(english), list(words)


def text_among(inputs: Sequence[str]) -> str | None:
    """The text that a command was called with in place of files; None where the inputs are files."""
    texts = [word for word in inputs if is_text(word)]
    if texts and len(inputs) > 1:
        raise ConfigurationError("inputs", expected="one text in quotes, or files", got=shortened(texts[0]))
    return texts[0] if texts else None


def is_text(word: str) -> bool:
    """Whether a word of the command line is a text: it contains a space, and is neither a file nor the name of one.

    A missing file whose folder has a name with a space is a mistake in a path, not a sentence.
    """
    folder = os.path.dirname(word)  # noqa: PTH120  # a text may be too long for a path
    in_a_folder = _has_space(folder) and os.path.isdir(folder)  # noqa: PTH112
    return _has_space(word) and not in_a_folder and not os.path.exists(word)  # noqa: PTH110


def _has_space(word: str) -> bool:
    return any(map(str.isspace, word))


def _is_model(word: str) -> bool:
    """Folders and names ending in .postil are models too: opening them tells what is wrong."""
    if is_model_file(word) or word.endswith(".postil") or os.path.isdir(word):  # noqa: PTH112
        return True
    if is_name(word) and installed_path(word) is not None:
        return True
    if word == "-" or is_text(word) or any(sign in word for sign in "*?[:") or os.path.exists(word):  # noqa: PTH110
        return False
    raise ConfigurationError("no such model or input file; a single word is a text after --text", got=misspelt(word))


def open_model(name: str, *, for_training: bool = False) -> Estimator[Any, Any]:
    """MODEL of the command line: the path of a model file, or the name of an installed model.

    Unless it is ``for_training``, a model that knows no labels yet is warned of.
    """
    path = located(name)
    if path.is_dir():
        raise ConfigurationError("model", expected="a model file", got="a folder", where=name)
    if not path.exists():
        raise ConfigurationError("no such model file", got=misspelt(name))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnicodeVersionWarning)
        model: Estimator[Any, Any] = load(path)
    for warning in caught:
        warn(str(warning.message))
    if not for_training and is_encoder(model.fitted_parts()):
        warn(f"{name} knows no labels: it has learnt from raw text alone; train a model from it (train --pretrained)")
    return model


def tagger_of_names(model: Any) -> "Tagger | None":
    """A tagger of spans: the model, or the first such task of several; None where there is none."""
    heads = [model[task] for task in getattr(model, "tasks", ())] or [model]
    return next((head for head in heads if head.KIND == "tagger" and head.labelling.has_spans), None)


def inputs_of(file: "LabelledFile") -> list[list[Token]]:
    """The sentences of a file as a tagger or detector takes them."""
    return [tokens_of(sentence) for sentence in file.sentences]


def checked_scheme(file: "LabelledFile", labelling: Labelling) -> str:
    """The scheme of a file's labels, to be compared with a model's: either both encode spans or neither does."""
    if not labelling.has_spans:
        _warn_if_none_known(file, labelling)
        return "none"
    scheme = recognise(file.labels)
    if scheme == "none":
        raise DataError(
            "these labels have no scheme",
            expected=f"spans such as B-{labelling.classes[0] if labelling.classes else 'PER'}, as in training",
            got=repr(next(label for labels in file.labels for label in labels)),
            where=file.where(0, 0),
        )
    return scheme


def warn_of_unknown_classes(file: "LabelledFile", known_classes: Sequence[str]) -> None:
    """Warn, with both lists, of classes that the model does not know: it cannot find any of their entities."""
    classes = Labelling.of(file.labels).classes
    unknown = [name for name in classes if name not in known_classes]
    if unknown:
        what = "none of the classes" if len(unknown) == len(classes) else f"nothing of {_listed(unknown)}"
        lists = f"the file has {_listed(classes)}; the model knows {_listed(known_classes)}"
        warn(f"{file.path}: the model can find {what} in this file: {lists}")


def _listed(names: Iterable[str], most: int = 20) -> str:
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} others" if len(names) > most else "")


def _warn_if_none_known(file: "LabelledFile", labelling: Labelling) -> None:
    """If the model knows none of the labels, this is the wrong file or the wrong column."""
    labels = dict.fromkeys(label for sentence in file.labels for label in sentence)
    if not any(isinstance(label, PartialLabel) for label in labels) and set(labels).isdisjoint(labelling.data_labels()):
        known, got = _listed(labelling.data_labels()), _listed(labels)
        warn(f"{file.path}: the model knows none of these labels: {got} (it knows {known}); wrong --label-column?")


def warn_of_long_sentences(model: Estimator[Any, Any], lengths: Iterable[int]) -> None:
    """Warn once, with their number, of sentences that a model of the sentence approach sees in pieces."""
    longest = ENCODERS[model.config.encoder].longest_view if isinstance(model.config, TaggerConfig) else None
    if longest is not None and (number := sum(length > longest for length in lengths)):
        warn(f"{number:,} sentences of more than {longest:,} words are split: a word sees only its own piece")


def resolve_labels(model: SentenceEstimator[Any, Any], file: "LabelledFile", arguments: argparse.Namespace) -> None:
    """Recognise unknown and alternative labels in a file to score on, and classes that it does not annotate."""
    from postil.commands.options.labelled import resolve_partial_labels, widen  # only where a file has labels

    labelling = model.fitted_parts().labelling
    resolve_partial_labels([file], arguments.partial, known=labelling.answers)
    widen(file, labelling)
