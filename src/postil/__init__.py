"""Postil labels words and phrases: neural taggers and tree classifiers on an ordinary CPU.

Names are imported when they are first used, so that ``import postil`` costs little more than nothing.
"""

import importlib
from typing import Any

# Public name -> module that holds it. A name that is its own module (postil.graph) maps to that module.
_MODULES = {
    "Tagger": "postil.models",
    "MultiTaskTagger": "postil.models",
    "Detector": "postil.models",
    "RoleLabeller": "postil.models",
    "TreeClassifier": "postil.models",
    "Constraints": "postil.models",
    "Decoding": "postil.models",
    "Ensemble": "postil.models",
    "Gazetteer": "postil.features",
    "load": "postil.models",
    "from_datasets": "postil.text",
    "read_spans": "postil.text",
    "pretrain": "postil.pretraining",
    "doctor": "postil.quality",
    "crossval": "postil.evaluation",
    "curve": "postil.evaluation",
    "compare": "postil.evaluation",
    "extend": "postil.models",
    "suggest": "postil.quality",
    "errors": "postil.errors",
    "arrays": "postil.arrays",
    "graph": "postil.graph",
    "gradcheck": "postil.gradcheck",
    "archive": "postil.archive",
    "text": "postil.text",
    "features": "postil.features",
    "network": "postil.network",
    "objectives": "postil.objectives",
    "metrics": "postil.metrics",
    "optimisation": "postil.optimisation",
    "pretraining": "postil.pretraining",
    "models": "postil.models",
    "evaluation": "postil.evaluation",
    "rules": "postil.rules",
    "quality": "postil.quality",
    "reports": "postil.reports",
    "arrow": "postil.arrow",
    "spacy": "postil.spacy",
    "presidio": "postil.presidio",
    "ray": "postil.ray",
    "crfsuite": "postil.crfsuite",
}

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
