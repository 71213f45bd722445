"""Names that are imported when they are first used."""

import subprocess
import sys

import pytest

from postil import lazy


def test_names_come_from_their_modules():
    get, names = lazy.exports("json", {".decoder": ["JSONDecodeError"], "collections": ["Counter"]})
    from collections import Counter
    from json.decoder import JSONDecodeError

    assert get("JSONDecodeError") is JSONDecodeError and get("Counter") is Counter
    assert names() == ["Counter", "JSONDecodeError"]
    with pytest.raises(AttributeError, match="module 'json' has no attribute 'x'"):
        get("x")


def test_a_name_is_looked_up_once():
    code = (
        "import sys, postil.metrics as m; assert 'postil.metrics.spans' not in sys.modules; "
        "assert 'SpanScores' not in vars(m); m.SpanScores; assert vars(m)['SpanScores'] is m.SpanScores"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_functions_are_imported_when_they_are_called():
    call = lazy.function("json", "dumps")
    assert call([1], indent=None) == "[1]" and call.__name__ == "dumps"


def test_patterns_are_compiled_when_they_are_used():
    pattern = lazy.Pattern("a+")
    assert not vars(pattern).keys() & {"_compiled", "match", "search", "findall", "finditer"}
    assert pattern.findall("aa b a") == ["aa", "a"]
    found = pattern.search("baa")
    assert found is not None and found.span() == (1, 3) and pattern.match("baa") is None
    assert [match.end() for match in pattern.finditer("aa b a")] == [2, 6]
