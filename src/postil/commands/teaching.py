"""``postil train --unlabelled``: raw text is sampled, and teachers are opened or trained first.

Most sentences of most raw text have nothing in them that is to be found: diseases, say, in Wikipedia. So more is drawn
than is learnt, and half of what is learnt are sentences in which the teachers find entities.
"""

import argparse
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from postil.commands.models import open_model
from postil.commands.stopping import interrupted, stop_on_request
from postil.commands.terminal.notices import note
from postil.errors import ConfigurationError, DataError
from postil.models.answers.labelling import OUTSIDE
from postil.models.multi_task_tagger import MultiTaskTagger
from postil.models.sentence_estimator import SentenceEstimator
from postil.models.tagger import Tagger
from postil.text import read

T = TypeVar("T")
MOST_TOKENS = 400_000
"""Of raw text, unless --unlabelled-tokens says otherwise: about as much as a student learns from in a minute or two."""
LENGTHS = range(3, 81)
"""Sentences of other lengths are mostly headings and lists."""
DRAWN = 8
"""So many times the tokens that are learnt are drawn, for the teachers to choose from."""
BLOCK = 2_000  # sentences that teachers label at once
PRESET, MEMBERS = "accurate", 6
"""The teacher that is trained where none is given: twice as many networks as the preset has."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--unlabelled",
        metavar="TEXT",
        action="append",
        default=[],
        help="raw text for self-training: a teacher labels it, and the model learns from both (repeatable)",
    )
    parser.add_argument(
        "--unlabelled-tokens",
        metavar="N",
        type=int,
        default=MOST_TOKENS,
        help=f"how much of the raw text to use, sampled by sentences (default: {MOST_TOKENS:,})",
    )
    parser.add_argument(
        "--teacher",
        metavar="MODEL",
        action="append",
        default=[],
        help="a tagger that labels the raw text (repeatable; default: an ensemble trained first on TRAIN). With --task "
        "NAME=MODEL, or a model of several tasks for all that it shares",
    )


def check_arguments(arguments: argparse.Namespace) -> None:
    if arguments.teacher and not arguments.unlabelled:
        raise ConfigurationError("--teacher needs raw text to label: add --unlabelled TEXT")
    if arguments.unlabelled_tokens < 1:
        raise ConfigurationError("--unlabelled-tokens", expected="must be at least 1", got=arguments.unlabelled_tokens)


def raw_sentences(arguments: argparse.Namespace, times: int = 1) -> list[list[str]]:
    """A sample of the raw text's sentences, the same for the same seed; ``times`` the tokens that are to be learnt."""
    rng, tokens = random.Random(arguments.seed), times * arguments.unlabelled_tokens
    # Enough sentences for the tokens even if all are short; a sample of a stream of any length.
    sample = _reservoir(_sentences(arguments), max(1, tokens // LENGTHS.start), rng)
    rng.shuffle(sample)
    drawn = first_sentences((sentence.split("\n") for sentence in sample), tokens)
    if not drawn:
        names = ", ".join(arguments.unlabelled)
        raise DataError("no sentences in the raw text", expected=f"{LENGTHS.start} words or more", where=names)
    note(f"{len(drawn):,} sentences of raw text, {sum(map(len, drawn)):,} tokens")
    return drawn


def first_sentences(sentences: Iterable[list[str]], tokens: int) -> list[list[str]]:
    """The first sentences, until they have at least this many tokens together."""
    chosen, total = [], 0
    for sentence in sentences:
        if total >= tokens:
            break
        chosen.append(sentence)
        total += len(sentence)
    return chosen


def sentences_to_learn(drawn: Sequence[list[str]], teachers: Sequence[Tagger], tokens: int) -> list[list[str]]:
    """Sentences with this number of tokens: half of them have entities, as far as the teachers find any."""
    if any(teacher.labelling.outside is None for teacher in teachers):
        return first_sentences(drawn, tokens)
    telling: list[list[str]] = []
    others: list[list[str]] = []
    missing, seen = tokens // 2, 0
    while missing > 0 and seen < len(drawn):
        block = drawn[seen : seen + BLOCK]
        for sentence, has_entities in zip(block, _have_entities(block, teachers), strict=True):
            if has_entities and missing > 0:
                telling.append(sentence)
                missing -= len(sentence)
            else:
                others.append(sentence)
        seen += BLOCK
    others += drawn[seen:]
    others = first_sentences(others, tokens - sum(map(len, telling)))
    note(f"to learn from: {len(telling):,} sentences in which the teacher finds entities, and {len(others):,} others")
    return telling + others


def _have_entities(sentences: Sequence[list[str]], teachers: Sequence[Tagger]) -> list[bool]:
    found = [False] * len(sentences)
    for teacher in teachers:
        for i, labels in enumerate(teacher.predict(sentences)):
            found[i] = found[i] or any(label != OUTSIDE for label in labels)
    return found


def _sentences(arguments: argparse.Namespace) -> Iterator[str]:
    """Sentences as text, one token per line: a large sample of lists of tokens would need several times the memory."""
    for path in arguments.unlabelled:
        for sentence in read(path, format="text", encoding=arguments.encoding):
            if len(sentence.tokens) in LENGTHS:
                yield "\n".join(token if isinstance(token, str) else token.text for token in sentence.tokens)


def _reservoir(items: Iterable[T], size: int, rng: random.Random) -> list[T]:
    """A uniform sample of a stream."""
    kept: list[T] = []
    for seen, item in enumerate(items):
        if len(kept) < size:
            kept.append(item)
        elif (place := rng.randrange(seen + 1)) < size:
            kept[place] = item
    return kept


def lesson(arguments: argparse.Namespace, student: SentenceEstimator[Any, Any], data: Any) -> dict[str, Any]:
    """Raw text and its teachers, where there is any; without --teacher one is trained first."""
    if not arguments.unlabelled:
        return {}
    if not isinstance(student, Tagger):
        raise ConfigurationError("--unlabelled cannot be used here: only taggers learn from teachers")
    drawn = raw_sentences(arguments, times=DRAWN)
    teachers = given_teachers(arguments) or [_trained_teacher(arguments, student, data)]
    return {"unlabelled": sentences_to_learn(drawn, teachers, arguments.unlabelled_tokens), "teachers": teachers}


def task_lesson(arguments: argparse.Namespace, tasks: Sequence[str]) -> dict[str, Any]:
    """Raw text, and the teachers of each task that has some."""
    if not arguments.unlabelled:
        return {}
    teachers: dict[str, list[Tagger]] = {}
    for word in arguments.teacher:
        for task, teacher in _teachers_of_tasks(word, tasks).items():
            teachers.setdefault(task, []).append(teacher)
    if not teachers:
        expected = f"--teacher {tasks[0]}=MODEL, or a model of several tasks"
        raise ConfigurationError("--unlabelled with several tasks", expected=expected, got="no --teacher")
    return {"unlabelled": raw_sentences(arguments), "teachers": teachers}


def _teachers_of_tasks(word: str, tasks: Sequence[str]) -> dict[str, Tagger]:
    """What one --teacher says: NAME=MODEL, or a model of several tasks."""
    task, equals, name = word.partition("=")
    if equals and task in tasks:
        model = open_model(name)
        if isinstance(model, MultiTaskTagger):
            model = model[task]
        if not isinstance(model, Tagger):
            raise ConfigurationError("--teacher", expected="a tagger", got=f"a {model.KIND}", where=name)
        return {task: model}
    model = open_model(word)
    shared = [task for task in model.tasks if task in tasks] if isinstance(model, MultiTaskTagger) else []
    if not shared:
        expected = f"must be NAME=MODEL with a task ({', '.join(tasks)}), or a model that has such a task"
        raise ConfigurationError("--teacher", expected=expected, got=repr(word))
    assert isinstance(model, MultiTaskTagger)
    return {task: model[task] for task in shared}


def _trained_teacher(arguments: argparse.Namespace, student: Tagger, data: Any) -> Tagger:
    from postil.commands.terminal.training import Display

    teacher, checkpoint = new_teacher(student), teacher_path(arguments, ".checkpoint")
    resume = arguments.resume and checkpoint.exists()
    note(f"training the teacher: {MEMBERS} networks {PRESET}")
    fitting = teacher.fitting(*data, checkpoint=checkpoint, resume=resume, partial=arguments.partial)
    with stop_on_request() as stop, Display(fitting, arguments.log) as display:
        for event in fitting:
            display.show(event)
            if stop.by is not None:
                raise SystemExit(interrupted(fitting, stop.by))
    teacher.save(teacher_path(arguments))
    checkpoint.unlink(missing_ok=True)
    return teacher


def teacher_path(arguments: argparse.Namespace, suffix: str = "") -> Path:
    """Where a trained teacher is kept until its student is complete."""
    output: Path = arguments.output
    return output.with_name(f"{output.name}.teacher{suffix}")


def given_teachers(arguments: argparse.Namespace) -> list[Tagger]:
    teachers = [open_model(name) for name in arguments.teacher]
    if arguments.resume and not teachers and teacher_path(arguments).exists():
        teachers = [open_model(str(teacher_path(arguments)))]
    for teacher in teachers:
        if not isinstance(teacher, Tagger):
            raise ConfigurationError("--teacher", expected="a tagger", got=f"a {teacher.KIND}")
    return teachers  # type: ignore[return-value]


def new_teacher(student: Any) -> Tagger:
    """A teacher with the knowledge that the student has: the same vectors, clusters and gazetteers."""
    shared = ("vectors", "clusters", "gazetteers", "pretrained", "seed", "threads")
    return Tagger(preset=PRESET, ensemble=MEMBERS, **{name: getattr(student, name) for name in shared})
