"""Estimators: features, network and labels put together; no mathematics here."""

from postil.models.config import PRESETS, TaggerConfig
from postil.models.detector import Detector
from postil.models.explanation import Explanation
from postil.models.storage import load
from postil.models.tagger import Tagger

__all__ = ["Tagger", "Detector", "TaggerConfig", "PRESETS", "load", "Explanation"]
