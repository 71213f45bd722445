"""The parts of a model of several tasks: each head has parts of its own, which share all that is not its own."""

from collections.abc import Mapping
from typing import Any

from postil.features.inputs import InputFeatures
from postil.models.answers.decoding import Decoding
from postil.models.answers.labelling import Labelling
from postil.models.answers.task_labels import TaskLabels
from postil.models.parts import Parts
from postil.models.scoring.task_network import TaskNetwork


def task_parts(
    config: Any,
    labellings: Mapping[str, Labelling],
    features: InputFeatures,
    network: TaskNetwork,
    decodings: Mapping[str, Decoding],
    about: dict[str, Any] | None = None,
) -> Parts[TaskLabels, TaskNetwork]:
    """The parts of the whole and of its heads."""
    about = {} if about is None else about
    heads: dict[str, Parts[Any, Any]] = {
        task: Parts(
            config=config,
            labelling=labelling,
            features=features,
            network=network.heads[task],
            decoding=decodings.get(task, Decoding()),
            about=about,
        )
        for task, labelling in labellings.items()
    }
    return Parts(
        config=config, labelling=TaskLabels(labellings), features=features, network=network, about=about, heads=heads
    )
