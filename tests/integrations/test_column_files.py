"""Files of columns: every row once, other columns kept, and an interrupted job continues with what is missing."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import postil
from oracles.corpora import named_entities
from postil.errors import ConfigurationError, DataError
from postil.integrations import arrow
from postil.integrations import column_files as column_sources
from postil.integrations import column_files as part_folders
from postil.integrations.column_files import JOB_FILE, TableJob, tag_files

pytestmark = pytest.mark.extra("pyarrow")

TEXTS = [" ".join(tokens) for tokens in named_entities(30)[0]] + [None, "", "Ünal, 😀 left Oslo."]


@pytest.fixture(scope="module")
def tagger(names_model):
    return postil.load(names_model)


@pytest.fixture
def news(tmp_path):
    """A Parquet file with four row groups."""
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "news.parquet"
    table = pa.table({"id": range(len(TEXTS)), "text": TEXTS, "score": [[0.5]] * len(TEXTS)})
    parquet.write_table(table, path, row_group_size=10)
    return str(path)


def read(path):
    from pyarrow import parquet

    return parquet.read_table(path)


def names(folder):
    return sorted(path.name for path in folder.glob("*.parquet"))


def by_id(table):
    return table.sort_by("id").to_pylist()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows", [3, 4096])
def test_a_folder_has_every_row_with_its_answers(news, tmp_path, tagger, monkeypatch, threads, rows):
    monkeypatch.setattr(column_sources, "ROWS", rows)
    monkeypatch.setattr(part_folders, "ROWS_WRITTEN", 7)
    written = tag_files([news], tagger, TableJob(parts=("entities", "labels")), tmp_path / "out", threads=threads)
    assert (written.rows, written.parts, written.done_before) == (len(TEXTS), 4, 0)
    given, tagged = read(news), read(tmp_path / "out")
    assert tagged.column_names == ["id", "text", "score", "entities", "labels"]
    assert tagged.select(given.column_names).sort_by("id").equals(given)
    expected = arrow.tag_table(given, tagger, parts=["entities", "labels"])
    assert rounded(by_id(tagged)) == rounded(expected.to_pylist())


def rounded(rows):
    """Blocks of other sentences may round probabilities differently."""
    for row in rows:
        for entity in row["entities"] or ():
            entity["probability"] = round(entity["probability"], 5)
    return rows


def test_an_interrupted_job_does_only_what_is_missing(news, tmp_path, tagger, monkeypatch):
    folder, job, count = tmp_path / "out", TableJob(), 0
    tag_files([news], tagger, job, tmp_path / "whole")
    parts = names(tmp_path / "whole")
    tagged = TableJob.tag

    def interrupted(self, batch, model):
        nonlocal count
        count += batch.num_rows > 0
        if count == 3:
            raise KeyboardInterrupt
        return tagged(self, batch, model)

    monkeypatch.setattr(TableJob, "tag", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tag_files([news], tagger, job, folder)
    monkeypatch.setattr(TableJob, "tag", tagged)
    there = sorted(path.name for path in folder.glob("[!_]*"))
    assert there == parts[:2], "complete parts only, nothing half written"
    before = {name: (folder / name).stat().st_mtime_ns for name in there}
    written = tag_files([news], tagger, job, folder)
    assert (written.done_before, written.parts, written.rows) == (2, 2, 13)
    assert before == {name: (folder / name).stat().st_mtime_ns for name in there}
    for name in parts:
        assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-20]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:50] + b"\xff" + path.read_bytes()[51:]),
        lambda path: path.write_bytes(sorted(path.parent.glob("*.parquet"))[-1].read_bytes()),
        lambda path: (path.unlink(), os.mkfifo(path)),
        lambda path: path.with_name("_parts").joinpath(f"{path.name}.json").write_text("{}"),
        lambda path: path.with_name("_parts").joinpath(f"{path.name}.json").unlink(),
    ],
    ids=["cut", "empty", "changed", "replaced", "a pipe", "another receipt", "no receipt"],
)
def test_a_part_that_is_damaged_is_written_again(news, tmp_path, tagger, damage):
    folder, job = tmp_path / "out", TableJob()
    tag_files([news], tagger, job, folder)
    content = {name: (folder / name).read_bytes() for name in names(folder)}
    damage(folder / names(folder)[1])
    written = tag_files([news], tagger, job, folder)
    assert (written.redone, written.parts, written.done_before) == (1, 1, 3)
    assert content == {name: (folder / name).read_bytes() for name in names(folder)}
    assert tag_files([news], tagger, job, folder).parts == 0


def test_parts_of_another_job_are_never_mixed(news, tmp_path, tagger):
    folder, job = tmp_path / "out", TableJob(model="a")
    tag_files([news], tagger, job, folder)
    for other in (replace(job, model="b"), replace(job, offsets="bytes"), replace(job, threshold={"PER": 0.5})):
        with pytest.raises(ConfigurationError, match=r"the folder holds parts of another job: expected a new folder"):
            tag_files([news], tagger, other, folder)
    Path(news).touch()
    with pytest.raises(ConfigurationError, match="the folder holds parts of a file that has changed since"):
        tag_files([news], tagger, job, folder)
    (folder / JOB_FILE).write_text("[]")
    with pytest.raises(DataError, match="not the description of a job"):
        tag_files([news], tagger, job, folder)
    (folder / JOB_FILE).unlink()
    with pytest.raises(ConfigurationError, match="output must be a new folder or one of the same job"):
        tag_files([news], tagger, job, folder)
    with pytest.raises(ConfigurationError, match=r"output must be a folder, or a file .parquet"):
        tag_files([news], tagger, job, next((folder / "_parts").iterdir()))


def test_files_of_one_name_do_not_meet(news, tmp_path, tagger):
    (tmp_path / "other").mkdir()
    second = tmp_path / "other" / "news.parquet"
    second.write_bytes(Path(news).read_bytes())
    tag_files([news], tagger, TableJob(), tmp_path / "out")
    written = tag_files([news, str(second)], tagger, TableJob(), tmp_path / "out")
    assert written.parts == written.done_before == 4 and read(tmp_path / "out").num_rows == 2 * len(TEXTS)
    with pytest.raises(ConfigurationError, match="files must be different"):
        tag_files([news, news], tagger, TableJob(), tmp_path / "twice")


def test_one_file_takes_all_inputs_in_order(news, tmp_path, tagger):
    written = tag_files([news, news], tagger, TableJob(), tmp_path / "all.parquet", threads=2)
    table = read(tmp_path / "all.parquet")
    assert written.rows == table.num_rows == 2 * len(TEXTS)
    assert table["id"].to_pylist() == [*range(len(TEXTS))] * 2
    from pyarrow import parquet

    other = tmp_path / "other.parquet"
    parquet.write_table(read(news).drop_columns(["score"]), other)
    with pytest.raises(DataError, match=r"other.parquet: the columns of the files differ"):
        tag_files([news, str(other)], tagger, TableJob(), tmp_path / "all.parquet")


def test_csv_keeps_every_cell_as_it_is(tmp_path, tagger, monkeypatch):
    monkeypatch.setattr(column_sources, "CSV_BLOCK", 200)
    lines = [f'00{i},"Anna ""A"" lives\nin Oslo, {i}.",' for i in range(30)]
    for name, encoding in (("a.csv", None), ("b.csv", "latin-1")):
        path = tmp_path / name
        path.write_text("\n".join(["id,text,Ünal", *lines]), encoding=encoding or "utf8")
        job = TableJob(input="csv", encoding=encoding)
        written = tag_files([str(path)], tagger, job, tmp_path / f"{name}.out")
        table = read(tmp_path / f"{name}.out")
        assert written.parts > 3 and table.num_rows == 30
        rows = by_id(table)[1]
        assert (rows["id"], rows["Ünal"], rows["text"]) == ("001", "", 'Anna "A" lives\nin Oslo, 1.')
        entities = [e["label"] for row in table["entities"].to_pylist() for e in row]
        assert len(entities) == sum(len(tagger.tag(text).entities) for text in table["text"].to_pylist())
    (tmp_path / "c.tsv").write_text("text\tx\nAnna\t1,2\n")
    tag_files([str(tmp_path / "c.tsv")], tagger, TableJob(input="csv"), tmp_path / "c")
    assert read(tmp_path / "c")["x"].to_pylist() == ["1,2"]


def test_files_without_rows_keep_their_columns(tmp_path, tagger):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "empty.parquet")
    (tmp_path / "empty.csv").write_text("text,x\n")
    for name, kind in (("empty.parquet", "parquet"), ("empty.csv", "csv")):
        job = TableJob(input=kind)
        tag_files([str(tmp_path / name)], tagger, job, tmp_path / kind)
        assert read(tmp_path / kind).num_rows == 0 and "entities" in read(tmp_path / kind).column_names


def test_mistakes_name_the_file_before_anything_is_written(news, tmp_path, tagger):
    folder, broken = tmp_path / "out", tmp_path / "broken.parquet"
    broken.write_bytes(Path(news).read_bytes()[:-50])
    (tmp_path / "ragged.csv").write_text("text,x\nAnna,1\nBob\n")
    mistakes = [
        ([news, str(broken)], TableJob(), r"broken.parquet: cannot read the Parquet file"),
        (
            [news],
            TableJob(column="body"),
            r"news.parquet: no column 'body' \(choose one of the columns id, text, score\)",
        ),
        ([news], TableJob(column="id"), r"news.parquet: the column 'id': expected strings, got int64"),
        ([str(tmp_path / "ragged.csv")], TableJob(input="csv"), r"ragged.csv: cannot read the CSV file"),
    ]
    for files, job, message in mistakes:
        with pytest.raises(DataError, match=message) as caught:
            tag_files(files, tagger, job, folder)
        assert "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError):
        tag_files([str(tmp_path / "none.parquet")], tagger, TableJob(), folder)
    assert not folder.exists()


def test_a_damaged_row_group_is_told_after_the_parts_before_it(news, tmp_path, tagger):
    content = bytearray(Path(news).read_bytes())
    from pyarrow import parquet

    place = parquet.ParquetFile(news).metadata.row_group(2).column(1)
    start = place.dictionary_page_offset or place.data_page_offset
    content[start : start + 40] = b"\xff" * 40
    Path(news).write_bytes(content)
    with pytest.raises(DataError, match=r"news.parquet: cannot read the Parquet file"):
        tag_files([news], tagger, TableJob(), tmp_path / "out")
    assert read(tmp_path / "out").num_rows == 20


def test_a_killed_process_leaves_whole_parts_only(tmp_path, names_model, tagger):
    import pyarrow as pa
    from pyarrow import parquet

    source, folder, count = str(tmp_path / "many.parquet"), tmp_path / "out", 2000
    table = pa.table({"id": range(count), "text": [TEXTS[i % len(TEXTS)] for i in range(count)]})
    parquet.write_table(table, source, row_group_size=5)
    words = ["tag", str(names_model), source, "-o", str(folder)]
    process = subprocess.Popen([sys.executable, "-m", "postil", *words], stderr=subprocess.DEVNULL)
    try:
        while process.poll() is None and len(list(folder.glob("many-*.parquet"))) < 3:
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()
    there = len(list(folder.glob("many-*.parquet")))
    assert 3 <= there < 400, "killed in mid-run"
    done = subprocess.run([sys.executable, "-m", "postil", *words], capture_output=True, text=True, check=True)
    assert f"{there:,} already complete" in done.stderr
    assert sorted(read(folder)["id"].to_pylist()) == list(range(count))
    assert not list(folder.glob(".*.partial"))
