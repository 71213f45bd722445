"""A pretrained file is a file of vectors and one of clusters."""

import numpy as np
import pytest

from postil import Tagger, load
from postil.errors import ConfigurationError
from postil.features.lexicon import with_pretrained
from postil.features.vectors import holds_model


def test_a_tagger_takes_both_from_one_file(pretrained_file, tmp_path):
    X, y = [["Anna", "saw", "Oslo"], ["they", "left"]] * 10, [["B-PER", "O", "B-LOC"], ["O", "O"]] * 10
    settings = {"hidden": 8, "epochs": 2}
    one = Tagger(pretrained=pretrained_file, **settings).fit(X, y)
    two = Tagger(vectors=[pretrained_file], clusters=pretrained_file, **settings).fit(X, y)
    for tagger in (one, two):
        assert tagger.model.features.words.lexicons.keys() == {"clusters"}
    ours, theirs = (t.model.network.parameters() for t in (one, two))
    assert all(np.array_equal(ours[name].value, theirs[name].value) for name in theirs)
    one.save(tmp_path / "m.postil")
    pretrained_file.unlink()  # a model holds what it has learnt from
    assert load(tmp_path / "m.postil").predict(X[:2]) == one.predict(X[:2])


def test_a_pretrained_file_excludes_clusters_and_other_files(pretrained_file, tmp_path):
    (tmp_path / "text").write_text("Anna 1 2\n")
    X, y = [["Anna"]], [["B-PER"]]
    with pytest.raises(ConfigurationError, match="clusters must not be given with a pretrained file"):
        Tagger(pretrained=pretrained_file, clusters=pretrained_file).fit(X, y)
    with pytest.raises(
        ConfigurationError, match="must be a file that `postil pretrain --with-brown` or `--encoder` wrote"
    ):
        Tagger(pretrained=tmp_path / "text").fit(X, y)
    with pytest.raises(ConfigurationError, match="no such pretrained file"):
        Tagger(pretrained=tmp_path / "none").fit(X, y)


def test_a_model_has_vectors_and_clusters_of_its_own(pretrained_file, names_model):
    assert holds_model(names_model) and not holds_model(pretrained_file)
    assert with_pretrained(["x.vectors"], None, names_model) == (["x.vectors"], None)
    assert with_pretrained(["x.vectors"], None, pretrained_file) == (["x.vectors", pretrained_file], pretrained_file)
    assert with_pretrained("x.vectors", "x.paths", None) == ("x.vectors", "x.paths")
    with pytest.raises(ConfigurationError, match="clusters must not be given with a pretrained file"):
        with_pretrained(None, "x.paths", names_model)
