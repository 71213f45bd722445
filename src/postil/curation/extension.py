"""Extending a model: it learns new classes, or new text, and keeps what it knows.

The new data annotate some classes only. What else there is in them is filled in by the model as it was (``filling``).
Training continues from its weights, in small steps, so that it stays close to what it was; and with the old data where
they are at hand, or with raw text that it labels itself. A gate compares the scores of the known classes before and
after (``gate``).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, final

from postil.curation.filling import filled, labelled_twice
from postil.curation.gate import TOLERANCE, Gate, check_judgeable, check_tolerance, gate_of
from postil.errors import ConfigurationError, DataError, ForgettingError
from postil.features.inputs import Token
from postil.metrics.evaluation import Evaluation
from postil.models.answers.labelling import MANY_CLASSES, OUTSIDE, Labelling
from postil.models.config import adapted
from postil.models.fitting.running import run
from postil.models.fitting.sentences import SentenceFitting, sentences_with_words
from postil.models.inputs import checked_dev, checked_labelled, checked_sentences, listed_sentences
from postil.models.tagger import Tagger
from postil.models.trainee import FitData
from postil.text.labels.partial import Annotates, classes_of, is_partial, is_unknown, per_sentence, with_marks
from postil.text.labels.partial_label import SEPARATOR, PartialLabel
from postil.text.labels.schemes import convert, recognise

Data = tuple[Sequence[Sequence[Token]], Sequence[Sequence[str]]]

SMALLER_STEPS = 0.4
"""What is left of the learning rate where training continues: with all of it, more is forgotten."""
STEPS, FEWEST_EPOCHS, MOST_EPOCHS = 1400, 10, 50
"""Smaller steps need more of them."""
LESS_NOISE = 0.3
"""Dropout of hidden layers where the model leaves it to the amount of data: the weights know more than these."""


@final
@dataclass(frozen=True, slots=True)
class Extension:
    """The extended tagger; where there were held-out data, their ``gate`` and the tagger's ``scores`` on them."""

    tagger: Tagger
    gate: Gate | None
    scores: Evaluation | None

    @property
    def passed(self) -> bool:
        """Whether no known class fell by more than the tolerance; without held-out data nobody knows."""
        return self.gate is None or self.gate.passed


def extend(
    tagger: Tagger,
    X: Sequence[Sequence[Token]],
    y: Sequence[Sequence[str]],
    *,
    old: Data | None = None,
    unlabelled: Sequence[Sequence[Token]] | None = None,
    dev: Data | None = None,
    tolerance: float = TOLERANCE,
    annotates: Annotates = None,
    partial: bool | None = None,
    seed: int = 0,
    threads: int = 1,
    verbose: bool = False,
    **settings: Any,
) -> Tagger:
    """A tagger that knows what ``tagger`` does and what y labels in X. ``tagger`` itself stays as it is.

    ``annotates`` lists the classes that the sentences annotate, for all sentences or for each; None: those that occur
    in y. The tagger fills in its other classes where it is sure.

    ``old`` are labelled data that the tagger has learnt from, all or some of them. ``unlabelled`` is raw text as
    sentences of tokens, which the tagger labels itself; it helps where ``old`` is missing.

    On ``dev``, the classes that the tagger knows are scored before and after. Where one falls by more than
    ``tolerance`` points of F1, a ForgettingError is raised. Where ``dev`` has all classes, the epoch that scores best
    on it is kept. Other ``settings`` are those of ``Tagger``. The same seed gives the same model.
    """
    extending = Extending(
        tagger,
        X,
        y,
        old=old,
        unlabelled=unlabelled,
        dev=dev,
        tolerance=tolerance,
        annotates=annotates,
        partial=partial,
        seed=seed,
        threads=threads,
        **settings,
    )
    run(extending.fitting, verbose=verbose)
    extension = extending.result()
    if extension.gate is not None and not extension.passed:
        changes = (f"{one.name} from {one.before:.2f} to {one.after:.2f}" for one in extension.gate.fallen)
        expected = f"no known class falls by more than {tolerance:g} points of F1"
        raise ForgettingError("the extended model forgets", expected=expected, got=", ".join(changes))
    return extension.tagger


class _Corpus(NamedTuple):
    X: list[list[Token]]
    y: list[list[str]]


@final
class Extending:
    """``extend`` step by step: iterate over ``fitting``, which trains and yields events, then ask for the result.

    The parameters are those of ``extend``. Whether the gate is passed, the result says; nothing is raised.
    """

    def __init__(
        self,
        tagger: Tagger,
        X: Sequence[Sequence[Token]],
        y: Sequence[Sequence[str]],
        *,
        old: Data | None = None,
        unlabelled: Sequence[Sequence[Token]] | None = None,
        dev: Data | None = None,
        tolerance: float = TOLERANCE,
        annotates: Annotates = None,
        partial: bool | None = None,
        seed: int = 0,
        threads: int = 1,
        **settings: Any,
    ) -> None:
        check_tolerance(tolerance)
        if not isinstance(tagger, Tagger):
            raise ConfigurationError("model to extend", expected="a tagger", got=f"a {tagger.KIND}")
        labelling = tagger.labelling
        self._tagger, self._tolerance, self._settings = tagger, tolerance, {**settings, "seed": seed}
        self._dev = None if dev is None else _dev(tagger, dev, partial)
        self._before = None if self._dev is None else tagger.evaluate(*self._dev)
        if self._before is not None:
            check_judgeable(self._before, labelling.classes)
        new = _labelled(tagger, (X, y), partial)
        new, entries = _with_something_known(new, _annotated(labelling, new, annotates))
        whole = _Corpus([], []) if old is None else _labelled(tagger, old, partial)
        if labelling.has_spans and tagger._word_key is None:
            new, rehearsal = _merged(labelling, new, entries, whole)
        else:
            rehearsal = whole
        raw = [] if unlabelled is None else _raw(tagger, unlabelled)
        occurring = _classes(labelling, [*new.y, *rehearsal.y])
        self.new_classes = sorted(occurring - {*labelling.classes} - {OUTSIDE})
        """The classes that the tagger does not know yet."""
        _check_classes(labelling, self.new_classes)
        not_in_old = [name for name in self.new_classes if name not in _classes(labelling, rehearsal.y)]
        completed = _completed(tagger, new, entries, self.new_classes)
        learnt = [
            *_open(tagger, new, entries, completed, self.new_classes),
            *_widened(rehearsal.y, not_in_old),
            *filled(tagger, raw, [[OUTSIDE] * len(tokens) for tokens in raw], [()] * len(raw), self.new_classes),
        ]
        sentences = [*new.X, *rehearsal.X, *raw]
        self._student = _student(tagger, sentences, {**self._settings, "threads": threads})
        self.fitting = SentenceFitting(
            self._student,
            FitData(
                sentences,
                learnt,
                self._dev if self._has_all_classes() else None,
                warm_start=tagger,
                partial=False,  # the marks are there already
            ),
            completed_by=tagger,
            completed=completed,
        )
        self._about = _about(self.new_classes, whole, raw)

    def _has_all_classes(self) -> bool:
        """Whether the held-out data can tell a good epoch: they also label what is new."""
        if self._dev is None:
            return False
        labelling = self._tagger.labelling
        return {*labelling.classes, *self.new_classes} <= _classes(labelling, self._dev[1]) | {OUTSIDE}

    def result(self) -> Extension:
        """The extended tagger, once all events of ``fitting`` have come."""
        before, parts = self._tagger.labelling, self._student.fitted_parts()
        if parts.labelling.scheme != before.scheme:  # the network's labels are the same
            parts.labelling = Labelling(before.scheme, parts.labelling.classes)
        parts.about["extension"] = self._about
        extended = Tagger(**{**self._tagger.get_params(), **self._settings})
        extended.parts = parts
        if self._dev is None or self._before is None:
            return Extension(extended, None, None)
        after = extended.evaluate(*self._dev)
        gate = gate_of(self._before, after, before.classes, parts.labelling.classes, self._tolerance)
        parts.about["extension"] |= {"gate": gate.to_dict()}
        return Extension(extended, gate, after)


# ------------------------------------------------------------------------------------------------ data


def _labelled(tagger: Tagger, data: Data, partial: bool | None) -> _Corpus:
    """Sentences and their labels, in the tagger's scheme."""
    X, y = checked_labelled(*data, word_key=tagger._word_key)
    sentences_with_words(X, y)  # refuses data without any
    return _Corpus(X, _respelt(y, X, tagger, partial))


def _with_something_known(
    data: _Corpus, entries: list[tuple[str, ...] | None]
) -> tuple[_Corpus, list[tuple[str, ...] | None]]:
    """The sentences that have words and of which something is known."""
    kept = [i for i, labels in enumerate(data.y) if len(labels) and not is_unknown(labels)]
    return _Corpus([data.X[i] for i in kept], [data.y[i] for i in kept]), [entries[i] for i in kept]


def _dev(tagger: Tagger, dev: Data, partial: bool | None) -> _Corpus:
    X, y = checked_dev(dev, tagger._word_key) or dev
    return _Corpus([list(tokens) for tokens in X], _respelt(y, X, tagger, partial))


def _respelt(
    y: Sequence[Sequence[str]], X: Sequence[Sequence[Token]], tagger: Tagger, partial: bool | None
) -> list[list[str]]:
    """The labels in the tagger's scheme, with their marks."""
    labelling = tagger.labelling
    y = with_marks(y, X, partial=partial, known=labelling.data_labels())
    own = recognise(y)
    if (own != "none") != labelling.has_spans:
        kinds = {True: "spans, as B-PER", False: "labels without a scheme"}
        raise DataError("labels", expected=f"{kinds[labelling.has_spans]}, as the model has", got=kinds[own != "none"])
    if own == labelling.scheme or not labelling.has_spans:
        return [list(labels) for labels in y]
    return [list(labels) if is_partial(labels) else convert(labels, own, labelling.scheme) for labels in y]


def _raw(tagger: Tagger, unlabelled: Sequence[Sequence[Token]]) -> list[list[Token]]:
    sentences = listed_sentences(unlabelled, "unlabelled", word_key=tagger._word_key)
    checked_sentences(sentences)
    return [tokens for tokens in sentences if len(tokens)]


def _classes(labelling: Labelling, y: Sequence[Sequence[str]]) -> set[str]:
    """The classes of labels; without a scheme, the labels."""
    if labelling.has_spans:
        return classes_of(y)
    return {label for label in chain.from_iterable(y) if not isinstance(label, PartialLabel)}


def _check_classes(labelling: Labelling, new: Sequence[str]) -> None:
    strange = [name for name in (*labelling.classes, *new) if SEPARATOR in name]
    if strange and (labelling.has_spans or OUTSIDE in labelling.classes):
        expected = f"names without {SEPARATOR}, which marks alternative labels"
        raise DataError("classes of an extended model", expected=expected, got=repr(strange[0]))
    if Labelling(labelling.scheme, (*labelling.classes, *new)).inner != labelling.inner:
        raise ConfigurationError("classes of an extended model", expected=f"at most {MANY_CLASSES}: train it anew")


def _annotated(labelling: Labelling, new: _Corpus, annotates: Annotates) -> list[tuple[str, ...] | None]:
    """The classes that each sentence annotates: those that occur somewhere, unless it is said."""
    occurring = _classes(labelling, new.y) - {OUTSIDE}
    if annotates is not None:
        entries = per_sentence(annotates, len(new.X))
        everything = tuple(dict.fromkeys([*labelling.classes, *sorted(occurring)]))
        Labelling(labelling.scheme, everything).widened(new.y, entries)  # refuses labels that are not annotated
        return entries
    if not labelling.has_spans and OUTSIDE not in labelling.classes:
        return [None] * len(new.X)
    if not occurring:
        raise DataError("the new data label nothing", expected="at least one label, or the classes that they annotate")
    return [tuple(sorted(occurring))] * len(new.X)


def _merged(
    labelling: Labelling, new: _Corpus, entries: list[tuple[str, ...] | None], old: _Corpus
) -> tuple[_Corpus, _Corpus]:
    """New sentences that are among the old ones get their labels, too, which then are not learnt twice.

    Where that is so, ``entries`` say that all known classes are annotated.
    """
    others = {tuple(tokens): labels for tokens, labels in zip(old.X, old.y, strict=True)}
    known = tuple(dict.fromkeys([*labelling.classes, *sorted(classes_of(old.y))]))
    y, merged = list(new.y), set()
    for i, tokens in enumerate(new.X):
        annotated = entries[i] or ()
        labels = labelled_twice(tokens, new.y[i], annotated, others, labelling.scheme) if annotated else None
        if labels is not None:
            y[i], entries[i] = labels, (*annotated, *(name for name in known if name not in annotated))
            merged.add(tuple(tokens))
    left = [i for i, tokens in enumerate(old.X) if tuple(tokens) not in merged]
    return _Corpus(new.X, y), _Corpus([old.X[i] for i in left], [old.y[i] for i in left])


def _completed(
    tagger: Tagger, new: _Corpus, entries: Sequence[tuple[str, ...] | None], new_classes: Sequence[str]
) -> list[int]:
    """The new sentences in which the tagger knows all classes that they leave open: its posterior is learnt there.

    A mark of the user's may hide a new class, of which the tagger knows nothing.
    """
    labelling, known = tagger.labelling, {*tagger.labelling.classes}
    if not labelling.has_spans or tagger.fitted_parts().config.objective != "crf":
        return []
    return [
        i
        for i, classes in enumerate(entries)
        if classes is not None and known - {*classes} and {*new_classes} <= {*classes} and not is_partial(new.y[i])
    ]


def _open(
    tagger: Tagger,
    new: _Corpus,
    entries: Sequence[tuple[str, ...] | None],
    completed: Sequence[int],
    new_classes: Sequence[str],
) -> list[list[str]]:
    """The new labels with marks: everything that they leave open where the tagger completes them, else the probable."""
    labelling, others = tagger.labelling, sorted({*range(len(new.X))} - {*completed})
    whole = Labelling(labelling.scheme, (*labelling.classes, *new_classes))
    chosen = [new.y[i] for i in completed]
    marked = dict(zip(completed, whole.widened(chosen, [entries[i] for i in completed]), strict=True))
    rest = [new.X[i] for i in others], [new.y[i] for i in others], [entries[i] for i in others]
    marked |= zip(others, filled(tagger, *rest, new_classes), strict=True)
    return [list(marked[i]) for i in range(len(new.X))]


def _widened(y: Sequence[Sequence[str]], hidden: Sequence[str]) -> list[list[str]]:
    """Labels of data that do not annotate the ``hidden`` classes: what may be O may be one of these, too."""
    return [[_or_hidden(label, hidden) for label in labels] for labels in y]


def _or_hidden(label: str, hidden: Sequence[str]) -> str:
    alternatives = label.alternatives if isinstance(label, PartialLabel) else (label,)
    if not hidden or OUTSIDE not in alternatives:
        return label
    return PartialLabel(SEPARATOR.join([*alternatives, *hidden]))


# ------------------------------------------------------------------------------------------------ training


def _student(tagger: Tagger, X: Sequence[Sequence[Token]], settings: dict[str, Any]) -> Tagger:
    """The tagger to train. Vectors, clusters and gazetteers are those in the model, not in files."""
    kept = {"vectors": None, "clusters": None, "gazetteers": (), "pretrained": None, "minutes": None}
    return Tagger(**{**tagger.get_params(), **kept, **_small_steps(tagger, len(X)), **settings})


def _small_steps(tagger: Tagger, sentences: int) -> dict[str, Any]:
    """How to go on without forgetting: a smaller rate, more epochs, no more noise than much data need."""
    config, given = tagger.fitted_parts().config, tagger._configured(tagger.settings)
    size = adapted(replace(config, batch_sentences=None), sentences, 0, continued=True).batch_sentences or 1
    epochs = min(MOST_EPOCHS, max(FEWEST_EPOCHS, math.ceil(STEPS / math.ceil(sentences / size))))
    noise = {"hidden_dropout": LESS_NOISE} if given.hidden_dropout is None else {}
    return {"rate": SMALLER_STEPS * config.rate, "epochs": epochs, "batch_sentences": size, **noise}


def _about(classes: Sequence[str], old: _Corpus, raw: Sequence[Sequence[Token]]) -> dict[str, Any]:
    """For the model file: what it was extended by. Sentences are counted, never stored."""
    counted = {"old": old.X, "unlabelled": raw}
    sizes = {name: {"sentences": len(X), "tokens": sum(map(len, X))} for name, X in counted.items() if X}
    return {"classes": list(classes), **sizes}
