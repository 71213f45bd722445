"""Several fitted taggers as one."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from postil.errors import ConfigurationError
from postil.models.parts import Parts
from postil.models.scoring.ensemble_network import EnsembleNetwork, members_of
from postil.models.tagger import Tagger


def Ensemble(taggers: Sequence[Tagger]) -> Tagger:
    """One tagger from several that were trained with the same settings on the same data, with different seeds.

    Their scores are averaged before forward-backward, so the result is a tagger like any other: it has exact
    probabilities and one file. It costs as much to tag with as all its members together. Calibrate it on held-out data
    (``calibrate``): the temperatures of the members are not those of their mean.

    ``Tagger(ensemble=3).fit(X, y)`` and ``postil train --ensemble 3`` train the members side by side.
    """
    if len(taggers) < 2:
        raise ConfigurationError("members of an ensemble", expected="at least 2 fitted taggers", got=len(taggers))
    parts = [tagger.fitted_parts() for tagger in taggers]
    for other in parts[1:]:
        _check_alike(parts[0], other)
    members = [copy(member) for one in parts for member in members_of(one.network)]
    config = replace(parts[0].config, ensemble=len(members))
    for member in members:  # copies that share the parameters: the taggers stay as they are
        member.config, member.vectors = config, members[0].vectors
    ensemble = Tagger(**{**taggers[0].get_params(), "ensemble": len(members)})
    ensemble.parts = Parts(
        config=config,
        labelling=parts[0].labelling,
        features=parts[0].features,
        network=EnsembleNetwork(members),
        about={**parts[0].about, "seeds": [one.about.get("seed") for one in parts]},
    )
    return ensemble


def _check_alike(first: Parts[Any, Any], other: Parts[Any, Any]) -> None:
    if replace(first.config, ensemble=1) != replace(other.config, ensemble=1):
        raise ConfigurationError("members of an ensemble", expected="the same settings", got="different ones")
    if first.labelling.as_json() != other.labelling.as_json():
        raise ConfigurationError("members of an ensemble", expected="the same labels", got="different ones")
    ours, theirs = first.features.arrays(), other.features.arrays()
    same = ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)
    vectors = [parts.network.vectors for parts in (first, other)]
    same_vectors = (vectors[0] is None) == (vectors[1] is None) and (
        vectors[0] is None or np.array_equal(vectors[0], vectors[1])
    )
    if not same or not same_vectors:
        raise ConfigurationError(
            "members of an ensemble", expected="the same words and features", got="different training data"
        )
