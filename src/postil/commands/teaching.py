"""``postil train --unlabelled``: raw text is sampled, and teachers are opened or trained first.

Most sentences of most raw text have nothing in them that is to be found: diseases, say, in Wikipedia. So more is drawn
than is learned, and half of what is learned are sentences in which the teachers find entities.
"""

import argparse
import random
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from postil.commands.fitting import Display, follow
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
    option("--unlabelled TEXT …", "raw text for self-training: a teacher labels it, and the model learns from both"),
    tokens_option(MOST_TOKENS),
    option(
        "--teacher MODEL …",
        "a tagger that labels the raw text (default: an ensemble trained first on TRAIN); with --task, "
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


def raw_sentences(arguments: Namespace, segmenter: Segmenter | None = None, times: int = 1) -> list[list[str]]:
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
        follow(one, TrainingDisplay(one))
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
    others = first_sentences([*others, *drawn[seen:]], tokens - sum(map(len, telling)))
    note(f"to learn from: {len(telling):,} sentences in which the teacher finds entities, and {len(others):,} others")
    return telling + others


def lesson(arguments: Namespace, student: SentenceEstimator, data: Any) -> dict[str, Any]:
    """Raw text, its teachers, of which one is trained if none is given, and an encoder that has read it."""
    if not arguments.unlabelled:
        return {}
    if not isinstance(student, Tagger):
        raise ConfigurationError("--unlabelled cannot be used here: only taggers learn from teachers")
    # Before the raw text, which may take minutes to read:
    has_encoders = are_wanted(arguments, student.pretrained, data[0])
    kept = beside(arguments, "teacher")
    names = arguments.teacher or ([str(kept)] if arguments.resume and kept.exists() else [])
    teachers = [_opened_teacher(name) for name in names]
    check_student(student, teachers if not arguments.warm_start else (), LabelCodec.of(data[1]).labels)
    drawn = raw_sentences(arguments, segmenter_of(student, data[0]), times=DRAWN)
    learned: dict[TaggerConfig, Tagger] = {}

    def encoder_of(tagger: Tagger) -> Tagger:
        """An encoder that this tagger can start from; one of each configuration is learned."""
        encoder, path = new_encoder(tagger), beside(arguments, f"encoder{len(learned)}")
        config = encoder.config
        if config in learned:
            return learned[config]
        if arguments.resume and path.exists():
            trained: Any = open_model(str(path), for_training=True)
        else:
            note(f"learning words and encoder from the raw text: {encoder.config.ensemble} × {encoder.preset}")
            trained = _stage(arguments, encoder, path, partial(encoder.pretraining, drawn))
        learned[config] = trained
        return learned[config]

    start = {"warm_start": encoder_of(student)} if has_encoders else {}
    if not teachers:
        teacher = new_teacher(student)
        known = encoder_of(teacher) if has_encoders else None
        note(f"training the teacher: {MEMBERS} networks {teacher.preset}")
        fitting_of = partial(teacher.fitting, *data, warm_start=known, partial=arguments.partial)
        teachers = [_stage(arguments, teacher, kept, fitting_of)]
    unlabelled = sentences_to_learn(drawn, teachers, arguments.unlabelled_tokens)
    return start | {"unlabelled": unlabelled, "teachers": teachers}


def task_lesson(arguments: Namespace, tasks: Sequence[str], segmenter: Segmenter) -> dict[str, Any]:
    """Raw text, and the teachers of each task that has some: from NAME=MODEL, or of a multi-task model."""
    if not arguments.unlabelled:
        return {}
    if arguments.pretrain:
        raise ConfigurationError("--pretrain cannot be used with several tasks: use --pretrained FILE instead")
    teachers: dict[str, list[Tagger]] = {}
    for word in arguments.teacher:
        task, equals, name = word.partition("=")
        if equals and task in tasks:
            teachers.setdefault(task, []).append(_opened_teacher(name, task))
            continue
        model: Any = open_model(word)
        shared = [task for task in model.tasks if task in tasks] if isinstance(model, MultiTaskTagger) else []
        if not shared:
            expected = f"must be NAME=MODEL with a task ({', '.join(tasks)}), or a model that has such a task"
            raise ConfigurationError("--teacher", expected=expected, got=repr(word))
        for task in shared:
            teachers.setdefault(task, []).append(model[task])
    if not teachers:
        expected = f"--teacher {tasks[0]}=MODEL, or a model of several tasks"
        raise ConfigurationError("--unlabelled with several tasks", expected=expected, got="no --teacher")
    return {"unlabelled": raw_sentences(arguments, segmenter), "teachers": teachers}


def _opened_teacher(name: str, task: str | None = None) -> Tagger:
    model: Any = open_model(name)
    if task is not None and isinstance(model, MultiTaskTagger):
        model = model[task]
    if not isinstance(model, Tagger):
        where = None if task is None else name
        raise ConfigurationError("--teacher", expected="a tagger", got=f"a {model.KIND}", where=where)
    return model


def _stage(arguments: Namespace, model: Tagger, path: Path, fitting_of: Callable[..., Any]) -> Tagger:
    """Train a model that a later stage needs, and keep it at ``path`` until the student is complete."""
    checkpoint = path.with_name(f"{path.name}.checkpoint")
    fitting = fitting_of(checkpoint=checkpoint, resume=arguments.resume and checkpoint.exists())
    if code := follow(fitting, Display(fitting, arguments.log)):
        raise SystemExit(code)
    model.save(path)
    checkpoint.unlink(missing_ok=True)
    return model


def beside(arguments: Namespace, name: str) -> Path:
    """Where the teacher, an encoder or the tagger of a round is kept."""
    output: Path = arguments.output
    return output.with_name(f"{output.name}.{name}")


def new_teacher(student: Any) -> Tagger:
    """A teacher with the knowledge that the student has: the same vectors, clusters and gazetteers.

    A pretrained encoder fits only networks like the student's, so then the teacher has such networks.
    """
    shared = {name: getattr(student, name) for name in (*_KNOWLEDGE, "pretrained", "seed", "threads")}
    if student.pretrained is None:
        return Tagger(preset=PRESET, ensemble=MEMBERS, **shared)
    settings = {name: value for name, value in student.settings.items() if name in ARCHITECTURE}
    return Tagger(preset=student.preset, **shared, **settings | {"ensemble": MEMBERS})


def new_encoder(tagger: Tagger) -> Tagger:
    """A tagger with the same words and encoder, and with the preset's number of networks."""
    shared = {name: getattr(tagger, name) for name in (*_KNOWLEDGE, "seed", "threads")}
    taken_over = {*ARCHITECTURE, "vector_clusters", "vector_scale"} - {"ensemble"}
    settings = {name: value for name, value in tagger.settings.items() if name in taken_over}
    return Tagger(preset=tagger.preset, **shared, **settings)


_KNOWLEDGE = ("vectors", "clusters", "gazetteers")


def are_wanted(arguments: Namespace, pretrained: Any, X: Sequence[Sequence[Any]]) -> bool:
    """Whether networks are to learn from the raw text first. It has no extra columns, so neither may the data."""
    starts = {"--pretrained": pretrained, "--warm-start": arguments.warm_start}
    others = [name for name, start in starts.items() if start]
    if arguments.pretrain and others:
        raise ConfigurationError("--pretrain", expected=f"must not be given with {others[0]}, which is a start already")
    has_columns = any(not isinstance(token, str) for tokens in X for token in tokens[:1])
    if arguments.pretrain and has_columns:
        raise ConfigurationError("--pretrain", expected="needs data without extra columns: raw text has none")
    return arguments.pretrain is not False and not others and not has_columns


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
    """Sentences with at least this number of tokens, drawn at random from all files; the same for the same seed."""
    rng = random.Random(seed)
    segmenter = segmenter or rules_for_file(paths[0], encoding=encoding)
    # Enough sentences for the tokens even if all are short; a sample of a stream of any length.
    # As text, one token per line: a large sample of lists of tokens would need several times the memory.
    texts = (
        "\n".join(token if isinstance(token, str) else token.text for token in sentence.tokens)
        for path in paths
        for sentence in read(path, encoding=encoding, segmenter=segmenter)
        if len(sentence.tokens) in LENGTHS
    )
    sample = _reservoir(texts, max(1, tokens // LENGTHS.start), rng)
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


def _reservoir(items: Iterable[T], size: int, rng: random.Random) -> list[T]:
    """A uniform sample of a stream."""
    kept: list[T] = []
    for seen, item in enumerate(items):
        if len(kept) < size:
            kept.append(item)
        elif (place := rng.randrange(seen + 1)) < size:
            kept[place] = item
    return kept
