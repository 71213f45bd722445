"""The first word of a command: MODEL, a file, or a text; and the English model where none is named."""

import io
import sys

import pytest

import postil
from oracles.corpora import named_entities
from oracles.installed import install_model, uninstall_models
from postil.commands.main import main

TEXT = "Anna left New York."
REPORTED = "postil: no MODEL named: using the installed model english\n"


@pytest.fixture
def english(names_model, tmp_path, monkeypatch):
    """A small model under the name of the English one, and a folder of its own to work in."""
    path = install_model(tmp_path / "packages", "english", names_model, monkeypatch)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return path


def ran(capsys, *words):
    assert main(list(words)) == 0
    return capsys.readouterr()


def test_a_text_alone_is_labelled_by_the_english_model_which_is_reported_once(english, capsys):
    expected = ran(capsys, "tag", str(english), "--text", TEXT)
    assert "York\tI-LOC" in expected.out and expected.err == ""
    assert tuple(ran(capsys, "tag", TEXT)) == (expected.out, REPORTED)
    assert tuple(ran(capsys, "tag", "--text", TEXT)) == (expected.out, REPORTED)
    assert tuple(ran(capsys, "tag", "english", TEXT)) == (expected.out, "")


def test_files_and_standard_input_without_a_model(english, capsys, monkeypatch, tmp_path):
    expected = ran(capsys, "tag", str(english), "--text", TEXT).out
    (tmp_path / "here" / "a.txt").write_text(TEXT)
    assert tuple(ran(capsys, "tag", "a.txt")) == (expected, REPORTED)
    assert ran(capsys, "tag", "a.txt", "a.txt").out == expected * 2
    for words in ([], ["-"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
        assert tuple(ran(capsys, "tag", *words)) == (expected, REPORTED)


def test_a_file_whose_name_has_a_space_is_a_file(english, capsys, tmp_path):
    (tmp_path / "here" / TEXT).write_text("Boris slept.")
    assert ran(capsys, "tag", TEXT).out.startswith("Boris")


def test_a_model_file_may_have_any_name(english, capsys, tmp_path):
    (tmp_path / "here" / "no ending").write_bytes(english.read_bytes())
    assert tuple(ran(capsys, "tag", "no ending", TEXT)) == (ran(capsys, "tag", "english", TEXT).out, "")


def test_what_is_named_like_the_model_but_is_none_does_not_hide_it(english, capsys, tmp_path):
    expected = ran(capsys, "tag", "english", TEXT).out
    (tmp_path / "here" / "english").write_text("Boris slept.")
    assert tuple(ran(capsys, "tag", "english", TEXT)) == (expected, "")
    assert ran(capsys, "tag", "./english").out.startswith("Boris")
    (tmp_path / "here" / "english").unlink()
    (tmp_path / "here" / "english").mkdir()
    assert tuple(ran(capsys, "tag", "english", TEXT)) == (expected, "")


def test_explain_and_other_commands_take_the_name(english, capsys, tmp_path):
    explained = ran(capsys, "explain", TEXT, "--json")
    assert explained.err == REPORTED
    assert explained.out == ran(capsys, "explain", "english", TEXT, "--json").out
    (tmp_path / "here" / "dev.txt").write_text("Anna\tB-PER\nleft\tO\n")
    assert '"f1": 100.0' in ran(capsys, "evaluate", "english", "dev.txt", "--json").out
    assert ran(capsys, "train", "dev.txt", "--warm-start", "english", "--set", "epochs=1", "-o", "m.postil")
    assert postil.load("m.postil").model.codec.classes == postil.load("english").model.codec.classes


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing"], "no such model or input file; to tag a single word, use --text ('missing')"),
        (["englsh", TEXT], "no such model or input file ('englsh'; did you mean english?)"),
        (["missing", "--text", TEXT], "no such model file, nor an installed model ('missing')"),
        (["missing.postil", TEXT], "no such model file ('missing.postil')"),
        ([TEXT, "another text"], "inputs must be one text in quotes, or files (got 'Anna left New York.')"),
        ([TEXT, "--text", "x"], "--text and files cannot be combined"),
    ],
)
def test_mistakes_are_one_line(english, capsys, words, message):
    assert main(["tag", *words]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.splitlines()[-1] == f"postil: {message}"


SERVE = pytest.param("serve", marks=pytest.mark.extra("uvicorn"))


@pytest.mark.parametrize("command", ["info", "explain", "evaluate", SERVE])
def test_a_misspelt_model_gets_a_suggestion_from_every_command(english, capsys, command):
    words = {"explain": [TEXT], "evaluate": ["dev.txt"]}.get(command, [])
    assert main([command, "englsh", *words]) == 1
    assert "'englsh'; did you mean english?)" in capsys.readouterr().err


def test_without_an_english_model_one_line_says_what_to_do(english, capsys, monkeypatch, tmp_path):
    uninstall_models(monkeypatch)
    (tmp_path / "here" / "a.txt").write_text(TEXT)
    wanted = (
        "English model is installed: run pip install postil-english (the folder of that name in the repository), "
        "or name a model file\n"
    )
    for words, before in (([TEXT], "no "), ([], "no "), (["a.txt"], "a.txt: not a Postil model file, and no ")):
        for command in ("tag", "explain"):
            assert main([command, *words]) == 1
            assert tuple(capsys.readouterr()) == ("", f"postil: {before}{wanted}")


def test_on_a_terminal_names_are_in_colour_with_their_probabilities(english, capsys, monkeypatch, tmp_path):
    (tmp_path / "here" / "a.txt").write_text(TEXT)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for words in ([TEXT], ["a.txt"], ["--text", TEXT], ["a.txt", "--from", "text"]):
        shown = ran(capsys, "tag", *words).out
        probability = postil.load("english").tag(TEXT).entities[1].probability
        assert "York" in shown and f"LOC {probability:.2f}" in shown and "\t" not in shown
    for words in (["--to", "conll"], ["--probabilities"], ["--from", "tokens"], ["--threshold", "0.1"]):
        (tmp_path / "here" / "a.txt").write_text("Anna left New York .")
        assert "\tI-LOC" in ran(capsys, "tag", "a.txt", *words).out
    assert ran(capsys, "tag", TEXT, "-o", "out.txt").out == ""


@pytest.mark.slow
def test_training_starts_from_the_words_and_encoder_of_several_tasks(tmp_path, monkeypatch, capsys):
    X, y = named_entities(30)
    both = postil.MultiTaskTagger(hidden=16, word_dim=8, epochs=1)
    both.fit({"names": X, "speech": [["a", "b"]]}, {"names": y, "speech": [["DET", "NOUN"]]}).save(
        tmp_path / "m.postil"
    )
    install_model(tmp_path / "packages", "english", tmp_path / "m.postil", monkeypatch)
    (tmp_path / "mine.txt").write_text("zork\tO\nGlorp\tB-PET\n\nGlorp\tB-PET\n\n" * 40)  # fewer epochs than for two
    monkeypatch.chdir(tmp_path)
    assert main(["train", "mine.txt", "--warm-start", "english", "-o", "mine.postil"]) == 0
    mine = postil.load("mine.postil")
    assert mine.model.codec.classes == ("PET",)
    assert (mine.config.hidden, mine.config.word_dim) == (16, 8) and mine.config.epochs > 10  # not the one of the model
    assert "anna" in mine.model.features.words.vocabularies["word"]
