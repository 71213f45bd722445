"""Answers of several tasks about a column of texts: the texts are cut into tokens, and the tokens encoded, once."""

from collections.abc import Iterable
from typing import final

from postil.arrays import Array
from postil.integrations.column_answers import TOKENS, Answers, ColumnTagger, Threshold, checked_parts, warn_of_texts
from postil.models.answers.posteriors import Posteriors
from postil.models.answers.tagged import Tagged
from postil.models.answers.task_labels import known_tasks
from postil.models.multi_task_tagger import MultiTaskTagger


@final
class TaskColumnTagger:
    """A model of several tasks and what is asked of each. Threads may share one."""

    def __init__(
        self,
        model: MultiTaskTagger,
        tasks: Iterable[str] | None,
        parts: Iterable[str] | None,
        units: str = "characters",
        threshold: Threshold = None,
    ) -> None:
        self.tasks: dict[str, ColumnTagger] = {}
        for task in known_tasks(tasks, model.tasks):
            head = model[task]
            of_task = threshold if head.labelling.has_spans else None
            self.tasks[task] = ColumnTagger(head, checked_parts(parts, head), units, of_task)
        self._heads = {task: Posteriors(model.fitted_parts().heads[task]) for task in self.tasks}
        # With a threshold each task is asked alone: whether an entity is dropped changes the labels around it.
        self._is_shared = threshold is None and all(tagger.is_fast for tagger in self.tasks.values())

    def answers(self, content: bytes, documents: Array) -> dict[str, Answers]:
        """By task, what ``ColumnTagger.answers`` says."""
        if not self._is_shared:
            return {task: tagger.answers(content, documents) for task, tagger in self.tasks.items()}
        warn_of_texts(content, documents)
        with_labels = any(TOKENS in tagger.asked for tagger in self.tasks.values())
        tagged = Tagged.of(content, documents, self._heads, label_probabilities=with_labels)
        return {task: tagger.of_tagged(tagged, task) for task, tagger in self.tasks.items()}
