"""One walk over the parameters of anything that has some: layers, compositions, objectives, whole networks.

An owner declares its parameters, and the parts that have parameters, as plain attributes. Nobody lists them a second
time, so none can be left out of a model file, an optimiser or a gradient check. The path of a parameter is that of the
attributes that lead to it, ``encoder.layers.1.W``: the name under which a model file stores it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from postil.graph.node import Parameter


class Parameterised:
    """Something with parameters: a parameter, an owner of parameters, or a list, tuple or dict of these, by attribute.

    ``PATHS`` names the attributes whose path differs from their name; ``{}`` stands for the number of a list's item.
    """

    PATHS: ClassVar[Mapping[str, str]] = {}

    def parameters(self) -> dict[str, Parameter]:
        """Every parameter once, by the first path that leads to it, in the order in which they were declared."""
        path_of: dict[Parameter, str] = {}
        for path, parameter in _walk(self, ""):
            path_of.setdefault(parameter, path)
        return {path: parameter for parameter, path in path_of.items()}


_WITHOUT_PARAMETERS = frozenset([int, float, str, bool, type(None), np.ndarray])


def _walk(value: Any, path: str) -> Iterator[tuple[str, Parameter]]:
    if type(value) in _WITHOUT_PARAMETERS:  # most attributes: the other questions would take longer
        return
    if type(value) is Parameter:
        yield path, value
    elif isinstance(value, Parameterised):
        for name, attribute in vars(value).items():
            yield from _walk(attribute, f"{path}.{value.PATHS.get(name, name)}".lstrip("."))
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from _walk(item, path.format(i) if "{}" in path else f"{path}.{i}")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _walk(item, f"{path}.{key}")
