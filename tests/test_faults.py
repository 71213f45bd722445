"""A short slice of the campaign of faults (`make faults`), and that it notices what is broken."""

import itertools
import os
import random
import signal
import sys

import pytest

from oracles import faults, forgeries, strangers
from postil import reading
from postil.tagging.fast_path import Labeller

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


@pytest.fixture
def lab(tmp_path):
    return faults.Laboratory(tmp_path, repeats=15)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["killed while saving", "damaged models", "mutated inputs, both paths"])
def test_a_trial_of_files(lab, name):
    counts = faults.run(lab, name, 0, 0)
    assert counts.total() >= 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["forged checkpoints", "mutated files"])
def test_a_trial_of_forgeries(tmp_path, name):
    lab = faults.Laboratory(tmp_path, forgeries=25)
    assert faults.run(lab, name, 0, 0).total() == 25


@pytest.mark.slow
@pytest.mark.parametrize("kind", strangers.CHECKPOINTS)
def test_a_checkpoint_whose_arrays_are_too_long_or_missing(kind):
    """Kernels change these arrays in place: one that does not fit would be written beyond its end."""
    draft = forgeries.Draft.of(strangers.genuine_checkpoint(kind))
    forged = [forge for name in list(draft.arrays)[::4] for forge in (forgeries.removed(name), _doubled(name))]
    for what, forge in forged:
        copy = draft.copy()
        forge(copy)
        assert strangers.checkpoint_outcome(kind, copy.packed()) == "refused", what


def _doubled(name):
    def forge(draft):
        dtype, shape, data = draft.arrays[name]
        draft.arrays[name] = dtype, [2 * (shape or [1])[0], *shape[1:]], data * 2

    return f"{name} twice as long", forge


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *[("epoch", value) for value in (None, -1, 99, 1.0, True, "1", [])],
        *[("batch", value) for value in (None, -1, 10**30, "x")],
        *[("history", value) for value in ("x", None, {}, [5], [{}], [{"epoch": 1}])],
        *[("loss_sum", value) for value in (None, "x", 1e300, 10**400)],
        *[("seconds", value) for value in (-1.0, None, 10**400)],
        *[("best_score", value) for value in ("x", [], None, 10**400)],
        *[("best_epoch", value) for value in (0, 99, None, -1)],
        ("steps", None),
        ("unknown", 1),
    ],
)
def test_a_checkpoint_with_impossible_progress(place, value):
    draft = forgeries.Draft.of(strangers.genuine_checkpoint("tagger"))
    draft.metadata["progress"][place] = value
    assert strangers.checkpoint_outcome("tagger", draft.packed()) == "refused"


@pytest.mark.parametrize("value", [3, "", {}, None, ()])
def test_a_checkpoint_from_before_the_end_of_an_epoch(value):
    draft = forgeries.Draft.of(strangers.genuine_checkpoint("encoder from raw text"))
    assert draft.metadata["progress"]["history"] == []
    draft.metadata["progress"]["history"] = value
    expected = "answered" if value == () else "refused"  # which JSON writes as []
    assert strangers.checkpoint_outcome("encoder from raw text", draft.packed()) == expected


def test_a_checkpoint_without_progress():
    draft = forgeries.Draft.of(strangers.genuine_checkpoint("tagger"))
    for value in (5, "x", [1], None, {}):
        draft.metadata["progress"] = value
        assert strangers.checkpoint_outcome("tagger", draft.packed()) == "refused"


def test_special_files_are_refused_at_once(lab):
    assert faults.run(lab, "special files", 0, 0)["special files refused"] > 50


@pytest.mark.slow
def test_bombs_are_refused(monkeypatch):
    """Those of the campaign unpack to gigabytes; here, little is allowed instead."""
    monkeypatch.setattr(reading, "FREE_EXPANSION", 1 << 20)
    monkeypatch.setattr(reading, "MOST_LIST_BYTES", 1 << 22)
    monkeypatch.setattr(strangers, "BOMB", 1 << 23)
    for kind in ("vectors", "clusters", "gazetteer"):
        files = itertools.islice(strangers.bombs(kind), 7)
        outcomes = {what: strangers.auxiliary_outcome(kind, content) for what, content in files}
        assert outcomes.pop("the genuine file") == "answered"
        assert set(outcomes.values()) == {"refused"}


@pytest.mark.extra("pyarrow")
def test_damaged_parts_are_written_again(lab):
    assert faults.run(lab, "parts folders", 0, 0).total() > 20


def test_parts_that_stay_damaged_are_noticed(lab, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("postil.integrations.column_files.is_done", lambda out, part: os.path.lexists(part))
    monkeypatch.setattr(faults, "DAMAGE", {"emptied": faults.DAMAGE["emptied"]})
    with pytest.raises(faults.Violation, match="parts other than written at first"):
        faults.run(lab, "parts folders", 0, 0)


def test_a_reader_that_waits_or_fails_is_noticed(lab, monkeypatch):
    monkeypatch.setitem(strangers.USES, "model", lambda path: None)
    with pytest.raises(faults.Violation, match="model: pipe was answered"):
        faults.run(lab, "special files", 0, 0)


@pytest.mark.slow
def test_a_trial_of_processes(lab):
    assert faults.run(lab, "signals while tagging", 0, 1).total() >= 2


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_wrong_exit_code_is_noticed(lab):
    with lab.room() as room:
        running = faults.Running(lab, ["info", "--presets"], room)
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
