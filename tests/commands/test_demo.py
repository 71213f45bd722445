import contextlib
import io

import pytest

import postil
from oracles.installed import install_model, uninstall_models
from oracles.pages import read_page
from postil.commands import console as display
from postil.commands import demo
from postil.commands.main import main


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What the demonstration prints, and the folder it fills; trained on fewer sentences."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "200")
        with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()):
            sizes, tree_sizes = {"train": 300, "dev": 60, "test": 60}, {"train": 200, "dev": 50, "test": 50}
            assert demo.show(folder, 0, sizes, tree_sizes) == 0
    return printed.getvalue(), folder


@pytest.mark.slow
def test_it_shows_every_step(shown):
    printed, folder = shown
    for expected in (
        "1. Labelled sentences",
        "2. Training",
        "3. New sentences",
        "4. Ambiguous",
        "5. Explanations",
        "6. A report",
        "7. Trees",
        "Try it yourself",
    ):
        assert expected in printed
    assert "Museums in  Paris LOC " in printed and "F1" in printed
    assert str((folder / "report.html").resolve()) in printed


def test_everything_it_names_is_there_and_works(shown, capsys):
    printed, folder = shown
    assert {path.name for path in folder.iterdir()} == {
        *["train.txt", "dev.txt", "test.txt", "names.postil", "report.html"],
        *["opinions-train.trees", "opinions-dev.trees", "opinions-test.trees", "opinions.postil", "opinions.html"],
    }
    page = read_page((folder / "report.html").read_text(encoding="utf8"))
    assert page.one("h1").text.endswith("names.postil")
    assert main(["evaluate", str(folder / "names.postil"), str(folder / "test.txt"), "--json"]) == 0
    capsys.readouterr()
    (entity,) = postil.load(folder / "names.postil").tag(demo.EXAMPLE).entities
    assert (entity.text, entity.label) == ("Paris", "LOC")
    assert f"LOC {entity.probability:.2f}" in printed


def test_alternatives_are_in_the_order_of_their_probabilities(shown):
    lines = [line for line in shown[0].splitlines() if "lost again" in line and "%" in line]
    figures = [float(line.split("%")[0]) for line in lines]
    assert len(figures) == 3 and figures == sorted(figures, reverse=True) and sum(figures) <= 100.1


def test_a_folder_that_cannot_be_made(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "-o", str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_entities_of_tokens_count_characters():
    tokens, labels = "Mr Reed left New Oslo .".split(), ["B-PER", "I-PER", "O", "B-LOC", "I-LOC", "O"]
    text = " ".join(tokens)
    found = demo.entities_of(tokens, labels)
    assert [(text[e.start : e.end], e.label) for e in found] == [("Mr Reed", "PER"), ("New Oslo", "LOC")]
    assert demo.coloured(text, found).plain == " Mr Reed PER  left  New Oslo LOC  ."


def test_commands_are_shown_as_this_shell_finds_them(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(tmp_path / "my env" / "bin" / "postil"), "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert display.command() == "'my env/bin/postil'"
    (tmp_path / "postil").write_text("#!/bin/sh")
    (tmp_path / "postil").chmod(0o755)
    assert display.command() == "postil"


def test_it_begins_with_the_english_model_where_it_is_installed(names_model, tmp_path, monkeypatch, capsys):
    uninstall_models(monkeypatch)
    demo.show_english()
    assert capsys.readouterr().out == ""
    monkeypatch.undo()
    install_model(tmp_path, "english", names_model, monkeypatch)
    monkeypatch.setattr(demo, "ENGLISH_TEXTS", ("Anna left New York.",))
    demo.show_english()
    shown = capsys.readouterr().out
    assert 'tag "Anna left New York."' in shown and " Anna PER " in shown and " New York LOC " in shown
