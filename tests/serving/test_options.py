"""What is asked of a model: checked when it is said, and ready to be sent to another process."""

import pickle
from dataclasses import FrozenInstanceError

import pytest

import postil
from postil.errors import ConfigurationError
from postil.serving.options import TaggingOptions, check_columns


@pytest.mark.parametrize(
    "wrong",
    [
        *[{"output": "jsonl", "nbest": 0}, {"output": "jsonl", "all_above": 0}, {"output": "jsonl", "all_above": 1.5}],
        *[{"nbest": 2}, {"output": "conll", "all_above": 0.5}],
    ],
)
def test_what_cannot_be_is_refused_by_name(wrong):
    with pytest.raises(ConfigurationError, match=[*wrong][-1]):
        TaggingOptions(**wrong)


def test_which_options_are_set():
    options = TaggingOptions(output="jsonl", nbest=2, probabilities=True)
    assert options.sets("nbest", "threshold", "probabilities") == ["nbest", "probabilities"]
    options.refuse("threshold", why="it is not set")
    with pytest.raises(ConfigurationError, match=r"nbest.*no distribution"):
        options.refuse("threshold", "nbest", why="no distribution")


def test_frozen_and_sent_to_another_process():
    options = TaggingOptions(gazetteer_constraints=[("LOC", "places.txt")], threshold=0.5)
    assert pickle.loads(pickle.dumps(options)) == options
    assert options.gazetteer_constraints == (("LOC", "places.txt"),)
    with pytest.raises(FrozenInstanceError):
        options.threshold = 0.1


def test_columns_that_the_model_needs(names_model):
    check_columns(postil.load(names_model), [])
    tagger = postil.Tagger(hidden=2, word_dim=2, epochs=1).fit([[("a", "x")]], [["B-PER"]])
    check_columns(tagger, [1])
    with pytest.raises(ConfigurationError, match="extra columns"):
        check_columns(tagger, [])
