"""The model that a command names, and whether a file goes with it."""

import io
import os
import re
import warnings
from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from postil.archive import is_model_file
from postil.commands.notices import note
from postil.errors import ConfigurationError, DataError, UnicodeVersionWarning
from postil.features.inputs import Token
from postil.models.config import TaggerConfig
from postil.models.decoding.codec import LabelCodec
from postil.models.estimator import Estimator
from postil.models.model import is_encoder
from postil.models.networks.encoders import ENCODERS
from postil.models.sentences import tokens_of
from postil.models.storage import ENGLISH, installed_path, is_name, load, located, misspelt, to_bytes
from postil.tagging.options import chosen
from postil.text.labels.schemes import PartialLabel, recognise
from postil.text.lines import shortened
from postil.text.splitting.segmenter import is_unspaced

if TYPE_CHECKING:
    from postil.models.role_labeller import RoleLabeller
    from postil.models.tagger import Tagger
    from postil.text.labelled import LabelledFile


WORDS_HELP = "model file or name (default: the installed English model); what to {} (default: standard input)"


def take_model(words: Sequence[str], text: str | None = None) -> tuple[str, list[str]]:
    """The path of MODEL and the inputs, from the words of a command whose MODEL may be left out.

    The first word is MODEL where it names an installed model, or a file that begins as a model file does. Otherwise all
    words are inputs, and the model is the installed English one, which is reported.
    """
    missing = "no such model or input file" + ("; to tag a single word, use --text" if len(words) == 1 else "")
    if words and names_model(words[0], missing if text is None else "no such model file, nor an installed model"):
        return str(located(words[0])), list(words[1:])
    english = installed_path(ENGLISH)
    if english is None:
        what = f"{words[0]}: not a Postil model file, and no" if words and not is_text(words[0]) else "no"
        install = "run pip install postil-english (the folder of that name in the repository), or name a model file"
        raise ConfigurationError(f"{what} English model is installed: {install}")
    note(f"no MODEL named: using the installed model {ENGLISH}")
    return str(english), list(words)


def take_inputs(words: Sequence[str], text: str | None) -> tuple[str | None, list[str]]:
    """The text (--text, or a word that is one) and the files of a command; one of the two is empty."""
    if text is not None and words:
        raise ConfigurationError("--text and files cannot be combined")
    for word in words:
        if is_text(word):
            if len(words) > 1:
                raise ConfigurationError("inputs", expected="one text in quotes, or files", got=shortened(word))
            return word, []
        is_word = re.fullmatch(r"[^\W\d_][\w'’-]*[.!?]?", word) is not None  # such as Washington
        if is_word and not os.path.exists(word):  # noqa: PTH110
            raise ConfigurationError(f"no such file: {word} (to use it as a text: --text {word})")
    return text, list(words)


def typed_source(arguments: Namespace, name: str) -> list[Any]:
    """The input of a command: its files, the text that was typed, or standard input."""
    if arguments.text is None:
        return arguments.files or ["-"]
    if not arguments.text.strip():
        raise DataError(f"{name} is empty", expected="words", got=repr(arguments.text))
    return [io.BytesIO(arguments.text.encode("utf8", "surrogateescape"))]


def is_text(word: str) -> bool:
    """Whether a word of the command line is a text: it contains a space, and is neither a file nor the name of one.

    Text without spaces, such as Chinese, is one as well. A missing file whose folder has a name with a space is a
    mistake in a path, not a sentence.
    """
    folder = os.path.dirname(word)  # noqa: PTH120  # a text may be too long for a path
    in_a_folder = any(map(str.isspace, folder)) and os.path.isdir(folder)  # noqa: PTH112
    has_space = any(map(str.isspace, word)) or is_unspaced(word)
    return has_space and not in_a_folder and not os.path.exists(word)  # noqa: PTH110


def names_model(word: str, missing: str = "no such model or input file") -> bool:
    """Whether the first word of a command names a model; an error, ``missing``, if it is nothing that exists."""
    # A name that ends in .postil is one: opening the file tells what is wrong.
    if is_model_file(word) or word.endswith(".postil") or (is_name(word) and installed_path(word) is not None):
        return True
    if word == "-" or is_text(word) or any(sign in word for sign in "*?[:") or os.path.exists(word):  # noqa: PTH110
        return False
    raise ConfigurationError(missing, got=misspelt(word))


def open_model(name: str, *, for_training: bool = False) -> Estimator:
    """The model of that path or name. Without labels it prints a warning, unless it is ``for_training``."""
    path = located(name)
    if path.is_dir():
        raise ConfigurationError("model", expected="a model file", got="a folder", where=name)
    if not path.exists():
        raise ConfigurationError("no such model file", got=misspelt(name))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnicodeVersionWarning)
        model: Estimator = load(path)
    for warning in caught:
        note(str(warning.message))
    if not for_training and is_encoder(model.model):
        note(f"{name} has no labels yet: it was pretrained on raw text only (train --pretrained {name} trains a model)")
    return model


def model_and_task(word: str) -> tuple[str, str | None]:
    """``MODEL`` or ``MODEL:TASK`` taken apart; a file whose name has a colon is a model."""
    model, colon, task = word.rpartition(":")
    return (model, task) if colon and not os.path.exists(word) else (word, None)  # noqa: PTH110


def ruled_model(arguments: Namespace) -> tuple[Any, str | None]:
    """The model with the rules that are asked for, and its path; None if these rules are not those in its file."""
    model: Any = open_model(arguments.model)
    if arguments.rules is None and not arguments.no_rules:
        return model, arguments.model
    if arguments.rules is not None and arguments.no_rules:
        arguments.usage_error("--rules and --no-rules exclude each other")
    if not hasattr(model, "with_rules"):
        raise ConfigurationError("--rules", expected="needs a tagger", got=f"a {model.KIND}")
    task = {"task": arguments.task[0]} if len(arguments.task) == 1 and model.KIND == "multi-task-tagger" else {}
    model = model.with_rules(arguments.rules, **task)
    if arguments.threads > 1:
        to_bytes(model)  # which worker processes get: an error for rules that cannot be sent to them
    return model, None


def role_labeller(model: Any, tasks: Sequence[str]) -> "RoleLabeller | None":
    """The model of semantic roles: the model itself, or the one inside that ``--task roles`` asks for."""
    if model.KIND != "role-labeller":
        inside = chosen(model, tasks) if tasks and model.KIND == "multi-task-tagger" else model
        return inside if inside.KIND == "role-labeller" else None
    if tasks:
        raise ConfigurationError("--task cannot be used here: the model labels semantic roles and has no other task")
    labeller: RoleLabeller = model
    return labeller


def tagger_of_names(model: Any) -> "Tagger | None":
    """A tagger of spans: the model, or the first such task of several; None if there is none."""
    heads = model.by_task().values()
    return next((head for head in heads if head.KIND == "tagger" and head.model.codec.has_spans), None)


def one_task(model: Estimator, task: str | None, *, needed: bool = True) -> Any:
    """The tagger of the task that --task names; the model itself if it has only one.

    Without --task, several tasks are an error if one is ``needed``; otherwise the result is the first with
    spans, whose entities are those of documents.
    """
    if model.KIND == "role-labeller":
        raise ConfigurationError("model", expected="a tagger", got="one of semantic roles")
    heads = model.by_task(None if task is None else [task])
    if len(heads) == 1:
        (head,) = heads.values()
        return head if head.KIND != "role-labeller" else one_task(head, None)
    if needed:
        raise ConfigurationError(f"the model has several tasks: choose one with --task {' or '.join(heads)}")
    return tagger_of_names(model) or next(iter(heads.values()))


def one_tagger(
    model: Estimator,
    task: str | None,
    what: str = "model",
    expected: str = "must be a tagger",
    *,
    where: str | None = None,
    needed: bool = True,
) -> "Tagger":
    """``one_task``, which must be a tagger; the error says that ``what`` was ``expected``."""
    tagger = one_task(model, task, needed=needed)
    if tagger.KIND != "tagger":
        raise ConfigurationError(what, expected=expected, got=f"a {tagger.KIND}", where=where)
    return tagger  # type: ignore[no-any-return]


def inputs_of(file: "LabelledFile") -> list[list[Token]]:
    """The sentences of a file as a tagger or detector takes them."""
    return [tokens_of(sentence) for sentence in file.sentences]


def checked_scheme(file: "LabelledFile", codec: LabelCodec) -> str:
    """The scheme of a file's labels, to be compared with a model's: either both encode spans or neither does."""
    if not codec.has_spans:  # if the model has none of the labels, this is the wrong file or the wrong column
        labels = dict.fromkeys(label for sentence in file.labels for label in sentence)
        if not any(isinstance(label, PartialLabel) for label in labels) and labels.keys().isdisjoint(codec.answers):
            known, got = listed(codec.answers), listed(labels)
            note(f"{file.path}: the model has none of these labels: {got} (it has {known}); wrong --label-column?")
        return "none"
    scheme = recognise(file.labels)
    if scheme == "none":
        raise DataError(
            "these labels have no scheme",
            expected=f"spans such as B-{codec.classes[0] if codec.classes else 'PER'}, as in training",
            got=repr(next(label for labels in file.labels for label in labels)),
            where=file.where(0, 0),
        )
    return scheme


def listed(names: Iterable[str], most: int = 20) -> str:
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} others" if len(names) > most else "")


def warn_of_long_sentences(model: Estimator, lengths: Iterable[int]) -> None:
    """Warn once, with their number, of sentences that a model of the sentence approach sees in pieces."""
    longest = ENCODERS[model.config.encoder].longest_view if isinstance(model.config, TaggerConfig) else None
    if longest is not None and (number := sum(length > longest for length in lengths)):
        note(f"{number:,} sentences of more than {longest:,} words are split: a word sees only its own piece")
