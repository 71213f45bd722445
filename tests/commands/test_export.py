"""``postil export``: what it writes and says, and one line for every mistake."""

import pytest

from postil.commands import export
from postil.commands.main import main


def test_a_folder_of_c(names_model, tmp_path, capsys):
    assert main(["export", str(names_model), "--to", "c", "-o", str(tmp_path / "c")]) == 0
    shown = capsys.readouterr()
    assert "postil.c" in shown.out
    assert f"make -C {tmp_path / 'c'} check" in shown.out
    assert shown.err == ""
    assert (tmp_path / "c" / "model.bin").stat().st_size > 10_000


def test_half_precision_is_measured(names_model, tmp_path, capsys):
    assert main(["export", str(names_model), "--to", "c", "--half", "-o", str(tmp_path / "c")]) == 0
    assert "half precision changes" in capsys.readouterr().out


def test_texts_of_the_user(names_model, tmp_path, capsys):
    (tmp_path / "texts.txt").write_text("Anna lives here.\nParis\n", encoding="utf-8")
    words = ["export", str(names_model), "--to", "c", "-o", str(tmp_path / "c")]
    assert main([*words, "--conformance", str(tmp_path / "texts.txt")]) == 0
    assert (tmp_path / "c" / "conformance.txt").read_text(encoding="utf-8").count("\nL ") == 2
    assert main([*words, "--conformance", str(tmp_path / "none.txt")]) == 1
    assert "none.txt" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "web", "--array"], "--array needs --to c"),
        (["--to", "web", "--conformance", "x"], "--conformance needs --to c"),
    ],
)
def test_options_of_other_targets_are_refused(names_model, tmp_path, capsys, words, message):
    assert main(["export", str(names_model), "-o", str(tmp_path / "out"), *words]) == 1
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_no_model_is_one_line(tmp_path, capsys):
    assert main(["export", str(tmp_path / "no.postil"), "--to", "c", "-o", str(tmp_path / "c")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_every_target_has_an_example_in_the_help():
    for target in export.TARGETS:
        assert f"--to {target}" in export.DESCRIPTION


@pytest.mark.parametrize("name", ["ner.html", "ner.mjs", "ner"])
def test_a_model_is_written_for_the_web(names_model, tmp_path, capsys, name):
    assert main(["export", str(names_model), "--to", "web", "-o", str(tmp_path / name)]) == 0
    shown = capsys.readouterr().out
    assert "precision" in shown and "half precision changes 0 of" in shown and (tmp_path / name).exists()


def test_an_export_for_the_web_replaces_nothing_of_others(names_model, tmp_path, capsys):
    (tmp_path / "thesis.txt").write_text("precious")
    assert main(["export", str(names_model), "--to", "web", "-o", str(tmp_path)]) == 1
    assert "an earlier export (got other files)" in capsys.readouterr().err
    assert main(["export", str(names_model), "--to", "web", "-o", str(tmp_path / "none" / "x.html")]) == 1
    assert "must be in an existing folder" in capsys.readouterr().err
