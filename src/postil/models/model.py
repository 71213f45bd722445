"""The fitted model: what every estimator learns, stores and answers with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast, final

from postil.arrays import Array
from postil.features.inputs import InputFeatures
from postil.models.decoding.distribution import Decoding
from postil.models.engine import Engine
from postil.text.labels.partial import Annotates
from postil.text.splitting.segmenter import CHARACTERS, ENGLISH, Segmenter

if TYPE_CHECKING:
    import numpy as np

    from postil.models.voting.voters import Voters


LEARNT_FROM, LABELS = "learnt_from", "labels"
"""Entry of ``FittedModel.about``, and its value in models that were fitted to labelled data."""
INPUT, BY_CHARACTERS = "input", "characters"
"""Entry of ``FittedModel.about``, and its value in models whose tokens are characters."""
MAIN = "main"
"""The head of a model with one task."""


class WordLabels(Protocol):
    """Labels of words, which may be known in part."""

    @property
    def labels(self) -> list[str]: ...
    def numbers(self, sequences: Sequence[Sequence[str]]) -> list[Array]: ...
    @property
    def answers(self) -> list[str]: ...
    def widened(self, sequences: Sequence[Sequence[str]], annotates: Annotates) -> Sequence[Sequence[str]]: ...


class Stored(Protocol):
    """The interface of an estimator that storage needs."""

    KIND: ClassVar[str]
    _HAS_TASKS: ClassVar[bool]
    _CONFIG: ClassVar[type]
    _LABELS: ClassVar[Any]
    _model: "FittedModel | None"

    def __init__(self, **parameters: Any) -> None: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    @property
    def model(self) -> "FittedModel": ...
    def check(self) -> None: ...
    @staticmethod
    def _network(config: Any, features: Any, labels: Any, vectors: Any, rng: Any) -> Any: ...


@final
@dataclass(kw_only=True, eq=False)
class FittedModel:
    """Config, labels, features, network, how answers are read from it; ``about``: scores, history, data, versions …

    ``heads``: the models of each task, if there are several, which share the features, tables and encoder; the codec
    is then a TaskLabels, the network a TaskNetwork, and each head has its own decoding.

    ``segmentation``: the rules that were chosen for raw text, None if none were; ``segmenter`` are those in use.

    ``voters``: rules for entities whose votes count in every answer, if there are any; each head has its own.
    """

    config: Any
    codec: Any
    features: InputFeatures
    network: Any
    decoding: Decoding = field(default_factory=Decoding)
    about: dict[str, Any] = field(default_factory=dict)
    heads: "dict[str, FittedModel]" = field(default_factory=dict)
    segmentation: Segmenter | None = None
    voters: "Voters | None" = None
    _engine: Engine | None = field(default=None, init=False, repr=False)
    _head_of: "tuple[FittedModel, str] | None" = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for task, head in self.heads.items():
            head._head_of = self, task

    @property
    def task(self) -> str:
        """The name of this head."""
        return MAIN if self._head_of is None else self._head_of[1]

    @property
    def segmenter(self) -> Segmenter:
        """The tokeniser and sentence splitter of raw text, the same for all heads."""
        if self.about.get(INPUT) == BY_CHARACTERS:
            return CHARACTERS
        return ENGLISH if self.segmentation is None else self.segmentation

    def engine(self) -> Engine:
        """The engine that scores sentences, for all heads. It is kept between calls once the network is frozen."""
        if self._head_of is not None:
            return self._head_of[0].engine()
        engine, heads = self._engine, {task: cast(Any, head.network) for task, head in heads_of(self).items()}
        if engine is None or not engine.is_current(self.features, heads):
            engine = self._engine = Engine(self.features, heads)
        return engine

    def freeze(self) -> None:
        """Make every array of the network read-only: what is computed from them may be kept."""
        arrays = [parameter.value for parameter in self.network.parameters().values()]
        for array in arrays if self.network.vectors is None else [*arrays, self.network.vectors]:
            array.flags.writeable = False


def heads_of(model: FittedModel) -> dict[str, FittedModel]:
    """The model of each task; that of one task under the name ``main``."""
    return model.heads or {MAIN: model}


def is_encoder(model: FittedModel) -> bool:
    """Whether a tagger has learned words and their neighbours from raw text alone, and no label.

    A tagger that was fitted to labels is not an encoder, even if all of them were O.
    """
    is_labelled = model._head_of is not None or model.about.get(LEARNT_FROM) == LABELS
    return getattr(model.codec, "classes", None) == () and not is_labelled


# ------------------------------------------------------------------------------------------------- A model put together


def new_model(
    kind: "type[Stored]",
    config: Any,
    labels: Mapping[str, Any],
    features: InputFeatures,
    vectors: Array | None,
    rng: "np.random.Generator | None",
    decodings: Mapping[str, Decoding],
    about: dict[str, Any] | None = None,
    segmentation: Segmenter | None = None,
) -> FittedModel:
    """The parts of a kind of model whose heads have these labels; without ``rng`` all parameters are zeros."""
    about = {} if about is None else about

    def part(codec: Any, network: Any, task: str, heads: dict[str, FittedModel]) -> FittedModel:
        return FittedModel(
            config=config,
            codec=codec,
            features=features,
            network=network,
            decoding=decodings.get(task, Decoding()),
            about=about,
            heads=heads,
            segmentation=segmentation,
        )

    if not kind._HAS_TASKS:
        return part(labels[MAIN], kind._network(config, features, labels[MAIN], vectors, rng), MAIN, {})
    from postil.models.decoding.codec import TaskLabels  # most models have one task

    of_tasks = TaskLabels(labels)
    network = kind._network(config, features, of_tasks, vectors, rng)
    heads = {task: part(codec, network.heads[task], task, {}) for task, codec in labels.items()}
    return part(of_tasks, network, "", heads)
