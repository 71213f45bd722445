"""Parts of a job: which row groups they hold, that they are whole, whom the folder belongs to."""

import json
from pathlib import Path

import pytest

from postil.errors import ConfigurationError, DataError
from postil.integrations import column_files as part_folders
from postil.integrations.column_files import JOB_FILE, TableJob
from postil.integrations.ray import _cuts, input_files, located, missing_parts, write_part

pytestmark = pytest.mark.extra("pyarrow")
JOB = TableJob(model="abc", column="text", parts=("entities",), offsets="characters", threshold=None, part_rows=4)


@pytest.fixture
def source(tmp_path):
    return written(tmp_path / "in" / "a.parquet", 10)


def written(path, rows, group=2):
    import pyarrow as pa
    import pyarrow.parquet as parquet

    path.parent.mkdir(exist_ok=True)
    table = pa.table({"number": range(rows), "text": [f"text {i}" for i in range(rows)]})
    parquet.write_table(table, path, row_group_size=group)
    return path


def plan(job, folder, *paths):
    system, files = input_files([str(path) for path in paths])
    return missing_parts(job, system, files, *located(str(folder)))


@pytest.mark.parametrize(
    ("rows", "least", "cuts"),
    [
        ([2, 2, 2, 2, 2], 4, [(0, 2), (2, 4), (4, 5)]),
        ([9, 1, 1], 4, [(0, 1), (1, 3)]),
        ([5], 1, [(0, 1)]),
        ([0, 0, 3], 2, [(0, 3)]),
        ([0], 2, []),
        ([], 2, []),
    ],
)
def test_parts_are_runs_of_row_groups(rows, least, cuts):
    assert list(_cuts(rows, least)) == cuts


def test_patterns_folders_and_files(tmp_path):
    for name in ("a/1.parquet", "a/2.parquet", "a/_hidden.parquet", "a/3.txt", "b/1.parquet"):
        written(tmp_path / name, 2)
    names = lambda *paths: [p.removeprefix(f"{tmp_path}/") for p in input_files([f"{tmp_path}/{x}" for x in paths])[1]]  # noqa: E731
    assert names("a") == ["a/1.parquet", "a/2.parquet"]
    assert names("*/1.parquet") == ["a/1.parquet", "b/1.parquet"]
    assert names("b/1.parquet", "a/[12].parquet", "b") == ["b/1.parquet", "a/1.parquet", "a/2.parquet"]
    assert names("a/3.txt") == ["a/3.txt"]  # asked for by name
    with pytest.raises(DataError, match="no such Parquet file"):
        names("c/*.parquet")


def test_a_part_is_whole_or_not_there(source, tmp_path):
    parts, number = plan(JOB, tmp_path / "out", source)
    assert number == len(parts) == 3
    system, _ = located(str(source))

    def fails(table):
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        write_part(parts[0], system, system, fails)
    assert not list((tmp_path / "out").glob("*.parquet"))
    seen = []
    assert write_part(parts[0], system, system, lambda table: seen.append(sorted(tmp_path.glob("out/*"))) or table) == 4
    assert seen and all(path.suffix != ".parquet" for path in seen[0])
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 1
    assert [part.first for part in plan(JOB, tmp_path / "out", source)[0]] == [2, 4]
    (tmp_path / "out" / ".part-00000-00002.parquet.0a1b.partial").touch()  # of a process that was killed
    part_folders.remove_unfinished(system, str(tmp_path / "out"))
    assert not list((tmp_path / "out").glob(".*"))


def test_all_parts_together_are_the_input(source, tmp_path):
    import pyarrow.parquet as parquet

    system, _ = located(str(source))
    for part in plan(JOB, tmp_path / "out", source)[0]:
        write_part(part, system, system, lambda table: table)
    assert parquet.read_table(tmp_path / "out").equals(parquet.read_table(source))
    assert plan(JOB, tmp_path / "out", source) == ([], 3)


@pytest.mark.parametrize("content", [b"", b"PAR1 and not much more", None])
def test_a_part_that_is_damaged_is_missing(source, tmp_path, content):
    system, _ = located(str(source))
    parts = plan(JOB, tmp_path / "out", source)[0]
    for part in parts:
        write_part(part, system, system, lambda table: table)
    damaged = Path(parts[1].target)
    damaged.write_bytes(Path(parts[0].target).read_bytes() if content is None else content)
    assert plan(JOB, tmp_path / "out", source)[0] == [parts[1]]


@pytest.mark.parametrize("content", ["[]", "{", '{"files": 5}', '{"files": {"a": "x"}}', "[" * 100_000])
def test_a_description_that_is_damaged(source, tmp_path, content):
    plan(JOB, tmp_path / "out", source)
    (tmp_path / "out" / JOB_FILE).write_text(content)
    with pytest.raises(DataError, match="not the description of a job"):
        plan(JOB, tmp_path / "out", source)


def test_files_may_join_and_keep_their_numbers(source, tmp_path):
    plan(JOB, tmp_path / "out", source)
    earlier = written(source.with_name("Z-first-by-name.parquet"), 2)
    parts, number = plan(JOB, tmp_path / "out", earlier, source)
    assert number == 4
    assert [part.target.rpartition("/")[2] for part in parts][:2] == [
        "part-00001-00000.parquet",
        "part-00000-00000.parquet",
    ]


def test_a_folder_belongs_to_one_job(source, tmp_path):
    plan(JOB, tmp_path / "out", source)
    for changed in ({"model": "def"}, {"column": "number"}, {"part_rows": 5}, {"threshold": {"LOC": 0.5}}):
        told = json.loads((tmp_path / "out" / JOB_FILE).read_text())
        with pytest.raises((ConfigurationError, DataError)):
            plan(TableJob(**{**JOB.__dict__, **changed}), tmp_path / "out", source)
        assert json.loads((tmp_path / "out" / JOB_FILE).read_text()) == told
    written(source, 12)
    with pytest.raises(ConfigurationError, match="has changed since"):
        plan(JOB, tmp_path / "out", source)
    with pytest.raises(ConfigurationError, match="must be a new folder"):
        plan(JOB, source.parent, source)


def test_wrong_files_and_columns(source, tmp_path):
    (tmp_path / "not.parquet").write_text("text")
    with pytest.raises(DataError, match="cannot read the Parquet file"):
        plan(JOB, tmp_path / "out", tmp_path / "not.parquet")
    for column, message in (("nix", "no column 'nix'"), ("number", "expected strings, got int64")):
        with pytest.raises(DataError, match=message):
            plan(TableJob(**{**JOB.__dict__, "column": column}), tmp_path / "out", source)
    assert not (tmp_path / "out").exists()
