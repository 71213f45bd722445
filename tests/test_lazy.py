"""Names that are imported when they are first used."""

import copy
import dataclasses
import inspect
import itertools
import pickle
import subprocess
import sys
from typing import ClassVar

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


# ------------------------------------------------------------------------------------------------ data classes


OPTIONS = [
    dict(zip(("frozen", "kw_only", "slots", "eq"), values, strict=True))
    for values in itertools.product((False, True), repeat=4)
]


def made_by(decorator, options):
    @decorator(**options)
    class Base:
        """A base."""

        first: int
        kind: ClassVar[str] = "k"
        second: list = dataclasses.field(default_factory=list)

    @decorator(**options)
    class Point(Base):
        """A point."""

        third: str = "c"

        def __post_init__(self):
            if self.first < 0:
                raise ValueError(self.first)

        @property
        def double(self):
            return 2 * self.first

    return Base, Point


def facts(Point, ask):
    """What can be seen of a class; errors by their type."""
    try:
        return ask(Point)
    except Exception as error:
        return type(error), str(error)


ASKED = {
    "fields": lambda Point: [(field.name, field.kw_only) for field in dataclasses.fields(Point)],
    "signature": lambda Point: str(inspect.signature(Point)),
    "is a data class": dataclasses.is_dataclass,
    "match": lambda Point: Point.__match_args__,
    "doc": lambda Point: (Point.__doc__, Point.__qualname__, Point.__module__),
    "repr": lambda Point: repr(Point(first=1)),
    "equal": lambda Point: (Point(first=1) == Point(first=1), Point(first=1) != Point(first=2)),
    "hash": lambda Point: len({Point(first=1, second=()), Point(first=1, second=())}),
    "positional": lambda Point: repr(Point(1, [2], "x")),
    "missing": lambda Point: Point(),
    "set": lambda Point: setattr(Point(first=1), "first", 2),
    "delete": lambda Point: delattr(Point(first=1), "first"),
    "replace": lambda Point: repr(dataclasses.replace(Point(first=1), third="z")),
    "as a dictionary": lambda Point: dataclasses.asdict(Point(first=1)),
    "post init": lambda Point: repr(Point(first=-1)),
    "slots": lambda Point: (hasattr(Point(first=1), "__dict__"), getattr(Point, "__slots__", None)),
    "copy": lambda Point: repr(copy.deepcopy(Point(first=1, second=[2]))),
    "members": lambda Point: (Point(first=3).double, Point.kind, Point(first=3).kind),
    "unordered": lambda Point: Point(first=1) < Point(first=2),
    "unhashable class attribute": lambda Point: Point.__hash__ is None,
}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("place", [0, 1], ids=["base", "derived"])
def test_a_deferred_data_class_behaves_as_the_original(options, asked, place):
    """Each question is the first one that a new class is asked."""
    expected = facts(made_by(dataclasses.dataclass, options)[place], ASKED[asked])
    assert facts(made_by(lazy.dataclass, options)[place], ASKED[asked]) == expected


def test_without_brackets():
    @lazy.dataclass
    class Plain:
        a: int

    assert repr(Plain(1)).endswith("Plain(a=1)") and Plain(1) == Plain(1)


@pytest.mark.parametrize("slots", [False, True])
def test_nothing_is_generated_before_it_is_asked_for(slots):
    @lazy.dataclass(frozen=True, slots=slots)
    class Waiting:
        a: int

    assert "__code__" not in dir(vars(Waiting)["__init__"])
    Waiting(1)
    assert inspect.isfunction(vars(Waiting)["__init__"])


def test_pickled_instances_arrive_in_a_process_that_has_none():
    """There no ``__init__`` has run before instances are compared, hashed and printed."""
    from postil.text.document import Entity

    content = pickle.dumps([Entity("a", "B", 0, 1), Entity("a", "B", 0, 1)])
    code = (
        "import pickle, sys; a, b = pickle.loads(sys.stdin.buffer.read()); "
        "assert hash(a) == hash(b) and a == b and 'Entity(' in repr(a), a"
    )
    subprocess.run([sys.executable, "-c", code], input=content, check=True)
