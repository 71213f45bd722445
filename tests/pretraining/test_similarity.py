"""Neighbours by cosine, and words that are not there."""

import numpy as np
import pytest

from postil.errors import ConfigurationError, DataError
from postil.features import Vocabulary, WordVectors
from postil.pretraining import Neighbour, neighbours

VECTORS = WordVectors(
    Vocabulary.build(["", "north", "northeast", "east", "south", "nowhere", "0000"]),
    np.array([[0, 0], [0, 2], [3, 3], [5, 0], [0, -1], [0, 0], [-1, 0]], np.float32),
)


def test_the_nearest_first():
    found = neighbours(VECTORS, "north", 3)
    assert [near.word for near in found] == ["northeast", "east", "nowhere"]
    assert found[0] == Neighbour("northeast", pytest.approx(np.sqrt(0.5)))
    assert [near.cosine for near in neighbours(VECTORS, "north", 99)][-2:] == [pytest.approx(0), pytest.approx(-1)]


def test_looked_up_as_a_tagger_does():
    assert neighbours(VECTORS, "NORTH", 1)[0].word == "northeast"
    assert neighbours(VECTORS, "1984", 5)[-1].word == "east"


def test_unknown_words():
    with pytest.raises(DataError, match=r"^no vector for 'Nort'; words spelt alike: north$"):
        neighbours(VECTORS, "Nort")
    with pytest.raises(DataError, match=r"^no vector for 'xyzzy'$"):
        neighbours(VECTORS, "xyzzy")
    with pytest.raises(ConfigurationError, match="count must be at least 1"):
        neighbours(VECTORS, "north", 0)
