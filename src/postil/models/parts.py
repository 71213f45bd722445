"""What a fitted estimator consists of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast, final

from postil.arrays import Array
from postil.features.inputs import InputFeatures
from postil.graph import Parameter
from postil.models.answers.decoding import Decoding
from postil.models.scoring.fast import Prepared
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
    OWN: ClassVar[tuple[str, ...]]
    CONFIG: ClassVar[type]
    parts: "Parts[Any, Any] | None"

    def __init__(self, **parameters: Any) -> None: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def fitted_parts(self) -> "Parts[Any, Any]": ...
    def check(self) -> None: ...
    @staticmethod
    def labels_from_json(content: Mapping[str, Any]) -> Any: ...
    @staticmethod
    def network(config: Any, features: Any, labels: Any, vectors: Any, rng: Any) -> Any: ...


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
    _prepared: Prepared | None = field(default=None, init=False, repr=False)

    def prepared(self) -> Prepared:
        """The network over sentences as it is now, ready to score: kept from call to call once it is frozen."""
        prepared, network = self._prepared, cast(Any, self.network)
        if prepared is None or not prepared.is_current(self.features, network):
            prepared = self._prepared = Prepared(self.features, network)
        return prepared
