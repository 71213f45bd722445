"""Names that are imported when they are first used."""

import subprocess
import sys
from pathlib import Path

import pytest

import postil
from postil import lazy


def test_names_come_from_their_modules():
    get, names = lazy.exports("json", {".decoder": ["JSONDecodeError"], "collections": ["Counter"]})
    from collections import Counter
    from json.decoder import JSONDecodeError

    assert get("JSONDecodeError") is JSONDecodeError and get("Counter") is Counter
    assert {"Counter", "JSONDecodeError", "dumps"} <= set(names())  # those that are not lazy as well
    with pytest.raises(AttributeError, match="module 'json' has no attribute 'x'"):
        get("x")


PACKAGES = ["graph", "objectives", "text", "optimisation", "metrics", "network", "features", "models", "kernels"]


@pytest.mark.parametrize("name", ["postil", *(f"postil.{package}" for package in PACKAGES)])
def test_dir_lists_the_public_names(name):
    """For completion, before any of them is used: in a process of its own."""
    code = f"import {name} as m; assert set(m.__all__) <= set(dir(m)), set(m.__all__) - set(dir(m))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_lazy_package_is_in_the_list():
    root = Path(postil.__file__).parent
    lazy_ones = [path for path in root.rglob("__init__.py") if "lazy.exports(" in path.read_text(encoding="utf-8")]
    # The names of the server need an extra.
    assert {".".join(path.parent.relative_to(root).parts) for path in lazy_ones} == {*PACKAGES, "server"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["arrow", "spacy", "ray", "crfsuite", "presidio"])
def test_integrations_can_be_imported_by_their_public_name(name):
    code = (
        f"import postil.{name}, postil.integrations.{name} as other; "
        f"assert postil.{name} is other and set(other.__all__) <= set(dir(postil.{name}))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_is_looked_up_once():
    code = (
        "import sys, postil.metrics as m; assert 'postil.metrics.spans' not in sys.modules; "
        "assert 'SpanScores' not in vars(m); m.SpanScores; assert vars(m)['SpanScores'] is m.SpanScores"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_patterns_are_compiled_when_they_are_used():
    pattern = lazy.Pattern("a+")
    assert not vars(pattern).keys() & {"_compiled", "match", "search", "findall", "finditer"}
    assert pattern.findall("aa b a") == ["aa", "a"]
    found = pattern.search("baa")
    assert found is not None and found.span() == (1, 3) and pattern.match("baa") is None
    assert [match.end() for match in pattern.finditer("aa b a")] == [2, 6]
