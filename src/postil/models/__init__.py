"""Estimators: features, network and labels put together; no mathematics here.

Names are imported when they are first used: whoever loads a tagger does not need trees.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from postil.models.answers.constraints import Constraints
    from postil.models.answers.decoding import Decoding
    from postil.models.answers.node_labels import NodeLabel
    from postil.models.config import PRESETS, TaggerConfig
    from postil.models.detector import Detector
    from postil.models.ensemble import Ensemble
    from postil.models.explaining.explanation import Explanation
    from postil.models.explaining.tree_explanation import TreeExplanation
    from postil.models.multi_task_tagger import MultiTaskTagger
    from postil.models.settings import UNSET
    from postil.models.storage import load
    from postil.models.tagger import Tagger
    from postil.models.tree_classifier import TreeClassifier
    from postil.models.tree_config import TreeConfig

__all__ = [
    "Tagger",
    "MultiTaskTagger",
    "Detector",
    "Ensemble",
    "TreeClassifier",
    "NodeLabel",
    "TreeExplanation",
    "Explanation",
    "Constraints",
    "Decoding",
    "TaggerConfig",
    "TreeConfig",
    "PRESETS",
    "UNSET",
    "load",
]

_MODULES = {
    "Constraints": "postil.models.answers.constraints",
    "Decoding": "postil.models.answers.decoding",
    "PRESETS": "postil.models.config",
    "TaggerConfig": "postil.models.config",
    "Detector": "postil.models.detector",
    "Ensemble": "postil.models.ensemble",
    "Explanation": "postil.models.explaining.explanation",
    "TreeExplanation": "postil.models.explaining.tree_explanation",
    "UNSET": "postil.models.settings",
    "load": "postil.models.storage",
    "MultiTaskTagger": "postil.models.multi_task_tagger",
    "Tagger": "postil.models.tagger",
    "NodeLabel": "postil.models.answers.node_labels",
    "TreeClassifier": "postil.models.tree_classifier",
    "TreeConfig": "postil.models.tree_config",
}


def __getattr__(name: str) -> typing.Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'postil.models' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
