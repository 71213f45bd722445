"""The one route of training: what happens before, between and after the events, for every kind of estimator."""

import pickle

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities
from postil.commands.main import main
from postil.errors import CheckpointWarning, ConfigurationError
from postil.models.engine import Engine
from postil.optimisation.loop import Epoch, Step

TRAIN, DEV = named_entities(30), named_entities(10, seed=1)
TREES = [("3", ("2", "a"), ("3", "good")), ("1", ("2", "a"), ("1", "bad"))] * 10
SMALL = {"hidden": 8, "word_dim": 8, "epochs": 2}
ESTIMATORS = {
    "tagger": (lambda: postil.Tagger(**SMALL, batch_sentences=8), TRAIN, DEV),
    "detector": (lambda: postil.Detector(label="LOC", **SMALL, batch_sentences=8), TRAIN, DEV),
    "trees": (lambda: postil.TreeClassifier(**SMALL, batch_trees=8), (TREES, None), TREES),
}
every_kind = pytest.mark.parametrize("kind", ESTIMATORS)


def values(parts):
    return {name: parameter.value.copy() for name, parameter in parts.network.parameters().items()}


@pytest.fixture
def built(monkeypatch):
    """The engines that are built from now on."""
    engines = []
    init = Engine.__init__

    def counting(self, *arguments):
        engines.append(self)
        init(self, *arguments)

    monkeypatch.setattr(Engine, "__init__", counting)
    return engines


@every_kind
def test_an_estimator_is_fitted_when_the_last_event_has_come(kind):
    make, data, dev = ESTIMATORS[kind]
    estimator = make()
    fitting = estimator.fitting(*data, dev)
    assert isinstance(next(fitting), Step)
    rest = [(type(event), estimator._model) for event in fitting]
    assert rest[-1] == (Epoch, None) and len(rest) > 3
    assert estimator.model is fitting.model
    assert list(fitting) == []
    assert fitting.model.about["training"]["epochs"] == 2


@every_kind
def test_fit_and_fitting_learn_the_same(kind):
    make, data, dev = ESTIMATORS[kind]
    one, other = make().fit(*data, dev), make()
    for _ in other.fitting(*data, dev):
        pass
    for name, value in values(one.model).items():
        assert (value == other.model.network.parameters()[name].value).all()


@every_kind
@pytest.mark.parametrize("with_dev", [True, False])
def test_a_fitted_network_cannot_be_written_to(kind, with_dev):
    make, data, dev = ESTIMATORS[kind]
    estimator = make().fit(*data, dev if with_dev else None)
    for parameter in estimator.model.network.parameters().values():
        with pytest.raises(ValueError, match="read-only"):
            parameter.value[...] = 0


@every_kind
def test_a_fitted_estimator_can_be_fitted_again(kind):
    make, data, dev = ESTIMATORS[kind]
    estimator = make()
    first = values(estimator.fit(*data, dev).model)
    again = values(estimator.fit(*data, dev).model)
    assert all((first[name] == again[name]).all() for name in first)


@every_kind
def test_mistakes_are_told_before_the_first_step(kind):
    make, data, _ = ESTIMATORS[kind]
    with pytest.raises(ConfigurationError, match="threads"):
        make().set_params(threads=0).fitting(*data)
    with pytest.raises(ConfigurationError, match="nothing to resume"):
        make().fitting(*data, resume=True)
    with pytest.raises(ConfigurationError, match="no checkpoint file"):
        make().fitting(*data).save_checkpoint()


@every_kind
@pytest.mark.parametrize("stop", [1, 5])
def test_checkpoints_of_every_kind(kind, stop, tmp_path):
    make, data, dev = ESTIMATORS[kind]
    whole = make().fit(*data, dev)
    half = make().fitting(*data, dev, checkpoint=tmp_path / "c")
    for _ in range(stop):
        next(half)
    half.save_checkpoint()
    estimator = make()
    for _ in estimator.fitting(*data, dev, checkpoint=tmp_path / "c", resume=True):
        pass
    resumed = values(estimator.model)
    assert all((value == resumed[name]).all() for name, value in values(whole.model).items())


# ------------------------------------------------------------------------------------------------ the engine


@pytest.mark.parametrize("kind", ["tagger", "detector"])
def test_after_fit_the_engine_is_built_once(kind, built):
    make, data, _ = ESTIMATORS[kind]
    estimator = make().fit(*data)
    for _ in range(3):
        estimator.predict(DEV[0])
        estimator.evaluate(*DEV)
    assert len(built) == 1


@pytest.mark.parametrize("kind", ["tagger", "detector"])
def test_what_is_calibrated_on_dev_is_predicted_with(kind, built):
    make, data, dev = ESTIMATORS[kind]
    estimator = make().fit(*data, dev)
    judged = SMALL["epochs"]  # one for the averaged parameters of each epoch
    assert len(built) == judged + 1
    estimator.predict(DEV[0])
    estimator.score(*DEV)
    assert len(built) == judged + 1


def test_after_the_command_the_engine_is_built_once(built, tmp_path, monkeypatch, capsys):
    """What ``postil train`` has trained scores dev and test with one engine; the model that it wrote needs one too."""
    path = tmp_path / "data.txt"
    lines = ["\n".join(map("\t".join, zip(*pair, strict=True))) for pair in zip(*TRAIN, strict=True)]
    path.write_text("\n\n".join(lines) + "\n", encoding="utf8")
    kept = []
    fitting = postil.Tagger.fitting
    monkeypatch.setattr(postil.Tagger, "fitting", lambda self, *a, **b: kept.append(self) or fitting(self, *a, **b))
    settings = [word for name, value in SMALL.items() for word in ("--set", f"{name}={value}")]
    assert main(["train", str(path), "--test", str(path), "-o", str(tmp_path / "m.postil"), *settings]) == 0
    (tagger,) = kept
    for _ in range(2):
        tagger.predict(DEV[0])
    assert len(built) == 1
    loaded = postil.load(tmp_path / "m.postil")
    assert loaded.predict(DEV[0]) == tagger.predict(DEV[0]) == loaded.predict(DEV[0])
    assert len(built) == 2


def test_after_pickling_the_engine_is_built_once(built):
    tagger = pickle.loads(pickle.dumps(postil.Tagger(**SMALL).fit(*TRAIN)))
    for _ in range(2):
        tagger.predict(DEV[0])
    assert len(built) == 1


def test_without_freezing_an_engine_would_be_built_at_every_call(built):
    """The counts above can fail."""
    tagger = postil.Tagger(**SMALL).fit(*TRAIN)
    for parameter in tagger.model.network.parameters().values():
        parameter.value = np.array(parameter.value)
    for _ in range(2):
        tagger.predict(DEV[0])
    assert len(built) == 2


@every_kind
def test_a_checkpoint_that_cannot_be_written_is_tried_again(kind, tmp_path):
    make, data, dev = ESTIMATORS[kind]
    folder = tmp_path / "folder"
    estimator = make()
    fitting = estimator.fitting(*data, dev, checkpoint=folder / "c")
    with pytest.warns(
        CheckpointWarning, match=r"c: cannot write the checkpoint \(No such file.*next epoch tries again"
    ):
        while not isinstance(next(fitting), Epoch):
            pass
    folder.mkdir()
    for _ in fitting:
        pass
    assert [path.name for path in folder.iterdir()] == ["c"]
    expected = values(make().fit(*data, dev).model)
    assert all((value == expected[name]).all() for name, value in values(estimator.model).items())
