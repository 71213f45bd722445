"""Files of CRFsuite, read and written: the same answers as from CRFsuite, and damaged ones are refused."""

import struct

import numpy as np
import pytest

from oracles import forged_crfs, forgeries
from oracles.features import feature_dicts
from postil.crfsuite import CRF, Tagger, Trainer
from postil.errors import DataError, ModelFileError
from postil.integrations.crfsuite.model import Weights, _names_of
from postil.kernels import PairWeights

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


def written(path, **parameters):
    """A model that Postil has trained, with names in other scripts."""
    trainer = Trainer("lbfgs", {"c1": 0.05, "c2": 0.1, **parameters}, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append([{**item, "日本": "Zoë"} for item in x], y)
    trainer.train(path)
    return path


@pytest.mark.extra("pycrfsuite")
@pytest.mark.parametrize("transitions", [False, True])
def test_crfsuite_reads_what_postil_has_trained(tmp_path, transitions):
    import pycrfsuite

    path = written(tmp_path / "ours.crfsuite", **{"feature.possible_transitions": transitions})
    theirs, ours = pycrfsuite.Tagger(), Tagger()
    theirs.open(str(path))
    ours.open(path)
    assert theirs.labels() == ours.labels()
    for items in X:
        items = [{**item, "日本": "Zoë", "unknown": "name"} for item in items]
        labels = ours.tag(items)
        assert theirs.tag(items) == labels
        assert theirs.probability(labels) == pytest.approx(ours.probability(labels), abs=1e-9)
        for place in range(len(items)):
            for label in ours.labels():
                assert theirs.marginal(label, place) == pytest.approx(ours.marginal(label, place), abs=1e-9)
    found, known = theirs.info(), ours.info()
    assert found.transitions == pytest.approx(known.transitions, abs=1e-5)  # they are printed with six digits
    assert found.state_features == pytest.approx(known.state_features, abs=1e-5)
    assert found.attributes == known.attributes


def test_a_written_file_is_read_back_whole(tmp_path):
    content = written(tmp_path / "ours.crfsuite").read_bytes()
    model = Weights.from_bytes(content)
    assert content[:4] == b"lCRF" and model.to_bytes() == content
    trainer = Trainer(verbose=False)
    trainer.append([{}], ["A"])  # no attribute
    trainer.train(tmp_path / "nothing")
    assert Tagger().open(tmp_path / "nothing").thing.labels() == ["A"]


def test_names_that_a_file_cannot_hold_are_refused_before_training(tmp_path):
    trainer = Trainer(verbose=False)
    trainer.append([{"zero\0": 1.0}], ["A"])
    with pytest.raises(DataError, match="NUL character"):
        trainer.train(tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.extra("pycrfsuite")
def test_a_damaged_file_is_refused(path):
    content = path.read_bytes()
    for size in (4, 40, 60, 200, len(content) // 3):
        with pytest.raises(ModelFileError, match="damaged CRFsuite model"):
            Tagger().open_inmemory(content[:size])
    with pytest.raises(ModelFileError, match="first-order"):
        Tagger().open_inmemory(content[:8] + b"XXXX" + content[12:])


@pytest.mark.extra("pycrfsuite")
def test_forged_files_of_crfsuite_are_refused_or_answer():
    counts, wrong = forgeries.run(forged_crfs.trained_by_crfsuite(), count=400, seed=1, of=forged_crfs.__name__)
    assert not wrong, wrong[:3]
    assert counts["refused"] > 100 and counts["answered"] > 20, "both ends are met"


@pytest.mark.slow
def test_forged_files_of_postil_are_refused_or_answer():
    counts, wrong = forgeries.run(forged_crfs.trained(), count=250, seed=1, of=forged_crfs.__name__)
    assert not wrong, wrong[:3]
    assert counts["refused"] > 100 and counts["answered"] > 5, "both ends are met"


@pytest.mark.extra("pycrfsuite")
def test_huge_weights_have_finite_probabilities():
    """Their sums differ by rounding in thousands."""
    content = bytearray(forged_crfs.trained_by_crfsuite())
    features = int.from_bytes(content[28:32], "little") + 12
    for number in range(40):
        place = features + 20 * number + 12
        content[place : place + 8] = struct.pack("<d", (-1) ** number * 1e30 / (number + 1))
    assert forged_crfs.outcome(bytes(content)) == "answered"


def test_a_small_file_of_many_labels_takes_no_memory():
    """A table of all pairs of 100,000 labels has 75 GiB."""
    few = Weights([], [], PairWeights(np.zeros(1, np.int64), np.zeros(0, np.int32)), np.zeros(0), np.zeros((0, 0)))
    content = bytearray(few.to_bytes())
    names = _names_of([f"label {number}" for number in range(100_000)])
    struct.pack_into("<I", content, 20, 100_000)  # labels, and where their names begin
    struct.pack_into("<I", content, 32, len(content))
    with pytest.raises(ModelFileError, match="100000 labels in"):
        Tagger().open_inmemory(bytes(content + names))
