"""The error tree and the one formatter of messages.

    PostilError                 a mistake that one clear line can explain
    ├── DataError               a file or a text cannot be read as what it should be
    ├── ConfigurationError      an option or a setting has an impossible value
    │   └── NotFittedError      an estimator is used before fit; scikit-learn's error too, where that is installed
    ├── ModelFileError          a model file is cut, foreign or too new
    ├── ArrayError              an array does not fit
    │   ├── ShapeError
    │   ├── DtypeError
    │   └── IndexRangeError
    ├── ForgettingError         an extended model is worse at a class that it knew
    ├── NumericalError          a value is NaN or infinite where it must not be
    └── GradientError           a gradient check failed

The warnings stand at the end of the module.

Every message says what is wrong, what was expected, what was found instead and where, in one line. The command line
prints that line and exits with code 1; any other exception is a defect of Postil.
"""

import re
import sys
import warnings
from collections.abc import Iterable
from functools import cache
from typing import Any

# What moves a terminal's cursor, ends a line, turns the direction of writing around, or cannot be encoded.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with control characters escaped as Python writes them: safe on a terminal, whoever wrote it."""
    return _UNPRINTABLE.sub(lambda found: ascii(found.group())[1:-1], text)


def is_printable(text: str) -> bool:
    """Whether ``printable`` would leave the text as it is."""
    return _UNPRINTABLE.search(text) is None


def similar(word: str, known: Iterable[str]) -> str:
    """``; did you mean NAME?`` where a known name is close to a misspelt one, otherwise nothing."""
    import difflib  # only for mistakes

    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called Postil, however deep inside Postil the reason was found."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "postil":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def format_message(what: str, expected: object = None, got: object = None, where: object = None) -> str:
    """Return the message as one line. Parts that are None are left out.

    ``what`` is either the name of a value, one word, or a statement of what is wrong::

        name            WHERE: threads must be at least 1 (got 0)
        statement       WHERE: wrong number of columns: expected 10, got 3
        no expectation  WHERE: the loss is not finite (nan)

    An ``expected`` that begins with "must", "needs" or "cannot" is the predicate of any ``what``: ``("size of a batch",
    "must be at least 1", 0)``, ``("--nbest", "needs --to jsonl")``.
    """
    is_predicate = str(expected).startswith(("must ", "needs ", "cannot "))
    if expected is None:
        line = what if got is None else f"{what} ({got})"
    elif is_predicate or " " not in what:
        requirement = expected if is_predicate else f"must be {expected}"
        line = f"{what} {requirement}" + ("" if got is None else f" (got {got})")
    else:
        line = f"{what}: expected {expected}" + ("" if got is None else f", got {got}")
    return printable(" ".join((line if where is None else f"{where}: {line}").split("\n")))


class PostilError(Exception):
    """Base of every error that Postil raises on purpose."""

    def __init__(self, what: str, *, expected: object = None, got: object = None, where: object = None) -> None:
        super().__init__(format_message(what, expected, got, where))
        self.what, self.expected, self.got, self.where = what, expected, got, where


class DataError(PostilError, ValueError):
    """A file or a text cannot be read; ``where`` names the file and the line.

    However long a token, a label or a tag is, a message quotes no more than a line of it. Paths are never cut.
    """

    def __init__(self, what: str, *, expected: object = None, got: object = None, where: object = None) -> None:
        super().__init__(_cut(what), expected=_cut(expected), got=_cut(got), where=where)


_LONG_WORD = re.compile(r"""(?<!\S)(?!['"(]*(?:[/~]|[A-Za-z]:\\))(\S{79})\S{2,}""")  # words that are not paths
_MOST_QUOTED = 1000


def _cut(part: Any) -> Any:
    """A part of a message without the rest of long words and long lists; None and short parts as they are."""
    text = None if part is None else str(part)
    if text is None or len(text) <= 80:
        return part
    text = _LONG_WORD.sub(r"\1…", text)
    return text if len(text) <= _MOST_QUOTED else f"{text[: _MOST_QUOTED - 1]}…"


class ConfigurationError(PostilError, ValueError):
    """An option or a setting has an impossible value."""


class NotFittedError(ConfigurationError):
    """An estimator is used before ``fit``."""

    def __reduce__(self) -> tuple[Any, ...]:
        return not_fitted, (self.args[0],)


@cache
def _not_fitted_error() -> type[NotFittedError]:
    """The class to raise. scikit-learn is imported only here, when there is an error to report."""
    try:
        from sklearn.exceptions import NotFittedError as OfScikitLearn
    except ImportError:
        return NotFittedError
    return type("NotFittedError", (NotFittedError, OfScikitLearn), {"__doc__": NotFittedError.__doc__})


def not_fitted(what: str) -> NotFittedError:
    """The error to raise: where scikit-learn is installed, one that is its NotFittedError as well."""
    return _not_fitted_error()(what)


class ModelFileError(PostilError, ValueError):
    """A model file is truncated, foreign, or newer than this version."""


class ArrayError(PostilError, ValueError):
    """An array does not fit where it is used."""


class ShapeError(ArrayError):
    """Wrong number of dimensions, or sizes that do not match."""


class DtypeError(ArrayError, TypeError):
    """Wrong element type, or float32 and float64 mixed."""


class IndexRangeError(ArrayError, IndexError):
    """An index points outside its table."""


class ForgettingError(PostilError):
    """An extended model scores a class that it knew worse than before, by more than is tolerated."""


class NumericalError(PostilError, ArithmeticError):
    """NaN or infinity where a finite number is needed."""


class GradientError(PostilError, AssertionError):
    """An analytic gradient disagrees with central differences."""


class SchemeWarning(UserWarning):
    """Some labels break their scheme: they are read by conlleval's rules, or all as labels without spans."""


class RepairWarning(UserWarning):
    """Small mistakes in annotated data were put right: duplicate spans, white space at their edges, decimals."""


class CalibrationWarning(UserWarning):
    """The probabilities of a model were never compared with labels that it had not seen."""


class LowerCaseWarning(UserWarning):
    """The words of feature dicts are all in lower case, so nothing can be learned from capitals."""


class LongSentenceWarning(UserWarning):
    """A model of the sentence approach scores a very long sentence in pieces."""


class SlowKernelsWarning(UserWarning):
    """The compiled kernels are missing or do not fit: NumPy does their work, with the same results."""


class SlowTrainingWarning(UserWarning):
    """A setting turns the fused training step of a preset off: the result is right, but it takes longer."""


class SlowRulesWarning(UserWarning):
    """A tokeniser has other rules than those that come compiled with the package, so Python runs them."""


class UnspacedTextWarning(UserWarning):
    """A model of words is to tag text without spaces, such as Chinese, Japanese or Thai: a whole run is one token."""


class UnicodeVersionWarning(UserWarning):
    """A model's words were computed with the tables of another version of Unicode than the package has."""


class TrainingInterruptedWarning(UserWarning):
    """``fit`` was interrupted after at least one epoch; the estimator is fitted with the best one."""


class ForgettingWarning(UserWarning):
    """A warm start trains the encoder on without data for some of the model's tasks, whose answers change with it."""


class CheckpointWarning(UserWarning):
    """A checkpoint or a log cannot be written; the training goes on, and the next epoch tries again."""


class WorkerWarning(UserWarning):
    """A worker process has not answered for long."""
