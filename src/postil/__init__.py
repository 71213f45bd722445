"""Postil labels words and phrases: neural taggers and tree classifiers on an ordinary CPU.

Names are imported when they are first used, so that ``import postil`` costs little more than nothing.
"""

import importlib
from typing import Any

_PLACES = {
    "models": "Tagger MultiTaskTagger Detector RoleLabeller TreeClassifier Constraints Decoding Ensemble load extend",
    "features": "Gazetteer",
    "text": "from_datasets read_spans",
    "pretraining": "pretrain",
    "quality": "doctor suggest",
    "evaluation": "crossval curve compare",
}
_PACKAGES = (
    "errors arrays graph gradcheck archive text features network objectives metrics optimisation pretraining models "
    "evaluation rules quality reports arrow spacy presidio ray crfsuite"
)
# Public name -> module that holds it. A name that is its own module (postil.graph) maps to that module.
_MODULES = {name: f"postil.{place}" for place, names in _PLACES.items() for name in names.split()}
_MODULES |= {name: f"postil.{name}" for name in _PACKAGES.split()}

__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # takes longer than all the rest

        return version("postil")
    if name not in _MODULES:
        raise AttributeError(f"module 'postil' has no attribute {name!r}")
    module = importlib.import_module(_MODULES[name])
    return module if _MODULES[name].endswith(f".{name}") else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
