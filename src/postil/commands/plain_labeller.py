"""The short way through ``postil tag``: plain columns or lines of tokens to labelled bytes, no object per token.

It is taken where labels of words are all that is asked for, and gives up on passages that are not plain. Whatever it
does not take goes sentence by sentence, with the same result: ``Labeller`` decides.
"""

import argparse
from typing import Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.commands.answering import OPTIONS
from postil.commands.reading import reading_options
from postil.models.answers.posteriors import Posteriors
from postil.models.tagger import Tagger
from postil.text.options import ReadOptions
from postil.text.passages import Passage
from postil.text.plain_rows import are_writable, in_groups, read_plain, write_plain

PAYS = not kernels.IN_USE.startswith("plain")
"""The kernels' twins in Python take longer than sentences of strings do."""


@final
class PlainLabeller:
    """A tagger that labels plain rows; made by ``of``."""

    def __init__(self, tagger: Tagger, options: ReadOptions) -> None:
        self._posteriors, self._options = Posteriors(tagger.fitted_parts()), options
        self._names = [label.encode() for label in tagger.labelling.spellings]

    @classmethod
    def of(cls, model: Any, arguments: argparse.Namespace) -> "PlainLabeller | None":
        """None where the options ask for more than labels, or the model does for more than words."""
        asked = (*OPTIONS, "probabilities", "nbest", "scores", "feature_columns")
        if not PAYS or arguments.output not in (None, "conll") or any(getattr(arguments, name) for name in asked):
            return None
        if not isinstance(model, Tagger) or not are_writable(model.labelling.spellings):
            return None
        if not Posteriors(model.fitted_parts()).takes_cells:
            return None
        return cls(model, ReadOptions(**reading_options(arguments)))

    def label(self, passage: Passage, block: int) -> tuple[bytes, Array] | None:
        """The passage with labels, and the lengths (B,) of its sentences; None if it is not plain.

        ``block`` tokens are labelled at once.
        """
        rows = read_plain(passage, self._options)
        if rows is None:
            return None
        answers = [self._posteriors.labels_of_cells(g.text, g.cells, g.offsets) for g in in_groups(rows, block)]
        return write_plain(rows, np.concatenate(answers), self._names), np.diff(rows.offsets)
