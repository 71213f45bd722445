"""postil bench, and the limits it measures against. No test depends on how fast the machine is."""

import json

import pytest

from postil.commands.main import main
from postil.machine import limits, measurements


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(measurements, "SENTENCES", 60)
    monkeypatch.setattr(measurements, "TREES", 20)
    monkeypatch.setattr(measurements, "REPEATS", 1)
    monkeypatch.setattr(limits, "REPEATS", 1)


def test_json_has_every_row(small, capsys):
    assert main(["bench", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {"postil", "kernels", "threads", "NumPy", "Python"} <= set(told["machine"])
    names = [row["what"] for row in told["rows"]]
    for preset in ("fast", "accurate"):
        assert f"train {preset}" in names and f"tag {preset}" in names
    assert any("trees" in name for name in names) and any("one sentence" in name for name in names)
    assert all(row["per_second"] > 0 for row in told["rows"])
    assert all(row["share"] > 0 for row in told["rows"] if row["share"] is not None)
    assert sum(row["share"] is not None for row in told["rows"]) == 5


def test_the_table_says_what_is_measured(small, capsys):
    assert main(["bench"]) == 0
    printed = capsys.readouterr().out
    assert "share of limit" in printed and "kernels" in printed and "tokens/s" in printed and "trees/s" in printed


def test_a_number_of_threads_that_cannot_be(small, capsys):
    assert main(["bench", "--threads", "0"]) == 1
    assert tuple(capsys.readouterr()) == ("", "postil: threads must be at least 1 (got 0)\n")
