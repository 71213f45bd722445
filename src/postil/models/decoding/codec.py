"""Between the labels of the user's data and the label numbers of a network.

Span labels are learned as IOBES, whatever scheme the data use: the ends of entities get separate labels, which
learn better. Valid sequences of IOB1, BIO and IOBES are in one-to-one correspondence, so probabilities of whole
labellings carry over; answers come in the scheme of the data. With very many classes BIO labels stay BIO: the cost of a
CRF grows with the square of its labels.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Self, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError, is_printable
from postil.objectives.spans import EntityLabels
from postil.text import (
    PartialLabel,
    Span,
    TransitionMask,
    labels_from_spans,
    recognise,
    spans_from_labels,
    transition_mask,
)
from postil.text.labels.partial import (
    Annotates,
    Labels,
    PossibleLabels,
    classes_of,
    is_partial,
    is_unknown,
    per_sentence,
    widened,
)
from postil.text.labels.schemes import LETTERS, UNKNOWN, check_scheme_name, convert, parse_label

# ---------------------------------------- Names of labels and classes: what training data and model files may call them


MOST_LABELS = 4096  # of one network. Scores of transitions grow with the square of their number.
LONGEST_NAME = 1000  # characters


def checked_names(names: Any, what: str) -> list[str]:
    """Names that differ and that can be written to any file and any terminal, or an error."""
    if not isinstance(names, Sequence) or isinstance(names, str):
        raise DataError(what, expected="a list of names", got=repr(names)[:80])
    if len(names) > MOST_LABELS:
        raise DataError(f"too many {what}", expected=f"at most {MOST_LABELS:,}", got=f"{len(names):,}")
    found = [checked_name(name, what) for name in names]
    if len(set(found)) != len(found):
        raise DataError(what, expected="different names", got="one that stands twice")
    return found


def checked_name(name: Any, what: str) -> str:
    """A name without control characters, or an error."""
    if not isinstance(name, str):
        raise DataError(what, expected="names", got=repr(name)[:80])
    if len(name) > LONGEST_NAME or not is_printable(name):
        expected = f"names of at most {LONGEST_NAME:,} characters, none of them a control character"
        raise DataError(what, expected=expected, got=repr(name)[:80])
    return name


MANY_CLASSES = 100
_SHORT = 64  # tokens of a sentence that Python checks sooner than NumPy
OUTSIDE = "O"


@final
@dataclass(frozen=True, eq=False)
class LabelCodec:
    """``scheme`` of the data and ``classes``: entity classes for span schemes, else the labels themselves.

    Without ``ends``, BIO labels stay BIO whatever the number of classes.
    """

    scheme: str
    classes: tuple[str, ...]
    ends: bool = True

    @classmethod
    def of(cls, sequences: Labels) -> Self:
        """The scheme and the classes that occur in training labels and marks."""
        if sequences and all(map(is_unknown, sequences)):
            raise DataError("every token is unknown", expected="some labels", got=f"nothing but {UNKNOWN!r}")
        scheme = recognise(sequences)
        if scheme == "none":
            return cls(scheme, tuple(checked_names(sorted(_single_labels(sequences)), "labels")))
        if scheme == "iobes":  # BILOU and BMEWO are IOBES in other letters, and their users want them back
            prefixes = {label.partition("-")[0] for label in _single_labels(sequences)}
            scheme = "bilou" if prefixes & {"L", "U"} else "bmewo" if prefixes & {"M", "W"} else "iobes"
        return cls(scheme, tuple(checked_names(sorted(classes_of(sequences)), "classes of labels")))

    @property
    def has_spans(self) -> bool:
        return self.scheme != "none"

    @property
    def inner(self) -> str:
        """The scheme of the network's labels."""
        if not self.has_spans:
            return "none"
        stays = not self.ends or len(self.classes) > MANY_CLASSES
        return "bio" if self.scheme in ("bio", "iob1") and stays else "iobes"

    @cached_property
    def labels(self) -> list[str]:
        """The network's labels, in the order of their numbers."""
        if not self.has_spans:
            return list(self.classes)
        letters = dict.fromkeys(LETTERS[self.inner])
        return ["O", *(_spelt(letter, name) for name in self.classes for letter in letters)]

    @cached_property
    def outside(self) -> int | None:
        """The number of the label that says "no entity"; None if there is none."""
        return self.labels.index(OUTSIDE) if OUTSIDE in self.labels else None

    @cached_property
    def opens_entity(self) -> Array:
        """(L,) boolean: labels with which an entity begins; without a scheme all labels but O."""
        if self.has_spans:
            return np.array([label[0] in "BS" for label in self.labels])
        return np.array([label != OUTSIDE for label in self.labels])

    def extended(self, sequences: Labels) -> "LabelCodec":
        """The same classes under the same numbers, and after them those that are new in ``sequences``."""
        other = LabelCodec.of(sequences)
        if other.has_spans != self.has_spans:
            kinds = {True: "spans, as B-PER", False: "labels without a scheme"}
            raise DataError("labels", expected=kinds[self.has_spans], got=kinds[other.has_spans])
        new = tuple(c for c in other.classes if c not in self.classes)
        return LabelCodec(other.scheme, self.classes + new, self.ends)

    @cached_property
    def mask(self) -> TransitionMask:
        return transition_mask(self.labels, self.inner)

    def numbers(self, sequences: Iterable[Sequence[str]]) -> list[Array]:
        """Label numbers (T,) of each sentence; where it has marks, (T, L) the labels that are possible.

        An unknown class or label is an error.
        """
        number = {label: i for i, label in enumerate(self.labels)}
        found = []
        for labels in sequences:
            if is_partial(labels):
                found.append(self._possible(labels))
                continue
            if self.has_spans:
                labels = labels_from_spans(spans_from_labels(labels, self.scheme), len(labels), self.inner)
            if unknown := [label for label in labels if label not in number]:
                known = ", ".join(self.classes[:12])
                raise DataError("unknown label", expected=f"one of {known}", got=repr(unknown[0]))
            found.append(np.array([number[label] for label in labels]))
        return found

    def widened(self, sequences: Labels, annotates: Annotates) -> Labels:
        """The labels of sentences that do not annotate all classes: their O may be one of the others."""
        entries = per_sentence(annotates, len(sequences))
        if not any(entry is not None for entry in entries):
            return sequences
        if not self.has_spans and "O" not in self.classes:
            raise DataError("annotates", expected="needs a label O for the words of no class", got="no such label")
        return widened(sequences, entries, self.classes, self.scheme)

    @cached_property
    def _possible(self) -> PossibleLabels:
        return PossibleLabels(self.labels, self.inner, self.scheme)

    def texts(self, numbers: Array) -> list[str]:
        """One sentence's label numbers (T,) as labels of the data's scheme."""
        inner = [self.labels[i] for i in numbers]
        return inner if not self.has_spans else convert(inner, self.inner, self.scheme)

    def texts_of_sentences(self, numbers: Array, offsets: Array) -> list[list[str]]:
        """``texts`` of all sentences of a batch: numbers (N,), offsets (B + 1,)."""
        texts = list(map(self.spellings.__getitem__, self.places_of(numbers, offsets).tolist()))
        return [texts[first:end] for first, end in pairwise(offsets.tolist())]

    def places_of(self, numbers: Array, offsets: Array) -> Array:
        """(N,) places in ``spellings`` of label numbers (N,).

        In valid sequences a label has one spelling wherever it stands, but for the first one of an entity in IOB1: it
        is a B only right after an entity of the same class.
        """
        if not self._is_valid(numbers, offsets):
            place = {spelling: i for i, spelling in enumerate(self.spellings)}
            edges = pairwise(offsets.tolist())
            return np.array([place[text] for first, end in edges for text in self.texts(numbers[first:end])])
        if self.scheme != "iob1":
            return numbers
        return np.asarray(numbers + len(self.labels) * self._is_bare(numbers, offsets))

    def _is_valid(self, numbers: Array, offsets: Array) -> bool:
        """Whether every sentence keeps to the scheme of the network's labels."""
        if not self.has_spans or not len(numbers):
            return True
        if len(offsets) == 2 and len(numbers) <= _SHORT:  # one short sentence, sooner than NumPy
            (start, may_follow, end), listed = self._steps, numbers.tolist()
            return start[listed[0]] and end[listed[-1]] and all(may_follow[a][b] for a, b in pairwise(listed))
        steps = self.mask.transitions[numbers[:-1], numbers[1:]]
        filled = offsets[1:] > offsets[:-1]
        first, last = offsets[:-1][filled], offsets[1:][filled] - 1
        steps[last[:-1]] = True  # from one sentence to the next anything goes
        return bool(steps.all() and self.mask.start[numbers[first]].all() and self.mask.end[numbers[last]].all())

    @cached_property
    def _steps(self) -> tuple[list[bool], list[list[bool]], list[bool]]:
        mask = self.mask
        return mask.start.tolist(), mask.transitions.tolist(), mask.end.tolist()

    def _is_bare(self, numbers: Array, offsets: Array) -> Array:
        """(N,) first tokens of entities that IOB1 does not mark: no entity of their class ends right before them."""
        begins, classes = self.begins_and_classes
        before = np.full(len(numbers), -1)
        before[1:] = classes[numbers[:-1]]
        before[offsets[:-1][offsets[1:] > offsets[:-1]]] = -1
        bare: Array = begins[numbers] & (classes[numbers] != before)
        return bare

    @cached_property
    def begins_and_classes(self) -> tuple[Array, Array]:
        """Whether each of the network's labels begins an entity, and the number of its class; (L,) each."""
        parsed = [parse_label(label) for label in self.labels]
        number = {name: i for i, name in enumerate(self.classes)}
        classes = np.array([-2 if tag.role == "O" else number[tag.label] for tag in parsed])
        return np.array([tag.role in ("B", "S") for tag in parsed]), classes

    @cached_property
    def spellings(self) -> list[str]:
        """Spellings of the network's labels; after them, for IOB1, those of first tokens without the mark."""
        if self.scheme != "iob1":
            return self._spellings
        _, classes = self.begins_and_classes
        return self._spellings + ["O" if c < 0 else _spelt("I", self.classes[c]) for c in classes]

    def spans(self, numbers: Array) -> list[Span]:
        """The entities of one sentence; none if labels have no scheme."""
        return spans_from_labels([self.labels[i] for i in numbers], self.inner) if self.has_spans else []

    def spans_of_sentences(self, numbers: Array, offsets: Array) -> Array:
        """(M, 4) ``spans`` of all sentences of a batch, in the order of the text: sentence, start, end, class."""
        if not self.has_spans:
            return np.zeros((0, 4), np.int64)
        if not self._is_valid(numbers, offsets):
            edges = enumerate(pairwise(offsets.tolist()))
            spans = [(i, *span) for i, (first, end) in edges for span in self.spans(numbers[first:end])]
            rows = [(i, start, end, self.classes.index(label)) for i, label, start, end in spans]
            return np.array(rows, np.int64).reshape(-1, 4)
        begins, classes = self.begins_and_classes
        first = np.flatnonzero(begins[numbers])
        goes_on = np.append((classes[numbers] >= 0) & ~begins[numbers], False)
        goes_on[offsets] = False
        elsewhere = np.flatnonzero(~goes_on)
        end = elsewhere[np.searchsorted(elsewhere, first, side="right")]
        sentence = np.searchsorted(offsets, first, side="right") - 1
        before = offsets[sentence]
        return np.stack([sentence, first - before, end - before, classes[numbers[first]]], axis=1)

    @cached_property
    def after_entities(self) -> Array | None:
        """(classes, L) boolean, the labels that may follow an entity of each class and not continue it; None: all."""
        if self.inner != "bio":
            return None
        return np.stack([entity.after for entity in self.entity_labels()])

    def entity_labels(self) -> list[EntityLabels]:
        """How each class of entity is written, for the probabilities of spans."""
        number = {label: i for i, label in enumerate(self.labels)}
        make: Callable[..., EntityLabels] = EntityLabels.bio if self.inner == "bio" else EntityLabels.iobes
        places = {"begin": "B", "inside": "I"} | ({} if self.inner == "bio" else {"end": "E", "single": "S"})
        return [
            make(len(number), **{place: number[_spelt(letter, name)] for place, letter in places.items()})
            for name in self.classes
        ]

    def marginals(self, probabilities: Array, marked: Array | None = None) -> list[dict[str, float]]:
        """(T, L) as one {label: probability} per token.

        IOB1's B depends on the neighbour: ``marked`` (T, classes) are its probabilities; without them answers are BIO.
        """
        answers = []
        for t, row in enumerate(probabilities.tolist()):
            merged = dict.fromkeys(self._spellings, 0.0)
            for label, probability in zip(self._spellings, row, strict=True):
                merged[label] += probability
            for name, probability in zip(self.classes, marked[t].tolist(), strict=True) if marked is not None else ():
                begin, inside = _spelt("B", name), _spelt("I", name)
                merged[begin], merged[inside] = probability, max(merged[begin] + merged[inside] - probability, 0.0)
            answers.append(merged)
        return answers

    def probabilities_of(
        self, numbers: Array, offsets: Array, probabilities: Array, marked: Array | None = None
    ) -> Array:
        """(N,) how probable each token's answer is: labels that the data's scheme spells alike add up.

        In IOB1, B is ``marked`` (N, classes) and I is everything else of its class.
        """
        if marked is None:
            return np.asarray(np.einsum("nl,nl->n", probabilities, self.spelt_alike[numbers]))
        begins, classes = self.begins_and_classes
        kinds = classes[numbers]
        of_class = np.einsum("nl,nl->n", probabilities, (classes == kinds[:, None]).astype(np.float64))
        begin = np.where(kinds >= 0, marked[np.arange(len(numbers)), kinds], 0.0)
        is_marked = begins[numbers] & ~self._is_bare(numbers, offsets)
        return np.asarray(np.where(is_marked, begin, np.maximum(of_class - begin, 0.0)))

    @cached_property
    def spelt_alike(self) -> Array:
        """(L, L) 1 where two of the network's labels have one spelling in the data's scheme, else 0."""
        shared = np.unique(self._spellings, return_inverse=True)[1]
        return np.asarray(shared[:, None] == shared, np.float64)

    @property
    def answers(self) -> list[str]:
        """The labels that may occur in answers, in the scheme of the data."""
        return list(dict.fromkeys(self._spellings))

    def names(self) -> list[tuple[str, str]]:
        """For each label of the network its label in the data's scheme, and its class ("O" for O)."""
        classes = [parse_label(label).label if label != OUTSIDE else OUTSIDE for label in self.labels]
        return list(zip(self._spellings, classes if self.has_spans else self.labels, strict=True))

    @cached_property
    def _spellings(self) -> list[str]:
        """For each label of the network the label of the data's scheme; two of them share one in BIO."""
        if self.inner != "iobes":
            return self.labels
        first, middle, last, only = LETTERS[self.scheme]
        return ["O", *(_spelt(letter, name) for name in self.classes for letter in (first, middle, last, only))]

    def as_json(self) -> dict[str, Any]:
        content: dict[str, Any] = {"scheme": self.scheme, "classes": list(self.classes)}
        return content if self.ends else content | {"ends": False}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Read and check the output of ``as_json`` from a model file."""
        classes = tuple(checked_names(content["classes"], "classes"))
        scheme = check_scheme_name(checked_name(content["scheme"], "scheme"))
        codec = cls(scheme, classes, content.get("ends") is not False)
        # How many labels there will be, before any is made.
        L = 1 + 4 * len(codec.classes) if codec.inner == "iobes" else 1 + 2 * len(codec.classes)
        L = L if codec.has_spans else len(codec.classes)
        if not 0 < L <= MOST_LABELS:
            raise DataError("number of labels", expected=f"1 to {MOST_LABELS:,}", got=L)
        return codec


def _single_labels(sequences: Iterable[Sequence[str]]) -> set[str]:
    """Labels, also those that occur only as one of several."""
    distinct = {label for labels in sequences for label in labels}
    return set[str]().union(*(one.alternatives if isinstance(one, PartialLabel) else [one] for one in distinct))


def _spelt(letter: str, name: str) -> str:
    """A bare letter if entities have no class."""
    return f"{letter}-{name}" if name else letter


def possible(numbers: Array, L: int) -> Array:
    """(T, L) boolean, the labels that are possible: from label numbers (T,), or as they are."""
    return numbers if numbers.ndim == 2 else np.eye(L, dtype=bool)[numbers]


def joined_numbers(gold: Sequence[Array], L: int) -> Array:
    """The labels of several sentences: (N,), or (N, L) if some leave several open."""
    if all(numbers.ndim == 1 for numbers in gold):
        return np.concatenate(gold)
    return np.concatenate([possible(numbers, L) for numbers in gold])


UNDECIDED = -1  # a token that may have the label or not: neither learned from nor counted
SHOWN = 12  # labels named in an error


@final
@dataclass(frozen=True, eq=False)
class Target:
    """``label`` is a class of entities, or a label itself if the data had no ``scheme``.

    Tokens that score above ``threshold`` are detected.
    """

    label: str
    scheme: str
    threshold: float = 0.0

    @classmethod
    def of(cls, label: str, sequences: Labels) -> "Target":
        """The label as spelled in training labels. There must be tokens that have it and tokens that have not."""
        target = cls(checked_name(label, "label to detect"), recognise(sequences))
        plain = {target.plain(text) for labels in sequences for text in labels if not isinstance(text, PartialLabel)}
        if label not in plain:
            known = ", ".join(sorted(plain - {"O"})[:SHOWN])
            raise DataError("no token has the label to detect", expected=f"one of {known or 'some'}", got=repr(label))
        if plain == {label}:
            what, expected = "every token has the label to detect", "also tokens without it"
            raise DataError(what, expected=expected, got=f"{label!r} only")
        return target

    @property
    def labels(self) -> list[str]:
        """The labels that the network scores."""
        return [self.label]

    @property
    def answers(self) -> list[str]:
        """The labels that predictions consist of."""
        return [self.label, "O"]

    def extended(self, sequences: Labels) -> "Target":
        """The same label in other training labels."""
        return Target.of(self.label, sequences)

    @cached_property
    def span_codec(self) -> LabelCodec:
        """The labels with which detected tokens are written as spans."""
        return LabelCodec(self.scheme if self.scheme != "none" else "bio", (self.label,))

    def plain(self, text: str) -> str:
        """A label of the data without its place in a span: ``B-LOC`` is ``LOC``."""
        if self.scheme == "none" or text == self.label:
            return text
        tag = parse_label(text)
        return tag.label if tag.role != "O" else "O"

    def numbers(self, sequences: Labels) -> list[Array]:
        """1 where a token has the label, 0 where it has not, UNDECIDED where it may have it, (T,) of each sentence."""

        def number(text: str) -> int:
            possible = text.alternatives if isinstance(text, PartialLabel) else (text,)
            is_one = {self.plain(part) == self.label for part in possible}
            return int(is_one.pop()) if len(is_one) == 1 else UNDECIDED

        return [np.array([number(text) for text in labels], np.int64) for labels in sequences]

    def widened(self, sequences: Labels, annotates: Annotates) -> Sequence[Sequence[str]]:
        """Sentences that do not annotate the label have it or have it not where they have O."""
        return widened(sequences, per_sentence(annotates, len(sequences)), [self.label], self.scheme)

    def detected(self, scores: Array) -> list[str]:
        """The label or O for each score."""
        return [self.label if is_one else "O" for is_one in scores > self.threshold]

    def as_json(self) -> dict[str, Any]:
        return {"label": self.label, "scheme": self.scheme, "threshold": self.threshold}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Target":
        """Read and check the output of ``as_json`` from a model file."""
        threshold = content["threshold"]
        if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not abs(threshold) < 1e300:
            raise DataError("threshold of a detector", expected="a finite number", got=repr(threshold)[:80])
        label = checked_name(content["label"], "label to detect")
        return cls(label, check_scheme_name(checked_name(content["scheme"], "scheme")), float(threshold))


@final
class Predictions(list[list[str]]):
    """A list of label lists. As an array it is (B,), of lists, whatever their lengths.

    NumPy would otherwise refuse lists of different lengths, and make a matrix of equal ones. scikit-learn's
    ``cross_val_predict`` concatenates the answers of its folds as arrays.
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        column = np.empty(len(self), object)
        column[:] = list(self)
        return column


# --------------------------------------------------------------------------------------------------- The names of tasks


MOST_TASKS = 100
_NAME = re.compile(r"[^\W\d][\w-]{0,63}")


def checked_tasks(names: Iterable[Any]) -> list[str]:
    """The names of the tasks of a model: used in its file and on command lines."""
    tasks = list(names)
    for name in tasks:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            expected = "a letter, then letters, digits, - and _ (at most 64 characters)"
            raise ConfigurationError("name of a task", expected=expected, got=repr(name)[:80])
    if not 1 <= len(tasks) <= MOST_TASKS:
        raise ConfigurationError("tasks", expected=f"1 to {MOST_TASKS}", got=len(tasks))
    return tasks


Tasks = Iterable[str] | None  # names of tasks; None: all


def known_tasks(wanted: Tasks, tasks: Iterable[str]) -> list[str]:
    """Those of the ``tasks`` that are wanted, at least one, in their own order."""
    tasks = list(tasks)
    if wanted is None:
        return tasks
    asked = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in asked:
        if name not in tasks:
            raise ConfigurationError("task", expected="one of " + ", ".join(tasks), got=repr(name)[:80])
    if not asked:
        raise ConfigurationError("tasks", expected="at least one of " + ", ".join(tasks), got="none")
    return [task for task in tasks if task in asked]
