"""``postil neighbours``: a table, JSON, and clear words about unknown words."""

import json

import pytest

from postil.commands.main import main


@pytest.fixture
def vectors(tmp_path):
    path = tmp_path / "x.vectors"
    path.write_text("north 0 2\nnortheast 3 3\neast 5 0\nsouth 0 -1\n")
    return str(path)


def test_a_table_per_word(vectors, capsys):
    assert main(["neighbours", vectors, "north", "East", "--count", "2"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines == [
        *[["north"], ["word", "cosine"], ["northeast", "0.71"], ["east", "0.00"]],
        *[["East"], ["word", "cosine"], ["northeast", "0.71"], ["north", "0.00"]],
    ]


def test_json(vectors, capsys):
    assert main(["neighbours", vectors, "north", "--count", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"north": [{"word": "northeast", "cosine": pytest.approx(0.7071, abs=1e-4)}]}


def test_an_unknown_word(vectors, capsys):
    assert main(["neighbours", vectors, "norht"]) == 1
    assert capsys.readouterr().err == "postil: no vector for 'norht'; words spelt alike: north\n"
