"""``postil train --unlabelled``: raw text is sampled, and teachers are opened or trained first.

Most sentences of most raw text have nothing in them that is to be found: diseases, say, in Wikipedia. So more is drawn
than is learnt, and half of what is learnt are sentences in which the teachers find entities.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from postil.commands.options.models import open_model
from postil.commands.terminal.notices import note
from postil.commands.training.raw_encoders import Encoders, add_argument, are_wanted
from postil.commands.training.raw_text import first_sentences, sampled_sentences
from postil.commands.training.stopping import train_or_exit
from postil.errors import ConfigurationError
from postil.models.answers.labelling import OUTSIDE, Labelling
from postil.models.fitting.teaching import check_student
from postil.models.fitting.warm_start import ARCHITECTURE
from postil.models.multi_task_tagger import MultiTaskTagger
from postil.models.sentence_estimator import SentenceEstimator
from postil.models.tagger import Tagger

MOST_TOKENS = 400_000
"""Of raw text, unless --unlabelled-tokens says otherwise: about as much as a student learns from in a minute or two."""
DRAWN = 16
"""Times the tokens that teachers label are drawn, for encoders to read and for the teachers to choose from."""
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
    add_argument(parser)


def check_arguments(arguments: argparse.Namespace) -> None:
    if arguments.pretrain and not arguments.unlabelled:
        raise ConfigurationError("--pretrain needs raw text to learn from: add --unlabelled TEXT")
    if arguments.teacher and not arguments.unlabelled:
        raise ConfigurationError("--teacher needs raw text to label: add --unlabelled TEXT")
    if arguments.unlabelled_tokens < 1:
        raise ConfigurationError("--unlabelled-tokens", expected="must be at least 1", got=arguments.unlabelled_tokens)


def raw_sentences(arguments: argparse.Namespace, times: int = 1) -> list[list[str]]:
    """A sample of the raw text's sentences, the same for the same seed; ``times`` the tokens that are to be learnt."""
    tokens = times * arguments.unlabelled_tokens
    return sampled_sentences(arguments.unlabelled, tokens, seed=arguments.seed, encoding=arguments.encoding)


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


def lesson(arguments: argparse.Namespace, student: SentenceEstimator[Any, Any], data: Any) -> dict[str, Any]:
    """Raw text and its teachers, where there is any, and an encoder that has read it.

    Without --teacher one is trained first.
    """
    if not arguments.unlabelled:
        return {}
    if not isinstance(student, Tagger):
        raise ConfigurationError("--unlabelled cannot be used here: only taggers learn from teachers")
    has_encoders = are_wanted(arguments, data[0])  # before the raw text, which may take minutes to read
    teachers = given_teachers(arguments)
    check_student(student, teachers if not arguments.warm_start else (), Labelling.of(data[1]).labels)
    drawn = raw_sentences(arguments, times=DRAWN)
    encoders = Encoders(arguments, drawn) if has_encoders else None
    start = {"warm_start": encoders.of(student)} if encoders is not None else {}
    teachers = teachers or [_trained_teacher(arguments, student, data, encoders)]
    unlabelled = sentences_to_learn(drawn, teachers, arguments.unlabelled_tokens)
    return start | {"unlabelled": unlabelled, "teachers": teachers}


def task_lesson(arguments: argparse.Namespace, tasks: Sequence[str]) -> dict[str, Any]:
    """Raw text, and the teachers of each task that has some."""
    if not arguments.unlabelled:
        return {}
    if arguments.pretrain:
        raise ConfigurationError("--pretrain cannot be used with several tasks: use --pretrained FILE instead")
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


def _trained_teacher(arguments: argparse.Namespace, student: Tagger, data: Any, encoders: Encoders | None) -> Tagger:
    teacher, checkpoint = new_teacher(student), teacher_path(arguments, ".checkpoint")
    resume = arguments.resume and checkpoint.exists()
    start = None if encoders is None else encoders.of(teacher)
    note(f"training the teacher: {MEMBERS} networks {teacher.preset}")
    fitting = teacher.fitting(*data, checkpoint=checkpoint, resume=resume, warm_start=start, partial=arguments.partial)
    train_or_exit(fitting, arguments.log)
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
    """A teacher with the knowledge that the student has: the same vectors, clusters and gazetteers.

    A pretrained encoder fits only networks like the student's, so then the teacher has such networks.
    """
    shared = {name: getattr(student, name) for name in (*_KNOWLEDGE, "seed", "threads")}
    if student.pretrained is None:
        return Tagger(preset=PRESET, ensemble=MEMBERS, **shared)
    settings = {name: value for name, value in student.settings.items() if name in ARCHITECTURE}
    return Tagger(preset=student.preset, **shared, **settings | {"ensemble": MEMBERS})


_KNOWLEDGE = ("vectors", "clusters", "gazetteers", "pretrained")
