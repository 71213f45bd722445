"""``postil train --unlabelled``: raw text is sampled, and teachers are opened or trained first.

Most sentences of most raw text have nothing in them that is to be found: diseases, say, in Wikipedia. So more is drawn
than is learned, and half of what is learned are sentences in which the teachers find entities.
"""

import argparse
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, final

from postil.commands.fitting import Display, follow, stop_on_request
from postil.commands.models import names_model, open_model
from postil.commands.notices import note
from postil.commands.parser import CommandOption, option
from postil.commands.reading import is_raw_text, rules_for_file
from postil.errors import ConfigurationError, DataError
from postil.models import MultiTaskTagger, Tagger, TaggerConfig
from postil.models.config import ARCHITECTURE
from postil.models.decoding.codec import OUTSIDE, LabelCodec
from postil.models.fitting.fitting import TrainingDisplay
from postil.models.fitting.training_set import check_student
from postil.models.sentence_estimator import SentenceEstimator
from postil.text import FORMATS, Segmenter, Sentence, read
from postil.text.languages import rules_for
from postil.text.splitting.segmenter import CHARACTERS, are_characters
from postil.threads import training_threads

MOST_TOKENS = 400_000
"""Of raw text, unless --unlabelled-tokens says otherwise: about as much as a student learns from in a minute or two."""
DRAWN = 16
"""Times the tokens that teachers label are drawn, for encoders to read and for the teachers to choose from."""
BLOCK = 2_000  # sentences that teachers label at once
ROUND = "round"
"""How the tagger of a finished round of --rules is called, with its number, until the last one is complete."""
PRESET, MEMBERS = "accurate", 6
"""The teacher that is trained if none is given: twice as many networks as the preset has."""


THREADS = option(
    "--threads N",
    "number of cores to use; does not change the result (default: all, at most 4)",
    default=training_threads(),
)


def tokens_option(most: int) -> CommandOption:
    return option(f"--unlabelled-tokens N={most:,}", "how much of the raw text to use, sampled by sentences", least=1)


OPTIONS = [
    option(
        "--unlabelled TEXT …",
        "raw text for self-training: a teacher labels it, and the model learns from both (repeatable)",
    ),
    tokens_option(MOST_TOKENS),
    option(
        "--teacher MODEL …",
        "a tagger that labels the raw text (repeatable; default: an ensemble trained first on TRAIN); with --task, "
        "NAME=MODEL or a multi-task model",
        needs="raw text to label: add --unlabelled TEXT",
    ),
    option(
        "--pretrain",
        "--unlabelled: first learn words and encoder from the raw text, as `postil pretrain --encoder` does "
        "(default: yes, unless there is something else to start from)",
        action=argparse.BooleanOptionalAction,
        needs="raw text to learn from: add --unlabelled TEXT",
    ),
]


def raw_sentences(arguments: argparse.Namespace, segmenter: Segmenter | None = None, times: int = 1) -> list[list[str]]:
    """A sample of the raw text's sentences, the same for the same seed; ``times`` the tokens that are to be learned."""
    tokens, encoding = times * arguments.unlabelled_tokens, arguments.encoding
    return sampled_sentences(arguments.unlabelled, tokens, seed=arguments.seed, encoding=encoding, segmenter=segmenter)


def named_segmenter(name: str, seed: int, threads: int) -> Segmenter:
    """The segmenter of a model, or one that is learned from a treebank."""
    if names_model(name):
        return open_model(name).model.segmenter
    with read(name, features=()) as reading:
        sentences, kind = list(reading), reading.format
    if kind == "text" or all(map(is_raw_text, sentences)):  # whose tokens come from our own rules
        expected = "a treebank, or other columns with their raw text (# text)"
        raise DataError("nothing to learn segmentation from", expected=expected, got=FORMATS[kind].title, where=name)
    return learned_segmenter(sentences, seed, threads)


def learned_segmenter(sentences: Sequence[Sentence], seed: int, threads: int) -> Segmenter:
    from postil.models.segmentation import SegmenterFitting

    fitting = SegmenterFitting(sentences, seed=seed, threads=threads)
    note(f"segmentation: learning to split raw text from {fitting.sentences:,} sentences")
    for one in fitting.fittings:
        with stop_on_request() as stop, TrainingDisplay(one) as display:
            for event in one:
                display.show(event)
                if stop.by is not None:
                    raise KeyboardInterrupt
    return fitting.segmenter()


def segmenter_of(student: Any, X: Sequence[Sequence[Any]]) -> Segmenter:
    """The segmenter that a model will have when it is trained on these sentences."""
    chosen: Segmenter | None = student.segmenter
    if chosen is not None:
        return chosen
    tokens = [[token if isinstance(token, str) else token.text for token in sentence] for sentence in X]
    return CHARACTERS if are_characters(iter(tokens)) else rules_for(Counter(chain.from_iterable(tokens)))


def sentences_to_learn(drawn: Sequence[list[str]], teachers: Sequence[Tagger], tokens: int) -> list[list[str]]:
    """Sentences with this number of tokens: half of them have entities, as far as the teachers find any."""
    if any(teacher.model.codec.outside is None for teacher in teachers):
        return first_sentences(drawn, tokens)
    telling: list[list[str]] = []
    others: list[list[str]] = []
    missing, seen = tokens // 2, 0
    while missing > 0 and seen < len(drawn):
        block = drawn[seen : seen + BLOCK]
        answers = [teacher.predict(block) for teacher in teachers]
        for sentence, *labelled in zip(block, *answers, strict=True):
            if missing > 0 and any(label != OUTSIDE for labels in labelled for label in labels):
                telling.append(sentence)
                missing -= len(sentence)
            else:
                others.append(sentence)
        seen += BLOCK
    others += drawn[seen:]
    others = first_sentences(others, tokens - sum(map(len, telling)))
    note(f"to learn from: {len(telling):,} sentences in which the teacher finds entities, and {len(others):,} others")
    return telling + others


def lesson(arguments: argparse.Namespace, student: SentenceEstimator, data: Any) -> dict[str, Any]:
    """Raw text and its teachers, if there is any, and an encoder that has read it.

    Without --teacher one is trained first.
    """
    if not arguments.unlabelled:
        return {}
    if not isinstance(student, Tagger):
        raise ConfigurationError("--unlabelled cannot be used here: only taggers learn from teachers")
    has_encoders = are_wanted(
        arguments, student.pretrained, data[0]
    )  # before the raw text, which may take minutes to read
    teachers = given_teachers(arguments)
    check_student(student, teachers if not arguments.warm_start else (), LabelCodec.of(data[1]).labels)
    drawn = raw_sentences(arguments, segmenter_of(student, data[0]), times=DRAWN)
    encoders = Encoders(arguments, drawn) if has_encoders else None
    start = {"warm_start": encoders.of(student)} if encoders is not None else {}
    if not teachers:
        teacher = new_teacher(student)
        known = None if encoders is None else encoders.of(teacher)
        note(f"training the teacher: {MEMBERS} networks {teacher.preset}")
        fitting_of = partial(teacher.fitting, *data, warm_start=known, partial=arguments.partial)
        teachers = [_stage(arguments, teacher, beside(arguments, "teacher"), fitting_of)]
    unlabelled = sentences_to_learn(drawn, teachers, arguments.unlabelled_tokens)
    return start | {"unlabelled": unlabelled, "teachers": teachers}


def task_lesson(arguments: argparse.Namespace, tasks: Sequence[str], segmenter: Segmenter) -> dict[str, Any]:
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
    return {"unlabelled": raw_sentences(arguments, segmenter), "teachers": teachers}


def _teachers_of_tasks(word: str, tasks: Sequence[str]) -> dict[str, Tagger]:
    """Parse one --teacher: NAME=MODEL, or a multi-task model."""
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


def _stage(arguments: argparse.Namespace, model: Tagger, path: Path, fitting_of: Callable[..., Any]) -> Tagger:
    """Train a model that a later stage needs, and keep it at ``path`` until the student is complete."""
    checkpoint = path.with_name(f"{path.name}.checkpoint")
    fitting = fitting_of(checkpoint=checkpoint, resume=arguments.resume and checkpoint.exists())
    if code := follow(fitting, Display(fitting, arguments.log)):
        raise SystemExit(code)
    model.save(path)
    checkpoint.unlink(missing_ok=True)
    return model


def beside(arguments: argparse.Namespace, name: str) -> Path:
    """Where the teacher, an encoder or the tagger of a round is kept."""
    output: Path = arguments.output
    return output.with_name(f"{output.name}.{name}")


def given_teachers(arguments: argparse.Namespace) -> list[Tagger]:
    teachers = [open_model(name) for name in arguments.teacher]
    if arguments.resume and not teachers and beside(arguments, "teacher").exists():
        teachers = [open_model(str(beside(arguments, "teacher")))]
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


# ------------------------------------------------------------------------------------------------ raw text


T = TypeVar("T")
LENGTHS = range(3, 81)
"""Sentences of other lengths are mostly headings and lists."""


def sampled_sentences(
    paths: Sequence[str | Path],
    tokens: int,
    *,
    seed: int,
    encoding: str | None = None,
    segmenter: Segmenter | None = None,
) -> list[list[str]]:
    """Sentences with at least this number of tokens, drawn at random from all files; the same for the same seed.

    ``segmenter``: what splits raw text (default: rules for its language).
    """
    rng = random.Random(seed)
    segmenter = segmenter or rules_for_file(paths[0], encoding=encoding)
    # Enough sentences for the tokens even if all are short; a sample of a stream of any length.
    sample = _reservoir(_sentences(paths, encoding, segmenter), max(1, tokens // LENGTHS.start), rng)
    rng.shuffle(sample)
    one_of: dict[str, str] = {}  # a word is kept once, however often it occurs
    split = ([one_of.setdefault(word, word) for word in sentence.split("\n")] for sentence in sample)
    drawn = first_sentences(split, tokens)
    if not drawn:
        names = ", ".join(map(str, paths))
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


def _sentences(paths: Sequence[str | Path], encoding: str | None, segmenter: Segmenter) -> Iterator[str]:
    """Sentences as text, one token per line: a large sample of lists of tokens would need several times the memory."""
    for path in paths:
        for sentence in read(path, encoding=encoding, segmenter=segmenter):
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


# ------------------------------------------------------------------------------------------------ encoders


def are_wanted(arguments: argparse.Namespace, pretrained: Any, X: Sequence[Sequence[Any]]) -> bool:
    """Whether networks are to learn from the raw text first. It has no extra columns, so neither may the data."""
    starts = {"--pretrained": pretrained, "--warm-start": arguments.warm_start}
    others = [name for name, start in starts.items() if start]
    if arguments.pretrain and others:
        raise ConfigurationError("--pretrain", expected=f"must not be given with {others[0]}, which is a start already")
    has_columns = any(not isinstance(token, str) for tokens in X for token in tokens[:1])
    if arguments.pretrain and has_columns:
        raise ConfigurationError("--pretrain", expected="needs data without extra columns: raw text has none")
    return arguments.pretrain is not False and not others and not has_columns


@final
class Encoders:
    """Those of a training run, by preset; each is learned when it is first asked for."""

    def __init__(self, arguments: argparse.Namespace, sentences: Sequence[list[str]]) -> None:
        self._arguments, self._sentences = arguments, sentences
        self._learnt: dict[TaggerConfig, Tagger] = {}

    def of(self, tagger: Tagger) -> Tagger:
        """One that this tagger can start from."""
        encoder = new_encoder(tagger)
        config = encoder.config
        if config not in self._learnt:
            self._learnt[config] = self._trained(encoder, beside(self._arguments, f"encoder{len(self._learnt)}"))
        return self._learnt[config]

    def _trained(self, encoder: Tagger, path: Path) -> Tagger:
        if self._arguments.resume and path.exists():
            return open_model(str(path), for_training=True)  # type: ignore[return-value]
        note(f"learning words and encoder from the raw text: {encoder.config.ensemble} × {encoder.preset}")
        return _stage(self._arguments, encoder, path, partial(encoder.pretraining, self._sentences))


def new_encoder(tagger: Tagger) -> Tagger:
    """A tagger with the same words and encoder, and with the preset's number of networks."""
    knowledge = {name: getattr(tagger, name) for name in ("vectors", "clusters", "gazetteers")}
    settings = {name: value for name, value in tagger.settings.items() if name in _TAKEN_OVER}
    return Tagger(preset=tagger.preset, seed=tagger.seed, threads=tagger.threads, **knowledge, **settings)


_TAKEN_OVER = {*ARCHITECTURE, "vector_clusters", "vector_scale"} - {"ensemble"}
