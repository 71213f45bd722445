"""Vectors that are written are read again, by the reader of `--vectors`."""

import numpy as np
import pytest

from postil.errors import ConfigurationError
from postil.features import Vocabulary, WordVectors, load_vectors
from postil.pretraining import save_vectors


@pytest.mark.parametrize("name", ["x.vectors", "x.txt.gz"])
def test_written_and_read(tmp_path, name):
    rng = np.random.default_rng(0)
    words = ["", "12", "anna", "naïve", ".", "#0"]
    matrix = np.concatenate([np.zeros((1, 3)), rng.normal(size=(5, 3)) * [[1e-4], [1], [1e3], [1], [0]]])
    save_vectors(tmp_path / name, WordVectors(Vocabulary.build(words), matrix.astype(np.float32)))
    again = load_vectors(tmp_path / name)
    assert list(again.words) == words
    np.testing.assert_allclose(again.matrix, matrix, rtol=1e-5)
    assert [path.name for path in tmp_path.iterdir()] == [name]  # nothing else is left


def test_one_dimension_would_look_like_a_header(tmp_path):
    vectors = WordVectors(Vocabulary.build(["", "12"]), np.ones((2, 1), np.float32))
    with pytest.raises(ConfigurationError, match="dimensions of a file of vectors must be at least 2"):
        save_vectors(tmp_path / "x", vectors)
