"""Rules that vote for entities, and taggers that are trained on their votes instead of labels."""

from postil.rules.files import read_rules
from postil.rules.learning import Learned, learn
from postil.rules.mentions import MentionRule, TextAnswer
from postil.rules.reliability import Reliability
from postil.rules.report import RuleReport, check
from postil.rules.rule import ColumnRule, FunctionRule, ListRule, ModelRule, PatternRule, Rules, Vote

__all__ = [
    "read_rules",
    "Rules",
    "Vote",
    "ListRule",
    "PatternRule",
    "ModelRule",
    "FunctionRule",
    "ColumnRule",
    "MentionRule",
    "TextAnswer",
    "Reliability",
    "learn",
    "Learned",
    "check",
    "RuleReport",
]
