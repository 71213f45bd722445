"""``postil card``: a table, JSON or a page, of a file or of an installed model."""

import json

from oracles.installed import install_model, uninstall_models
from postil.commands.main import main


def test_every_form(names_model, tmp_path, monkeypatch, capsys):
    model = install_model(tmp_path, "english", names_model, monkeypatch)
    model.with_suffix(".card.json").write_text(
        '{"title": "Tiny", "about": "About [it].", "weaknesses": ["Odd \\u001b names."], "tables": []}'
    )
    for words in ([], ["english"], [str(model)]):
        assert main(["card", *words]) == 0
        shown = capsys.readouterr().out
        assert "About [it]." in shown and "LOC PER" in shown and "What it is bad at\n- Odd \\x1b names." in shown
    assert main(["card", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Tiny"
    assert main(["card", "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("# Tiny\n")


def test_a_missing_model_is_one_line(capsys, monkeypatch):
    uninstall_models(monkeypatch)
    assert main(["card"]) == 1
    assert capsys.readouterr().err == "postil: no such model file ('english')\n"
