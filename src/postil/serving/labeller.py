"""A model with its options: passages in, labelled bytes out. The same in this process and in workers."""

import json
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from postil.models.estimator import Estimator
from postil.serving.fast_path import FastPath
from postil.serving.labelled import Labelled
from postil.serving.options import TaggingOptions, check_columns, chosen
from postil.text.bulk.passages import Passage

if TYPE_CHECKING:
    from postil.serving.general_path import GeneralPath


@final
class Labeller:
    """Labels passages by the fast path where that is possible and by the general path elsewhere."""

    def __init__(self, model: Estimator[Any, Any], options: TaggingOptions, path: str | None = None) -> None:
        """``path``: the file of the model, for processes that open it themselves."""
        # Workers choose their task themselves: the file has all of them.
        self.whole, self.options, self.path = model, options, path
        self.model = model = chosen(model, options.tasks)
        self.fast = FastPath.of(model, options)
        if self.fast is None:
            _ = self.general  # refuses options that do not apply to the model
        check_columns(model, options.reading.features or ())

    @cached_property
    def general(self) -> "GeneralPath":
        from postil.serving.general_path import GeneralPath  # seldom needed: most passages are plain

        return GeneralPath(self.model, self.options)

    def label(self, passage: Passage) -> Labelled:
        """The passage with labels. Both paths return the same bytes."""
        is_cut_by_words = not (self.options.reading.characters and passage.format in ("text", "jsonl"))
        answer = self.fast.label(passage) if self.fast is not None and is_cut_by_words else None
        return self.general.label(passage) if answer is None else answer

    def label_texts(self, texts: Sequence[str]) -> Labelled:
        """The answers for texts as JSON Lines: those of a passage of such records, without its JSON to parse."""
        answer = self.fast.records(texts) if self.fast is not None else None
        if answer is not None:
            return answer
        lines = "".join([json.dumps({"text": text}) + "\n" for text in texts])
        return self.label(Passage(name="request", format="jsonl", first=1, text=lines, whole=True))
