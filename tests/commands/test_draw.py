"""``postil draw``: a picture of a model or of a sentence; nothing else is replaced."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from postil.commands.main import main

GOLDEN = Path(__file__).parents[1] / "golden"
SVG = "{http://www.w3.org/2000/svg}"


def _texts(path):
    return [element.text for element in ElementTree.parse(path).getroot().iter(f"{SVG}text")]


def test_a_network(names_model, tmp_path, capsys):
    picture = tmp_path / "network.svg"
    assert main(["draw", str(names_model), "-o", str(picture)]) == 0
    assert capsys.readouterr().out == f"The picture is in {picture}: open it in a browser.\n"
    assert names_model.name in _texts(picture) and "CRF" in _texts(picture)
    assert main(["draw", str(names_model), "-o", str(picture)]) == 0, "a picture is replaced"


def test_the_flow_graph_of_a_sentence(names_model, tmp_path):
    picture = tmp_path / "flow.svg"
    words = ["--sentence", "Museums in Paris are amazing.", "-o", str(picture)]
    assert main(["draw", str(names_model), *words]) == 0
    texts = _texts(picture)
    assert any("|gradient|" in text for text in texts) and any("value" in text for text in texts)
    assert main(["draw", str(GOLDEN / "multi-task-tagger-2.postil"), "--task", "case", *words]) == 0


@pytest.mark.parametrize(
    ("model", "words", "message"),
    [
        ("missing.postil", [], "no such model file ('missing.postil')"),
        ("detector-2.postil", ["--sentence", "Oslo."], "--sentence needs a tagger (got a detector)"),
        ("tree-classifier-2.postil", ["--sentence", "Oslo."], "--sentence needs a tagger (got a tree-classifier)"),
        ("tagger-2.postil", ["--task", "names"], "--task cannot be used here: it is for --sentence"),
        ("tagger-2.postil", ["--sentence", ""], "--sentence must be one sentence (got 0 sentences)"),
        ("multi-task-tagger-2.postil", ["--task", "x", "--sentence", "A."], "--task must be one of names, case"),
    ],
)
def test_mistakes_are_one_line(model, words, message, tmp_path, capsys):
    path = str(GOLDEN / model) if (GOLDEN / model).exists() else model
    picture = tmp_path / "x.svg"
    assert main(["draw", path, *words, "-o", str(picture)]) == 1
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not picture.exists()


def test_neither_the_model_nor_another_file_is_replaced(names_model, tmp_path, capsys):
    before = names_model.read_bytes()
    assert main(["draw", str(names_model), "-o", str(names_model), "--force"]) == 1
    assert names_model.read_bytes() == before
    other = tmp_path / "notes.txt"
    other.write_text("my notes about <svg>")
    assert main(["draw", str(names_model), "-o", str(other)]) == 1
    assert other.read_text() == "my notes about <svg>"
    assert "must not replace a file that is not an SVG picture" in capsys.readouterr().err
    assert main(["draw", str(names_model), "-o", str(other), "--force"]) == 0
