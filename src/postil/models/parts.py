"""What a fitted estimator consists of."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast, final

from postil.arrays import Array
from postil.features.inputs import InputFeatures
from postil.graph import Parameter
from postil.models.answers.decoding import Decoding
from postil.models.scoring.fast import FastScorer
from postil.text.partial import Annotates


class LearntLabels(Protocol):
    """Between the labels of the user's data and the numbers that a network learns from."""

    @property
    def labels(self) -> list[str]: ...
    def numbers(self, sequences: Sequence[Sequence[str]]) -> list[Array]: ...
    def as_json(self) -> dict[str, Any]: ...


class WordLabels(LearntLabels, Protocol):
    """Labels of words, which may be known in part."""

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
    _PARAMETERS: ClassVar[tuple[str, ...]]
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
    """Config, labels, features, network, how answers are read from it; ``about``: scores, history, data, versions …"""

    config: Any
    labelling: Labels
    features: InputFeatures
    network: Network
    decoding: Decoding = field(default_factory=Decoding)
    about: dict[str, Any] = field(default_factory=dict)
    _scorer: FastScorer | None = field(default=None, init=False, repr=False)

    def scorer(self) -> FastScorer:
        """The fast path from sentences to scores. It is kept from call to call once the network is frozen."""
        scorer, network = self._scorer, cast(Any, self.network)
        if scorer is None or not scorer.is_current(self.features, network):
            scorer = self._scorer = FastScorer(self.features, network)
        return scorer

    def freeze(self) -> None:
        """Make every array of the network read-only: what is computed from them may be kept."""
        arrays = [parameter.value for parameter in self.network.parameters().values()]
        for array in arrays if self.network.vectors is None else [*arrays, self.network.vectors]:
            array.flags.writeable = False
