"""Estimators: features, network and labels put together; no mathematics here.

Names are imported when they are first used: whoever loads a tagger does not need trees.
"""

import typing

from postil import lazy

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
else:
    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            ".answers.constraints": ["Constraints"],
            ".answers.decoding": ["Decoding"],
            ".answers.node_labels": ["NodeLabel"],
            ".config": ["PRESETS", "TaggerConfig"],
            ".detector": ["Detector"],
            ".ensemble": ["Ensemble"],
            ".explaining.explanation": ["Explanation"],
            ".explaining.tree_explanation": ["TreeExplanation"],
            ".multi_task_tagger": ["MultiTaskTagger"],
            ".settings": ["UNSET"],
            ".storage": ["load"],
            ".tagger": ["Tagger"],
            ".tree_classifier": ["TreeClassifier"],
            ".tree_config": ["TreeConfig"],
        },
    )

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
