"""Extend a model with new classes or new text, without forgetting the old classes.

The new data annotate some classes only. Their other classes are filled in by the model before training (``filling``).
Training continues from its weights, in small steps, so that it stays close to what it was; and with the old data where
they are at hand, or with raw text that it labels itself. A gate compares the scores of the known classes before and
after (``gate``).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, final

import numpy as np

from postil.errors import ConfigurationError, DataError, ForgettingError
from postil.features.inputs import Sentences, Token
from postil.metrics.evaluation import Evaluation
from postil.metrics.tables import Cell, Table, show_class
from postil.models.config import adapted
from postil.models.decoding.codec import MANY_CLASSES, OUTSIDE, LabelCodec, possible
from postil.models.decoding.distribution import LabelPosterior
from postil.models.estimator import FitData
from postil.models.fitting.fitting import run
from postil.models.fitting.sentences import SentenceFitting, sentences_with_words
from postil.models.inputs import checked_dev, checked_labelled, checked_sentences
from postil.models.settings import like
from postil.models.tagger import Tagger
from postil.text.labels.partial import Annotates, Labels, classes_of, is_partial, is_unknown, per_sentence, with_marks
from postil.text.labels.schemes import (
    SEPARATOR,
    UNKNOWN,
    PartialLabel,
    convert,
    labels_from_spans,
    parse_label,
    recognise,
    spans_from_labels,
)

Data = tuple[Sentences, Labels]

SMALLER_STEPS = 0.4
"""Factor of the learning rate when training continues: at the full rate, the model forgets more."""
_STEPS, _FEWEST_EPOCHS, _MOST_EPOCHS = 1400, 10, 50
"""Smaller steps need more of them."""
LESS_NOISE = 0.3
"""Dropout of hidden layers if the model leaves it to the amount of data: the weights know more than these."""


# ------------------------------------------------------------ the gate: known classes are scored before and after


FORGETTING_TOLERANCE = 1.0


class ClassChange(NamedTuple):
    """The F1 of a class before and after, in percent; None before if the class is new."""

    name: str
    support: int
    before: float | None
    after: float

    @property
    def difference(self) -> float | None:
        return None if self.before is None else self.after - self.before


@final
@dataclass(frozen=True, slots=True)
class Gate:
    """How each class changed, and by how many points a known one may fall."""

    changes: list[ClassChange]
    tolerance: float

    @property
    def fallen(self) -> list[ClassChange]:
        """The known classes that fell by more than the tolerance; one without entities in the data cannot fall."""
        return [one for one in self.changes if one.support and -(one.difference or 0.0) > self.tolerance + 1e-9]

    @property
    def passed(self) -> bool:
        return not self.fallen

    def table(self) -> Table:
        rows: list[tuple[Cell, ...]] = []
        for one in self.changes:
            remark = "new" if one.before is None else "fell" if one in self.fallen else ""
            remark = remark if one.support else "not in the data"
            rows.append((show_class(one.name), one.before, one.after, one.difference, one.support, remark))
        columns = ("class", "before", "after", "difference", "gold", "")
        return Table("F1 before and after", columns, rows, f"a known class may fall by {self.tolerance:g} points")

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, scores in percent."""
        classes = {one.name: {"before": one.before, "after": one.after, "support": one.support} for one in self.changes}
        return {"passed": self.passed, "tolerance": self.tolerance, "classes": classes}


def gate_of(
    before: Evaluation, after: Evaluation, known: Sequence[str], classes: Sequence[str], tolerance: float
) -> Gate:
    """Compare the scores of all ``classes``, of which the model knew some before."""
    first, second = _by_class(before), _by_class(after)
    changes = []
    for name in classes:
        if name != OUTSIDE:
            counts = second.get(name) or first.get(name)
            old = (100 * first[name].f1 if name in first else 0.0) if name in known else None
            new = 100 * second[name].f1 if name in second else 0.0
            changes.append(ClassChange(name, counts.gold if counts is not None else 0, old, new))
    return Gate(changes, tolerance)


def _by_class(scores: Evaluation) -> Any:
    return scores.tokens.by_label() if scores.spans is None else scores.spans.by_label()


# ------------------------------------------------------------ filling in what labels leave open


LEAST = 0.1
"""Labels with a smaller probability are ruled out."""


def filled(
    tagger: Tagger,
    X: Sentences,
    y: Labels,
    annotates: Sequence[Sequence[str] | None],
    unknown_classes: Sequence[str] = (),
    least: float = LEAST,
) -> list[list[str]]:
    """The labels, with what the tagger says in the place of every O that may hide one of its classes.

    y is spelled in the tagger's scheme and may have classes that it does not know. ``annotates`` has the classes that
    each sentence annotates (None: all). Of the ``unknown_classes``, which the tagger does not know either, those that
    a sentence does not annotate stay possible at every O.
    """
    codec, L = tagger.model.codec, len(tagger.model.codec.labels)
    answers = [list(labels) for labels in y]
    open_ones = [i for i, classes in enumerate(annotates) if classes is not None and len(X[i])]
    # IOB1's letters depend on the neighbours: there a token keeps classes instead of labels.
    names = [name if codec.scheme == "iob1" else spelt for spelt, name in codec.names()]
    seen = [_as_seen_by(codec, y[i], annotates[i] or ()) for i in open_ones]
    left_open = [possible(numbers, L) for numbers in codec.numbers(seen)]
    for which, lattice in tagger._posteriors.lattices([X[i] for i in open_ones]):
        allowed = np.concatenate([left_open[n] for n in which]) if which else np.zeros((0, L), bool)
        posterior = LabelPosterior(which=list(which), lattice=lattice.restricted(allowed), codec=codec)
        best, marginals = posterior.best(0.0), posterior.marginals()
        kept = (marginals @ codec.spelt_alike > least) & allowed
        kept[np.arange(len(best)), best] = True
        for n, first in zip(which, lattice.offsets.tolist(), strict=False):
            i = open_ones[n]
            hidden = [name for name in unknown_classes if name not in (annotates[i] or ())]
            for t, label in enumerate(y[i]):
                if label != OUTSIDE or isinstance(label, PartialLabel):
                    continue
                probable = [names[number] for number in np.flatnonzero(kept[first + t]).tolist()]
                several = list(dict.fromkeys([names[best[first + t]], *probable]))  # the most probable one first
                several += hidden if OUTSIDE in several else []  # O may also be one of these
                is_sure = len(several) == 1 and (several[0] == OUTSIDE or codec.scheme != "iob1")
                answers[i][t] = several[0] if is_sure else PartialLabel(SEPARATOR.join(several))
    return answers


def _as_seen_by(codec: LabelCodec, labels: Sequence[str], annotates: Sequence[str]) -> list[str]:
    """The labels of a sentence as a tagger may see them: an entity of a class that it does not have is O to it."""
    others = [name for name in codec.classes if name not in annotates and name != OUTSIDE]
    outside = PartialLabel(SEPARATOR.join([OUTSIDE, *others])) if others else OUTSIDE

    def known(label: str) -> str:
        name = label if not codec.has_spans or label in codec.classes else parse_label(label).label
        return label if name in codec.classes else OUTSIDE

    def seen(label: str) -> str:
        if not isinstance(label, PartialLabel):
            return outside if label == OUTSIDE else known(label)
        if label == UNKNOWN:
            return label
        return PartialLabel(SEPARATOR.join(dict.fromkeys(map(known, label.alternatives))))

    return [seen(label) for label in labels]


# ------------------------------------------------------------------------------------------------ extending


@final
@dataclass(frozen=True, slots=True)
class Extension:
    """The extended tagger; where there were held-out data, their ``gate`` and the tagger's ``scores`` on them."""

    tagger: Tagger
    gate: Gate | None
    scores: Evaluation | None

    @property
    def passed(self) -> bool:
        """Whether no known class fell by more than the tolerance; True without held-out data."""
        return self.gate is None or self.gate.passed


class _Corpus(NamedTuple):
    """Sentences, their labels, and the classes that each annotates (None: all)."""

    X: list[list[Token]]
    y: list[list[str]]
    annotates: list[tuple[str, ...] | None]

    def selected(self, which: Sequence[int]) -> "_Corpus":
        return _Corpus([self.X[i] for i in which], [self.y[i] for i in which], [self.annotates[i] for i in which])


@final
class Extending:
    """``extend`` step by step: iterate over ``fitting``, which trains and yields events, then ask for the result.

    The parameters are those of ``extend``; ``verbose`` is for ``finished``. The result says whether the gate is passed.
    """

    def __init__(
        self,
        tagger: Tagger,
        X: Sentences,
        y: Labels,
        *,
        old: Data | None = None,
        unlabelled: Sentences | None = None,
        dev: Data | None = None,
        tolerance: float = FORGETTING_TOLERANCE,
        annotates: Annotates = None,
        partial: bool | None = None,
        seed: int = 0,
        threads: int = 1,
        verbose: bool = False,
        **settings: Any,
    ) -> None:
        if not tolerance >= 0:
            raise ConfigurationError("tolerance", expected="must be at least 0", got=tolerance)
        if not isinstance(tagger, Tagger):
            raise ConfigurationError("model to extend", expected="a tagger", got=f"a {tagger.KIND}")
        codec = tagger.model.codec
        self._tagger, self._tolerance, self._settings = tagger, tolerance, {**settings, "seed": seed}
        self._dev: Any = None
        self._before: Evaluation | None = None
        self._verbose = verbose
        if dev is not None:
            X_dev, y_dev = checked_dev(dev, tagger._word_key) or dev
            self._dev = [list(tokens) for tokens in X_dev], _respelt(y_dev, X_dev, tagger, partial)
            self._before = tagger.evaluate(*self._dev)
            counts = _by_class(self._before)
            if not any(counts[name].gold for name in codec.classes if name in counts):  # none could fall
                expected = f"must have some of the classes of the model: {', '.join(codec.classes)}"
                raise DataError("dev", expected=expected, got="none")
        new = _labelled(tagger, (X, y), partial)
        new = new._replace(annotates=_annotated(codec, new, annotates))
        new = new.selected([i for i, labels in enumerate(new.y) if len(labels) and not is_unknown(labels)])
        whole = rehearsal = _Corpus([], [], []) if old is None else _labelled(tagger, old, partial)
        if codec.has_spans and tagger._word_key is None:
            new, rehearsal = _merged(codec, new, whole)
        raw: list[list[Token]] = []
        if unlabelled is not None:
            raw = list(filter(None, checked_sentences(unlabelled, "unlabelled", word_key=tagger._word_key)))
        occurring = _classes(codec, [*new.y, *rehearsal.y])
        self.new_classes = sorted(occurring - {*codec.classes} - {OUTSIDE})
        """The classes that the tagger does not know yet."""
        every = (*codec.classes, *self.new_classes)
        strange = [name for name in every if SEPARATOR in name]
        if strange and (codec.has_spans or OUTSIDE in codec.classes):
            expected = f"names without {SEPARATOR}, which marks alternative labels"
            raise DataError("classes of an extended model", expected=expected, got=repr(strange[0]))
        extended = LabelCodec(codec.scheme, every)
        if extended.inner != codec.inner:
            raise ConfigurationError("classes of an extended model", expected=f"at most {MANY_CLASSES}: train it anew")
        completed = _completable(tagger, new, self.new_classes)
        learnt = _labels_to_learn(tagger, extended, new, completed, rehearsal, raw, self.new_classes)
        sentences = [*new.X, *rehearsal.X, *raw]
        # Whether the held-out data can tell a good epoch: they also label what is new.
        has_all_classes = self._dev is not None and {*every} <= _classes(codec, self._dev[1]) | {OUTSIDE}
        self._student = _student(tagger, sentences, {**self._settings, "threads": threads})
        self.fitting = SentenceFitting(
            self._student,
            FitData(
                sentences,
                learnt,
                self._dev if has_all_classes else None,
                warm_start=tagger,
                partial=False,  # the marks are there already
            ),
            completed_by=tagger,
            completed=completed,
        )
        # For the model file: what it was extended by. Sentences are counted, never stored.
        counted = {"old": whole.X, "unlabelled": raw}
        sizes = {
            name: {"sentences": len(some), "tokens": sum(map(len, some))} for name, some in counted.items() if some
        }
        self._about: dict[str, Any] = {"classes": list(self.new_classes), **sizes}

    def finished(self) -> Extension:
        """Train, and return the result."""
        run(self.fitting, verbose=self._verbose)
        return self.result()

    def result(self) -> Extension:
        """The extended tagger, once all events of ``fitting`` have come."""
        before, parts = self._tagger.model.codec, self._student.model
        if parts.codec.scheme != before.scheme:  # the network's labels are the same
            parts.head.codec = LabelCodec(before.scheme, parts.codec.classes)
        parts.about["extension"] = self._about
        extended = Tagger(**{**self._tagger.get_params(), **self._settings})
        extended._model = parts
        if (voters := self._tagger.model.voters) is not None:
            extended = extended.with_rules(voters.rules, reliability=voters.reliability)
        if self._dev is None or self._before is None:
            return Extension(extended, None, None)
        after = extended.evaluate(*self._dev)
        gate = gate_of(self._before, after, before.classes, parts.codec.classes, self._tolerance)
        parts.about["extension"] |= {"gate": gate.to_dict()}
        return Extension(extended, gate, after)


def _completable(tagger: Tagger, new: _Corpus, new_classes: Sequence[str]) -> list[int]:
    """The new sentences in which the tagger knows all classes that they leave open: its posterior is learned there.

    A mark of the user's may hide a new class, of which the tagger knows nothing.
    """
    codec = tagger.model.codec
    if not codec.has_spans or tagger.model.config.objective != "crf":
        return []
    return [
        i
        for i, classes in enumerate(new.annotates)
        if classes is not None
        and {*codec.classes} - {*classes}
        and {*new_classes} <= {*classes}
        and not is_partial(new.y[i])
    ]


def _labels_to_learn(
    tagger: Tagger,
    extended: LabelCodec,
    new: _Corpus,
    completed: Sequence[int],
    rehearsal: _Corpus,
    raw: Sentences,
    new_classes: Sequence[str],
) -> list[list[str]]:
    """Labels and marks of the new, the old and the raw sentences, in this order.

    The new ones have marks for everything that their labels leave open if the tagger completes them, else for the
    probable. What is O in old data that do not annotate a class may also be of this class.
    """
    others, chosen = sorted({*range(len(new.X))} - {*completed}), new.selected(completed)
    marked = dict(zip(completed, extended.widened(chosen.y, chosen.annotates), strict=True))
    marked |= zip(others, filled(tagger, *new.selected(others), new_classes), strict=True)
    hidden = [name for name in new_classes if name not in _classes(tagger.model.codec, rehearsal.y)]

    def or_hidden(label: str) -> str:
        alternatives = label.alternatives if isinstance(label, PartialLabel) else (label,)
        if not hidden or OUTSIDE not in alternatives:
            return label
        return PartialLabel(SEPARATOR.join([*alternatives, *hidden]))

    return [
        *(list(marked[i]) for i in range(len(new.X))),
        *([or_hidden(label) for label in labels] for labels in rehearsal.y),
        *filled(tagger, raw, [[OUTSIDE] * len(tokens) for tokens in raw], [()] * len(raw), new_classes),
    ]


@like(Extending)
def extend(*arguments: Any, **options: Any) -> Tagger:
    """Extend a tagger with the classes that y labels in X. The tagger itself is not changed.

    Parameters
    ----------
    tagger : Tagger
        It fills in its classes that the sentences do not annotate, wherever it is confident.
    X, y : sequences
        Sentences of tokens, and their labels.
    old : pair (X, y), optional
        Labelled data that the tagger has learned from, all or some of them.
    unlabelled : sequence of token lists, optional
        Raw text, which the tagger labels; it helps if ``old`` is missing.
    dev : pair (X, y), optional
        The known classes are scored on it before and after. If it has all classes, the best epoch on it is kept.
    tolerance : float, default=1
        Points of F1 by which a known class may fall.
    annotates : classes, or a sequence of classes for each sentence, optional
        The classes that the sentences annotate (default: those that occur in y).
    partial : bool or None, default=None
        Whether ``?`` and ``A|B`` mean unknown labels and alternatives. None: decided by the data.
    seed : int, default=0
        The same seed gives the same model.
    threads : int, default=1
        Cores to train with. Does not change the result.
    verbose : bool, default=False
        Show the progress.
    **settings
        Settings of ``Tagger``.

    Returns
    -------
    Tagger

    Raises
    ------
    ForgettingError
        If a known class falls by more than the tolerance.
    """
    extension = Extending(*arguments, **options).finished()
    if extension.gate is not None and not extension.passed:
        changes = (f"{one.name} from {one.before:.2f} to {one.after:.2f}" for one in extension.gate.fallen)
        expected = f"no known class falls by more than {extension.gate.tolerance:g} points of F1"
        raise ForgettingError("the extended model forgets", expected=expected, got=", ".join(changes))
    return extension.tagger


# ------------------------------------------------------------------------------------------------ data


def _labelled(tagger: Tagger, data: Data, partial: bool | None) -> _Corpus:
    """Sentences and their labels, in the tagger's scheme."""
    X, y = checked_labelled(*data, word_key=tagger._word_key)
    sentences_with_words(X, y)  # refuses data without any
    return _Corpus(X, _respelt(y, X, tagger, partial), [None] * len(X))


def _respelt(y: Labels, X: Sentences, tagger: Tagger, partial: bool | None) -> list[list[str]]:
    """The labels in the tagger's scheme, with their marks."""
    codec = tagger.model.codec
    y = with_marks(y, X, partial=partial, known=codec.answers)
    own = recognise(y)
    if (own != "none") != codec.has_spans:
        kinds = {True: "spans, as B-PER", False: "labels without a scheme"}
        raise DataError("labels", expected=f"{kinds[codec.has_spans]}, as the model has", got=kinds[own != "none"])
    if own == codec.scheme or not codec.has_spans:
        return [list(labels) for labels in y]
    return [list(labels) if is_partial(labels) else convert(labels, own, codec.scheme) for labels in y]


def _classes(codec: LabelCodec, y: Labels) -> set[str]:
    """The classes of labels; without a scheme, the labels."""
    if codec.has_spans:
        return classes_of(y)
    return {label for label in chain.from_iterable(y) if not isinstance(label, PartialLabel)}


def _annotated(codec: LabelCodec, new: _Corpus, annotates: Annotates) -> list[tuple[str, ...] | None]:
    """The classes that each sentence annotates: those that occur somewhere, unless it is said."""
    occurring = _classes(codec, new.y) - {OUTSIDE}
    if annotates is not None:
        entries = per_sentence(annotates, len(new.X))
        everything = tuple(dict.fromkeys([*codec.classes, *sorted(occurring)]))
        LabelCodec(codec.scheme, everything).widened(new.y, entries)  # refuses labels that are not annotated
        return entries
    if not codec.has_spans and OUTSIDE not in codec.classes:
        return [None] * len(new.X)
    if not occurring:
        raise DataError("the new data label nothing", expected="at least one label, or the classes that they annotate")
    return [tuple(sorted(occurring))] * len(new.X)


def _merged(codec: LabelCodec, new: _Corpus, old: _Corpus) -> tuple[_Corpus, _Corpus]:
    """New sentences that are among the old ones also get their labels and are not trained on twice.

    For the classes that a new sentence annotates, its own labels count; then it annotates all known classes. It stays
    as it is if marks leave something open, or if entities of both overlap: then the other classes are unknown.
    """
    others = {tuple(tokens): labels for tokens, labels in zip(old.X, old.y, strict=True)}
    known = tuple(dict.fromkeys([*codec.classes, *sorted(classes_of(old.y))]))
    y, entries, merged = list(new.y), list(new.annotates), set()
    for i, tokens in enumerate(new.X):
        annotated, before = entries[i], others.get(tuple(tokens))
        if not annotated or before is None or is_partial(before) or is_partial(y[i]):
            continue
        own = spans_from_labels(y[i], codec.scheme)
        added = [span for span in spans_from_labels(before, codec.scheme) if span.label not in annotated]
        if not any(one.start < two.end and two.start < one.end for one in own for two in added):
            y[i] = labels_from_spans(sorted([*own, *added], key=lambda span: span.start), len(y[i]), codec.scheme)
            entries[i] = (*annotated, *(name for name in known if name not in annotated))
            merged.add(tuple(tokens))
    left = [i for i, tokens in enumerate(old.X) if tuple(tokens) not in merged]
    return _Corpus(new.X, y, entries), old.selected(left)


# ------------------------------------------------------------------------------------------------ training


def _student(tagger: Tagger, X: Sentences, settings: dict[str, Any]) -> Tagger:
    """The tagger to train. Vectors, clusters and gazetteers are those in the model, not in files.

    To go on without forgetting, the rate is smaller, there are more epochs, and no more noise than much data need.
    """
    config, given = tagger.model.config, tagger._configured(tagger.settings)
    size = adapted(replace(config, batch_sentences=None), len(X), 0, continued=True).batch_sentences or 1
    epochs = min(_MOST_EPOCHS, max(_FEWEST_EPOCHS, math.ceil(_STEPS / math.ceil(len(X) / size))))
    kept = {"vectors": None, "clusters": None, "gazetteers": (), "pretrained": None, "minutes": None}
    steps = {"rate": SMALLER_STEPS * config.rate, "epochs": epochs, "batch_sentences": size}
    steps |= {"hidden_dropout": LESS_NOISE} if given.hidden_dropout is None else {}
    return Tagger(**{**tagger.get_params(), **kept, **steps, **settings})
