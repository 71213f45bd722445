"""A model put together: one head, or one for each of several tasks, which share everything else."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from postil.arrays import Array
from postil.features.inputs import InputFeatures
from postil.models.answers.decoding import Decoding
from postil.models.parts import MAIN, Parts

if TYPE_CHECKING:
    import numpy as np

    from postil.models.parts import Stored


def new_parts(
    kind: "type[Stored]",
    config: Any,
    labels: Mapping[str, Any],
    features: InputFeatures,
    vectors: Array | None,
    rng: "np.random.Generator | None",
    decodings: Mapping[str, Decoding],
    about: dict[str, Any] | None = None,
) -> Parts[Any, Any]:
    """The parts of a kind of model whose heads have these labels; without ``rng`` all parameters are zeros."""
    about = {} if about is None else about

    def part(labelling: Any, network: Any, task: str, heads: dict[str, Parts[Any, Any]]) -> Parts[Any, Any]:
        return Parts(
            config=config,
            labelling=labelling,
            features=features,
            network=network,
            decoding=decodings.get(task, Decoding()),
            about=about,
            heads=heads,
        )

    if not kind._HAS_TASKS:
        return part(labels[MAIN], kind._network(config, features, labels[MAIN], vectors, rng), MAIN, {})
    from postil.models.answers.task_labels import TaskLabels  # most models have one task

    of_tasks = TaskLabels(labels)
    network = kind._network(config, features, of_tasks, vectors, rng)
    heads = {task: part(labelling, network.heads[task], task, {}) for task, labelling in labels.items()}
    return part(of_tasks, network, "", heads)
