"""Labelled files of a command: read as a whole, with warnings about what was changed or is unknown in them."""

import argparse
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from postil.commands.models import checked_scheme, inputs_of
from postil.commands.notices import show_problems, warn
from postil.commands.parser import SEED, SETTINGS, Options, option
from postil.commands.reading import (
    PARTIAL,
    column_argument,
    reading_arguments,
    reading_options,
    rules_for_file,
    warn_of_unspaced,
)
from postil.errors import ConfigurationError, DataError
from postil.evaluation import documents_of
from postil.models.config import PRESETS, parsed_setting
from postil.models.decoding.codec import LabelCodec, Target, checked_tasks
from postil.models.networks.network import MAIN
from postil.models.tagger import Tagger
from postil.quality import Split
from postil.text.document import OUTSIDE
from postil.text.formats import FORMATS, read
from postil.text.labelled import LabelledFile
from postil.text.labels.groups import Annotation, Groups, by_group, checked_groups, found_groups
from postil.text.labels.partial import annotated_classes, count_marks, is_partial, is_unknown, parse_classes, with_marks
from postil.text.labels.schemes import UNKNOWN, complaint, convert, inspect, looks_like_mark, recognise
from postil.text.splitting.segmenter import ENGLISH


def load(path: str, **options: Any) -> LabelledFile:
    """Read a whole file with labels. Changed and dropped content is reported on standard error."""
    segmenter = options.get("segmenter", ENGLISH)
    if segmenter.characters and options.get("format") == "text":  # of a labelled file, characters are only tokens
        options["format"] = None
    with read(path, **{"features": (), **options}) as reading:
        no_labels = partial(
            DataError, "no labels", expected="a label for every token", got=FORMATS[reading.format].title
        )
        if reading.format == "conll05":
            raise no_labels(where=f"{reading.name} (postil train --roles learns them)")
        if reading.format in ("text", "tokens"):  # told before a large text is read
            raise no_labels(where=f"{reading.name}, line 1")
        warn_of_unspaced(reading, segmenter)
        try:
            file = LabelledFile(reading.name, reading.format, list(reading))
        finally:
            show_problems(reading.report.problems)
            for what, counts in (("changed", reading.report.changed), ("dropped", reading.report.dropped)):
                for thing, number in counts.items():
                    if number:
                        warn(f"{reading.name}: {what}: {thing}: {number:,}")
    for number, sentence in enumerate(file.sentences):
        if sentence.labels is None and sentence.spans is None:
            raise no_labels(where=file.where(number, 0))
    return file


def check_not_empty(file: LabelledFile) -> None:
    if not any(file.tokens):
        raise DataError("no sentences", expected="at least one token with its label", where=file.path)


def resolve_partial_labels(
    files: Sequence[LabelledFile], partial: bool | None = None, known: Iterable[str] = ()
) -> None:
    """Recognise ``?`` and ``A|B`` in the labels of files that belong to one corpus, and print how many there are.

    ``known`` are labels, of a model for example, that stand for themselves.
    """
    sentences = [sentence for file in files for sentence in file.sentences]
    given, tokens = [sentence.labels or [] for sentence in sentences], [sentence.tokens for sentence in sentences]
    resolved = with_marks(given, tokens, partial=partial, known=known)
    for sentence, labels in zip(sentences, resolved, strict=True):
        sentence.labels = list(labels)
    for file in files:
        counts = count_marks(file.labels)
        if any(counts.values()):
            several = f"{counts['several']:,} have several possible labels"
            warn(f"{file.path}: {counts['unknown']:,} tokens have an unknown label, {several}")
        if file.sentences and all(map(is_unknown, file.labels)):
            raise DataError("every label is unknown", expected="some labels", got="nothing but '?'", where=file.path)


def widen(file: LabelledFile, codec: LabelCodec | Target, classes: Sequence[str] | None = None) -> None:
    """In a file that does not annotate every class of a model, let O stand for the other classes as well.

    ``classes``: those that the file annotates, unless its sentences say so themselves.
    """
    annotates = [stated if stated is not None else classes for stated in annotated_classes(file.sentences)]
    if all(entry is None for entry in annotates):
        return
    try:
        widened = codec.widened(file.labels, annotates)
    except DataError as error:
        number = int(str(error.where).removeprefix("sentence ")) if error.where else 0
        where = file.where(number, 0)
        raise DataError(error.what, expected=error.expected, got=error.got, where=where) from None
    listed = sorted({", ".join(entry) for entry in annotates if entry is not None})
    warn(f"{file.path}: annotates {'; '.join(listed)}")
    for sentence, labels in zip(file.sentences, widened, strict=True):
        sentence.labels = list(labels)


def resolve_labels(model: Any, file: LabelledFile, partial: bool | None = None) -> None:
    """Recognise unknown and alternative labels in a file to score on, and classes that it does not annotate."""
    resolve_partial_labels([file], partial, known=model.model.codec.answers)
    widen(file, model.model.codec)


def warn_of_broken_labels(file: LabelledFile, scheme: str) -> None:
    """Warn once of labels that violate their scheme, with the first place and how they are read."""
    if what := complaint(file.labels, scheme, lambda sentence, token: f"on {file.place(sentence, token)}"):
        warn(f"{file.path}: {what}")


# ------------------------------------------------------------------------------------------------ --map


OTHERS = "*"
"""Stands for every class that a map does not name."""


def map_files(files: Iterable[LabelledFile], words: Sequence[str]) -> None:
    """Rename the labels of files as --map says, in place."""
    files = list(files)
    maps = label_maps(words, [file.path for file in files])
    for file in files:
        map_labels(file, maps[file.path])


def label_maps(words: Sequence[str], paths: Iterable[str]) -> dict[str, dict[str, str]]:
    """The new names of labels for each file."""
    maps: dict[str, dict[str, str]] = {path: {} for path in paths}
    for pairs, files in _by_file(words, maps, "--map", "labelled"):
        for text in pairs.split(","):
            old, colon, new = (part.strip() for part in text.partition(":"))
            if not (colon and old and new):
                raise ConfigurationError("--map", expected="[FILE=]OLD:NEW,OLD:NEW", got=repr(text))
            for name in files:
                maps[name][old] = new
    return maps


def _by_file(words: Iterable[str], paths: Collection[str], option: str, kind: str) -> Iterator[tuple[str, list[str]]]:
    """``[FILE=]VALUE``: each value, and the files that it is for, one of the ``paths`` or all of them."""
    for word in words:
        path, equals, value = word.rpartition("=")
        if equals and path not in paths:
            raise ConfigurationError(option, expected=f"must name one of the {kind} files", got=repr(path))
        yield value, [path] if equals else list(paths)


def map_labels(file: LabelledFile, names: Mapping[str, str]) -> None:
    """Rename the classes of spans, or labels without a scheme, in place."""
    if not names:
        return
    scheme = recognise(file.labels)
    seen: set[str] = set()

    def renamed(label: str) -> str:
        letter, dash, name = label.partition("-") if scheme != "none" else ("", "", label)
        if label == OUTSIDE or looks_like_mark(label) or (scheme != "none" and not dash):
            return label
        seen.add(name)
        new = names.get(name, names.get(OTHERS, name))
        return new if new in (OUTSIDE, UNKNOWN) else f"{letter}{dash}{new}"

    for sentence in file.sentences:
        labels = sentence.labels or []
        # In IOB1 two neighbours of different classes are told apart by these alone.
        labels = convert(labels, "iob1", "bio") if scheme == "iob1" else labels
        sentence.labels = [renamed(label) for label in labels]
        if sentence.spans is not None:
            spans = [span._replace(label=renamed(f"B-{span.label}").removeprefix("B-")) for span in sentence.spans]
            sentence.spans = [span for span in spans if span.label != OUTSIDE]
    unknown = sorted(set(names) - seen - {OTHERS})
    if unknown and not seen & set(names) and OTHERS not in names:
        expected = f"must name classes of {file.path}: {', '.join(sorted(seen)[:20])}"
        raise ConfigurationError("--map", expected=expected, got=", ".join(unknown))


# ------------------------------------------------------------------------------------------------ --group


def groups_of(words: Sequence[str]) -> dict[str, list[str]]:
    """The classes of each group, from ``NAME=CLASS,CLASS``."""
    groups: dict[str, list[str]] = {}
    for word in words:
        name, equals, classes = word.partition("=")
        if not equals or name in groups or not all(part.strip() for part in classes.split(",")):
            raise ConfigurationError("--group", expected="NAME=CLASS,CLASS, each NAME once", got=repr(word))
        groups[name] = [part.strip() for part in classes.split(",")]
    return {name: groups[name] for name in checked_tasks(checked_groups(groups))} if groups else {}


def annotations_of(file: LabelledFile, partial: bool | None = None) -> list[Annotation]:
    """The spans of sentences in which they overlap, the labels of the others."""
    labels = with_marks(file.labels, file.tokens, partial=partial)
    pairs = zip(file.sentences, labels, strict=True)
    return [of_labels if sentence.spans is None else sentence.spans for sentence, of_labels in pairs]


def has_overlaps(*files: LabelledFile) -> bool:
    return any(sentence.spans is not None for file in files for sentence in file.sentences)


def in_groups(file: LabelledFile, groups: Groups, partial: bool | None = None) -> dict[str, LabelledFile]:
    """The file with the labels of each group."""
    places = [f"{file.path}, line {sentence.line}" for sentence in file.sentences]
    labels = by_group(annotations_of(file, partial), file.tokens, groups, places)

    def labelled(name: str) -> LabelledFile:
        pairs = zip(file.sentences, labels[name], strict=True)
        return file._replace(sentences=[replace(one, labels=of_one, spans=None) for one, of_one in pairs])

    return {name: labelled(name) for name in groups}


# ------------------------------------------------------------------------------------------------ --task


class Source(NamedTuple):
    """A labelled file, and the column of the label in it."""

    path: str
    column: int | str | None = "auto"

    def like(self, columns: Sequence[int | str | None], option: str) -> "Source":
        """The file with the column that the training files of its task have, unless it names its own."""
        if self.column != "auto" or not columns:
            return self
        if len({*columns}) > 1:
            expected = "must name the column: the training files of the task have several (NAME=FILE:COLUMN)"
            raise ConfigurationError(f"--{option}", expected=expected, got=self.path)
        return self._replace(column=columns[0])

    def load(self, options: Mapping[str, Any], names: Mapping[str, str], task: str | None = None) -> LabelledFile:
        """The whole file, its labels renamed by ``names``.

        Of JSON Lines with layers the one that the column names is read, else that of the ``task``.
        """
        own: dict[str, Any] = {} if self.column == "auto" else {"label": self.column}
        if self.path.endswith(FORMATS["jsonl"].endings):
            own = {"layer": task if self.column in ("auto", None) else str(self.column)}
        file = load(self.path, **{**options, **own})
        map_labels(file, names)
        return file


def task_sources(words: Iterable[str], option: str) -> dict[str, list[Source]]:
    """The files of each task, from ``NAME=FILE`` and ``NAME=FILE:COLUMN``."""
    sources: dict[str, list[Source]] = {}
    for word in words:
        task, equals, place = word.partition("=")
        if not (equals and task and place):
            raise ConfigurationError(option, expected="must be NAME=FILE or NAME=FILE:COLUMN", got=repr(word))
        sources.setdefault(task, []).append(source_of(place))
    checked_tasks(sources or ["none"])
    return sources


def source_of(text: str) -> Source:
    """Parse ``FILE`` or ``FILE:COLUMN``; the name ends at the first colon that leaves the name of an existing file."""
    if not Path(text).exists():
        for place, character in enumerate(text):
            if character == ":" and text[place + 1 :] and (text[:place] == "-" or Path(text[:place]).exists()):
                return Source(text[:place], column_argument(text[place + 1 :]))
    return Source(text)


def joined(files: Sequence[LabelledFile]) -> LabelledFile:
    """Several files of one task as one."""
    if len(files) == 1:
        return files[0]
    sentences = [sentence for file in files for sentence in file.sentences]
    return LabelledFile(", ".join(file.path for file in files), files[0].format, sentences)


# ------------------------------------------------------------------------------------------------ training files


class TrainingFiles(NamedTuple):
    """The names of the files of each task."""

    train: dict[str, list[Source]]
    dev: dict[str, list[Source]]
    test: dict[str, list[Source]]

    def paths(self, *, only_training: bool = False) -> list[str]:
        groups = (self.train,) if only_training else self
        return [source.path for group in groups for sources in group.values() for source in sources]


class LoadedTask(NamedTuple):
    """The files of one task; ``held_out`` has those of dev and test, if there are any."""

    train: list[LabelledFile]
    held_out: dict[str, LabelledFile]
    annotated: Mapping[str, tuple[str, ...] | None]
    """The classes of --annotates by training file."""

    @classmethod
    def load(
        cls, sources: TrainingFiles, task: str, options: Mapping[str, Any], arguments: argparse.Namespace
    ) -> "LoadedTask":
        maps = label_maps(arguments.map, sources.paths())
        annotated = annotated_by_option(arguments.annotates, sources.paths(only_training=True))
        layer = None if task == MAIN else task
        train = [source.load(options, maps[source.path], layer) for source in sources.train.get(task, [])]
        columns = [source.column for source in sources.train.get(task, [])]
        held_out = {
            name: joined([source.like(columns, name).load(options, maps[source.path], layer) for source in of_task])
            for name, of_task in (("dev", sources.dev.get(task, [])), ("test", sources.test.get(task, [])))
            if of_task
        }
        return cls(train, held_out, annotated)

    def groups(self, arguments: argparse.Namespace) -> dict[str, list[str]]:
        """The groups of --group, or those that the spans ask for; none if nothing overlaps."""
        files = (*self.train, *self.held_out.values())
        if arguments.group or not has_overlaps(*files):
            return groups_of(arguments.group)
        return found_groups(one for file in files for one in annotations_of(file, arguments.partial))

    def by_group(self, groups: Groups, arguments: argparse.Namespace) -> "dict[str, LoadedTask]":
        """The files of each group, with its labels."""
        train = [in_groups(file, groups, arguments.partial) for file in self.train]
        held_out = {name: in_groups(file, groups, arguments.partial) for name, file in self.held_out.items()}
        for name, classes in groups.items():
            if all(label == OUTSIDE for files in train for labels in files[name].labels for label in labels):
                got = f"none of {', '.join(classes)}"
                raise DataError(f"--group {name}", expected="a class of the training data", got=got)
        return {
            name: self._replace(
                train=[file[name] for file in train], held_out={key: file[name] for key, file in held_out.items()}
            )
            for name in groups
        }

    def check(self, arguments: argparse.Namespace, known: LabelCodec | None = None) -> None:
        """Refuse what cannot work, warn of what is probably a mistake.

        ``known``: the labels of a model that is only scored here, because there is nothing to train it on.
        """
        for file in (*self.train, *self.held_out.values()):
            check_not_empty(file)
        resolve_partial_labels(self.train, arguments.partial)
        codec = known if known is not None and not self.train else self._checked_codec()
        names = ", ".join(file.path for file in self.train) or "the training data"
        for file in self.held_out.values():
            if self.train:
                warn_of_training_data(file, self.train)
            resolve_partial_labels([file], arguments.partial, known=codec.answers)
            warn_of_broken_labels(file, checked_scheme(file, codec))
            unseen = sorted({*LabelCodec.of(file.labels).classes} - {*codec.classes})
            if unseen:
                warn(f"{file.path}: {len(unseen)} of its labels do not occur in {names}: {', '.join(unseen[:5])}")
            widen(file, codec)

    def _checked_codec(self) -> LabelCodec:
        """The labels of the training files, which are brought to one scheme."""
        _unify_schemes(self.train, self.held_out.values())
        names, all_labels = ", ".join(file.path for file in self.train), examples(*self.train)[1]
        labels = {label for labels in all_labels for label in labels}
        if len(labels) == 1:
            warn(f"{names}: every token has the label {labels.pop()!r}, and so does every answer")
        codec = LabelCodec.of(all_labels)
        if not codec.has_spans and len(labels) > 1 and "O" in labels:
            what = "labels without B- and I- are labels of words, not spans; if neighbours with one label form a span"
            warn(f"{names}: {what}, use --from-scheme io")
        if alike := similar_classes(all_labels, has_spans=codec.has_spans):
            pairs = ", ".join(
                f"{one} ({count:,} tokens) and {other} ({rarer:,})" for one, count, other, rarer in alike[:5]
            )
            warn(f"{names}: classes with nearly the same name, perhaps a spelling mistake: {pairs}")
        for file in self.train:
            warn_of_broken_labels(file, codec.scheme)
            # A file may have labels without spans for another task.
            widen(file, codec, self.annotated[file.path] if codec.has_spans else None)
        return codec


def examples(*files: LabelledFile) -> tuple[list[Any], list[list[str]]]:
    """Sentences and labels of files, as an estimator takes them."""
    return [X for file in files for X in inputs_of(file)], [labels for file in files for labels in file.labels]


def warn_of_training_data(held_out: LabelledFile, train: Sequence[LabelledFile]) -> None:
    """Warn if a held-out file has the content of a training file, or of all of them."""
    for file in train if len(train) == 1 else (*train, joined(train)):
        if file.tokens == held_out.tokens and file.labels == held_out.labels:
            warn(f"{held_out.path}: the same sentences as in {file.path}: scores on training data are too good")
            return


def similar_classes(y: Iterable[Sequence[str]], *, has_spans: bool) -> list[tuple[str, int, str, int]]:
    """Pairs of classes whose names are nearly the same, the more frequent one first, each with its tokens.

    Names that differ only in upper and lower case; of spans also rare names that are one slip of the finger away.
    """
    counts = Counter(str(label)[2:] if has_spans else str(label) for labels in y for label in labels if label != "O")
    ranked = [(name, count) for name, count in counts.most_common() if name]
    return [
        (one, count, other, rarer)
        for place, (one, count) in enumerate(ranked)
        for other, rarer in ranked[place + 1 :]
        if one.casefold() == other.casefold()
        or (has_spans and _RARE * rarer <= count and _is_one_slip(one.casefold(), other.casefold()))
    ]


_RARE = 20
"""Times as frequent as its misspelling a class is at least."""


def _is_one_slip(one: str, other: str) -> bool:
    """Whether names of three letters or more differ by one letter, or by two neighbours that changed places."""
    if min(len(one), len(other)) < 3 or abs(len(one) - len(other)) > 1:
        return False
    first = next((i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))
    a, b = one[first:], other[first:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


def _unify_schemes(train: list[LabelledFile], held_out: Iterable[LabelledFile]) -> None:
    """Each file may have its own scheme. Those that violate the one of most labels are converted to it."""
    common = LabelCodec.of(examples(*train)[1]).scheme
    for file in (*train, *held_out):
        own = recognise(file.labels)
        if "none" in (own, common) or own == common or any(map(is_partial, file.labels)):
            continue
        if inspect(file.labels, common).first is not None and inspect(file.labels, own).first is None:
            warn(f"{file.path}: its labels are {own.upper()}; they are converted to {common.upper()}")
            for sentence in file.sentences:
                sentence.labels = convert(sentence.labels or [], own, common)


def annotated_by_option(words: Iterable[str], paths: Iterable[str]) -> dict[str, tuple[str, ...] | None]:
    """The classes of --annotates for each training file."""
    annotated: dict[str, tuple[str, ...] | None] = dict.fromkeys(paths)
    for classes, files in _by_file(words, annotated, "--annotates", "training"):
        annotated |= dict.fromkeys(files, parse_classes(classes))
    return annotated


# ------------------------------------------------------------------------------------------------ taggers to train


def tagger_options(trained: str, threads: str = "training runs at a time", **reading: str) -> Options:
    """The options of the taggers that a command trains, and of the labelled files that it reads.

    ``trained`` says what for, ``threads`` what that number is.
    """
    presets = [name for name in PRESETS if name != "margin"]  # which is a detector's
    preset = "preset to train with: see `postil info --presets` (default: fast)"
    return {
        f"training\nthe taggers that are trained {trained}": [
            option("--preset NAME", preset, choices=presets, default="fast"),
            option("--vectors FILE …", "word vectors, as for `postil train` (repeatable)"),
            option("--clusters FILE", "word clusters, as for `postil train`"),
            SETTINGS,
            SEED,
            option("--threads N=1", f"{threads}; does not change the result", least=1),
        ],
        "reading": reading_arguments(PARTIAL, **reading),  # type: ignore[arg-type]
    }


def tagger_of(arguments: argparse.Namespace) -> Tagger:
    """The tagger that the options describe, not trained."""
    tagger = Tagger(
        preset=arguments.preset,
        vectors=arguments.vectors or None,
        clusters=arguments.clusters,
        seed=arguments.seed,
        **dict(map(parsed_setting, arguments.settings)),
    )
    tagger.check()
    return tagger


def load_labelled(paths: Sequence[str], arguments: argparse.Namespace) -> list[LabelledFile]:
    """Files with labels, all of one kind."""
    files = [
        load(path, **reading_options(arguments, rules_for_file(path, **reading_options(arguments)))) for path in paths
    ]
    for file in files:
        check_not_empty(file)
    resolve_partial_labels(files, arguments.partial)
    scheme = recognise([labels for file in files for labels in file.labels])
    for file in files:
        warn_of_broken_labels(file, scheme)
    return files


def joined_split(files: Sequence[LabelledFile], name: str) -> Split:
    """Several files as one split; places in it name the file."""
    places = [(file, number) for file in files for number in range(len(file.sentences))]
    sentences = [sentence for file in files for sentence in file.sentences]
    labels = [sentence.labels or [] for sentence in sentences]

    def place(sentence: int, token: int) -> str:
        file, number = places[sentence]
        return file.where(number, token)

    X = [tokens for file in files for tokens in inputs_of(file)]
    return Split(name, X, labels, recognise(labels), place, documents_of(sentences))
