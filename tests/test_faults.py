"""A short slice of the campaign of faults (`make faults`), and that it notices what is broken."""

import os
import random
import signal
import sys

import pytest

from oracles import faults
from postil.serving.labeller import Labeller

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


@pytest.fixture
def lab(tmp_path):
    return faults.Laboratory(tmp_path, repeats=15)


@pytest.mark.parametrize("name", ["killed while saving", "damaged models", "mutated inputs, both paths"])
def test_a_trial_of_files(lab, name):
    counts = faults.run(lab, name, 0, 0)
    assert counts.total() >= 4


def test_a_trial_of_processes(lab):
    assert faults.run(lab, "signals while tagging", 0, 1).total() >= 2


def test_outputs_that_cannot_be_written(lab):
    assert faults.run(lab, "full disk", 0, 0).total() >= 1


@pytest.mark.extra("uvicorn")
@pytest.mark.parametrize("name", ["slow heads", "giant heads", "expensive requests"])
def test_a_trial_of_a_server(lab, name):
    from oracles import server_faults

    short = {"slow heads": {"number": 20}, "giant heads": {"megabytes": 8}, "expensive requests": {"number": 4}}
    assert server_faults.TRIALS[name](lab, random.Random(0), **short[name]).total() >= 5


def test_other_answers_of_a_path_are_noticed(lab, monkeypatch):
    label = Labeller.label
    monkeypatch.setattr(
        Labeller,
        "label",
        lambda self, passage: label(
            self,
            passage.__class__(
                name=passage.name,
                format=passage.format,
                first=passage.first,
                text="Anna\tO\n\n",
                opening=passage.opening,
            ),
        ),
    )
    with pytest.raises(faults.Violation, match="mutated inputs, both paths, seed 0, trial 0: the paths differ"):
        faults.run(lab, "mutated inputs, both paths", 0, 0)


def test_damage_that_changes_answers_is_noticed(lab, monkeypatch):
    first, second, *_ = faults.GOLDEN.values()
    monkeypatch.setattr(lab, "any_model", lambda rng: ("first", first()))
    monkeypatch.setattr(faults, "_damaged", lambda content, rng: second())
    with pytest.raises(faults.Violation, match="a damaged file answers otherwise"):
        faults.run(lab, "damaged models", 0, 0)


def test_a_left_over_file_is_noticed(lab):
    with pytest.raises(faults.Violation, match="left over"), lab.room() as room:
        (room / ".m.0123abcd.partial").touch()


def test_a_wrong_exit_code_is_noticed(lab):
    with lab.room() as room:
        running = faults.Running(lab, ["presets"], room)
        assert running.finish() == 0
        with pytest.raises(faults.Violation, match="SIGINT: exit 0"):
            faults.ended_by(running, signal.SIGINT, is_complete=False)


def test_a_process_that_is_left_behind_is_noticed(lab, monkeypatch):
    monkeypatch.setattr(faults, "SLACK", -2.0)
    monkeypatch.setattr(
        faults,
        "COMMAND",
        "import json, os, subprocess; subprocess.Popen(['sleep', '60'], start_new_session=True);"
        "os.write(json.loads(os.environ['POSTIL_FAULTS'])['ready'], b'.')",
    )
    with lab.room() as room, pytest.raises(faults.Violation, match="1 processes were left behind"):
        faults.Running(lab, [], room).finish()


def test_trials_follow_from_seed_and_number(lab, monkeypatch):
    drawn = []
    monkeypatch.setitem(faults.TRIALS, "full disk", lambda lab, rng: drawn.append(rng.random()))
    for seed, number in ((0, 0), (0, 0), (0, 1), (1, 0)):
        faults.run(lab, "full disk", seed, number)
    assert drawn[0] == drawn[1] and len(set(drawn)) == 3
    assert random.Random("0/full disk/0").random() == drawn[0]
    assert os.environ.get("POSTIL_FAULTS") is None
