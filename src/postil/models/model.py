"""The fitted model: what every estimator learns, stores and answers with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

from postil.arrays import Array
from postil.features.inputs import InputFeatures
from postil.models.decoding.distribution import Decoding
from postil.models.engine import Engine
from postil.models.networks.network import networks_by_task
from postil.text.splitting.segmenter import CHARACTERS, ENGLISH, Segmenter

if TYPE_CHECKING:
    import numpy as np

    from postil.models.voting.reliability import Voters


LEARNT_FROM, LABELS = "learnt_from", "labels"
"""Entry of ``FittedModel.about``, and its value in models that were fitted to labelled data."""
INPUT, BY_CHARACTERS = "input", "characters"
"""Entry of ``FittedModel.about``, and its value in models whose tokens are characters."""
GROUPS = "groups"
"""Entry of ``FittedModel.about``: the classes of each task, if the tasks are groups of classes that may overlap."""
TASKS = "tasks"
"""Entry of the data in ``FittedModel.about``: those of each task, if there are several."""


@final
@dataclass(kw_only=True, eq=False)
class Head:
    """The part of a model that belongs to one task: labels, the network that scores them, how answers are read.

    The networks of several heads share their tables and their encoder.

    ``voters``: rules for entities whose votes count in every answer, if there are any.
    """

    codec: Any
    network: Any
    decoding: Decoding = field(default_factory=Decoding)
    voters: "Voters | None" = None


@final
@dataclass(kw_only=True, eq=False)
class FittedModel:
    """Config, features, network, and a head for each task; ``about``: scores, history, data, versions …

    A model of one task has one head, whose network is that of the model; its ``codec`` and ``decoding`` are also those
    of the model. The network of several heads is a TaskNetwork.

    ``segmentation``: the rules that were chosen for raw text, None if none were; ``segmenter`` are those in use.

    ``parts``: fitted estimators inside this one, by the names in ``_PARTS`` of its estimator.
    """

    config: Any
    features: InputFeatures
    network: Any
    heads: dict[str, Head]
    about: dict[str, Any] = field(default_factory=dict)
    segmentation: Segmenter | None = None
    parts: dict[str, Any] = field(default_factory=dict)
    _whole: "FittedModel | None" = field(default=None, repr=False)
    _engine: Engine | None = field(default=None, init=False, repr=False)

    def of_task(self, task: str) -> "FittedModel":
        """The model of one task. The head and the engine are those of this model: changing the head changes both."""
        head = self.heads[task]
        if head.network is self.network:
            return self
        return replace(self, network=head.network, heads={task: head}, parts={}, _whole=self)

    def by_task(self) -> "dict[str, FittedModel]":
        """The model of each task."""
        return {task: self.of_task(task) for task in self.heads}

    @property
    def task(self) -> str:
        """The name of the only head."""
        (task,) = self.heads
        return task

    @property
    def head(self) -> Head:
        """The only head."""
        return self.heads[self.task]

    @property
    def codec(self) -> Any:
        """The labels of the only head."""
        return self.head.codec

    @property
    def decoding(self) -> Decoding:
        """How answers are read from the scores of the only head."""
        return self.head.decoding

    @decoding.setter
    def decoding(self, decoding: Decoding) -> None:
        self.head.decoding = decoding

    @property
    def voters(self) -> "Voters | None":
        """The rules of the only head."""
        return self.head.voters

    @property
    def segmenter(self) -> Segmenter:
        """The tokeniser and sentence splitter of raw text, the same for all heads."""
        if self.about.get(INPUT) == BY_CHARACTERS:
            return CHARACTERS
        return ENGLISH if self.segmentation is None else self.segmentation

    def engine(self) -> Engine:
        """The engine that scores sentences, for all heads. It is kept between calls once the network is frozen."""
        if self._whole is not None:
            return self._whole.engine()
        engine, networks = self._engine, {task: head.network for task, head in self.heads.items()}
        if engine is None or not engine.is_current(self.features, networks):
            engine = self._engine = Engine(self.features, networks)
        return engine

    def freeze(self) -> None:
        """Make every array of the network read-only: what is computed from them may be kept."""
        arrays = [parameter.value for parameter in self.network.parameters().values()]
        for array in arrays if self.network.vectors is None else [*arrays, self.network.vectors]:
            array.flags.writeable = False


def is_encoder(model: FittedModel) -> bool:
    """Whether a tagger has learned words and their neighbours from raw text alone, and no label.

    A tagger that was fitted to labels is not an encoder, even if all of them were O.
    """
    is_labelled = model.about.get(LEARNT_FROM) == LABELS or TASKS in model.about.get("data", {})
    return not is_labelled and all(getattr(head.codec, "classes", None) == () for head in model.heads.values())


def new_model(
    network_of: Callable[..., Any],
    config: Any,
    labels: Mapping[str, Any],
    features: InputFeatures,
    vectors: Array | None,
    rng: "np.random.Generator | None",
    decodings: Mapping[str, Decoding] | None = None,
    about: dict[str, Any] | None = None,
    segmentation: Segmenter | None = None,
) -> FittedModel:
    """The model whose heads have these labels; without ``rng`` all parameters of ``network_of`` are zeros."""
    network, decodings = network_of(config, features, labels, vectors, rng), decodings or {}
    heads = {
        task: Head(codec=labels[task], network=of_task, decoding=decodings.get(task, Decoding()))
        for task, of_task in networks_by_task(network).items()
    }
    return FittedModel(
        config=config,
        features=features,
        network=network,
        heads=heads,
        about={} if about is None else about,
        segmentation=segmentation,
    )
