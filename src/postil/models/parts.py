"""What a fitted tagger consists of."""

from dataclasses import dataclass, field
from typing import Any, final

from postil.features.inputs import InputFeatures
from postil.models.config import TaggerConfig
from postil.models.labelling import Labelling
from postil.models.network import TaggerNetwork


@final
@dataclass(kw_only=True, eq=False)
class TaggerParts:
    """Config, labels, features and network; and ``about``: scores, history, data, versions, licence."""

    config: TaggerConfig
    labelling: Labelling
    features: InputFeatures
    network: TaggerNetwork
    about: dict[str, Any] = field(default_factory=dict)
