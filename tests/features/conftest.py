"""A file of `postil pretrain --with-brown`, for the tests of what reads it."""

import numpy as np
import pytest

from postil.features import Vocabulary, WordVectors
from postil.features.lexicon import Lexicon
from postil.features.vectors import save_pretrained


@pytest.fixture
def pretrained_file(tmp_path):
    """Vectors and clusters of two words."""
    matrix = np.array([[0, 0], [1, 2], [3, 4]], np.float32)
    vectors = WordVectors(Vocabulary.build(["", "oslo", "anna"]), matrix)
    path = tmp_path / "x.pretrained"
    lexicon = Lexicon.of_paths({"Oslo": "0010", "Anna": "0111"})
    save_pretrained(path, vectors=vectors.arrays(), clusters=lexicon.arrays())
    return path
