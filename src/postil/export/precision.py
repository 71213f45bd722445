"""Half precision: a model with 16-bit tables, and how its predictions differ."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.models.multi_task_tagger import MultiTaskTagger
from postil.models.parts import heads_of
from postil.models.scoring.ensemble_network import members_of
from postil.samples.corpora import made_up_sentences

SAMPLED = 300
"""Sentences of each kind on which a model is tried, where its user names none."""


@final
@dataclass(frozen=True, kw_only=True)
class Change:
    """What half precision changes on some sentences."""

    tokens: int
    labels: int
    """Tokens whose label differs, of all tasks."""
    probability: float
    """The largest difference of the probability of a label."""

    def __str__(self) -> str:
        return (
            f"half precision changes {self.labels} of {self.tokens:,} labels, "
            f"and probabilities by at most {self.probability:.1g}"
        )


def halved(model: Any) -> Any:
    """A copy of a tagger whose tables of words and vectors are rounded to half precision, as they are exported."""
    model = copy.deepcopy(model)
    rounded: dict[int, tuple[Any, Array]] = {}  # members and tasks share arrays
    for head in heads_of(model.fitted_parts()).values():
        for network in (head.network, *members_of(head.network)):
            if network.vectors is not None:
                network.vectors = _rounded(network.vectors, rounded)
        for member in members_of(head.network):
            for parameter in member.form_tables.tables if member.form_tables is not None else ():
                parameter.value = _rounded(parameter.value, rounded)
    return model


def _rounded(array: Any, done: dict[int, tuple[Any, Array]]) -> Array:
    """An array in half precision, and that of rows which are still in the model file. Each is rounded once."""
    if id(array) not in done:
        result = np.asarray(array).astype(np.float16).astype(np.float32)
        result.flags.writeable = False
        done[id(array)] = array, result  # the first one, too: nothing else gets its id
        done[id(result)] = result, result
    return done[id(array)][1]


def change(model: Any, other: Any, sentences: Sequence[Sequence[str]]) -> Change:
    """What another tagger answers differently."""
    tokens, labels, largest = 0, 0, 0.0
    for one, two in zip(_tasks(model), _tasks(other), strict=True):
        for (y, p), (z, q) in zip(_answers(one, sentences), _answers(two, sentences), strict=True):
            tokens += len(y)
            labels += sum(a != b for a, b in zip(y, z, strict=True))
            largest = max([largest, *(abs(a - b) for a, b, c, d in zip(p, q, y, z, strict=True) if c == d)])
    return Change(tokens=tokens, labels=labels, probability=largest)


def _tasks(model: Any) -> list[Any]:
    return [model[task] for task in model.tasks] if isinstance(model, MultiTaskTagger) else [model]


def _answers(tagger: Any, sentences: Sequence[Sequence[str]]) -> list[tuple[list[str], list[float]]]:
    labels, probabilities = tagger.predict_with_probabilities(sentences)
    return list(zip(labels, probabilities, strict=True))


def sample(model: Any) -> list[list[str]]:
    """Sentences to try a model on: made-up English ones, and words of its vocabulary in any order."""
    rng = np.random.default_rng(0)
    sentences = [list(sentence.tokens) for sentence in made_up_sentences(SAMPLED, rng)]
    vocabularies = model.fitted_parts().features.words.vocabularies.values()
    words = max(([*vocabulary] for vocabulary in vocabularies), key=len, default=[])
    words = [word for word in words if word]
    if words:
        sentences += [[words[i] for i in rng.integers(len(words), size=15)] for _ in range(SAMPLED)]
    return sentences
