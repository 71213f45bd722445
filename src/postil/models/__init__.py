"""Estimators: features, network and labels put together; no mathematics here."""

from postil.models.answers.constraints import Constraints
from postil.models.answers.decoding import Decoding
from postil.models.answers.node_labels import NodeLabel
from postil.models.config import PRESETS, TaggerConfig
from postil.models.detector import Detector
from postil.models.ensemble import Ensemble
from postil.models.explaining.explanation import Explanation
from postil.models.explaining.tree_explanation import TreeExplanation
from postil.models.settings import UNSET
from postil.models.storage import load
from postil.models.tagger import Tagger
from postil.models.tree_classifier import TreeClassifier
from postil.models.tree_config import TreeConfig

__all__ = [
    "Tagger",
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
