"""Sentences to integers: vocabularies, what words look like, pre-trained vectors, lists of names, batches."""

import typing

from postil import lazy

if typing.TYPE_CHECKING:
    from postil.features.batching import batches_of_similar_length
    from postil.features.gazetteer import GAZETTEER_CODES, Gazetteer
    from postil.features.orthography import CAPS_CLASSES, caps_class, fold_digits, normalise, shape
    from postil.features.vectors import NAMED_VECTORS, WordVectors, load_vectors
    from postil.features.vocabulary import Vocabulary, arrays_under
    from postil.features.words import (
        UNKNOWN,
        Column,
        WordFeatureConfig,
        WordFeatures,
        distinct,
        frequent_values,
    )
else:
    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            ".batching": ["batches_of_similar_length"],
            ".gazetteer": ["GAZETTEER_CODES", "Gazetteer"],
            ".orthography": ["CAPS_CLASSES", "caps_class", "fold_digits", "normalise", "shape"],
            ".vectors": ["NAMED_VECTORS", "WordVectors", "load_vectors"],
            ".vocabulary": ["Vocabulary", "arrays_under"],
            ".words": ["UNKNOWN", "Column", "WordFeatureConfig", "WordFeatures", "distinct", "frequent_values"],
        },
    )

__all__ = [
    "Vocabulary",
    "arrays_under",
    "CAPS_CLASSES",
    "normalise",
    "fold_digits",
    "caps_class",
    "shape",
    "UNKNOWN",
    "Column",
    "WordFeatureConfig",
    "WordFeatures",
    "distinct",
    "frequent_values",
    "WordVectors",
    "NAMED_VECTORS",
    "load_vectors",
    "GAZETTEER_CODES",
    "Gazetteer",
    "batches_of_similar_length",
]
