"""What labels leave open, filled in by a model that knows it.

A sentence annotates some classes; of the others its O says nothing. A model that knows them has a posterior over the
labellings that agree with what is annotated. Of that posterior, each open token keeps the labels that are probable, and
those of the best labelling, so that at least one labelling agrees with all of them. Where one label is left the model
is sure; several are a mark (``B-PER|O``), over which a training sums.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.features.inputs import Token
from postil.models.answers.distribution import Distribution
from postil.models.answers.labelling import OUTSIDE, Labelling
from postil.models.tagger import Tagger
from postil.text.labels.partial import is_partial
from postil.text.labels.partial_label import SEPARATOR, UNKNOWN, PartialLabel
from postil.text.labels.schemes import labels_from_spans, parse_label, spans_from_labels

LEAST = 0.1
"""Labels with a smaller probability are ruled out."""


# ------------------------------------------------------------------------------------------------ by other labels


def labelled_twice(
    tokens: Sequence[Token],
    labels: Sequence[str],
    annotates: Sequence[str],
    others: Mapping[tuple[Token, ...], Sequence[str]],
    scheme: str,
) -> list[str] | None:
    """The labels of a sentence and those that ``others`` have for the same tokens, in one.

    What the sentence itself annotates counts. None where there are no others, where marks leave something open, and
    where entities of both overlap: then it is not known what the other classes are.
    """
    known = others.get(tuple(tokens))
    if known is None or is_partial(known) or is_partial(labels):
        return None
    own = spans_from_labels(labels, scheme)
    added = [span for span in spans_from_labels(known, scheme) if span.label not in annotates]
    if any(one.start < two.end and two.start < one.end for one in own for two in added):
        return None
    return labels_from_spans(sorted([*own, *added], key=lambda span: span.start), len(labels), scheme)


# ------------------------------------------------------------------------------------------------ by a posterior


def filled(
    tagger: Tagger,
    X: Sequence[Sequence[Token]],
    y: Sequence[Sequence[str]],
    annotates: Sequence[Sequence[str] | None],
    unknown_classes: Sequence[str] = (),
    least: float = LEAST,
) -> list[list[str]]:
    """The labels, with what the tagger says in the place of every O that may hide one of its classes.

    y is spelt in the tagger's scheme and may have classes that it does not know. ``annotates`` has the classes that
    each sentence annotates (None: all). Of the ``unknown_classes``, which the tagger does not know either, those that
    a sentence does not annotate stay possible at every O.
    """
    labelling = tagger.labelling
    answers = [list(labels) for labels in y]
    open_ones = [i for i, classes in enumerate(annotates) if classes is not None and len(X[i])]
    hidden = {i: [name for name in unknown_classes if name not in (annotates[i] or ())] for i in open_ones}
    seen = [_as_seen_by(labelling, y[i], annotates[i] or ()) for i in open_ones]
    for number, kept in _probable(tagger, [X[i] for i in open_ones], seen, least):
        i = open_ones[number]
        for t, label in enumerate(y[i]):
            if label == OUTSIDE and not isinstance(label, PartialLabel):
                answers[i][t] = _mark(kept[t], hidden[i], are_classes=labelling.scheme == "iob1")
    return answers


def _as_seen_by(labelling: Labelling, labels: Sequence[str], annotates: Sequence[str]) -> list[str]:
    """What the labels of a sentence leave open to a tagger: an entity of a class that it does not know is O to it."""
    others = [name for name in labelling.classes if name not in annotates and name != OUTSIDE]
    outside = PartialLabel(SEPARATOR.join([OUTSIDE, *others])) if others else OUTSIDE
    return [
        outside if label == OUTSIDE and not isinstance(label, PartialLabel) else _known(label, labelling)
        for label in labels
    ]


def _known(label: str, labelling: Labelling) -> str:
    if not isinstance(label, PartialLabel):
        return label if _class_of(label, labelling) in labelling.classes else OUTSIDE
    if label == UNKNOWN:
        return label
    parts = [part if _class_of(part, labelling) in labelling.classes else OUTSIDE for part in label.alternatives]
    return PartialLabel(SEPARATOR.join(dict.fromkeys(parts)))


def _class_of(label: str, labelling: Labelling) -> str:
    if not labelling.has_spans or label in labelling.classes:
        return label
    return parse_label(label).label


def _probable(
    tagger: Tagger, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]], least: float
) -> Iterator[tuple[int, list[list[str]]]]:
    """The places of sentences, and for each token the labels that stay possible, the most probable one first."""
    labelling, L = tagger.labelling, len(tagger.labelling.labels)
    # IOB1's letters depend on the neighbours: there a token keeps classes instead of labels.
    names = [name if labelling.scheme == "iob1" else spelt for spelt, name in labelling.names()]
    possible = [_sets(numbers, L) for numbers in labelling.numbers(y)]
    for which, lattice in tagger._posteriors.lattices(X):
        allowed = np.concatenate([possible[i] for i in which]) if which else np.zeros((0, L), bool)
        posterior = Distribution(which=list(which), lattice=lattice.restricted(allowed), labelling=labelling)
        best, marginals = posterior.best(0.0), posterior.marginals()
        kept = (marginals @ labelling.spelt_alike > least) & allowed
        kept[np.arange(len(best)), best] = True
        edges = offsets_from_lengths([len(X[i]) for i in which])
        for row, i in enumerate(which):
            tokens = slice(edges[row], edges[row + 1])
            yield i, [_spellings(names, *pair) for pair in zip(best[tokens], kept[tokens], strict=True)]


def _sets(numbers: Array, L: int) -> Array:
    return numbers if numbers.ndim == 2 else np.eye(L, dtype=bool)[numbers]


def _spellings(names: Sequence[str], best: int, kept: Array) -> list[str]:
    return list(dict.fromkeys([names[best], *(names[number] for number in np.flatnonzero(kept).tolist())]))


def _mark(labels: Sequence[str], hidden: Sequence[str], *, are_classes: bool) -> str:
    """One label, or a mark of several; an O may also be one of the ``hidden`` classes."""
    several = [*labels, *(hidden if OUTSIDE in labels else ())]
    is_sure = len(several) == 1 and (several[0] == OUTSIDE or not are_classes)
    return several[0] if is_sure else PartialLabel(SEPARATOR.join(several))
