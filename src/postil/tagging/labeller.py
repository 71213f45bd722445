"""A model with its options: passages in, labelled bytes out. The same in this process and in workers."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, final

from postil.models.estimator import Estimator
from postil.tagging.fast_path import FastPath
from postil.tagging.options import Labelled, TaggingOptions, check_columns, chosen
from postil.text.passages import Passage
from postil.text.splitting.segmenter import ENGLISH

if TYPE_CHECKING:
    from postil.tagging.general_path import GeneralPath


@final
class Labeller:
    """Labels passages by the fast path if possible, otherwise by the general path. Both return the same bytes."""

    def __init__(self, model: Estimator, options: TaggingOptions, path: str | None = None) -> None:
        """``path``: the file of the model, for processes that open it themselves."""
        # Workers choose their task themselves: the file has all of them.
        self.whole, self.path = model, path
        self.model = model = chosen(model, options.tasks)
        if options.reading.segmenter == ENGLISH:  # no other rules were asked for
            options = replace(options, reading=replace(options.reading, segmenter=model.model.segmenter))
        self.options = options
        self.fast = FastPath.of(model, options)
        if self.fast is None or model.KIND == "multi-task-tagger":
            _ = self.general  # refuses options that do not apply to the model
        check_columns(model, options.reading.features or ())

    @cached_property
    def general(self) -> "GeneralPath":
        from postil.tagging.general_path import GeneralPath  # seldom needed: most passages are plain

        return GeneralPath(self.model, self.options)

    def label(self, passage: Passage) -> Labelled:
        """The passage with labels."""
        answer = self.fast.label(passage) if self.fast is not None else None
        return self.general.label(passage) if answer is None else Labelled.plain(*answer)

    def label_texts(self, texts: Sequence[str]) -> Labelled:
        """The answers for texts as JSON Lines: those of a passage of such records, without its JSON to parse."""
        answer = self.fast.records(texts) if self.fast is not None else None
        if answer is not None:
            return Labelled.plain(*answer)
        lines = "".join([json.dumps({"text": text}) + "\n" for text in texts])
        return self.label(Passage(name="request", format="jsonl", first=1, text=lines, whole=True))
