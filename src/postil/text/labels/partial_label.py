"""Marks in the place of a label: what is known about a token that has no one label.

    ?              nothing is known
    B-PER|O        one of these labels
    PER|ORG        one of the labels of these classes

A mark is still a string, so readers, writers and lists of labels need not know about it. Which strings of a corpus are
marks and which are labels that look like them is decided in ``partial.py``, once.
"""

from typing import final

UNKNOWN = "?"
SEPARATOR = "|"


@final
class PartialLabel(str):
    """A string in the place of a label that says what is known about an unknown label."""

    __slots__ = ()

    @property
    def alternatives(self) -> tuple[str, ...]:
        """Labels and classes of which one is correct; empty if nothing is known."""
        return () if self == UNKNOWN else tuple(part.strip() for part in self.split(SEPARATOR))


def looks_like_mark(label: str) -> bool:
    """Whether a string could be a mark. It could also be a label of its own: parts of speech have such ones."""
    return label == UNKNOWN or (SEPARATOR in label and all(part.strip() for part in label.split(SEPARATOR)))
