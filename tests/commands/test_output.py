"""Whether a result may be written is known before the long computation, and no output destroys an input."""

import gzip
import io
import sys

import pytest

from oracles.corpora import as_conll, named_entities
from postil.commands.main import main
from postil.commands.output import check_output
from postil.errors import ConfigurationError

COLUMNS = as_conll(*named_entities(6, seed=1))
CONTENTS = {
    "conll": COLUMNS,
    "jsonl": '{"text": "Anna left", "spans": []}\n',
    "trees": "(3 (2 not) (1 bad))\n",
    "report": "<!DOCTYPE html>\n<html></html>\n",
    "log": '{"epoch": 0, "loss": 1.0}\n',
}


def test_a_new_file_and_an_empty_one(tmp_path, monkeypatch):
    check_output(tmp_path / "new", "model")
    (tmp_path / "old").write_text("")
    check_output(tmp_path / "old", "model")
    monkeypatch.chdir(tmp_path)
    check_output("new", "model")


def test_a_folder_or_a_missing_one(tmp_path):
    for wrong in (tmp_path, tmp_path / "missing" / "new"):
        with pytest.raises(ConfigurationError, match="the output"):
            check_output(wrong, "model", overwrite=True)


def test_a_folder_that_may_not_be_written_is_told_before_the_computation(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path)  # root may write anywhere
    with pytest.raises(ConfigurationError, match=r"new: the output must be in a folder that you may write to$"):
        check_output(tmp_path / "new", "model", overwrite=True)


@pytest.mark.parametrize("there", CONTENTS)
@pytest.mark.parametrize("kind", [*CONTENTS, "model"])
def test_only_a_file_of_the_same_kind_is_replaced(tmp_path, there, kind):
    path = tmp_path / "there"
    path.write_text(CONTENTS[there])
    check_output(path, kind, overwrite=True)
    if there == kind:
        check_output(path, kind)
        return
    with pytest.raises(ConfigurationError, match=r"must not replace a file that is not .*: --overwrite does"):
        check_output(path, kind)


def test_models_text_and_bytes(tmp_path, names_model):
    (tmp_path / "m.postil").write_bytes(names_model.read_bytes())
    check_output(tmp_path / "m.postil", "model")
    for content in (b"Dear diary, nothing happened today.\n", b"\x89PNG\r\n\x1a\n\0\0"):
        (tmp_path / "mine").write_bytes(content)
        for kind in ("model", "report", "log", "conll"):
            with pytest.raises(ConfigurationError, match="must not replace"):
                check_output(tmp_path / "mine", kind)


def test_a_read_only_file(tmp_path):
    path = tmp_path / "gold.conll"
    path.write_text(COLUMNS)
    path.chmod(0o444)
    with pytest.raises(ConfigurationError, match="must not replace a read-only file"):
        check_output(path, "conll")
    check_output(path, "conll", overwrite=True)


def test_the_input_is_named_once(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text(COLUMNS)
    (tmp_path / "soft").symlink_to(path)
    with pytest.raises(ConfigurationError) as found:
        check_output(path, "model", inputs=[str(path)])
    assert str(found.value) == f"{path}: the output must not be one of the inputs"
    with pytest.raises(ConfigurationError) as found:
        check_output(path, "model", inputs=[tmp_path / "soft"])
    assert str(found.value) == f"{path}: the output must not be one of the inputs (got {tmp_path / 'soft'})"


def test_an_input_under_any_name_is_refused_even_by_force(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text(COLUMNS)
    (tmp_path / "soft").symlink_to(path)
    (tmp_path / "hard").hardlink_to(path)
    (tmp_path / "dangling").symlink_to(tmp_path / "later")
    for one, other in (("a.conll", "soft"), ("soft", "a.conll"), ("hard", "soft"), ("a.conll", "x/../a.conll")):
        (tmp_path / "x").mkdir(exist_ok=True)
        with pytest.raises(ConfigurationError, match="must not be one of the inputs"):
            check_output(tmp_path / one, "conll", inputs=[tmp_path / other], overwrite=True)
    with pytest.raises(ConfigurationError, match="must not be one of the inputs"):
        check_output(tmp_path / "dangling", "conll", inputs=[tmp_path / "later"], overwrite=True)
    with pytest.raises(ConfigurationError, match="must not be one of the inputs"):
        check_output(tmp_path / "m", "model", inputs=[tmp_path / ".m.0a1b.partial"], overwrite=True)


@pytest.fixture
def here(tmp_path, monkeypatch, names_model):
    """A folder with data, a model and everything that must survive."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text(COLUMNS)
    (tmp_path / "b.txt").write_text(COLUMNS)
    (tmp_path / "m.postil").write_bytes(names_model.read_bytes())
    (tmp_path / "link.txt").symlink_to("a.txt")
    (tmp_path / "page.html").write_text("<!DOCTYPE html>\n<p>mine</p>")
    (tmp_path / "new.postil.checkpoint").write_text(COLUMNS)
    (tmp_path / "zipped.txt.gz").write_bytes(gzip.compress(COLUMNS.encode()))
    return tmp_path


COMMANDS = [
    ["train", "a.txt", "-o", "a.txt"],
    ["train", "a.txt", "-o", "link.txt"],
    ["train", "link.txt", "-o", "a.txt", "--overwrite"],
    ["train", "a.txt", "-o", "b.txt"],
    ["train", "a.txt", "--dev", "b.txt", "-o", "b.txt", "--overwrite"],
    ["train", "a.txt", "-o", "page.html"],
    ["train", "a.txt", "-o", "new.postil"],
    ["train", "a.txt", "-o", "other.postil", "--log", "b.txt"],
    ["train", "a.txt", "-o", "other.postil", "--log", "./other.postil"],
    ["train", "a.txt", "--warm-start", "m.postil", "-o", "m.postil"],
    ["evaluate", "m.postil", "a.txt", "--report", "a.txt"],
    ["evaluate", "m.postil", "a.txt", "--report", "b.txt"],
    ["evaluate", "m.postil", "a.txt", "--report", "m.postil"],
    ["evaluate", "m.postil", "a.txt", "--train", "b.txt", "--report", "b.txt", "--overwrite"],
    ["convert", "a.txt", "a.txt"],
    ["convert", "a.txt", "link.txt", "--overwrite"],
    ["convert", "a.txt", "b.txt", "--to", "jsonl"],
    ["convert", "a.txt", "zipped.txt.gz", "--to", "jsonl"],
    ["convert", "a.txt", "m.postil", "--to", "conll"],
    ["tune", "m.postil", "a.txt", "--recall", "0.5", "-o", "a.txt"],
    ["tune", "m.postil", "a.txt", "--recall", "0.5", "-o", "b.txt"],
    ["tune", "m.postil", "--reset", "-o", "page.html"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_destroys_a_file(here, capsys, words):
    before = {path: path.read_bytes() for path in here.iterdir()}
    assert main(words) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and ("must not replace" in error or "must not be one of the inputs" in error)
    assert {path: path.read_bytes() for path in here.iterdir()} == before


def test_what_is_meant_still_works(here, capsys, monkeypatch):
    assert main(["convert", "a.txt", "b.txt"]) == 0
    assert main(["convert", "a.txt", "page.html", "--to", "conll", "--overwrite"]) == 0
    assert main(["convert", "a.txt", "zipped.txt.gz"]) == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(COLUMNS.encode())))
    assert main(["convert", "-", "/dev/null", "--to", "conll"]) == 0
    assert main(["tune", "m.postil", "--reset", "--in-place"]) == 0
    assert main(["evaluate", "m.postil", "a.txt", "--report", "r.html"]) == 0
    assert main(["evaluate", "m.postil", "a.txt", "--report", "r.html"]) == 0


def test_the_demo_leaves_files_alone_that_it_did_not_write(here, capsys):
    (here / "train.txt").write_text(COLUMNS)
    assert main(["demo", "-o", "."]) == 1
    assert "must be a folder without files of the same names" in capsys.readouterr().err
    assert (here / "train.txt").read_text() == COLUMNS
