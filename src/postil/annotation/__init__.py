"""A person labels text with the help of a model: the pool, the questions, the journal of answers."""

from postil.annotation.annotation import REVIEWED, Annotation, Labelled, Pool, PoolRecord, checked_class, key_of
from postil.annotation.journal import Answer, Journal
from postil.annotation.rules import EditedRules, rules_of_names

__all__ = ["REVIEWED", "Annotation", "Answer", "EditedRules", "Journal", "Labelled", "Pool", "PoolRecord"]
__all__ += ["checked_class", "key_of", "rules_of_names"]
