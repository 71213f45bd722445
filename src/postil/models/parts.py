"""What a fitted estimator consists of."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast, final

from postil.arrays import Array
from postil.features.inputs import InputFeatures
from postil.graph import Parameter
from postil.models.answers.decoding import Decoding
from postil.models.engine import Engine
from postil.text.labels.partial import Annotates

LEARNT_FROM, LABELS = "learnt_from", "labels"
"""Entry of ``Parts.about``, and its value in models that were fitted to labelled data."""
MAIN = "main"
"""The head of a model with one task."""


class LearntLabels(Protocol):
    """Between the labels of the user's data and the numbers that a network learns from."""

    @property
    def labels(self) -> list[str]: ...
    def as_json(self) -> dict[str, Any]: ...


class WordLabels(LearntLabels, Protocol):
    """Labels of words, which may be known in part."""

    def numbers(self, sequences: Sequence[Sequence[str]]) -> list[Array]: ...
    @property
    def answers(self) -> list[str]: ...
    def widened(self, sequences: Sequence[Sequence[str]], annotates: Annotates) -> Sequence[Sequence[str]]: ...


class TrainedNetwork(Protocol):
    """What of a network goes into a model file."""

    vectors: Array | None
    """(V, D) fixed word vectors."""

    def parameters(self) -> dict[str, Parameter]: ...


class Stored(Protocol):
    """What storage asks of an estimator."""

    KIND: ClassVar[str]
    _HAS_TASKS: ClassVar[bool]
    _CONFIG: ClassVar[type]
    _LABELS: ClassVar[Any]
    parts: "Parts[Any, Any] | None"

    def __init__(self, **parameters: Any) -> None: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def fitted_parts(self) -> "Parts[Any, Any]": ...
    def check(self) -> None: ...
    @staticmethod
    def _network(config: Any, features: Any, labels: Any, vectors: Any, rng: Any) -> Any: ...


Labels = TypeVar("Labels", bound=LearntLabels)
Network = TypeVar("Network", bound=TrainedNetwork)


@final
@dataclass(kw_only=True, eq=False)
class Parts(Generic[Labels, Network]):
    """Config, labels, features, network, how answers are read from it; ``about``: scores, history, data, versions …

    ``heads``: the parts of each task of a model of several, which share the features, tables and encoder; the labelling
    is then a TaskLabels, the network a TaskNetwork, and each head has a decoding of its own.
    """

    config: Any
    labelling: Labels
    features: InputFeatures
    network: Network
    decoding: Decoding = field(default_factory=Decoding)
    about: dict[str, Any] = field(default_factory=dict)
    heads: "dict[str, Parts[Any, Any]]" = field(default_factory=dict)
    _engine: Engine | None = field(default=None, init=False, repr=False)
    _head_of: "tuple[Parts[Any, Any], str] | None" = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for task, head in self.heads.items():
            head._head_of = self, task

    @property
    def task(self) -> str:
        """The name of this head."""
        return MAIN if self._head_of is None else self._head_of[1]

    def engine(self) -> Engine:
        """What scores sentences, for all heads. It is kept from call to call once the network is frozen."""
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


def heads_of(parts: Parts[Any, Any]) -> dict[str, Parts[Any, Any]]:
    """The parts of each task; those of a model with one task under the name ``main``."""
    return parts.heads or {MAIN: parts}


def is_encoder(parts: Parts[Any, Any]) -> bool:
    """Whether a tagger has learnt words and their neighbours from raw text alone, and no label.

    A tagger that was fitted to labels is none, even if all of them were O.
    """
    is_labelled = parts._head_of is not None or parts.about.get(LEARNT_FROM) == LABELS
    return getattr(parts.labelling, "classes", None) == () and not is_labelled
