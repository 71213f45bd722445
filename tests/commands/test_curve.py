"""``postil curve`` as a user meets it."""

import json

from oracles import corpora
from postil.commands.main import main


def test_table_page_and_json(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all.txt").write_text(corpora.as_conll(*corpora.named_entities(60)), encoding="utf8")
    words = ["curve", "all.txt", "--sizes", "3", "--repeats", "1", "--set", "hidden=8", "--set", "epochs=2"]
    assert main([*words, "--report", "curve.html"]) == 0
    printed = capsys.readouterr().out
    assert "sentences" in printed and "expected" in printed
    page = (tmp_path / "curve.html").read_text(encoding="utf8")
    assert "Learning curve" in page and "<svg" in page
    assert main([*words, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["points"]) == 3
    assert main([*words[:2], "--sizes", "2"]) == 1
    assert "sizes must be at least 3" in capsys.readouterr().err
