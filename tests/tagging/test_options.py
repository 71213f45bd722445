"""Options are frozen, picklable and validated when built; what does not apply to a model is refused."""

import dataclasses
import pickle

import pytest

import postil
from oracles.corpora import named_entities
from postil.errors import ConfigurationError
from postil.tagging import TaggingOptions
from postil.tagging.options import TAGGER_OPTIONS, check_columns
from postil.text.options import ReadOptions

FULL = TaggingOptions(
    output="jsonl",
    reading=ReadOptions(features=(1,)),
    probabilities=True,
    nbest=2,
    threshold={"": 0.0, "LOC": 0.5},
    all_above=0.1,
    constraints=postil.Constraints(require=[(0, 4, None)]),
    require_names=[("LOC", "places.txt")],
)


def test_options_travel_to_other_processes():
    assert pickle.loads(pickle.dumps(FULL)) == FULL
    with pytest.raises(dataclasses.FrozenInstanceError):
        FULL.nbest = 3


def test_zero_is_a_threshold():
    assert FULL.sets(*TAGGER_OPTIONS) == list(TAGGER_OPTIONS)
    assert TaggingOptions(require_names=[]).sets(*TAGGER_OPTIONS) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nbest": 0, "output": "jsonl"}, r"^nbest must be at least 1 \(got 0\)$"),
        ({"nbest": 2}, r"^nbest needs output jsonl \(got conll\)$"),
        ({"all_above": 0.5, "output": "conll"}, r"^all_above needs output jsonl \(got conll\)$"),
        ({"all_above": 0.0, "output": "jsonl"}, r"^all_above must be above 0 and at most 1 \(got 0.0\)$"),
    ],
)
def test_impossible_options(options, message):
    with pytest.raises(ConfigurationError, match=message):
        TaggingOptions(**options)


def test_refused_options_are_named():
    with pytest.raises(ConfigurationError, match=r"^threshold cannot be used here: a detector has none$"):
        FULL.refuse("scores", "threshold", why="a detector has none")
    FULL.refuse("scores", "tree", why="never raised")


def test_columns_that_a_model_needs():
    X, Y = named_entities(5)
    tagger = postil.Tagger(hidden=2, epochs=1).fit([[(token, "x") for token in tokens] for tokens in X], Y)
    check_columns(tagger, [1])
    with pytest.raises(ConfigurationError, match=r"extra columns: expected --feature-columns with 1 of them, got 0"):
        check_columns(tagger, [])
