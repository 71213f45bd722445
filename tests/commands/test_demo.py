import contextlib
import io
import json
import shlex

import pytest

import postil
from oracles.installed import install_model, uninstall_models
from oracles.pages import read_page
from postil.commands import console as display
from postil.commands import demo
from postil.commands.main import main
from postil.text import read_trees


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What the demonstration prints, and the folder it fills; trained on fewer sentences."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "200")
        uninstall_models(patch)
        printed = io.TextIOWrapper(io.BytesIO(), encoding="utf8")
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            sizes, tree_sizes = {"train": 300, "dev": 60, "test": 60}, {"train": 800, "dev": 50, "test": 100}
            assert demo.show(folder, 0, sizes, tree_sizes) == 0
        printed.flush()
    return printed.buffer.getvalue().decode("utf8"), folder


@pytest.mark.slow
def test_it_shows_every_step(shown):
    printed, folder = shown
    places = [printed.index(text) for title, _, remark in demo.STEPS for text in (title, remark)]
    assert places == sorted(places) and "Try it yourself" in printed
    assert "Paris\t" in printed and "\tB-LOC" in printed and "F1" in printed and "[Paris]LOC" in printed
    assert str(folder / "report.html") in printed


def test_everything_it_names_is_there_and_works(shown, capsys):
    printed, folder = shown
    assert {path.name for path in folder.iterdir()} == set(demo.WRITTEN)
    page = read_page((folder / "report.html").read_text(encoding="utf8"))
    assert page.one("h1").text.endswith("names.postil")
    commands = [line[2:] for line in printed.splitlines() if line.startswith("$ ")]
    assert len(commands) == len(demo.STEPS)
    (tag,) = (shlex.split(line)[1:] for line in commands if "Museums" in line and " tag " in line)
    assert main(tag) == 0
    assert capsys.readouterr().out in printed


def test_alternatives_are_in_the_order_of_their_probabilities(shown):
    (record,) = (json.loads(line) for line in shown[0].splitlines() if line.startswith("{"))
    figures = [one["probability"] for one in record["nbest"][0]]
    assert len(figures) == 3 and figures == sorted(figures, reverse=True) and sum(figures) <= 1.001


@pytest.mark.slow
def test_trees_learn_what_counting_words_cannot(shown):
    printed, folder = shown
    classifier = postil.load(folder / "opinions.postil")
    assert classifier.score(list(read_trees(folder / "opinions-test.trees"))) > 0.95
    page = read_page((folder / "opinions.html").read_text(encoding="utf8"))
    assert page.one("h1").text.endswith("opinions.postil") and len(list(page.all("svg"))) > 1
    assert "(good (neither not) (bad (bad bad) (neither (neither at) (neither all))))" in printed
    assert "(good (neither never) (bad dull))" in printed


def test_a_folder_that_cannot_be_made(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "-o", str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_commands_are_shown_as_this_shell_finds_them(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(tmp_path / "my env" / "bin" / "postil"), "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert display.command() == "'my env/bin/postil'"
    (tmp_path / "postil").write_text("#!/bin/sh")
    (tmp_path / "postil").chmod(0o755)
    assert display.command() == "postil"


def test_it_begins_with_the_english_model_where_it_is_installed(names_model, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "STEPS", ())
    monkeypatch.setattr(demo, "ENGLISH_STEP", ("English", "tag 'Anna left New York.'", ""))
    for is_installed in (False, True):
        printed = io.TextIOWrapper(io.BytesIO(), encoding="utf8")
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
            if is_installed:
                install_model(tmp_path, "english", names_model, patch)
            else:
                uninstall_models(patch)
            assert demo.show(tmp_path / "out", 0, {}, {}) == 0
            printed.flush()
        assert (b"Anna\tB-PER" in printed.buffer.getvalue()) is is_installed
