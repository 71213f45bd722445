"""The quality of labelled data: what is odd in it, which labels are probably wrong, what to label next."""

from postil.quality.checks import CHECKS, Finding, Split
from postil.quality.diagnosis import Diagnosis, apply, diagnosed, doctor, review
from postil.quality.suggestion import DIVERSITY, WAYS, Doubt, Option, Suggestion, suggest
from postil.quality.suspicions import Suspicion

__all__ = ["CHECKS", "DIVERSITY", "WAYS", "Diagnosis", "Doubt", "Finding", "Option", "Split", "Suggestion", "Suspicion"]
__all__ += ["apply", "diagnosed", "doctor", "review", "suggest"]
