"""Options of reading and writing refuse what they do not know, when they are made."""

import io
from dataclasses import FrozenInstanceError

import pytest

from postil.errors import ConfigurationError
from postil.text import read
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


def test_a_file_has_columns_if_the_user_names_them():
    for named, format in (({}, "text"), ({"label": None}, "text"), ({"token": 1}, "conll"), ({"label": 3}, "conll")):
        assert read(io.BytesIO(b"Anna left Oslo again.\n"), **named).format == format


def test_options_do_not_change():
    with pytest.raises(FrozenInstanceError):
        ReadOptions().strict = True
