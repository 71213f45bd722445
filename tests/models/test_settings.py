"""Settings: checked, read from a command line, and shown in the docstrings of estimators, whose examples are true."""

import doctest
import inspect
import pydoc
from dataclasses import dataclass

import numpy as np
import pytest

import postil
from postil.errors import ConfigurationError
from postil.models.config import TaggerConfig, TreeConfig
from postil.models.settings import check_fields, check_names, parsed, rules, setting, spelt, type_text


@dataclass(frozen=True, kw_only=True)
class Config:
    size: int = setting(3, "How large.", low=1, high=9)
    rate: float | None = setting(0.5, "How fast.", positive=True, adapts=True)
    kind: str = setting("a", "Which one.", choices=("a", "b"))
    on: bool = setting(True, "Whether at all.")
    widths: tuple[int, ...] = setting((1, 2), "How wide.")

    def __post_init__(self):
        check_fields(self)


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
    check_names({"size": 1}, rules(Config))
    with pytest.raises(ConfigurationError, match="'sice'"):
        check_names({"sice": 1}, rules(Config))


def test_none_is_spelt_by_what_it_means():
    assert [spelt(Config, name, None) for name in ("rate", "size")] == ["auto", "none"]
    assert spelt(Config, "widths", (1, 2)) == "1,2" and spelt(Config, "on", True) == "true"


# ------------------------------------------------------------------------------------------------ docstrings

KINDS = [postil.Tagger, postil.Detector, postil.TreeClassifier]


def entries(kind):
    """Name -> (heading, text) of the section Parameters."""
    section = inspect.getdoc(kind).partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    parts = [(line, []) for line in section.splitlines() if not line.startswith(" ")]
    lines = iter(section.splitlines())
    number = -1
    for line in lines:
        if line.startswith(" "):
            parts[number][1].append(line.strip())
        else:
            number += 1
    return {heading.partition(" : ")[0]: (heading, " ".join(text)) for heading, text in parts}


@pytest.mark.parametrize("config", [TaggerConfig, TreeConfig])
def test_every_field_has_a_description(config):
    assert not [name for name, rule in rules(config).items() if not rule.text.endswith(".")]


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_is_documented_in_order(kind):
    assert list(entries(kind)) == list(inspect.signature(kind).parameters)
    assert not [name for name, (_, text) in entries(kind).items() if len(text) < 10]


def test_types_defaults_and_other_presets():
    heading, text = entries(postil.Tagger)["hidden"]
    assert heading == "hidden : int, default=128"
    assert text.startswith(rules(TaggerConfig)["hidden"].text) and "64 (accurate)" in text
    assert entries(postil.Tagger)["pairs"][0] == "pairs : {'mean', 'sum'}, default='mean'"
    assert entries(postil.Tagger)["rate"][0] == "rate : float or None, default=None"
    assert entries(postil.Detector)["label"][0] == "label : str"
    assert entries(postil.Detector)["epochs"][0] == "epochs : int or None, default=20"
    assert "margin (" not in entries(postil.Tagger)["epochs"][1]
    assert "Other compositions: 50 (sum, concatenation), 30 (tensor)." in entries(postil.TreeClassifier)["hidden"][1]


def test_types_in_words():
    assert type_text(tuple[int, ...]) == "tuple of int"
    assert type_text(float | None) == "float or None"


@pytest.mark.parametrize("kind", KINDS)
def test_help_has_sections_in_the_usual_order_and_a_short_signature(kind):
    shown = pydoc.plain(pydoc.render_doc(kind))
    places = [shown.index(f" |  {name}\n |  {'-' * len(name)}\n") for name in ("Parameters", "Attributes", "Examples")]
    assert places == sorted(places)
    assert "hidden=UNSET" in shown and "Unset" not in shown
    assert " classes_ : list of str" in shown and " history_ : list of dict" in shown


@pytest.mark.parametrize("kind", KINDS)
def test_examples_of_docstrings_are_true(kind):
    (test,) = doctest.DocTestFinder(recurse=False).find(kind, kind.__name__, globs={})
    assert test.examples
    result = doctest.DocTestRunner().run(test)
    assert result.failed == 0 and result.attempted == len(test.examples)
