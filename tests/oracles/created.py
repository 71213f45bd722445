"""Every parameter that comes into being, whoever holds it: what ``parameters()`` must list."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from postil.graph import Parameter


@contextmanager
def created_parameters() -> Iterator[list[Parameter]]:
    """The parameters made inside the ``with`` block."""
    created: list[Parameter] = []
    initialise = Parameter.__init__

    def recorded(self: Parameter, *args: Any, **options: Any) -> None:
        initialise(self, *args, **options)
        created.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Parameter, "__init__", recorded)
        yield created
