"""Rules that vote for entities, and taggers that are trained on their votes instead of labels."""

from postil.models.voting.files import read_rules
from postil.models.voting.reliability import Reliability
from postil.models.voting.rule import (
    ColumnRule,
    FunctionRule,
    ListRule,
    MentionRule,
    ModelRule,
    PatternRule,
    Rules,
    TextAnswer,
    Vote,
)
from postil.rules.learning import Learned, RuleReport, check, learn

__all__ = ["read_rules", "Rules", "Vote", "ListRule", "PatternRule", "ModelRule", "FunctionRule", "ColumnRule"]
__all__ += ["MentionRule", "TextAnswer", "Reliability", "learn", "Learned", "check", "RuleReport"]
