"""Estimators: features, network and labels put together; no mathematics here.

Names are imported when they are first used: whoever loads a tagger does not need trees.
"""

import typing

from postil import lazy

if typing.TYPE_CHECKING:
    from postil.models.config import PRESETS, TaggerConfig, TreeConfig
    from postil.models.decoding.constraints import Constraints
    from postil.models.decoding.distribution import Decoding
    from postil.models.decoding.tree_labels import NodeLabel
    from postil.models.detector import Detector
    from postil.models.explaining.explanation import Explanation
    from postil.models.explaining.tree_explanation import TreeExplanation
    from postil.models.extension import FORGETTING_TOLERANCE, Extending, Extension, extend
    from postil.models.multi_task_tagger import MultiTaskTagger
    from postil.models.role_labeller import RoleLabeller
    from postil.models.settings import UNSET
    from postil.models.storage import load
    from postil.models.tagger import Ensemble, Tagger
    from postil.models.tree_classifier import TreeClassifier
else:
    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            ".decoding.constraints": ["Constraints"],
            ".decoding.distribution": ["Decoding"],
            ".decoding.tree_labels": ["NodeLabel"],
            ".config": ["PRESETS", "TaggerConfig", "TreeConfig"],
            ".detector": ["Detector"],
            ".explaining.explanation": ["Explanation"],
            ".explaining.tree_explanation": ["TreeExplanation"],
            ".extension": ["FORGETTING_TOLERANCE", "Extending", "Extension", "extend"],
            ".multi_task_tagger": ["MultiTaskTagger"],
            ".role_labeller": ["RoleLabeller"],
            ".settings": ["UNSET"],
            ".storage": ["load"],
            ".tagger": ["Ensemble", "Tagger"],
            ".tree_classifier": ["TreeClassifier"],
        },
    )

__all__ = ["Tagger", "MultiTaskTagger", "Detector", "RoleLabeller", "Ensemble", "TreeClassifier", "load"]
__all__ += ["FORGETTING_TOLERANCE", "Extending", "Extension", "extend"]
__all__ += ["NodeLabel", "TreeExplanation", "Explanation", "Constraints", "Decoding"]
__all__ += ["TaggerConfig", "TreeConfig", "PRESETS", "UNSET"]
