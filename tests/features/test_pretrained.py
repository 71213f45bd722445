"""Vectors and clusters in one file: they come back, and a stranger's file is checked."""

import numpy as np
import pytest

from postil import archive
from postil.errors import ModelFileError
from postil.features import load_vectors
from postil.features.lexicon import Lexicon, load_clusters


def test_what_is_saved_comes_back(pretrained_file):
    vectors, clusters = load_vectors(pretrained_file), load_clusters(pretrained_file)
    assert list(vectors.words) == ["", "oslo", "anna"] and vectors.matrix.tolist() == [[0, 0], [1, 2], [3, 4]]
    whole = Lexicon.of_paths({"Oslo": "0010", "Anna": "0111"})
    np.testing.assert_array_equal(clusters.of(["Oslo", "Anna", "x"]), whole.of(["Oslo", "Anna", "x"]))


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("vectors/matrix", np.zeros((2, 2), np.float32)),
        ("vectors/matrix", np.ones((3, 2), np.float32)),
        ("vectors/matrix", np.zeros((3, 2), np.float64)),
        ("vectors/matrix", np.zeros((3, 0), np.float32)),
        ("vectors/matrix", np.array([[0, 0], [np.nan, 1], [1, 1]], np.float32)),
        ("vectors/words/offsets", np.array([0, 9, 1, 2])),
        ("clusters/codes", np.zeros((1, 1), np.uint16)),
        ("vectors/matrix", None),
    ],
)
def test_a_stranger_s_file_is_checked(pretrained_file, name, array):
    arrays, metadata = archive.load(pretrained_file)
    arrays = {key: np.array(value) for key, value in arrays.items() if key != name}
    archive.save(pretrained_file.with_name("bad"), arrays | ({} if array is None else {name: array}), metadata)
    with pytest.raises(ModelFileError, match="bad"):
        (load_vectors if name.startswith("vectors") else load_clusters)(pretrained_file.with_name("bad"))


def test_another_kind_of_file(pretrained_file):
    archive.save(pretrained_file, {}, {"kind": "tagger"})
    with pytest.raises(ModelFileError, match="not a file of `postil pretrain --with-brown`"):
        load_vectors(pretrained_file)
