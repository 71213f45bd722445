"""Fields of configs: brought to their plain type, refused outside of their limits, read from a command line."""

from dataclasses import dataclass

import numpy as np
import pytest

from postil.errors import ConfigurationError
from postil.models.settings import check_fields, check_known, check_positive, parsed


@dataclass(frozen=True, kw_only=True)
class Config:
    size: int = 3
    rate: float | None = 0.5
    kind: str = "a"
    on: bool = True
    widths: tuple[int, ...] = (1, 2)

    def __post_init__(self):
        check_fields(self, {"kind": ("a", "b")}, {"size": (1, 9)})
        check_positive(self, "rate")


def test_values_become_plain():
    made = Config(size=np.int64(4), rate=1, on=np.True_, widths=[np.int32(5)])
    assert (made.size, made.rate, made.on, made.widths) == (4, 1.0, True, (5,))
    assert [type(value) for value in (made.size, made.rate, made.on, made.widths[0])] == [int, float, bool, int]
    assert Config(rate=None).rate is None


@pytest.mark.parametrize(
    "wrong",
    [
        *[{"size": 0}, {"size": 10}, {"size": 2.5}, {"size": True}, {"rate": 0}, {"rate": float("inf")}],
        *[{"rate": "x"}, {"kind": "c"}, {"kind": 1}, {"on": 1}, {"widths": 3}, {"widths": ["x"]}],
    ],
)
def test_what_cannot_be_is_refused_by_name(wrong):
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        Config(**wrong)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *[("size=4", ("size", 4)), ("rate=2", ("rate", 2.0)), ("rate=none", ("rate", None)), ("kind=b", ("kind", "b"))],
        *[("on=no", ("on", False)), ("on=True", ("on", True)), ("widths=1,2", ("widths", (1, 2)))],
    ],
)
def test_settings_of_the_command_line(text, expected):
    assert parsed(text, Config) == expected


@pytest.mark.parametrize("text", ["size", "nothing=1", "size=x", "on=maybe", "widths=a"])
def test_settings_that_cannot_be_read(text):
    with pytest.raises(ConfigurationError):
        parsed(text, Config)


def test_unknown_settings():
    check_known(Config, {"size": 1})
    with pytest.raises(ConfigurationError, match="'sice'"):
        check_known(Config, {"sice": 1})
