"""What a fitted estimator consists of."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, final

from postil.arrays import Array
from postil.features.inputs import InputFeatures
from postil.models.config import TaggerConfig
from postil.models.network import ScoringNetwork
from postil.models.prepared import Prepared
from postil.text.partial import Annotates


class LearntLabels(Protocol):
    """Between the labels of the user's data and the numbers that a network learns from."""

    @property
    def scheme(self) -> str: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def answers(self) -> list[str]: ...
    def numbers(self, sequences: Sequence[Sequence[str]]) -> list[Array]: ...
    def widened(self, sequences: Sequence[Sequence[str]], annotates: Annotates) -> Sequence[Sequence[str]]: ...
    def as_json(self) -> dict[str, Any]: ...


Labels = TypeVar("Labels", bound=LearntLabels)
Network = TypeVar("Network", bound=ScoringNetwork)


@final
@dataclass(kw_only=True, eq=False)
class Parts(Generic[Labels, Network]):
    """Config, labels, features and network; and ``about``: scores, history, data, versions, licence."""

    config: TaggerConfig
    labelling: Labels
    features: InputFeatures
    network: Network
    about: dict[str, Any] = field(default_factory=dict)
    _prepared: Prepared | None = field(default=None, init=False, repr=False)

    def prepared(self) -> Prepared:
        """The network as it is now, ready to score: kept from call to call once its parameters are frozen."""
        prepared = self._prepared
        if prepared is None or not prepared.is_current(self.features, self.network):
            prepared = self._prepared = Prepared(self.features, self.network)
        return prepared
