"""What a word looks like: functions of the word alone, for text in any script.

Case, category and digits are those of the package's frozen tables, whatever the running Python knows of Unicode.
"""

from postil.kernels.orthography import frozen_orthography

# The meaning of each value of `caps_class`; the value is the place in this list.
CAPS_CLASSES = (
    "no letters",  # 1984  ,  :-)
    "lower",  # house  e-mail  3rd
    "Title",  # House  O'neil  B2b
    "UPPER",  # NATO  U.S.  F-16A
    "single capital",  # A  J.  X-1
    "MiXed",  # McDonald  PhD: begins with a capital and has both kinds later on
    "mIXed",  # iPhone  mRNA: begins with a small letter and has a capital later on
    "letters without case",  # 東京  القاهرة
)


def fold_digits(word: str, mark: str = "0") -> str:
    """Replace every decimal digit, of any script, by ``mark``."""
    return frozen_orthography().fold_digits(word, mark)


def normalise(word: str) -> str:
    """Lower case, with every digit replaced by 0: ``May-1984`` -> ``may-0000``."""
    return frozen_orthography().normalise(word)


def caps_class(word: str) -> int:
    """How the word is capitalised, as an index into ``CAPS_CLASSES``. Only letters with case count."""
    return frozen_orthography().caps_class(word)


def shape(word: str) -> str:
    """The word with each character replaced by its class and runs shortened to three: ``Boeing-747s`` -> ``Xxxx-dddx``.

    X capital, x small letter, l letter without case, d digit, n other number, m mark (accent of its own), s symbol that
    is not ASCII, z anything else; punctuation and ASCII symbols stand for themselves.
    """
    return frozen_orthography().shape(word)
