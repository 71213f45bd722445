"""Options of reading and writing refuse what they do not know, when they are made."""

from dataclasses import FrozenInstanceError

import pytest

from postil.errors import ConfigurationError
from postil.text.options import CHOICES, ReadOptions, WriteOptions


@pytest.mark.parametrize("name", ["misaligned", "overlaps", "scheme"])
def test_choices_of_reading(name):
    for choice in CHOICES[name]:
        assert getattr(ReadOptions(**{name: choice}), name) == choice
    with pytest.raises(ConfigurationError, match=f"{name}.*'maybe'"):
        ReadOptions(**{name: "maybe"})


def test_choices_of_writing():
    for scheme in (*CHOICES["scheme"], "auto", "none"):
        WriteOptions(scheme=scheme)
    for wrong in ({"delimiter": ","}, {"scheme": "bios"}):
        with pytest.raises(ConfigurationError):
            WriteOptions(**wrong)


def test_whether_the_user_named_columns():
    assert not ReadOptions().names_columns and not ReadOptions(label=None).names_columns
    for named in ({"token": 1}, {"label": 3}, {"features": (1,)}):
        assert ReadOptions(**named).names_columns


def test_options_do_not_change():
    with pytest.raises(FrozenInstanceError):
        ReadOptions().strict = True
