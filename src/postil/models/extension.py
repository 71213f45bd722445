"""Extend a model with new classes or new text, without forgetting the old classes.

The new data annotate some classes only. Their other classes are filled in by the model before training (``filling``).
Training continues from its weights, in small steps, so that it stays close to what it was; and with the old data where
they are at hand, or with raw text that it labels itself. A gate compares the scores of the known classes before and
after (``gate``).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, NamedTuple, final

import numpy as np

from postil.errors import ConfigurationError, DataError, ForgettingError
from postil.features.inputs import Sentences, Token
from postil.html.fragments import fragment, note
from postil.metrics.evaluation import Evaluation
from postil.metrics.tables import Cell, Table, drawn_table, show_class, text
from postil.models.config import adapted
from postil.models.decoding.codec import MANY_CLASSES, OUTSIDE, LabelCodec, possible
from postil.models.decoding.distribution import LabelPosterior
from postil.models.estimator import FitData
from postil.models.fitting.display import run
from postil.models.fitting.sentences import SentenceFitting, sentences_with_words
from postil.models.inputs import checked_dev, checked_labelled, checked_sentences, listed_sentences
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
        return {
            "passed": self.passed,
            "tolerance": self.tolerance,
            "classes": {
                one.name: {"before": one.before, "after": one.after, "support": one.support} for one in self.changes
            },
        }


def check_tolerance(tolerance: float) -> None:
    if not tolerance >= 0:
        raise ConfigurationError("tolerance", expected="must be at least 0", got=tolerance)


def check_judgeable(before: Evaluation, known: Sequence[str]) -> None:
    """Refuse held-out data on which no known class could fall."""
    counts = _by_class(before)
    if not any(counts[name].gold for name in known if name in counts):
        raise DataError("dev", expected=f"must have some of the classes of the model: {', '.join(known)}", got="none")


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


# ------------------------------------------------------------ filling in what labels leave open: by other labels


def labelled_twice(
    tokens: Sequence[Token],
    labels: Sequence[str],
    annotates: Sequence[str],
    others: Mapping[tuple[Token, ...], Sequence[str]],
    scheme: str,
) -> list[str] | None:
    """The labels of a sentence and those that ``others`` have for the same tokens, in one.

    For the classes that the sentence itself annotates, its own labels count. None if ``others`` lacks the tokens, if
    marks leave something open, or if entities of both overlap: then the other classes are unknown.
    """
    known = others.get(tuple(tokens))
    if known is None or is_partial(known) or is_partial(labels):
        return None
    own = spans_from_labels(labels, scheme)
    added = [span for span in spans_from_labels(known, scheme) if span.label not in annotates]
    if any(one.start < two.end and two.start < one.end for one in own for two in added):
        return None
    return labels_from_spans(sorted([*own, *added], key=lambda span: span.start), len(labels), scheme)


# ------------------------------------------------------------ by a posterior


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
    codec = tagger.model.codec
    answers = [list(labels) for labels in y]
    open_ones = [i for i, classes in enumerate(annotates) if classes is not None and len(X[i])]
    hidden = {i: [name for name in unknown_classes if name not in (annotates[i] or ())] for i in open_ones}
    seen = [_as_seen_by(codec, y[i], annotates[i] or ()) for i in open_ones]
    for number, kept in _probable(tagger, [X[i] for i in open_ones], seen, least):
        i = open_ones[number]
        for t, label in enumerate(y[i]):
            if label == OUTSIDE and not isinstance(label, PartialLabel):
                several = [*kept[t], *(hidden[i] if OUTSIDE in kept[t] else ())]  # O may also be one of these
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
        return (
            label if label == UNKNOWN else PartialLabel(SEPARATOR.join(dict.fromkeys(map(known, label.alternatives))))
        )

    return [seen(label) for label in labels]


def _probable(tagger: Tagger, X: Sentences, y: Labels, least: float) -> Iterator[tuple[int, list[list[str]]]]:
    """The places of sentences, and for each token the labels that stay possible, the most probable one first."""
    codec, L = tagger.model.codec, len(tagger.model.codec.labels)
    # IOB1's letters depend on the neighbours: there a token keeps classes instead of labels.
    names = [name if codec.scheme == "iob1" else spelt for spelt, name in codec.names()]
    left_open = [possible(numbers, L) for numbers in codec.numbers(y)]
    for which, lattice in tagger._posteriors.lattices(X):
        allowed = np.concatenate([left_open[i] for i in which]) if which else np.zeros((0, L), bool)
        posterior = LabelPosterior(which=list(which), lattice=lattice.restricted(allowed), codec=codec)
        best, marginals = posterior.best(0.0), posterior.marginals()
        kept = (marginals @ codec.spelt_alike > least) & allowed
        kept[np.arange(len(best)), best] = True
        spellings = [
            list(dict.fromkeys([names[first], *(names[number] for number in np.flatnonzero(row).tolist())]))
            for first, row in zip(best, kept, strict=True)
        ]
        for i, (first, end) in zip(which, pairwise(lattice.offsets.tolist()), strict=True):
            yield i, spellings[first:end]


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

    def __str__(self) -> str:
        if self.gate is None:
            return "extended; without held-out data, the old classes were not checked"
        return text(self.gate.table())

    def _repr_html_(self) -> str:
        return fragment(drawn_table(self.gate.table()) if self.gate is not None else note(str(self)))

    def to_dict(self) -> dict[str, Any]:
        """Return the gate, ready for JSON; ``passed`` is None without held-out data."""
        return self.gate.to_dict() if self.gate is not None else {"passed": None, "classes": {}}


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
        check_tolerance(tolerance)
        if not isinstance(tagger, Tagger):
            raise ConfigurationError("model to extend", expected="a tagger", got=f"a {tagger.KIND}")
        codec = tagger.model.codec
        self._tagger, self._tolerance, self._settings = tagger, tolerance, {**settings, "seed": seed}
        self._dev: Any = None
        self._verbose = verbose
        if dev is not None:
            X_dev, y_dev = checked_dev(dev, tagger._word_key) or dev
            self._dev = [list(tokens) for tokens in X_dev], _respelt(y_dev, X_dev, tagger, partial)
        self._before = None if self._dev is None else tagger.evaluate(*self._dev)
        if self._before is not None:
            check_judgeable(self._before, codec.classes)
        new = _labelled(tagger, (X, y), partial)
        new = new._replace(annotates=_annotated(codec, new, annotates))
        new = new.selected([i for i, labels in enumerate(new.y) if len(labels) and not is_unknown(labels)])
        whole = rehearsal = _Corpus([], [], []) if old is None else _labelled(tagger, old, partial)
        if codec.has_spans and tagger._word_key is None:
            new, rehearsal = _merged(codec, new, whole)
        raw: list[list[Token]] = []
        if unlabelled is not None:
            listed = listed_sentences(unlabelled, "unlabelled", word_key=tagger._word_key)
            checked_sentences(listed)
            raw = [tokens for tokens in listed if len(tokens)]
        occurring = _classes(codec, [*new.y, *rehearsal.y])
        self.new_classes = sorted(occurring - {*codec.classes} - {OUTSIDE})
        """The classes that the tagger does not know yet."""
        _check_classes(codec, self.new_classes)
        not_in_old = [name for name in self.new_classes if name not in _classes(codec, rehearsal.y)]
        completed = _completed(tagger, new, self.new_classes)
        learnt = [
            *_open(tagger, new, completed, self.new_classes),
            *[[_or_hidden(label, not_in_old) for label in labels] for labels in rehearsal.y],
            *filled(tagger, raw, [[OUTSIDE] * len(tokens) for tokens in raw], [()] * len(raw), self.new_classes),
        ]
        sentences = [*new.X, *rehearsal.X, *raw]
        # Whether the held-out data can tell a good epoch: they also label what is new.
        every = {*codec.classes, *self.new_classes}
        has_all_classes = self._dev is not None and every <= _classes(codec, self._dev[1]) | {OUTSIDE}
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
            parts.codec = LabelCodec(before.scheme, parts.codec.classes)
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


def _check_classes(codec: LabelCodec, new: Sequence[str]) -> None:
    strange = [name for name in (*codec.classes, *new) if SEPARATOR in name]
    if strange and (codec.has_spans or OUTSIDE in codec.classes):
        expected = f"names without {SEPARATOR}, which marks alternative labels"
        raise DataError("classes of an extended model", expected=expected, got=repr(strange[0]))
    if LabelCodec(codec.scheme, (*codec.classes, *new)).inner != codec.inner:
        raise ConfigurationError("classes of an extended model", expected=f"at most {MANY_CLASSES}: train it anew")


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

    Those then annotate all known classes.
    """
    others = {tuple(tokens): labels for tokens, labels in zip(old.X, old.y, strict=True)}
    known = tuple(dict.fromkeys([*codec.classes, *sorted(classes_of(old.y))]))
    y, entries, merged = list(new.y), list(new.annotates), set()
    for i, tokens in enumerate(new.X):
        annotated = entries[i] or ()
        labels = labelled_twice(tokens, new.y[i], annotated, others, codec.scheme) if annotated else None
        if labels is not None:
            y[i], entries[i] = labels, (*annotated, *(name for name in known if name not in annotated))
            merged.add(tuple(tokens))
    left = [i for i, tokens in enumerate(old.X) if tuple(tokens) not in merged]
    return _Corpus(new.X, y, entries), old.selected(left)


def _completed(tagger: Tagger, new: _Corpus, new_classes: Sequence[str]) -> list[int]:
    """The new sentences in which the tagger knows all classes that they leave open: its posterior is learned there.

    A mark of the user's may hide a new class, of which the tagger knows nothing.
    """
    codec, known = tagger.model.codec, {*tagger.model.codec.classes}
    if not codec.has_spans or tagger.model.config.objective != "crf":
        return []
    return [
        i
        for i, classes in enumerate(new.annotates)
        if classes is not None and known - {*classes} and {*new_classes} <= {*classes} and not is_partial(new.y[i])
    ]


def _open(tagger: Tagger, new: _Corpus, completed: Sequence[int], new_classes: Sequence[str]) -> list[list[str]]:
    """The new labels with marks: everything that they leave open if the tagger completes them, else the probable."""
    codec, others = tagger.model.codec, sorted({*range(len(new.X))} - {*completed})
    whole, chosen = LabelCodec(codec.scheme, (*codec.classes, *new_classes)), new.selected(completed)
    marked = dict(zip(completed, whole.widened(chosen.y, chosen.annotates), strict=True))
    marked |= zip(others, filled(tagger, *new.selected(others), new_classes), strict=True)
    return [list(marked[i]) for i in range(len(new.X))]


def _or_hidden(label: str, hidden: Sequence[str]) -> str:
    """A label of data that do not annotate the ``hidden`` classes: what may be O may also be one of these."""
    alternatives = label.alternatives if isinstance(label, PartialLabel) else (label,)
    if not hidden or OUTSIDE not in alternatives:
        return label
    return PartialLabel(SEPARATOR.join([*alternatives, *hidden]))


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
