"""Partial annotation by enumeration: every valid labelling of a short sentence is written out and compared."""

from functools import cache
from itertools import pairwise, product

import numpy as np

from postil.text.labels.schemes import convert, parse_label, transition_mask


def valid_labellings(labels, inner, length, possible=None):
    """All sequences of label numbers that the scheme allows, within (T, L) ``possible`` if it is given."""
    mask = transition_mask(labels, inner)
    choices = [range(len(labels)) if possible is None else np.flatnonzero(row) for row in (possible or [0] * length)]
    return {
        path
        for path in product(*choices)
        if not path
        or (mask.start[path[0]] and mask.end[path[-1]] and all(mask.transitions[a, b] for a, b in pairwise(path)))
    }


def agrees(label, partial, is_mark):
    """Whether one label of the data's scheme is what a label or mark says."""
    if not is_mark:
        return label == partial
    alternatives = [] if partial == "?" else partial.split("|")
    return not alternatives or label in alternatives or parse_label(label).label in alternatives


def compatible_labellings(labels, inner, scheme, partial, is_mark):
    """The valid labellings that agree with partial annotation at every token, spelt in its scheme."""
    return {
        path
        for path, spelt in _spelt_labellings(tuple(labels), inner, scheme, len(partial))
        if all(map(agrees, spelt, partial, is_mark))
    }


@cache
def _spelt_labellings(labels, inner, scheme, length):
    """All valid labellings of this length, each with its spelling in the data's scheme."""
    paths = valid_labellings(labels, inner, length)
    return [(path, convert([labels[i] for i in path], inner, scheme)) for path in paths]
