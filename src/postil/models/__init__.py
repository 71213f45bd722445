# ruff: noqa: F403 - the type checker takes every public name
"""Estimators: features, network and labels put together; no mathematics here.

Names are imported when they are first used: whoever loads a tagger does not need trees.
"""

import typing

from postil import lazy

if typing.TYPE_CHECKING:
    from postil.models.config import *
    from postil.models.decoding.constraints import *
    from postil.models.decoding.distribution import *
    from postil.models.decoding.tree_labels import *
    from postil.models.detector import *
    from postil.models.explaining.explanation import *
    from postil.models.explaining.tree_explanation import *
    from postil.models.extension import *
    from postil.models.multi_task_tagger import *
    from postil.models.role_labeller import *
    from postil.models.settings import *
    from postil.models.storage import *
    from postil.models.tagger import *
    from postil.models.tree_classifier import *
else:
    _MODULES = {
        ".decoding.constraints": "Constraints",
        ".decoding.distribution": "Decoding",
        ".decoding.tree_labels": "NodeLabel",
        ".config": "PRESETS TaggerConfig TreeConfig",
        ".detector": "Detector",
        ".explaining.explanation": "Explanation",
        ".explaining.tree_explanation": "TreeExplanation",
        ".extension": "FORGETTING_TOLERANCE Extending Extension extend",
        ".multi_task_tagger": "MultiTaskTagger",
        ".role_labeller": "RoleLabeller",
        ".settings": "UNSET",
        ".storage": "load",
        ".tagger": "Ensemble Tagger",
        ".tree_classifier": "TreeClassifier",
    }
    __all__ = " ".join(_MODULES.values()).split()
    __getattr__, __dir__ = lazy.exports(__name__, _MODULES)
