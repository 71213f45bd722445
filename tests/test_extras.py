"""A missing package is one clear line."""

import json

import pytest

from postil.errors import ConfigurationError
from postil.extras import needed


def test_an_installed_module_is_returned():
    assert needed("json", "arrow") is json


def test_a_missing_one_names_its_extra():
    with pytest.raises(
        ConfigurationError, match=r"^no_such_package is not installed: run pip install 'postil\[arrow\]'$"
    ):
        needed("no_such_package.part", "arrow")
