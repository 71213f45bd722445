"""``postil tag`` on tables, and -o."""

import csv
import json

import pytest

from postil.commands.main import main

pytestmark = pytest.mark.extra("pyarrow")


@pytest.fixture
def news(tmp_path):
    import pyarrow as pa
    from pyarrow import csv as tables
    from pyarrow import parquet

    table = pa.table({"id": ["a", "b"], "text": ["Anna lives in Oslo.", ""]})
    parquet.write_table(table, tmp_path / "news.parquet", row_group_size=1)
    tables.write_csv(table, tmp_path / "news.csv")
    return tmp_path


def tag(model, *words):
    return main(["tag", str(model), *map(str, words)])


def read(path):
    from pyarrow import parquet

    return parquet.read_table(path)


def test_tables_become_folders_and_files(news, names_model, capsys):
    assert tag(names_model, news / "news.parquet", "-o", news / "out") == 0
    assert capsys.readouterr().err == f"postil: {news / 'out'}: 2 rows in 2 files\n"
    assert tag(names_model, news / "news.parquet", "-o", news / "out") == 0
    assert capsys.readouterr().err == f"postil: {news / 'out'}: 0 rows in 0 files, 2 already complete\n"
    words = ["--from", "csv", "--to", "parquet", "--parts", "labels,sentences", "--threads", 2]
    assert tag(names_model, news / "news.csv", *words, "-o", news / "one.parquet") == 0
    table = read(news / "one.parquet")
    assert table.column_names == ["id", "text", "labels", "sentences"] and table["labels"][1].as_py() == []
    entities = read(news / "out").sort_by("id")["entities"][0].as_py()
    assert [(e["start"], e["end"], e["label"]) for e in entities] == [(0, 4, "PER"), (14, 18, "LOC")]
    assert tag(names_model, news / "news.csv", "--to", "parquet", "--threshold", "PER=1", "-o", news / "c") == 0
    labels = {e["label"] for row in read(news / "c")["entities"].to_pylist() for e in row}
    assert "PER" not in labels
    job = json.loads((news / "c" / "_job.json").read_text())["job"]
    assert job["threshold"] == {"PER": 1.0} and len(job["model"]) == 64


@pytest.mark.parametrize("source", ["news.csv", "news.parquet", "empty.csv"])
def test_a_csv_file_has_the_columns_of_the_parquet_file_with_lists_as_json(news, names_model, capsys, source):
    (news / "empty.csv").write_text("id,text\n")
    for target in ("one.csv", "one.parquet"):
        words = ["--column", "text", "--parts", "entities,labels", "-o", news / target]
        assert tag(names_model, news / source, *words) == 0
    rows = read(news / "one.parquet").to_pylist()
    assert capsys.readouterr().err.startswith(f"postil: {news / 'one.csv'}: {len(rows)} rows in 1 file\n")
    with (news / "one.csv").open(encoding="utf8", newline="") as file:
        reader = csv.DictReader(file)
        assert reader.fieldnames == ["id", "text", "entities", "labels"]
        written = [{**row, **{name: json.loads(row[name]) for name in ("entities", "labels")}} for row in reader]
    for row in rows:
        for entity in row["entities"] or []:  # with its words, which a table of Arrow leaves to its reader
            entity["text"] = row["text"][entity["start"] : entity["end"]]
            entity["probability"] = pytest.approx(entity["probability"], abs=1e-6)
    assert written == rows and [path.name for path in news.glob(".*")] == []
    assert tag(names_model, news / source, "--column", "text", "-o", news / "one.csv") == 0  # it may be replaced
    assert tag(names_model, news / source, "--column", "text", "-o", news / source) == 1
    assert "must not be one of the inputs" in capsys.readouterr().err


def test_mistakes_are_one_line(news, names_model, capsys):
    parquet = news / "news.parquet"
    mistakes = [
        ([parquet], "a table of texts needs -o FOLDER, -o FILE.parquet or -o FILE.csv"),
        (
            [parquet, "--to", "jsonl", "-o", news / "x"],
            "must be written as Parquet or CSV: -o FOLDER, -o FILE.parquet or",
        ),
        ([parquet, "-o", news / "x.jsonl"], "-o FILE.parquet or -o FILE.csv (got jsonl)"),
        (
            ["--to", "parquet", "--from", "jsonl", "-o", news / "x"],
            "Parquet output needs tables: files that end in .parquet, .csv or .tsv, or --from parquet or csv",
        ),
        (["--from", "csv", "-o", news / "x"], "--from csv needs files"),
        ([parquet, "--nbest", 2, "-o", news / "x"], "--nbest cannot be used here: it does not apply to tables"),
        ([parquet, "--parts", "words", "-o", news / "x"], "parts must be some of entities, tokens"),
        ([parquet, "--encoding", "latin-1", "-o", news / "x"], "--encoding needs --from csv (got parquet)"),
        ([parquet, "--column", "id", "--parts", "id", "-o", news / "x"], "parts must be some of"),
        ([parquet, "-o", news / "news.parquet"], "output must not be one of the inputs"),
        ([parquet, "--threads", 0, "-o", news / "x"], "threads must be at least 1"),
    ]
    for words, message in mistakes:
        assert tag(names_model, *words) == 1
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1, error
        assert not (news / "x").exists()


def test_other_outputs_are_written_to_files_too(news, names_model, capsysbinary):
    target = news / "tagged.conll"
    assert tag(names_model, "--text", "Anna lives in Oslo.", "-o", target) == 0
    assert capsysbinary.readouterr().out == b""
    assert tag(names_model, "--text", "Anna lives in Oslo.") == 0
    assert target.read_bytes() == capsysbinary.readouterr().out
    assert tag(names_model, "--text", "Anna", "--to", "jsonl", "-o", target) == 1
    assert b"must not replace a file that is not JSON Lines" in capsysbinary.readouterr().err


def test_text_without_spaces_is_told_once(news, names_model, capsys):
    from pyarrow import csv as tables
    from pyarrow import parquet

    (news / "tokyo.csv").write_text("text\n" + "東京都に住んでいる山田さんは大阪に行きました。\n" * 3, encoding="utf8")
    parquet.write_table(tables.read_csv(news / "tokyo.csv"), news / "tokyo.parquet")
    assert tag(names_model, news / "tokyo.parquet", "-o", news / "out") == 0
    assert capsys.readouterr().err.count("text without spaces") == 1


def test_a_column_or_the_name_of_a_file_means_a_table(news, names_model, capsys):
    for number, words in enumerate(
        (["--column", "text", "-o", "one.parquet"], ["-o", "one.parquet"], ["-o", "folder"])
    ):
        target = news / f"{number}-{words[-1]}"
        assert tag(names_model, news / "news.csv", *words[:-1], target) == 0
        table = read(target)
        assert table.column_names == ["id", "text", "entities"]
        assert [entity["label"] for entity in table["entities"][0].as_py()] == ["PER", "LOC"]
    capsys.readouterr()
    for file in ("news.csv", "news.parquet"):
        assert tag(names_model, news / file, "--column", "nope", "-o", news / "x.parquet") == 1
        error = capsys.readouterr().err
        assert "nope" in error and error.count("\n") == 1 and not (news / "x.parquet").exists()
    (news / "other.csv").write_text("id,comment\n1,Anna left.\n2,Anna sings.\n")  # no column that a reader expects
    for words, expected in (
        (["-o", news / "x.csv"], "no column 'text' (choose one of the columns id, comment)"),
        ([], "a table of texts needs -o"),
    ):
        assert tag(names_model, news / "other.csv", *words) == 1
        assert expected in capsys.readouterr().err


def test_a_pattern_in_quotes_stands_for_its_files(news, names_model, capsys):
    (news / "news2.parquet").write_bytes((news / "news.parquet").read_bytes())
    assert tag(names_model, news / "new*.parquet", "--column", "text", "-o", news / "out") == 0
    assert "4 rows in 4 files" in capsys.readouterr().err
    assert tag(names_model, news / "none*.parquet", "--column", "text", "-o", news / "none") == 1
    assert "none*.parquet: No such file or directory" in capsys.readouterr().err
