"""``postil bench``. No test depends on how fast the machine is."""

import json

import pytest

from oracles import corpora
from postil.commands import bench
from postil.commands.main import main


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(bench, "SENTENCES", 60)
    monkeypatch.setattr(bench, "TREES", 20)
    monkeypatch.setattr(bench, "REPEATS", 1)


def test_json_has_every_row(capsys):
    assert main(["bench", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told["machine"]) == {"postil", "kernels", "threads", "NumPy", "Python"}
    presets = [f"{what} {name}" for name in ("fast", "accurate") for what in ("train", "tag")]
    assert {*presets, "train trees"} <= {row["what"] for row in told["rows"]}
    assert all(row["per_second"] > 0 for row in told["rows"])


def test_the_table_says_what_is_measured(capsys):
    assert main(["bench"]) == 0
    printed = capsys.readouterr().out
    assert "kernels" in printed and "tokens/s" in printed and "trees/s" in printed


@pytest.mark.parametrize("name", ["txt", "conll", "jsonl"])
def test_a_file_is_labelled(names_model, tmp_path, capsys, name):
    X, y = corpora.named_entities(20)
    lines = {
        "txt": "".join(" ".join(tokens) + "\n" for tokens in X),
        "conll": corpora.as_conll(X, y),
        "jsonl": "".join(json.dumps({"text": " ".join(tokens)}) + "\n" for tokens in X),
    }
    path = tmp_path / f"a.{name}"
    path.write_text(lines[name])
    assert main(["bench", str(names_model), str(path), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["what"] for row in rows] == ["labels", "labels and probabilities"]
    assert all(row["per_second"] > 0 for row in rows)
    assert main(["bench", str(names_model), str(path)]) == 0
    assert path.name in capsys.readouterr().out.replace("\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "needs a FILE"), (["none.txt"], "cannot read the file"), (["empty.txt"], "nothing to measure")],
)
def test_a_mistake_is_one_line(names_model, tmp_path, monkeypatch, capsys, arguments, message):
    (tmp_path / "empty.txt").write_text("\n")
    monkeypatch.chdir(tmp_path)
    assert main(["bench", str(names_model), *arguments]) == 1
    told = capsys.readouterr().err
    assert message in told and told.count("\n") == 1


def test_a_number_of_threads_that_cannot_be(capsys):
    assert main(["bench", "--threads", "0"]) == 1
    assert tuple(capsys.readouterr()) == ("", "postil: --threads must be at least 1 (got 0)\n")
