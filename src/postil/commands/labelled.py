"""Labelled files of a command: read as a whole, with warnings about what was changed or is unknown in them."""

from argparse import Namespace
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from postil.commands.models import checked_scheme, inputs_of
from postil.commands.notices import note, show_problems
from postil.commands.parser import SEED, SETTINGS, Options, option
from postil.commands.reading import (
    PARTIAL,
    column_argument,
    options_for_file,
    reading_arguments,
    warn_of_unspaced,
)
from postil.errors import ConfigurationError, DataError
from postil.evaluation import documents_of
from postil.models.config import PRESETS, parsed_setting
from postil.models.decoding.codec import LabelCodec, Target, checked_tasks
from postil.models.model import GROUPS
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

    def no_labels(where: str) -> DataError:
        got = FORMATS[reading.format].title
        return DataError("no labels", expected="a label for every token", got=got, where=where)

    with read(path, **{"features": (), **options}) as reading:
        if reading.format == "conll05":
            raise no_labels(f"{reading.name} (postil train --roles learns them)")
        if reading.format in ("text", "tokens"):  # told before a large text is read
            raise no_labels(f"{reading.name}, line 1")
        warn_of_unspaced(reading, segmenter)
        try:
            file = LabelledFile(reading.name, reading.format, list(reading))
        finally:
            show_problems(reading.report.problems)
            for what, counts in (("changed", reading.report.changed), ("dropped", reading.report.dropped)):
                for thing, number in counts.items():
                    if number:
                        note(f"{reading.name}: {what}: {thing}: {number:,}")
        for number, sentence in enumerate(file.sentences):
            if sentence.labels is None and sentence.spans is None:
                raise no_labels(file.where(number, 0))
    return file


def check_not_empty(file: LabelledFile) -> None:
    if not any(file.tokens):
        raise DataError("no sentences", expected="at least one token with its label", where=file.path)


def _set_labels(file: LabelledFile, labels: Iterable[Sequence[str]]) -> None:
    for sentence, of_sentence in zip(file.sentences, labels, strict=True):
        sentence.labels = list(of_sentence)


def resolve_partial_labels(
    files: Sequence[LabelledFile], partial: bool | None = None, known: Iterable[str] = ()
) -> None:
    """Recognise ``?`` and ``A|B`` in the labels of a corpus and count them; ``known`` labels stand for themselves."""
    corpus = joined(files)
    _set_labels(corpus, with_marks(corpus.labels, corpus.tokens, partial=partial, known=known))
    for file in files:
        counts = count_marks(file.labels)
        if any(counts.values()):
            several = f"{counts['several']:,} have several possible labels"
            note(f"{file.path}: {counts['unknown']:,} tokens have an unknown label, {several}")
        if file.sentences and all(map(is_unknown, file.labels)):
            raise DataError("every label is unknown", expected="some labels", got="nothing but '?'", where=file.path)


def widen(file: LabelledFile, codec: LabelCodec | Target, classes: Sequence[str] | None = None) -> None:
    """Let O stand for the classes of a model that a sentence does not annotate; ``classes``: those it does."""
    annotates = [stated if stated is not None else classes for stated in annotated_classes(file.sentences)]
    listed = sorted({", ".join(entry) for entry in annotates if entry is not None})
    if not listed:
        return
    try:
        widened = codec.widened(file.labels, annotates)
    except DataError as error:
        where = file.where(int(str(error.where or 0).removeprefix("sentence ")), 0)
        raise DataError(error.what, expected=error.expected, got=error.got, where=where) from None
    note(f"{file.path}: annotates {'; '.join(listed)}")
    _set_labels(file, widened)


def resolve_labels(model: Any, file: LabelledFile, partial: bool | None = None) -> None:
    """Recognise unknown and alternative labels in a file to score on, and classes that it does not annotate."""
    resolve_partial_labels([file], partial, known=model.model.codec.answers)
    widen(file, model.model.codec)


def warn_of_broken_labels(file: LabelledFile, scheme: str) -> None:
    """Warn once of labels that violate their scheme, with the first place and how they are read."""
    if what := complaint(file.labels, scheme, lambda sentence, token: f"on {file.place(sentence, token)}"):
        note(f"{file.path}: {what}")


# ------------------------------------------------------------------------------------------------ --map, --annotates


OTHERS = "*"
"""Stands for every class that a map does not name."""


def label_maps(words: Sequence[str], paths: Iterable[str]) -> dict[str, dict[str, str]]:
    """The new names of labels for each file, as --map says."""
    maps: dict[str, dict[str, str]] = {path: {} for path in paths}
    for pairs, files in _by_file(words, maps, "--map", "labelled"):
        for text in pairs.split(","):
            old, colon, new = (part.strip() for part in text.partition(":"))
            if not (colon and old and new):
                raise ConfigurationError("--map", expected="[FILE=]OLD:NEW,OLD:NEW", got=repr(text))
            for name in files:
                maps[name][old] = new
    return maps


def annotated_by_option(words: Iterable[str], paths: Iterable[str]) -> dict[str, tuple[str, ...] | None]:
    """The classes of --annotates for each training file."""
    annotated: dict[str, tuple[str, ...] | None] = dict.fromkeys(paths)
    for classes, files in _by_file(words, annotated, "--annotates", "training"):
        annotated |= dict.fromkeys(files, parse_classes(classes))
    return annotated


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


def annotations_of(file: LabelledFile, partial: bool | None = None) -> list[Annotation]:
    """The spans of sentences in which they overlap, the labels of the others."""
    labels = with_marks(file.labels, file.tokens, partial=partial)
    pairs = zip(file.sentences, labels, strict=True)
    return [of_labels if sentence.spans is None else sentence.spans for sentence, of_labels in pairs]


def has_overlaps(*files: LabelledFile) -> bool:
    return any(sentence.spans is not None for file in files for sentence in file.sentences)


def groups_with(tagger: Tagger) -> Groups:
    """The groups of overlapping classes of the model that this tagger is one group of; else none."""
    groups: Groups = tagger.model.about.get(GROUPS, {})
    return groups if tagger.model.task in groups else {}


def in_groups(file: LabelledFile, groups: Groups, partial: bool | None = None) -> dict[str, LabelledFile]:
    """The file with the labels of each group."""
    places = [f"{file.path}, line {sentence.line}" for sentence in file.sentences]
    files = {}
    for name, labels in by_group(annotations_of(file, partial), file.tokens, groups, places).items():
        pairs = zip(file.sentences, labels, strict=True)
        files[name] = file._replace(sentences=[replace(one, labels=of_one, spans=None) for one, of_one in pairs])
    return files


# ------------------------------------------------------------------------------------------------ training files


class Source(NamedTuple):
    """A labelled file, and the column of the label in it."""

    path: str
    column: int | str | None = "auto"

    def load(self, options: Mapping[str, Any], names: Mapping[str, str], task: str | None = None) -> LabelledFile:
        """The whole file; of JSON Lines with layers the one that the column names, else that of the task."""
        own: dict[str, Any] = {} if self.column == "auto" else {"label": self.column}
        if self.path.endswith(FORMATS["jsonl"].endings):
            own = {"layer": task if self.column in ("auto", None) else str(self.column)}
        file = load(self.path, **{**options, **own})
        map_labels(file, names)
        return file


Sources = Mapping[str, Mapping[str, Sequence[Source]]]
"""The files of each task, for train, dev and test."""


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


def paths_of(*sources: Mapping[str, Sequence[Source]]) -> list[str]:
    return [source.path for by_task in sources for of_task in by_task.values() for source in of_task]


def joined(files: Sequence[LabelledFile]) -> LabelledFile:
    """Several files as one."""
    if len(files) == 1:
        return files[0]
    sentences = [sentence for file in files for sentence in file.sentences]
    return LabelledFile(", ".join(file.path for file in files), files[0].format if files else "", sentences)


def examples(*files: LabelledFile) -> tuple[list[Any], list[list[str]]]:
    """Sentences and labels of files, as an estimator takes them."""
    return [X for file in files for X in inputs_of(file)], [labels for file in files for labels in file.labels]


class LoadedTask(NamedTuple):
    """The files of one task; ``held_out`` has those of dev and test, if there are any."""

    train: list[LabelledFile]
    held_out: dict[str, LabelledFile]
    annotated: Mapping[str, tuple[str, ...] | None]
    """The classes of --annotates by training file."""

    @classmethod
    def load(cls, sources: Sources, task: str, options: Mapping[str, Any], arguments: Namespace) -> "LoadedTask":
        maps = label_maps(arguments.map, paths_of(*sources.values()))
        files: dict[str, list[LabelledFile]] = {}
        columns = [source.column for source in sources["train"].get(task, [])]
        for name, by_task in sources.items():
            files[name] = []
            for source in by_task.get(task, []):
                if columns and source.column == "auto":  # that of the training files
                    if len({*columns}) > 1 and name != "train":
                        files_have = "the training files of the task have several (NAME=FILE:COLUMN)"
                        expected = f"must name the column: {files_have}"
                        raise ConfigurationError(f"--{name}", expected=expected, got=source.path)
                    source = source if name == "train" else source._replace(column=columns[0])
                files[name].append(source.load(options, maps[source.path], None if task == MAIN else task))
        train = files.pop("train")
        annotated = annotated_by_option(arguments.annotates, paths_of(sources["train"]))
        return cls(train, {name: joined(of_name) for name, of_name in files.items() if of_name}, annotated)

    def groups(self, arguments: Namespace) -> dict[str, list[str]]:
        """The groups of --group, ``NAME=CLASS,CLASS``, or those that the spans ask for; none if nothing overlaps."""
        files = (*self.train, *self.held_out.values())
        groups: dict[str, list[str]] = {}
        for word in arguments.group:
            name, equals, classes = word.partition("=")
            if not equals or name in groups or not all(part.strip() for part in classes.split(",")):
                raise ConfigurationError("--group", expected="NAME=CLASS,CLASS, each NAME once", got=repr(word))
            groups[name] = [part.strip() for part in classes.split(",")]
        if groups:
            return {name: groups[name] for name in checked_tasks(checked_groups(groups))}
        if not has_overlaps(*files):
            return {}
        return found_groups(one for file in files for one in annotations_of(file, arguments.partial))

    def by_group(self, groups: Groups, arguments: Namespace) -> "dict[str, LoadedTask]":
        """The files of each group, with its labels."""
        train = [in_groups(file, groups, arguments.partial) for file in self.train]
        held_out = {name: in_groups(file, groups, arguments.partial) for name, file in self.held_out.items()}
        tasks = {}
        for name, classes in groups.items():
            of_group = [file[name] for file in train]
            if all(label == OUTSIDE for file in of_group for labels in file.labels for label in labels):
                got = f"none of {', '.join(classes)}"
                raise DataError(f"--group {name}", expected="a class of the training data", got=got)
            tasks[name] = self._replace(train=of_group, held_out={key: file[name] for key, file in held_out.items()})
        return tasks

    def check(self, arguments: Namespace, known: LabelCodec | None = None) -> None:
        """Refuse what cannot work, warn of probable mistakes. ``known``: labels of a task that is only scored."""
        for file in (*self.train, *self.held_out.values()):
            check_not_empty(file)
        resolve_partial_labels(self.train, arguments.partial)
        codec = known if known is not None and not self.train else self._checked_codec()
        whole = joined(self.train)
        for file in self.held_out.values():
            for one in [*self.train, whole] if len(self.train) > 1 else self.train:
                if one.tokens == file.tokens and one.labels == file.labels:
                    note(f"{file.path}: the same sentences as in {one.path}: scores on training data are too good")
                    break
            resolve_partial_labels([file], arguments.partial, known=codec.answers)
            warn_of_broken_labels(file, checked_scheme(file, codec))
            unseen = sorted({*LabelCodec.of(file.labels).classes} - {*codec.classes})
            if unseen:
                names = whole.path or "the training data"
                note(f"{file.path}: {len(unseen)} of its labels do not occur in {names}: {', '.join(unseen[:5])}")
            widen(file, codec)

    def _checked_codec(self) -> LabelCodec:
        """The labels of the training files. Files that violate the scheme of most labels are converted to it."""
        whole = joined(self.train)
        common = LabelCodec.of(whole.labels).scheme
        for file in (*self.train, *self.held_out.values()):
            own = recognise(file.labels)
            if "none" in (own, common) or own == common or any(map(is_partial, file.labels)):
                continue
            if inspect(file.labels, common).first is not None and inspect(file.labels, own).first is None:
                note(f"{file.path}: its labels are {own.upper()}; they are converted to {common.upper()}")
                _set_labels(file, [convert(labels, own, common) for labels in file.labels])
        names, labels = whole.path, {label for labels in whole.labels for label in labels}
        if len(labels) == 1:
            note(f"{names}: every token has the label {labels.pop()!r}, and so does every answer")
        codec = LabelCodec.of(whole.labels)
        if not codec.has_spans and len(labels) > 1 and "O" in labels:
            what = "labels without B- and I- are labels of words, not spans; if neighbours with one label form a span"
            note(f"{names}: {what}, use --from-scheme io")
        if alike := similar_classes(whole.labels, has_spans=codec.has_spans):
            pairs = ", ".join(
                f"{one} ({count:,} tokens) and {other} ({rarer:,})" for one, count, other, rarer in alike[:5]
            )
            note(f"{names}: classes with nearly the same name, perhaps a spelling mistake: {pairs}")
        for file in self.train:
            warn_of_broken_labels(file, codec.scheme)
            # A file may have labels without spans for another task.
            widen(file, codec, self.annotated[file.path] if codec.has_spans else None)
        return codec


def similar_classes(y: Iterable[Sequence[str]], *, has_spans: bool) -> list[tuple[str, int, str, int]]:
    """Pairs of classes, with their tokens, that differ in case; of spans also rare ones that are one slip away."""
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
    """Whether names of three letters or more differ in one letter: another one, one more, or one in another place."""
    shorter = [{name, *(name[:i] + name[i + 1 :] for i in range(len(name)))} for name in (one, other)]
    return min(len(one), len(other)) >= 3 and not set.isdisjoint(*shorter)


# ------------------------------------------------------------------------------------------------ taggers to train


def tagger_options(trained: str, threads: str = "training runs at a time", **reading: str) -> Options:
    """Options of the taggers that a command trains (``trained``: what for) and of the files that it reads."""
    presets = [name for name in PRESETS if name != "margin"]  # which is a detector's
    preset = "preset to train with: see `postil info --presets` (default: fast)"
    return {
        f"training\nthe taggers that are trained {trained}": [
            option("--preset NAME", preset, choices=presets, default="fast"),
            option("--vectors FILE …", "word vectors, as for `postil train`"),
            option("--clusters FILE", "word clusters, as for `postil train`"),
            SETTINGS,
            SEED,
            option("--threads N=1", f"{threads}; does not change the result", least=1),
        ],
        "reading": reading_arguments(PARTIAL, **reading),  # type: ignore[arg-type]
    }


def tagger_of(arguments: Namespace, known: Tagger | None = None) -> Tagger:
    """The tagger that the options describe, not trained; ``known``: a model whose preset and settings it has."""
    knowledge = {} if known else {"vectors": arguments.vectors or None, "clusters": arguments.clusters}
    tagger = Tagger(
        preset=arguments.preset if known is None else known.preset,
        seed=arguments.seed,
        **knowledge,
        **(({} if known is None else known.settings) | dict(map(parsed_setting, arguments.settings))),
    )
    tagger.check()
    return tagger


def load_labelled(
    paths: Sequence[str], arguments: Namespace, options: Mapping[str, Any] | None = None, known: Iterable[str] = ()
) -> list[LabelledFile]:
    """Files with labels, all of one kind, read with these options or by rules for their language."""
    files = [load(path, **(options or options_for_file(arguments, path))) for path in paths]
    for file in files:
        check_not_empty(file)
    resolve_partial_labels(files, arguments.partial, known)
    scheme = recognise(joined(files).labels)
    for file in files:
        warn_of_broken_labels(file, scheme)
    return files


def joined_split(files: Sequence[LabelledFile], name: str) -> Split:
    """Several files as one split; places in it name the file."""
    whole, places = joined(files), [(file, number) for file in files for number in range(len(file.sentences))]

    def place(sentence: int, token: int) -> str:
        file, number = places[sentence]
        return file.where(number, token)

    labels = whole.labels
    return Split(name, inputs_of(whole), labels, recognise(labels), place, documents_of(whole.sentences))
