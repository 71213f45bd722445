"""``postil tag`` and ``postil evaluate``: every format in, order kept, mistakes told."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import postil
from oracles.corpora import as_conll, named_entities
from postil.commands.main import main
from postil.serving import labelled

X, Y = named_entities(40, seed=1)


@pytest.fixture(scope="module")
def model(names_model):
    return str(names_model)


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "dev.conll"
    path.write_text(as_conll(X, Y))
    return str(path)


def tagged(capsys, *arguments):
    assert main(["tag", *arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("threads", ["1", "2"])
def test_the_order_is_kept_over_files_blocks_and_threads(model, corpus, capsys, monkeypatch, threads):
    monkeypatch.setattr(labelled, "BLOCK_TOKENS", 10)
    expected = as_conll(X, postil.load(model).predict(X))
    assert tagged(capsys, model, corpus, corpus, "--threads", threads) == expected * 2


def test_standard_input_and_every_format(model, corpus, capsys, monkeypatch, tmp_path):
    for words, kind in ((["--input", "tokens"], "Anna left Oslo\n\n\nBoris slept\n"), ([], "Anna left Oslo")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(kind.encode())))
        assert tagged(capsys, model, *words).startswith("Anna\tB-PER\nleft\tO\nOslo\tB-LOC\n\n")
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "Anna left New York.", "id": 7}) + "\n")
    row = json.loads(tagged(capsys, model, str(tmp_path / "a.jsonl"), "--output", "jsonl", "--probabilities"))
    assert row["id"] == 7
    assert [(s["text"], s["label"]) for s in row["spans"]] == [("Anna", "PER"), ("New York", "LOC")]
    assert all(0 < s["probability"] <= 1 for s in row["spans"])
    (tmp_path / "a.conllu").write_text("1\tAnna\t_\tX\t_\t_\t0\troot\t_\t_\n2\tleft\t_\tX\t_\t_\t1\tx\t_\t_\n\n")
    assert tagged(capsys, model, str(tmp_path / "a.conllu")) == "Anna\tB-PER\nleft\tO\n\n"
    (tmp_path / "bare.txt").write_text("Anna\nleft\n")
    assert (
        tagged(capsys, model, str(tmp_path / "bare.txt"), "--input", "conll", "--label-column", "none")
        == "Anna\tB-PER\nleft\tO\n\n"
    )


def test_probabilities_and_nbest(model, capsys):
    lines = tagged(capsys, model, "--text", "Anna left Oslo", "--probabilities").splitlines()
    marginals = postil.load(model).marginals(["Anna", "left", "Oslo"])
    for line, marginal in zip(lines[:3], marginals, strict=True):
        _, probability, label = line.split("\t")
        assert float(probability) == pytest.approx(marginal[label], abs=1e-4)
    row = json.loads(tagged(capsys, model, "--text", "Anna left Oslo", "--output", "jsonl", "--nbest", "3"))
    assert [path["probability"] for path in row["nbest"][0]] == pytest.approx(
        [p for _, p in postil.load(model).nbest(["Anna", "left", "Oslo"], 3)], abs=1e-5
    )


def test_a_reader_that_goes_away_is_no_error(model, tmp_path):
    (tmp_path / "long.txt").write_text("Anna left Oslo .\n" * 20_000)
    command = f"{sys.executable} -m postil tag {model} {tmp_path / 'long.txt'} --input tokens | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=120)
    assert done.stdout == "Anna\tB-PER\n"
    assert done.stderr == ""


@pytest.mark.parametrize("words", [["evaluate", "dev.txt"], ["explain", "Anna left Oslo ."]])
def test_nor_where_tables_are_shown(model, tmp_path, monkeypatch, words):
    (tmp_path / "dev.txt").write_text("Anna\tB-PER\nleft\tO\n")
    monkeypatch.chdir(tmp_path)
    reading, writing = os.pipe()
    os.close(reading)  # nobody will ever read
    command = [sys.executable, "-m", "postil", words[0], model, words[1]]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=120)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_options_may_stand_before_files(model, corpus, capsys):
    assert tagged(capsys, model, "--probabilities", corpus) == tagged(capsys, model, corpus, "--probabilities")


def test_an_empty_text_is_told(model, capsys):
    assert main(["tag", model, "--text", " "]) == 1
    assert capsys.readouterr().err == "postil: --text is empty: expected words, got ' '\n"


MISTAKES = [
    (["missing", "dev"], "no such model file"),
    ([".", "dev"], "model must be a model file (got a folder)"),
    (["text", "dev"], "not a Postil model file"),
    (["cut", "dev"], "the model file is cut"),
    (["newer", "dev"], "written by a newer Postil"),
    (["model", "missing"], "missing: No such file"),
    (["model", "latin1"], "latin1, line 1: invalid UTF-8"),
    (["columns", "dev"], "expected --feature-columns with 1 of them, got 0"),
]


@pytest.mark.parametrize("command", ["tag", "evaluate"])
@pytest.mark.parametrize(
    ("arguments", "message"), MISTAKES, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_a_mistake_is_one_clear_line(model, tmp_path, monkeypatch, capsys, command, arguments, message):
    monkeypatch.chdir(tmp_path)
    content = Path(model).read_bytes()
    (tmp_path / "model").write_bytes(content)
    (tmp_path / "cut").write_bytes(content[:-100])
    (tmp_path / "newer").write_bytes(content.replace(b'"postil":"2"', b'"postil":"9"'))
    (tmp_path / "text").write_text("Anna\tO\n")
    (tmp_path / "dev").write_text("Anna\tO\n")
    (tmp_path / "latin1").write_bytes("Köln\tO\n".encode("latin-1"))
    if arguments[0] == "columns":
        postil.Tagger(hidden=2, epochs=1).fit([[("a", "x"), ("b", "y")]], [["O", "B-X"]]).save("columns")
    assert main([command, *arguments]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert message in err


def test_options_that_do_not_go_together(model, capsys):
    for words, message in (
        (["--nbest", "2"], "nbest needs output jsonl (got conll)"),
        (["--nbest", "0", "--output", "jsonl"], "nbest must be at least 1 (got 0)"),
        (["--threads", "0"], "threads must be at least 1 (got 0)"),
    ):
        assert main(["tag", model, "--text", "x", *words]) == 1
        assert capsys.readouterr().err == f"postil: {message}\n"


def test_records_without_tokens_are_told(model, tmp_path, capsys):
    (tmp_path / "r.jsonl").write_text('{"text": "Anna left."}\n{"text": ""}\n{"text": "Oslo."}\n')
    assert main(["tag", model, str(tmp_path / "r.jsonl"), "--output", "jsonl"]) == 0
    out, err = capsys.readouterr()
    assert [json.loads(line)["text"] for line in out.splitlines()] == ["Anna left.", "Oslo."]
    assert err.endswith("r.jsonl: 1 records without tokens skipped: they have no line in the output\n")
