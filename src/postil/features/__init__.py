# ruff: noqa: F403 - the type checker takes every public name
"""Sentences to integers: vocabularies, what words look like, pre-trained vectors, lists of names, batches."""

import typing

from postil import lazy

if typing.TYPE_CHECKING:
    from postil.arrays import arrays_under as arrays_under
    from postil.features.gazetteer import *
    from postil.features.inputs import *
    from postil.features.vectors import *
    from postil.features.vocabulary import *
    from postil.features.words import *
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
    __all__ = " ".join(_MODULES.values()).split()
    __getattr__, __dir__ = lazy.exports(__name__, _MODULES)
