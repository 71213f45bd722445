"""Names of labels and classes: what training data and model files may call them."""

from collections.abc import Sequence
from typing import Any

from postil.errors import DataError, is_printable
from postil.text.labels.schemes import check_scheme_name

MOST_LABELS = 4096
"""Of one network. Scores of transitions grow with the square of their number."""
LONGEST_NAME = 1000  # characters


def checked_names(names: Any, what: str) -> list[str]:
    """Names that differ and that can be written to any file and any terminal, or an error."""
    if not isinstance(names, Sequence) or isinstance(names, str):
        raise DataError(what, expected="a list of names", got=repr(names)[:80])
    if len(names) > MOST_LABELS:
        raise DataError(f"too many {what}", expected=f"at most {MOST_LABELS:,}", got=f"{len(names):,}")
    found = [checked_name(name, what) for name in names]
    if len(set(found)) != len(found):
        raise DataError(what, expected="different names", got="one that stands twice")
    return found


def checked_name(name: Any, what: str) -> str:
    """A name without control characters, or an error."""
    if not isinstance(name, str):
        raise DataError(what, expected="names", got=repr(name)[:80])
    if len(name) > LONGEST_NAME or not is_printable(name):
        expected = f"names of at most {LONGEST_NAME:,} characters, none of them a control character"
        raise DataError(what, expected=expected, got=repr(name)[:80])
    return name


def checked_scheme(scheme: Any) -> str:
    """The name of a labelling scheme, or an error."""
    return check_scheme_name(checked_name(scheme, "scheme"))
