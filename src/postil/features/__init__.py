"""Sentences to integers: vocabularies, what words look like, pre-trained vectors, lists of names, batches."""

import typing

from postil import lazy

if typing.TYPE_CHECKING:
    from postil.arrays import arrays_under
    from postil.features.gazetteer import GAZETTEER_CODES, Gazetteer
    from postil.features.inputs import batches_of_similar_length
    from postil.features.vectors import NAMED_VECTORS, WordVectors, load_vectors
    from postil.features.vocabulary import Vocabulary
    from postil.features.words import (
        CAPS_CLASSES,
        UNKNOWN,
        Column,
        WordFeatureConfig,
        WordFeatures,
        caps_class,
        distinct,
        fold_digits,
        frequent_values,
        normalise,
        shape,
    )
else:
    _MODULES = {
        ".inputs": "batches_of_similar_length",
        ".gazetteer": "GAZETTEER_CODES Gazetteer",
        ".vectors": "NAMED_VECTORS WordVectors load_vectors",
        "postil.arrays": "arrays_under",
        ".vocabulary": "Vocabulary",
        ".words": "CAPS_CLASSES UNKNOWN Column WordFeatureConfig WordFeatures caps_class distinct fold_digits "
        "frequent_values normalise shape",
    }
    __getattr__, __dir__ = lazy.exports(__name__, _MODULES)

__all__ = ["Vocabulary", "arrays_under", "CAPS_CLASSES", "normalise", "fold_digits", "caps_class", "shape"]
__all__ += ["UNKNOWN", "Column", "WordFeatureConfig", "WordFeatures", "distinct", "frequent_values"]
__all__ += ["WordVectors", "NAMED_VECTORS", "load_vectors", "GAZETTEER_CODES", "Gazetteer", "batches_of_similar_length"]
