"""Semantic roles on the command line: their files, what ``tag`` writes and shows of them, and their scores."""

import json
from argparse import Namespace
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO

from postil.commands.console import say, show_table
from postil.commands.models import model_and_task, open_model
from postil.commands.output import present
from postil.commands.parser import refuse
from postil.commands.reading import reading_options
from postil.errors import ConfigurationError, DataError, PostilError
from postil.metrics.roles import RoleScores, score_roles
from postil.models.role_labeller import RoleLabeller, tagger_of_tags
from postil.models.sentences import tokens_of
from postil.models.tagger import Tagger
from postil.tagging.options import TAGGER_OPTIONS, TaggingOptions
from postil.text import FORMATS, Reading, Sentence, WriteOptions, frames_of, read
from postil.text.columns.conll import write_roles
from postil.text.document import VERB, record_of, row_of
from postil.text.labelled import LabelledFile, check_same_tokens
from postil.text.report import Report, counted

COLUMNS = "conll05"
_AT_ONCE = 256
"""Sentences that are labelled together."""


def load_roles(path: str, arguments: Namespace) -> LabelledFile:
    """Read a whole file of predicates with their roles."""
    options = {**reading_options(arguments), "features": ()}
    if options["format"] not in (None, COLUMNS):
        raise ConfigurationError("--from", expected=f"{COLUMNS} for semantic roles", got=options["format"])
    with read(path, **{**options, "format": COLUMNS}) as reading:
        try:
            sentences = list(reading)
            for sentence in sentences:
                _check_verbs(sentence, reading.name)
            return LabelledFile(reading.name, reading.format, sentences)
        except DataError as error:
            what = f"not a file of {FORMATS[COLUMNS].title}: {error.what}"
            raise DataError(what, expected=error.expected, got=error.got, where=error.where) from None


def _check_verbs(sentence: Sentence, name: str) -> None:
    """Refuse columns of roles that are in another order than their predicates."""
    for frame in frames_of(sentence) or ():
        verbs = [role.start for role in frame.roles if role.label == VERB]
        if verbs and frame.labels[frame.predicate][2:] != VERB:
            expected, got = (repr(sentence.tokens[t]) for t in (frame.predicate, verbs[0]))
            where = f"{name}, line {(sentence.line or 1) + verbs[0]}"
            raise DataError("V of a column of roles", expected=f"its predicate {expected}", got=got, where=where)


def role_examples(file: LabelledFile) -> tuple[Any, Any]:
    """The sentences of a file as a RoleLabeller takes them."""
    return list(map(tokens_of, file.sentences)), [list(frames_of(one) or ()) for one in file.sentences]


def tagger_named(word: str) -> Tagger:
    """The tagger of ``--tagger MODEL[:TASK]``."""
    name, task = model_and_task(word)
    model = open_model(name, for_training=True)
    if task is not None and model.KIND != "multi-task-tagger":
        raise ConfigurationError("--tagger", expected="MODEL without a task: it has one", got=repr(word))
    try:
        return tagger_of_tags(model, task)
    except PostilError as error:
        raise ConfigurationError(f"--tagger {word}", expected=error.expected, got=error.got) from None


# ------------------------------------------------------------------------------------------------ scores


def evaluate_roles(model: RoleLabeller, arguments: Namespace) -> int:
    """Score a model on the predicates of a file; the predicates that it finds are scored as well."""
    refuse(arguments, "it is a role labeller", "raw", "mistakes", "train", "report", "map", "partial")
    refuse(arguments, "it is a role labeller", "expected", "against", "feature_columns")
    X, gold = role_examples(load_roles(arguments.data, arguments))
    scores, found = model.evaluate(X, gold), model.evaluate(X, gold, given=False)
    content = {**scores.to_dict(), "found": found.to_dict()}
    return present(arguments, content, lambda: _show(scores, f"{arguments.model} against {arguments.data}", found))


def are_roles(arguments: Namespace) -> bool:
    """Whether GOLD is a file of roles, so that two such files are compared."""
    if arguments.source_format is not None or arguments.data in (None, "-"):
        return bool(arguments.source_format == COLUMNS)
    with read(arguments.data, encoding=arguments.encoding) as reading:
        return reading.format == COLUMNS


def compare_role_files(arguments: Namespace) -> int:
    """Score the predicates and roles of one file against those of another."""
    refuse(arguments, "it is not for semantic roles", "train", "mistakes", "report", "map", "partial", "scheme")
    gold, predicted = (load_roles(path, arguments) for path in (arguments.data, arguments.model))
    check_same_tokens(gold, predicted)
    scores = score_roles(role_examples(gold)[1], role_examples(predicted)[1], sum(map(len, gold.tokens)))
    return present(arguments, scores.to_dict(), lambda: _show(scores, f"{predicted.path} against {gold.path}"))


def _show(scores: RoleScores, title: str, found: RoleScores | None = None) -> None:
    predicates = scores.predicates
    say(title)
    sizes = [counted(scores.sentences, "sentence"), counted(scores.tokens, "token")]
    say(f"{', '.join(sizes)}, {counted(predicates.gold, 'predicate')}\n")
    say(scores.summary(), style="bold green")
    perfect = 100 * scores.perfect / predicates.gold if predicates.gold else 0.0
    say(f"predicates with all roles correct {perfect:.2f}")
    if found is None:
        say(f"predicates F1 {100 * predicates.f1:.2f}")
    else:
        say(f"predicates found: F1 {100 * found.predicates.f1:.2f}; roles of those: {found.summary()}")
    show_table(scores.table())


# ------------------------------------------------------------------------------------------------ tag


def tag_roles(
    model: RoleLabeller,
    outputs: Iterable[tuple[BinaryIO, Iterable[Reading]]],
    options: TaggingOptions,
    format: str,
    *,
    shown: bool,
) -> int:
    """Write the sentences with their predicates and roles, or show them. Predicates that the input has are kept."""
    options.refuse(*TAGGER_OPTIONS, "scores", "keep_gold", why="the model labels semantic roles")
    if format not in (COLUMNS, "jsonl"):
        raise ConfigurationError("--to", expected=f"{COLUMNS}, jsonl or html for semantic roles", got=format)
    for stream, readings in outputs:
        for reading in readings:
            for sentences in labelled(model, reading):
                if shown:  # each sentence, and a row for each of its predicates
                    for sentence in sentences:
                        say(row_of(sentence), style="bold")
                        for frame in frames_of(sentence) or ():
                            say(f"  {row_of(sentence, frame)}")
                elif format == COLUMNS:
                    stream.write("".join(write_roles(sentences, WriteOptions(), Report())).encode())
                else:
                    for one in sentences:
                        record = record_of(one.tokens, frames_of(one) or (), options.probabilities)
                        line = json.dumps(record, ensure_ascii=False) + "\n"
                        stream.write(line.encode("utf8", "backslashreplace"))
    return 0


def labelled(model: RoleLabeller, reading: Reading) -> Iterator[list[Sentence]]:
    """The sentences of an input with their predicates and roles, some at a time."""
    sentences = (sentence for sentence in reading if len(sentence))
    while block := list(islice(sentences, _AT_ONCE)):
        model.annotate(block, given=reading.format == COLUMNS)
        yield block
