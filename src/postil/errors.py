"""The error tree and the one formatter of messages.

    PostilError                 a mistake that one clear line can explain
    ├── DataError               a file or a text cannot be read as what it should be
    ├── ConfigurationError      an option or a setting has an impossible value
    ├── ModelFileError          a model file is cut, foreign or too new
    ├── ArrayError              an array does not fit
    │   ├── ShapeError
    │   ├── DtypeError
    │   └── IndexRangeError
    ├── NumericalError          a value is NaN or infinite where it must not be
    └── GradientError           a gradient check failed

    LongSentenceWarning         (a warning) a model sees a very long sentence in pieces
    SlowRulesWarning            (a warning) a user's rules for tokens need the general path

Every message says what is wrong, what was expected, what was there and where. The command line prints it as one
line and exits with code 1; anything that is not a PostilError is a defect of Postil.
"""


def format_message(what: str, expected: object = None, got: object = None, where: object = None) -> str:
    """One line: ``where: what; expected …, got …``. Parts that are None are left out."""
    contrast = [f"{name} {value}" for name, value in (("expected", expected), ("got", got)) if value is not None]
    line = "; ".join(filter(None, [what, ", ".join(contrast)]))
    return " ".join(f"{where}: {line}".split("\n") if where is not None else line.split("\n"))


class PostilError(Exception):
    """Base of every error that Postil raises on purpose."""

    def __init__(self, what: str, *, expected: object = None, got: object = None, where: object = None) -> None:
        super().__init__(format_message(what, expected, got, where))
        self.what, self.expected, self.got, self.where = what, expected, got, where


class DataError(PostilError, ValueError):
    """A file or a text cannot be read; ``where`` names the file and the line."""


class ConfigurationError(PostilError, ValueError):
    """An option or a setting has an impossible value."""


class ModelFileError(PostilError, ValueError):
    """A model file is cut, foreign or newer than this version."""


class ArrayError(PostilError, ValueError):
    """An array does not fit where it was given."""


class ShapeError(ArrayError):
    """Wrong number of dimensions, or sizes that do not go together."""


class DtypeError(ArrayError, TypeError):
    """Wrong element type, or float32 and float64 mixed."""


class IndexRangeError(ArrayError, IndexError):
    """An index points outside its table."""


class NumericalError(PostilError, ArithmeticError):
    """NaN or infinity where a finite number is needed."""


class GradientError(PostilError, AssertionError):
    """An analytic gradient disagrees with central differences."""


class LongSentenceWarning(UserWarning):
    """A model of the sentence approach sees a very long sentence in pieces."""


class SlowRulesWarning(UserWarning):
    """Rules of a tokeniser hold what the compiled kernel does not know, and are run by Python."""
