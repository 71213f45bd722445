"""``Trainer`` and ``Tagger`` as the users of python-crfsuite expect them."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from oracles.features import feature_dicts
from oracles.sharing import compare_with_threads, interrupted_at_every_line
from postil.crfsuite import BaseTrainer, ItemSequence, Tagger, Trainer
from postil.errors import ConfigurationError, DataError, IndexRangeError, ModelFileError
from postil.integrations.crfsuite.tagger import ClosedError

X, Y = feature_dicts(40)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    trainer = Trainer(algorithm="lbfgs", params={"c2": 0.1, "max_iterations": 30}, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(ItemSequence(x), y)
    path = tmp_path_factory.mktemp("crfsuite") / "model"
    trainer.train(str(path))
    return path


def test_a_tagger_answers_about_the_sequence_that_is_set(path):
    tagger = Tagger()
    with tagger.open(str(path)):
        labels = tagger.tag(X[0])
        assert tagger.tag() == labels and len(labels) == len(X[0])
        assert tagger.tag(ItemSequence(X[0])) == labels
        tagger.set(X[1])
        best = tagger.tag()
        other = ["O" if label != "O" else "B-LOC" for label in best]
        assert 0 < tagger.probability(other) < tagger.probability(best) <= 1
        assert sum(tagger.marginal(label, 0) for label in tagger.labels()) == pytest.approx(1)
        tagger.set(X[0][:1])
        assert sum(tagger.probability([label]) for label in tagger.labels()) == pytest.approx(1)
        assert tagger.tag([]) == []
    with pytest.raises(RuntimeError, match="tagger needs an open model"):
        tagger.labels()


def test_threads_that_share_a_tagger_get_their_own_answers(path):
    def asked(tagger):
        """What a thread may ask about a sequence, each of which is another thread's at the same moment."""

        def about(i):
            labels = tagger.tag(X[i])
            return labels, tagger.tag(), tagger.probability(labels), tagger.marginal(labels[0], 0), tagger.marginals()

        return {f"sequence {i}": lambda i=i: about(i) for i in range(len(X)) if len(X[i])}

    alone, shared = Tagger(), Tagger()
    alone.open(path)
    shared.open(path)
    compare_with_threads(asked(alone), shared=asked(shared), rounds=5)


def test_models_that_share_an_item_sequence_do_not_exchange_its_numbers(path, tmp_path):
    trainer = Trainer("lbfgs", {"max_iterations": 3}, verbose=False)
    for x, y in zip(X[::-1][:9], Y[::-1][:9], strict=True):
        trainer.append(x, y)
    trainer.train(str(tmp_path / "other"))
    one, other = Tagger(), Tagger()
    one.open(path)
    other.open(tmp_path / "other")
    expected = one.tag(X[0]), one.marginals()

    def scenario():
        shared, answers = ItemSequence(X[0]), []
        one.tag(shared)

        def check():
            assert answers == [expected]

        return lambda: answers.append((one.tag(shared), one.marginals())), lambda: other.tag(shared), check

    interrupted_at_every_line(scenario, within="features/named.py")


def test_a_thread_without_a_sequence_asks_about_the_last_one(path):
    tagger = Tagger()
    tagger.open(path)
    labels = tagger.tag(X[0])
    with ThreadPoolExecutor(1) as other:
        assert other.submit(tagger.tag).result() == labels
        other.submit(tagger.set, X[1]).result()
        assert len(other.submit(tagger.tag).result()) == len(X[1])
    assert tagger.tag() == labels, "the sequence of this thread"


def test_info_and_dump_tell_the_weights(path, tmp_path):
    tagger = Tagger()
    tagger.open_inmemory(path.read_bytes())
    info = tagger.info()
    assert info.header["num_labels"] == str(len(info.labels)) and [*info.labels] == tagger.labels()
    assert int(info.header["num_features"]) == len(info.state_features) + len(info.transitions)
    tagger.dump(tmp_path / "dump")
    text = (tmp_path / "dump").read_text()
    assert f"(0) word:w1 --> B-PER: {info.state_features['word:w1', 'B-PER']:f}" in text


def test_mistakes_are_named(path, tmp_path):
    tagger = Tagger()
    tagger.open(path)
    with pytest.raises(ClosedError, match="needs a sequence"):
        tagger.tag()
    tagger.set(X[0])
    with pytest.raises(IndexRangeError, match="pos must be from 0 to"):
        tagger.marginal("O", len(X[0]))
    for error in (DataError, RuntimeError):  # python-crfsuite's is a RuntimeError
        with pytest.raises(error, match=r"unknown label: expected .*, got 'NONE'"):
            tagger.probability(["NONE"] * len(X[0]))
        with pytest.raises(error, match=r"unknown label: expected .*, got 'NONE'"):
            tagger.marginal("NONE", 0)
    with pytest.raises(ValueError, match=f"items and labels differ in length: expected {len(X[0])} labels, got 1"):
        tagger.probability(["O"])
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(ModelFileError):
        tagger.open(tmp_path / "empty")
    with pytest.raises(OSError):
        tagger.open(tmp_path / "missing")
    os.mkfifo(tmp_path / "pipe")
    for wrong in (tmp_path / "pipe", tmp_path):
        with pytest.raises(ModelFileError, match="not a model file: expected a regular file"):
            tagger.open(wrong)


def test_a_trainer_prints_only_where_it_is_verbose(tmp_path, capsys):
    for kind, verbose in ((Trainer, True), (BaseTrainer, True), (Trainer, False), (BaseTrainer, False)):
        trainer = kind("lbfgs", {"max_iterations": 1}, verbose=verbose)
        trainer.append(X[0], Y[0])
        trainer.train("")
        told = capsys.readouterr().out
        assert ("***** Iteration #1 *****" in told) == verbose and ("type: CRF1d" in told) == verbose


def test_parameters_are_set_asked_and_explained():
    trainer = Trainer("ap")
    trainer.set("feature.possible_states", True)
    assert trainer.get("feature.possible_states") is True and "minimum" in trainer.help("feature.minfreq")
    trainer.set("max_iterations", "7")
    assert trainer.get_params()["max_iterations"] == 7
    with pytest.raises(ConfigurationError, match="max_iterations must be like 100 "):
        trainer.set("max_iterations", "many")
    trainer.select("lbfgs")
    assert trainer.get("max_iterations") > 7 and trainer.params()[0] == "feature.minfreq"
    with pytest.raises(ConfigurationError, match="type must be crf1d"):
        trainer.select("lbfgs", type="crf2d")


def test_sentences_of_the_group_held_out_are_not_trained_on():
    trainer = Trainer("lbfgs", {"max_iterations": 2}, verbose=False)
    for number, (x, y) in enumerate(zip(X, Y, strict=True)):
        trainer.append(x, y, number % 2)
    trainer.train("", holdout=1)
    half = Trainer("lbfgs", {"max_iterations": 2}, verbose=False)
    for x, y in zip(X[::2], Y[::2], strict=True):
        half.append(x, y)
    half.train("")
    assert trainer.logparser.last_iteration["loss"] == half.logparser.last_iteration["loss"]
    assert trainer.logparser.last_iteration["instance_accuracy_counts"][1] == len(X) // 2
    trainer.clear()
    trainer.train("")
    assert trainer.logparser.featgen_num_features == 0


def test_one_label_per_item():
    with pytest.raises(DataError, match="items and labels differ in length"):
        Trainer().append([{}, {}], ["O"])


def test_a_name_may_be_bytes(path):
    tagger = Tagger()
    with tagger.open(bytes(path)):
        assert tagger.tag(X[0])


INSTALLED = """
import pickle, sys
from postil import crfsuite
crfsuite.install()
import pycrfsuite
from pycrfsuite import CRFSuiteError, ItemSequence, Tagger, _logparser
from pycrfsuite._logparser import TrainLogParser
assert pycrfsuite is crfsuite and _logparser.TrainLogParser is TrainLogParser and Tagger is crfsuite.Tagger
error = CRFSuiteError(-2147483647)
assert error.code == -2147483647 and str(error) == "Insufficient memory"
content = pickle.dumps(TrainLogParser(), 0).replace(TrainLogParser.__module__.encode(), b"pycrfsuite._logparser")
assert b"pycrfsuite" in content and pickle.loads(content).iterations == []
"""


@pytest.mark.slow
def test_programs_that_import_pycrfsuite_get_this_module():
    subprocess.run([sys.executable, "-c", INSTALLED], check=True)


@pytest.mark.extra("sklearn_crfsuite")
def test_sklearn_crfsuite_runs_on_this_module_and_reads_its_pickles(tmp_path):
    program = """
import pickle, sys
if sys.argv[2] == "ours":
    from postil import crfsuite
    crfsuite.install()
import sklearn_crfsuite, pycrfsuite
assert (pycrfsuite.__name__ == "pycrfsuite") == (sys.argv[2] == "theirs")
if sys.argv[3] == "write":
    crf = sklearn_crfsuite.CRF(c2=0.1, max_iterations=20).fit([[{"w": "a"}, {"w": "b"}]] * 3, [["A", "B"]] * 3)
    pickle.dump(crf, open(sys.argv[1], "wb"))
crf = pickle.load(open(sys.argv[1], "rb"))
print([list(labels) for labels in crf.predict([[{"w": "b"}, {"w": "a"}]])], crf.training_log_.iterations != [])
"""
    found = []
    for who, what in (("theirs", "write"), ("ours", "read"), ("ours", "write")):
        command = [sys.executable, "-W", "ignore", "-c", program, str(tmp_path / "crf"), who, what]
        found.append(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert found == ["[['B', 'A']] True\n"] * 3
