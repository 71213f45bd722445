"""How files are read and written: one frozen set of options for each direction."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from postil.errors import ConfigurationError
from postil.kernels.plain_records import UNITS
from postil.text.labels.schemes import IO, LETTERS
from postil.text.splitting.segmenter import ENGLISH, Segmenter

Column = int | str
"""A column by its place (from 0; negative: from the right) or, in CoNLL-U, by its name ("upos", "misc:NER")."""

CHOICES: dict[str, tuple[str | None, ...]] = {
    "misaligned": ("error", "snap", "drop"),
    "overlaps": ("error", "longest", "first", "group"),
    "scheme": tuple(LETTERS),
    "from_scheme": (None, IO),
    "delimiter": ("\t", " "),
    "offsets": UNITS,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadOptions:
    """Options for reading. A format ignores the options that do not concern it."""

    encoding: str | None = None
    """None: UTF-8, or what a byte order mark says."""
    strict: bool = False
    """Reject what is otherwise accepted and counted (empty tokens, labels that break their scheme)."""
    token: int = 0
    """CoNLL: column of the token."""
    label: Column | None = "auto"
    """Column of the label; "auto": the last one in CoNLL, "upos" in CoNLL-U; None: no labels."""
    features: tuple[Column, ...] | None = None
    """Extra columns to keep; None: all others in CoNLL, none in CoNLL-U."""
    comment: str | None = "auto"
    """CoNLL: the prefix of a comment line; "auto": "# " before a sentence; None: no comments."""
    from_scheme: Literal["io"] | None = None
    """"io": labels are classes without prefixes, as PER PER O, and become BIO; None: labels stay as they are."""
    scheme: str = "bio"
    """JSON Lines: the scheme of the labels that spans are converted to."""
    misaligned: Literal["error", "snap", "drop"] = "error"
    """JSON Lines: what to do with a span that does not fit token boundaries."""
    overlaps: Literal["error", "longest", "first", "group"] = "error"
    """JSON Lines: which of several overlapping spans to keep; "group": all, unless they have the same class."""
    segmenter: Segmenter = ENGLISH
    """JSON Lines and plain text: how raw text is cut into tokens and sentences. Tagging reads by the rules of the model
    if this is the default."""
    split: bool = True
    """JSON Lines and plain text: split raw text into sentences."""
    label_names: Mapping[int, str] | None = None
    """JSON Lines: the names of labels that are numbers, as old doccano and Hugging Face datasets write them."""
    layer: str | None = None
    """JSON Lines: the layer whose labels are read from records with several layers, as multi-task models write
    them."""
    every_record: bool = False
    """JSON Lines: read records without tokens as well, as sentences of length 0, and those that were not accepted."""

    def __post_init__(self) -> None:
        check_choices(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteOptions:
    """Options for writing."""

    delimiter: Literal["\t", " "] = "\t"
    """CoNLL: the delimiter between the columns."""
    label: str = "auto"
    """CoNLL-U: column for the labels; "auto": where they were read from, "upos" for labels from elsewhere."""
    features: tuple[str, ...] = ()
    """CoNLL-U: columns for extra features from another format, in their order."""
    scheme: str = "auto"
    """JSON Lines: the scheme of the labels, from which the spans are read; "auto": recognised from the first
    sentences; "none": labels are written as they are."""
    names: tuple[str, ...] = ("Tag",)
    """CSV: names of the last columns; extra columns before them are numbered."""
    offsets: str = "characters"
    """JSON Lines: what offsets count: "characters", "utf16" units or "bytes" of UTF-8."""

    def __post_init__(self) -> None:
        check_choices(self, scheme=(*CHOICES["scheme"], IO, "auto", "none"))


def check_choices(options: Any, **other: tuple[str | None, ...]) -> None:
    """Raise ConfigurationError for a value that its option does not know."""
    for field in fields(options):
        choices = other.get(field.name, CHOICES.get(field.name))
        value = getattr(options, field.name)
        if choices is not None and value not in choices:
            expected = "one of " + ", ".join(map(repr, choices))
            raise ConfigurationError(f"impossible value for {field.name}", expected=expected, got=repr(value))
