"""Files that CRFsuite has written: the same answers as from CRFsuite, and damaged ones are refused."""

import pytest

from oracles.features import feature_dicts
from postil.crfsuite import CRF, Tagger
from postil.errors import ModelFileError

X, Y = feature_dicts(40)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    import pycrfsuite

    trainer = pycrfsuite.Trainer("lbfgs", {"c1": 0.05, "c2": 0.1}, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    path = tmp_path_factory.mktemp("theirs") / "model.crfsuite"
    trainer.train(str(path))
    return path


@pytest.mark.extra("pycrfsuite")
def test_the_answers_are_those_of_crfsuite(path):
    import pycrfsuite

    theirs, ours = pycrfsuite.Tagger(), Tagger()
    theirs.open(str(path))
    ours.open(path)
    assert theirs.labels() == ours.labels()
    for items in X:
        labels = theirs.tag(items)
        assert ours.tag(items) == labels
        assert ours.probability(labels) == pytest.approx(theirs.probability(labels), abs=1e-9)
        assert ours.marginal("O", 0) == pytest.approx(theirs.marginal("O", 0), abs=1e-9)
    expected, found = theirs.info(), ours.info()
    assert expected.attributes == found.attributes and expected.labels == found.labels
    assert found.state_features == pytest.approx(expected.state_features, abs=1e-6)
    assert found.transitions == pytest.approx(expected.transitions, abs=1e-6)
    assert CRF(model_filename=path).predict(X[:3]).tolist() == [theirs.tag(items) for items in X[:3]]


@pytest.mark.extra("pycrfsuite")
def test_a_damaged_file_is_refused(path):
    content = path.read_bytes()
    for size in (4, 40, 60, 200, len(content) // 3):
        with pytest.raises(ModelFileError, match="damaged CRFsuite model"):
            Tagger().open_inmemory(content[:size])
    with pytest.raises(ModelFileError, match="first-order"):
        Tagger().open_inmemory(content[:8] + b"XXXX" + content[12:])
