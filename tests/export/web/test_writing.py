"""What is written for the web, and where."""

import json
import re

import pytest

import postil
from postil.errors import ConfigurationError
from postil.export import web
from postil.export.flat import exported


@pytest.mark.slow
def test_the_ending_decides_what_is_written(names_model, tmp_path):
    for name in ("a.html", "b.mjs", "c"):
        written = web.write(names_model, tmp_path / name)
        path = tmp_path / name
        size = sum(file.stat().st_size for file in path.iterdir()) if path.is_dir() else path.stat().st_size
        assert written.path == path and written.total_bytes == size
    assert (tmp_path / "a.html").read_text(encoding="utf8").startswith("<!DOCTYPE html>")
    assert "export async function load" in (tmp_path / "b.mjs").read_text(encoding="utf8")
    assert json.loads((tmp_path / "c" / "package.json").read_text(encoding="utf8"))["name"] == "postil-c"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.mjs", "c"], "nothing is left beside them"


def test_half_precision_where_no_label_changes(names_model, tmp_path):
    tagger = postil.load(names_model)
    X = [["Anna", "lives", "in", "Oslo"]]
    written = web.write(names_model, tmp_path / "half", sentences=X)
    assert written.half and written.change.labels == 0 and written.change.tokens == 4
    assert (tmp_path / "half" / "model.bin").read_bytes() == exported(tagger, half=True)
    written = web.write(names_model, tmp_path / "single", half=False, sentences=X)
    assert not written.half and (tmp_path / "single" / "model.bin").read_bytes() == exported(tagger)


def test_single_precision_where_a_label_changes(names_model, tmp_path, monkeypatch):
    from postil.export.flat import Rounding
    from postil.export.web import writing

    monkeypatch.setattr(writing.flat, "change", lambda *_: Rounding(tokens=9, labels=1, probability=0.1))
    assert not web.write(names_model, tmp_path / "one").half
    assert web.write(names_model, tmp_path / "two", half=True).half, "a user may want it nevertheless"


def test_an_earlier_export_is_replaced_and_nothing_else(names_model, tmp_path):
    folder = tmp_path / "ner"
    folder.mkdir()
    web.write(names_model, folder)
    (folder / "old.txt").write_text("of an earlier version")
    web.write(names_model, folder)
    assert not (folder / "old.txt").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("precious")
    with pytest.raises(
        ConfigurationError,
        match=re.escape("output must be a new folder or an earlier export (got other files)"),
    ):
        web.write(names_model, other)
    assert [path.name for path in other.iterdir()] == ["thesis.txt"]


def test_a_page_says_what_the_model_card_says(names_model):
    from postil.export.web.writing import described

    about = described(names_model)
    assert about["title"] == names_model.stem
    assert ["classes", "LOC PER"] in about["facts"]
