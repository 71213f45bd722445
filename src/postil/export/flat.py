"""A trained model as one flat file, for the runtime without Python: see ``flat_file`` for its format."""

from typing import Any

from postil.export.flat_file import written
from postil.export.sections import tagger_sections
from postil.export.tree_sections import tree_sections
from postil.models.engine import refused
from postil.models.multi_task_tagger import MultiTaskTagger
from postil.models.tagger import Tagger
from postil.models.tree_classifier import TreeClassifier


def exported(model: Any, half: bool = False) -> bytes:
    """The exported model of an estimator. What the runtime does not support is refused.

    With ``half`` the tables of words and vectors have half precision: a smaller file, and probabilities that differ in
    the third digit.
    """
    if isinstance(model, Tagger | MultiTaskTagger):
        return written(tagger_sections(model.fitted_parts(), half))
    if isinstance(model, TreeClassifier):
        if half:
            raise refused("half precision of a tree classifier")
        return written(tree_sections(model.fitted_parts()))
    raise refused(f"a model of the kind {type(model).__name__}")
