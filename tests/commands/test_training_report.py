"""``postil train --report``: written beside and renamed at the end, for every kind of model; replaces no input."""

import numpy as np
import pytest

from oracles.corpora import as_conll, named_entities
from oracles.pages import read_page
from postil.commands.main import main
from postil.samples.corpora import made_up_trees
from postil.text import bracketed


@pytest.fixture
def files(tmp_path):
    for name, seed in (("train", 0), ("dev", 1)):
        (tmp_path / name).write_text(as_conll(*named_entities(30, seed=seed)))
    return tmp_path


def _train(folder, *words, data="train"):
    inputs = [str(folder / data)] if data else []
    outputs = ["-o", str(folder / "m.postil"), "--report", str(folder / "report.html")]
    return main(["train", *inputs, "--set", "epochs=2", "--set", "hidden=8", *words, *outputs])


def test_a_tagger(files, capsys):
    assert _train(files, "--dev", str(files / "dev"), "--test", str(files / "train")) == 0
    assert f"The report is in {files / 'report.html'}: open it in a browser." in capsys.readouterr().out
    text = read_page((files / "report.html").read_text()).text
    for words in ("Scores per label: dev", "Scores per label: test", "Reliability: dev", "hidden", "Learning curve"):
        assert words in text
    assert not list(files.glob("*.html*tmp*")) and not list(files.glob(".*report*"))


@pytest.mark.parametrize("kind", ["detector", "trees", "tasks"])
def test_other_kinds(files, kind, capsys):
    if kind == "detector":
        code = _train(files, "--dev", str(files / "dev"), "--preset", "margin", "--label", "LOC")
        expected = "average precision on dev"
    elif kind == "trees":
        trees = made_up_trees(20, np.random.default_rng(0))
        (files / "t.trees").write_text("".join(bracketed(tree) + "\n" for tree in trees))
        code, expected = _train(files, "--dev", str(files / "t.trees"), data="t.trees"), "root accuracy on dev"
    else:
        tasks = ["--task", f"one={files / 'train'}", "--task", f"two={files / 'dev'}", "--dev", f"two={files / 'dev'}"]
        code, expected = _train(files, *tasks, data=""), "F1 on dev, two"
    assert code == 0, capsys.readouterr().err
    assert expected in read_page((files / "report.html").read_text()).text


def test_inputs_and_other_files_are_not_replaced(files, capsys):
    model = str(files / "m.postil")
    for place in (str(files / "train"), model):
        assert main(["train", str(files / "train"), "-o", model, "--report", place, "--overwrite"]) == 1
        assert "must not be one of the inputs" in capsys.readouterr().err
    (files / "notes").write_text("mine")
    assert main(["train", str(files / "train"), "-o", model, "--report", str(files / "notes")]) == 1
    assert "must not replace a file that is not an HTML page" in capsys.readouterr().err
    assert (files / "notes").read_text() == "mine" and not (files / "m.postil").exists()
