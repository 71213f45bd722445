"""A model with its options: passages in, labelled bytes out. The same in this process and in workers."""

from typing import Any, final

from postil.models.estimator import Estimator
from postil.serving.fast_path import FastPath
from postil.serving.general_path import GeneralPath
from postil.serving.labelled import Labelled
from postil.serving.options import TaggingOptions, check_columns, chosen
from postil.text.passages import Passage


@final
class Labeller:
    """Labels passages by the fast path where that is possible and by the general path elsewhere."""

    def __init__(self, model: Estimator[Any, Any], options: TaggingOptions, path: str | None = None) -> None:
        """``path``: the file of the model, for processes that open it themselves."""
        # Workers choose their task themselves: the file has all of them.
        self.whole, self.options, self.path = model, options, path
        self.model = model = chosen(model, options.tasks)
        self.general = GeneralPath(model, options)
        check_columns(model, options.reading.features or ())
        self.fast = FastPath.of(model, options)

    def label(self, passage: Passage) -> Labelled:
        """The passage with labels. Both paths return the same bytes."""
        is_cut_by_words = not (self.options.reading.characters and passage.format in ("text", "jsonl"))
        answer = self.fast.label(passage) if self.fast is not None and is_cut_by_words else None
        return self.general.label(passage) if answer is None else answer
