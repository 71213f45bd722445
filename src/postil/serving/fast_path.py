"""The fast path: plain columns or lines of tokens to labelled bytes, without an object per token.

It is taken where the labels of words are all that is asked for, and only for passages that are plain. Everything else
takes the general path, with the same result; ``Labeller`` decides.
"""

from typing import Any, final

import numpy as np

from postil import kernels
from postil.models.answers.posteriors import Posteriors
from postil.models.tagger import Tagger
from postil.network.sentence import LONGEST_VIEW
from postil.serving import labelled
from postil.serving.labelled import Labelled
from postil.serving.options import TAGGER_OPTIONS, TaggingOptions
from postil.text.options import ReadOptions
from postil.text.passages import Passage
from postil.text.plain_rows import are_writable, in_groups, read_plain, write_plain

PAYS = not kernels.IN_USE.startswith("plain")
"""The Python versions of the kernels are slower than the general path."""


@final
class FastPath:
    """Labels plain rows; made by ``of``."""

    def __init__(self, tagger: Tagger, options: ReadOptions) -> None:
        self._posteriors, self._options = Posteriors(tagger.fitted_parts()), options
        self._names = [label.encode() for label in tagger.labelling.spellings]

    @classmethod
    def of(cls, model: Any, options: TaggingOptions) -> "FastPath | None":
        """None where the options ask for more than labels, or the model needs more than words."""
        asks_for_more = (
            options.sets("probabilities", "scores", "keep_gold", *TAGGER_OPTIONS) or options.reading.features
        )
        if not PAYS or asks_for_more or options.output not in (None, "conll"):
            return None
        if not isinstance(model, Tagger) or not are_writable(model.labelling.spellings):
            return None
        if not Posteriors(model.fitted_parts()).takes_cells:
            return None
        return cls(model, options.reading)

    def label(self, passage: Passage) -> Labelled | None:
        """The passage with labels; None if it is not plain."""
        rows = read_plain(passage, self._options)
        if rows is None:
            return None
        groups = in_groups(rows, labelled.BLOCK_TOKENS)
        labels = np.concatenate([self._posteriors.labels_of_cells(g.text, g.cells, g.offsets) for g in groups])
        lengths = np.diff(rows.offsets)
        return Labelled(
            content=write_plain(rows, labels, self._names),
            tokens=int(lengths.sum()),
            long_sentences=lengths[lengths > LONGEST_VIEW].tolist(),
        )
