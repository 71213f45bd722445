"""``postil info``: the card of a model, its network as a picture, the presets."""

import json
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

import pytest

from oracles.installed import install_model, uninstall_models
from postil.commands import info
from postil.commands.main import main
from postil.models.config import DEFAULTS, PRESETS, TaggerConfig, adapted, configured, parsed_setting
from postil.models.settings import rules

GOLDEN = Path(__file__).parents[1] / "golden"
SVG = "{http://www.w3.org/2000/svg}"

# ------------------------------------------------------------------------------------------------ the card


def test_every_form(names_model, tmp_path, monkeypatch, capsys):
    model = install_model(tmp_path, "english", names_model, monkeypatch)
    model.with_suffix(".card.json").write_text(
        '{"title": "Tiny", "about": "About [it].", "weaknesses": ["Odd \\u001b names."], "tables": []}'
    )
    for words in ([], ["english"], [str(model)]):
        assert main(["info", *words]) == 0
        shown = capsys.readouterr().out
        assert "About [it]." in shown and "LOC PER" in shown and "Known weaknesses\n- Odd \\x1b names." in shown
    assert main(["info", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Tiny"
    for _ in range(2):  # a page of the same kind is replaced
        assert main(["info", "-o", str(tmp_path / "card.md")]) == 0
    assert (tmp_path / "card.md").read_text().startswith("# Tiny\n")


def test_a_missing_model_is_one_line(capsys, monkeypatch):
    uninstall_models(monkeypatch)
    assert main(["info"]) == 1
    assert capsys.readouterr().err == "postil: no such model file ('english')\n"


# ------------------------------------------------------------------------------------------------ the network


def _texts(path):
    return [element.text for element in ElementTree.parse(path).getroot().iter(f"{SVG}text")]


def test_a_network(names_model, tmp_path, capsys):
    picture = tmp_path / "network.svg"
    assert main(["info", "--network", str(names_model), "-o", str(picture)]) == 0
    assert capsys.readouterr().out == f"The picture is in {picture}: open it in a browser.\n"
    assert names_model.name in _texts(picture) and "CRF" in _texts(picture)
    assert main(["info", "--network", str(names_model), "-o", str(picture)]) == 0, "a picture is replaced"


def test_the_flow_graph_of_a_sentence(names_model, tmp_path):
    picture = tmp_path / "flow.svg"
    words = ["--text", "Museums in Paris are amazing.", "-o", str(picture)]
    assert main(["info", "--network", str(names_model), *words]) == 0
    texts = _texts(picture)
    assert any("|gradient|" in text for text in texts) and any("value" in text for text in texts)
    assert main(["info", "--network", str(GOLDEN / "multi-task-tagger-2.postil"), "--task", "case", *words]) == 0


@pytest.mark.parametrize(
    ("model", "words", "message"),
    [
        ("missing.postil", [], "no such model file ('missing.postil')"),
        ("detector-2.postil", ["--text", "Oslo."], "--text needs a tagger (got a detector)"),
        ("tree-classifier-2.postil", ["--text", "Oslo."], "--text needs a tagger (got a tree-classifier)"),
        ("tagger-2.postil", ["--task", "names"], "--task needs --text"),
        ("tagger-2.postil", ["--text", ""], "--text must be one sentence (got 0 sentences)"),
        ("multi-task-tagger-2.postil", ["--task", "x", "--text", "A."], "task must be one of names, case"),
    ],
)
def test_mistakes_about_pictures_are_one_line(model, words, message, tmp_path, capsys):
    path = str(GOLDEN / model) if (GOLDEN / model).exists() else model
    picture = tmp_path / "x.svg"
    assert main(["info", "--network", path, *words, "-o", str(picture)]) == 1
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not picture.exists()


def test_neither_the_model_nor_another_file_is_replaced(names_model, tmp_path, capsys):
    before = names_model.read_bytes()
    assert main(["info", "--network", str(names_model), "-o", str(names_model), "--overwrite"]) == 1
    assert names_model.read_bytes() == before
    other = tmp_path / "notes.svg"
    assert main(["info", "--network", str(names_model), "-o", str(tmp_path / "net.png")]) == 1
    assert "needs -o FILE.svg (got" in capsys.readouterr().err and not (tmp_path / "net.png").exists()
    other.write_text("my notes about pictures")
    assert main(["info", "--network", str(names_model), "-o", str(other)]) == 1
    assert other.read_text() == "my notes about pictures"
    assert "must not replace a file that is not an SVG picture" in capsys.readouterr().err
    assert main(["info", "--network", str(names_model), "-o", str(other), "--overwrite"]) == 0


def test_a_picture_needs_a_file(names_model, capsys):
    assert main(["info", str(names_model), "--network"]) == 1
    assert capsys.readouterr().err == "postil: --network needs -o FILE.svg\n"
    assert main(["info", str(names_model), "--text", "Oslo."]) == 1
    assert capsys.readouterr().err == "postil: --text needs --network\n"


# ------------------------------------------------------------------------------------------------ presets


def test_every_preset_and_composition_has_a_purpose():
    assert set(info.PURPOSES) == set(PRESETS)
    assert set(info.TREE_PURPOSES) == set(DEFAULTS)


def test_all_of_them(capsys):
    assert main(["info", "--presets"]) == 0
    out = capsys.readouterr().out
    assert "fast: the default" in out and "encoder=convolutions" in out and "--set composition=tree-lstm" in out
    assert main(["info", "--presets", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert set(rows) == {*PRESETS, *DEFAULTS}
    assert rows["accurate"]["settings"]["layers"] == 3


@pytest.mark.parametrize("name", PRESETS)
def test_all_settings_of_one_are_what_set_takes(capsys, name):
    assert main(["info", "--presets", name]) == 0
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if line.startswith("    ")]
    settings = dict(parsed_setting(word) for word, _ in lines)
    assert TaggerConfig(**settings) == configured(name, {})
    assert [text for _, text in lines] == [rules(TaggerConfig)[name].text.replace("``", "") for name in settings]


def test_what_is_off_is_not_called_automatic(capsys):
    """And no setting that adapts to the data is called off."""
    assert main(["info", "--presets", "fast"]) == 0
    out = capsys.readouterr().out
    words = dict(line.split()[0].split("=") for line in out.splitlines() if line.startswith("    "))
    assert {words[name] for name in ("word_key", "feature_buckets", "patience")} == {"none"}
    begun = configured("fast", {})
    fitted = adapted(begun, 100, 1000)
    changed = [name for name, value in asdict(begun).items() if value != getattr(fitted, name)]
    assert {words[name] for name in changed} == {"auto"} and "auto" not in {words[n] for n in words if n not in changed}
    assert "`" not in out


def test_a_name_that_does_not_exist(capsys):
    assert main(["info", "--presets", "fats"]) == 1
    assert "no preset 'fats'; did you mean fast?\n" in capsys.readouterr().err
