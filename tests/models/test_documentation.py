"""The docstrings of estimators are complete, and their examples are true."""

import doctest
import inspect
import pydoc
from dataclasses import fields

import pytest

import postil
from postil.models.config import TaggerConfig
from postil.models.documentation import type_text
from postil.models.settings import descriptions
from postil.models.tree_config import TreeConfig

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
    assert list(descriptions(config)) == [field.name for field in fields(config)]
    assert not [name for name, text in descriptions(config).items() if not text.endswith(".")]


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_is_documented_in_order(kind):
    assert list(entries(kind)) == list(inspect.signature(kind).parameters)
    assert not [name for name, (_, text) in entries(kind).items() if len(text) < 10]


def test_types_defaults_and_other_presets():
    heading, text = entries(postil.Tagger)["hidden"]
    assert heading == "hidden : int, default=128"
    assert text.startswith(descriptions(TaggerConfig)["hidden"]) and "64 (accurate)" in text
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
