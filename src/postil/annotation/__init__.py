"""A person labels text with the help of a model: the pool, the questions, the journal of answers."""

from postil.annotation.annotation import Annotation, Labelled, checked_class
from postil.annotation.journal import Answer, Journal
from postil.annotation.pool import REVIEWED, Pool, PoolRecord, key_of

__all__ = [
    "REVIEWED",
    "Annotation",
    "Answer",
    "Journal",
    "Labelled",
    "Pool",
    "PoolRecord",
    "checked_class",
    "key_of",
]
