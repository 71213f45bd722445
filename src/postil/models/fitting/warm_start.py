"""Beginning a training run with the parameters of a model: its weights are reused, new parts start fresh.

Strings keep their ids and new ones come after them, and so do the classes of labels. So a known word, affix, shape or
value of a column keeps its row, and a label its row of the output maps and its transitions.
"""

from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np

from postil.errors import ConfigurationError
from postil.features.inputs import InputFeatures
from postil.features.named import NamedFeatures
from postil.features.vectors import WordVectors
from postil.features.vocabulary import Vocabulary
from postil.features.words import WordFeatures
from postil.models.config import TaggerConfig
from postil.models.model import FittedModel
from postil.models.networks.network import members_of

# The settings that decide which parameters there are and what they mean. The others may change.
_WORDS_AND_ENCODER = (
    *("word_dim", "caps_dim", "shape_dim", "prefix_dim", "suffix_dim", "prefix_lengths", "suffix_lengths"),
    *("cluster_dim", "name_dim", "character_dim", "column_dim", "gazetteer_dim", "position_dim"),
    *("word_key", "feature_buckets"),
    *("encoder", "window", "hidden", "layers", "activation"),
)
ARCHITECTURE = (*_WORDS_AND_ENCODER, "ensemble", "objective", "offsets")

SAME_VECTORS = 0.8  # cosine of all shared words: codes of rare words cost a tenth of it, other vectors nearly all
_OF_LABELS = ("output", "crf.")  # how the names of parameters begin that are about labels


def continued(old: TaggerConfig, new: TaggerConfig, *, with_labels: bool = True) -> TaggerConfig:
    """The new config, with the clusters that the model has: they are never made again.

    Another kind of network raises an error with the first settings that differ. ``with_labels``: not only words
    and encoder go on.
    """
    names = ARCHITECTURE if with_labels else _WORDS_AND_ENCODER
    differing = [name for name in names if getattr(old, name) != getattr(new, name)]
    if differing:
        expected, got = (", ".join(f"{name}={getattr(c, name)}" for name in differing[:4]) for c in (old, new))
        what = f"{expected} of the model to start from"
        raise ConfigurationError("the architectures differ", expected=what, got=got)
    return replace(new, vector_clusters=old.vector_clusters)


def extended_features(old: InputFeatures, new: InputFeatures) -> InputFeatures:
    """All strings of ``old`` under their ids, then those of ``new``; vectors and gazetteers are new."""
    if len(old.columns) != len(new.columns):
        raise ConfigurationError(
            "warm start: extra columns of the data",
            expected=f"{len(old.columns)} as in the model",
            got=len(new.columns),
        )
    if old.words.config.vector_dim != new.words.config.vector_dim:
        raise ConfigurationError(
            "warm start: dimension of the word vectors",
            expected=f"{old.words.config.vector_dim or 'no vectors'} as in the model",
            got=new.words.config.vector_dim or "no vectors",
        )
    columns = [extended(*pair) for pair in zip(old.columns, new.columns, strict=True)]
    gazetteers = [features.gazetteer.columns if features.gazetteer is not None else [] for features in (old, new)]
    if new.gazetteer is not None and gazetteers[0] != gazetteers[1]:
        expected, got = (", ".join(names) or "none" for names in gazetteers)
        raise ConfigurationError("warm start: classes of the gazetteers", expected=expected, got=got)
    named = new.named
    if old.named is not None and old.named.names is not None and named is not None and named.names is not None:
        named = NamedFeatures(extended(old.named.names, named.names))
    vocabularies = {
        name: vocabulary if name == "vector" else extended(old.words.vocabularies[name], vocabulary)
        for name, vocabulary in new.words.vocabularies.items()
    }
    counts = new.words.counts
    if len(counts):
        counts = np.zeros(len(vocabularies["word"]), np.int64)
        for one in (old.words, new.words):
            counts[vocabularies["word"].ids(one.vocabularies["word"])] += one.counts
    words = WordFeatures(new.words.config, vocabularies, counts, old.words.lexicons, old.words.folds)
    return InputFeatures(words, columns, new.gazetteer or old.gazetteer, named)


def extended(old: Vocabulary, new: Vocabulary) -> Vocabulary:
    """The strings of ``old`` under their ids, then the others of ``new``."""
    return Vocabulary.build([*old, *(string for string in new if string not in old)])


def in_scale_of(known: WordVectors, vectors: WordVectors) -> WordVectors:
    """``vectors`` in the scale in which the encoder of a known model has learned to read its own.

    They must be the same vectors, as a rule of more words: a model that is shipped holds only those of useful words.
    Each dimension has its own factor, because several files may be joined side by side, each scaled as a whole.
    """
    if known.matrix.shape[1] != vectors.matrix.shape[1]:
        return vectors  # which ``extended_features`` refuses
    places = vectors.words.ids(known.words, 0)
    shared = np.flatnonzero(places)
    before, after = known.matrix[shared].astype(np.float64), vectors.matrix[places[shared]].astype(np.float64)
    # Coded vectors are means of those that they stand for, so they are what the exact ones are compared with.
    products, squares = (before * after).sum(axis=0), np.square(before).sum(axis=0)
    cosine = products.sum() / max(np.sqrt(squares.sum() * np.square(after).sum()), 1e-12)
    if cosine < SAME_VECTORS:
        raise ConfigurationError(
            "warm start: the word vectors are not those of the model",
            expected="the vectors that it was trained with, of the same or more words",
            got=f"others: a cosine of {cosine:.2f} over {len(shared):,} shared words",
        )
    factors = np.divide(squares, products, out=np.ones_like(products), where=products > 0)
    return vectors._replace(matrix=vectors.matrix * factors.astype(np.float32))


def take_over(old: FittedModel, new: FittedModel) -> None:
    """Copy the parameters of ``old`` to the same things in ``new``, which extends its features and labels."""
    number = {label: i for i, label in enumerate(new.codec.labels)}
    labels = np.array([number[label] for label in old.codec.labels])
    places: dict[str, Any] = {"crf.start": labels, "crf.end": labels, "crf.transitions": np.ix_(labels, labels)}
    if old.features.named is not None:
        places["named"] = np.ix_(np.arange(len(old.features.named)), labels)
    for i in range(new.config.offsets):
        places |= {f"output{i}.W": labels, f"output{i}.b": labels}
    for before, after in zip(members_of(old.network), members_of(new.network), strict=True):
        _take_over(before, after, places)


def take_over_encoder(old: FittedModel, new: FittedModel) -> None:
    """Copy what is known about words and their neighbours, but nothing about labels.

    A larger ensemble has several members that begin alike; their labels and their noise differ.
    """
    for before, after in zip(cycle(members_of(old.network)), members_of(new.network), strict=False):
        _take_over(before, after, {name: () for name in after.parameters() if name.startswith(_OF_LABELS)})


def _take_over(old: Any, new: Any, places_of_labels: dict[str, Any]) -> None:
    values = {name: parameter.value for name, parameter in old.parameters().items()}
    places: dict[str, Any] = {}  # of each parameter that holds tables: where its old rows stand among the new ones
    for name, part in (("forms", "form_tables"), ("extra", "extra_tables")):
        before, after = getattr(old, part), getattr(new, part)
        for i, group in enumerate([] if before is None else before.groups):
            rows = [after.starts[feature] + np.arange(before.sizes[feature][0]) for feature in group]
            places[f"{name}.tables.{i}"] = np.concatenate(rows)
    if old.characters is not None:  # its ids are those of a vocabulary, and old ones stay
        places["characters.table"] = np.arange(old.alphabet)
    places |= places_of_labels
    for name, parameter in new.parameters().items():
        if name not in places:
            parameter.value[...] = values[name]
        elif len(places[name]):
            parameter.value[places[name]] = values[name]
