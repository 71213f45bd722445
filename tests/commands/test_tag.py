"""``postil tag`` and ``postil evaluate``: every format in, order kept, mistakes told."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import postil
from oracles.corpora import as_conll, named_entities
from oracles.installed import uninstall_models
from postil import archive
from postil.commands.main import main
from postil.serving import labelled
from postil.text import plain, read

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
    (["missing", "dev"], "no such model"),
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
    uninstall_models(monkeypatch)
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


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("block", [1, 20_000])
@pytest.mark.parametrize("extra", [[], ["--probabilities", "--nbest", "2", "--all-above", "0.5"]])
def test_every_record_has_a_line_in_its_place(model, tmp_path, capsys, monkeypatch, threads, block, extra):
    monkeypatch.setattr(labelled, "BLOCK_TOKENS", block)
    texts = ["", "Anna left Oslo.", "   ", "Boris slept. Anna left.", "\u200b", ""]
    records = [{"text": text, "id": number} for number, text in enumerate(texts)]
    records += [{"tokens": [], "id": 6}, {"text": "Anna left.", "answer": "reject", "id": 7}, {"text": "", "id": 8}]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    rows = tagged(capsys, model, str(tmp_path / "r.jsonl"), "--output", "jsonl", "--threads", threads, *extra)
    answers = [json.loads(row) for row in rows.splitlines()]
    assert [answer["id"] for answer in answers] == list(range(9))
    assert [answer["text"] for answer in answers[:6]] == texts
    tagger = postil.load(model)
    for answer in answers:
        entities = tagger.tag(answer["text"]).entities if answer["text"].strip() else []
        assert [(s["start"], s["end"]) for s in answer["spans"]] == [(e.start, e.end) for e in entities]
    assert answers[1]["spans"] and not answers[0]["spans"]


def test_a_file_of_nothing_but_empty_records(model, tmp_path, capsys):
    (tmp_path / "r.jsonl").write_text('{"text": ""}\n{"text": " "}\n')
    expected = '{"text": "", "spans": []}\n{"text": " ", "spans": []}\n'
    assert tagged(capsys, model, str(tmp_path / "r.jsonl"), "--output", "jsonl") == expected
    assert tagged(capsys, model, str(tmp_path / "r.jsonl")) == ""


def test_labels_of_words_come_with_their_places(speech_model, tmp_path, capsys):
    text = "Time flies.  Fruit flies too."
    words = [str(speech_model), "--text", text, "--output", "jsonl"]
    row, likely = (json.loads(tagged(capsys, *words, *more)) for more in ([], ["--probabilities"]))
    assert [token["label"] for token in row["tokens"]] == row["labels"] and len(row["tokens"]) == 7
    assert [text[token["start"] : token["end"]] for token in row["tokens"]] == [t["text"] for t in row["tokens"]]
    assert [token["id"] for token in row["tokens"]] == list(range(7))
    assert all(0 < token["probability"] <= 1 for token in likely["tokens"])
    assert [{k: v for k, v in token.items() if k != "probability"} for token in likely["tokens"]] == row["tokens"]
    path = tmp_path / "again.jsonl"
    path.write_text(json.dumps(row) + "\n")  # what is written can be read, with its labels
    (sentence,) = read(str(path))
    assert sentence.labels == row["labels"]


def test_tokens_that_a_record_lists_are_kept(speech_model, tmp_path, capsys):
    listed = {"tokens": ["Time", "flies"]}
    places = {"text": "Time  flies", "tokens": [{"start": 0, "end": 4, "ws": True}, {"start": 6, "end": 11}]}
    (tmp_path / "r.jsonl").write_text(json.dumps(listed) + "\n" + json.dumps(places) + "\n")
    out = tagged(capsys, str(speech_model), str(tmp_path / "r.jsonl"), "--output", "jsonl", "--probabilities")
    one, two = map(json.loads, out.splitlines())
    assert one["tokens"] == ["Time", "flies"] and len(one["labels"]) == len(one["probabilities"]) == 2
    assert [(t["start"], t["end"], t.get("ws")) for t in two["tokens"]] == [(0, 4, True), (6, 11, None)]
    assert [t["label"] for t in two["tokens"]] == two["labels"]


def test_one_token_a_line_needs_no_option(model, tmp_path, capsys):
    (tmp_path / "bare.txt").write_text("Anna\nleft\nOslo\n\nBoris\nslept\n")
    expected = as_conll(X := [["Anna", "left", "Oslo"], ["Boris", "slept"]], postil.load(model).predict(X))
    assert tagged(capsys, model, str(tmp_path / "bare.txt")) == expected
    assert tagged(capsys, model, str(tmp_path / "bare.txt"), "--probabilities").count("\t") == 10


@pytest.mark.parametrize("threads", ["1", "2"])
def test_gold_and_predicted_labels_side_by_side(model, corpus, capsys, threads):
    rows = [line.split("\t") for line in tagged(capsys, model, corpus, "--keep-gold", "--threads", threads).split("\n")]
    predicted = postil.load(model).predict(X)
    pairs = [[*row] for rows in zip(X, Y, predicted, strict=True) for row in zip(*rows, strict=True)]
    assert [row for row in rows if row != [""]] == pairs
    likely = tagged(capsys, model, corpus, "--keep-gold", "--probabilities").splitlines()[0].split("\t")
    assert [likely[0], *likely[2:]] == pairs[0] and float(likely[1]) > 0


def test_gold_labels_that_are_not_there(model, tmp_path, capsys):
    assert main(["tag", model, "--text", "Anna left.", "--keep-gold"]) == 1
    assert "keep_gold needs labels in the input (got none)" in capsys.readouterr().err
    assert main(["tag", model, "--text", "Anna left.", "--keep-gold", "--output", "jsonl"]) == 1
    assert "keep_gold needs output conll (got jsonl)" in capsys.readouterr().err


CONLLU = """\
# newdoc id = d
# sent_id = 1
# text = Anna aux left
1\tAnna\tanna\tX\tNNP\tCase=Nom\t0\troot\t0:root\tSpaceAfter=No|Id=7
2-3\taux\t_\t_\t_\t_\t_\t_\t_\t_
2\ta\t_\tX\t_\t_\t1\tx\t_\t_
3\tles\t_\tX\t_\t_\t1\tx\t_\t_
3.1\tleft\t_\t_\t_\t_\t_\t_\t_\t_
4\tleft\t_\tX\t_\t_\t1\tx\t_\t_

# sent_id = 2
1\tOslo\t_\t_\t_\t_\t0\troot\t_\t_

"""


def test_conllu_with_one_column_filled_in(model, speech_model, tmp_path, capsys):
    path = tmp_path / "a.conllu"
    path.write_text(CONLLU)
    sentences = [["Anna", "a", "les", "left"], ["Oslo"]]
    for column, extra in ((3, []), (4, ["--label-column", "xpos"])):
        rows = [
            line.split("\t")
            for line in tagged(capsys, str(speech_model), str(path), "--output", "conllu", *extra).split("\n")
        ]
        given = [line.split("\t") for line in CONLLU.split("\n")]
        words = [number for number, row in enumerate(given) if row[0].isdecimal()]
        labels = [label for labels in postil.load(speech_model).predict(sentences) for label in labels]
        assert [rows[number][column] for number in words] == labels
        for number in words:
            given[number][column] = rows[number][column]
        assert rows == given
    out = tagged(capsys, model, str(path), "--output", "conllu")
    assert "1\tAnna\tanna\tX\tNNP\tCase=Nom\t0\troot\t0:root\tSpaceAfter=No|Id=7|NER=B-PER\n" in out
    assert main(["tag", model, str(path), "--output", "conllu", "--probabilities"]) == 1
    assert "probabilities needs output conll or jsonl" in capsys.readouterr().err


def test_a_line_of_too_many_tokens_on_both_paths(model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(plain, "MOST_TOKENS", 3)
    (tmp_path / "a.txt").write_text("Anna left Oslo\nAnna left for Oslo\n")
    for extra in ([], ["--probabilities"]):
        assert main(["tag", model, str(tmp_path / "a.txt"), "--input", "tokens", *extra]) == 1
        assert "a.txt, line 2: a line of too many tokens" in capsys.readouterr().err


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("output", ["conll", "jsonl"])
def test_every_record_before_a_mistake_is_written(model, capsys, tmp_path, threads, output):
    path = tmp_path / "a.jsonl"
    good = "".join(json.dumps({"text": f"Anna left Oslo. Boris slept {i}."}) + "\n" for i in range(3))
    path.write_text(good)
    expected = tagged(capsys, model, str(path), "--output", output, "--threads", threads)
    path.write_text(good + '{"text": \n' + good)
    assert main(["tag", model, str(path), "--output", output, "--threads", threads]) == 1
    out, err = capsys.readouterr()
    assert out == expected and "line 4: not valid JSON" in err


def test_a_model_of_another_unicode_is_warned_of_in_one_line(model, corpus, capsys, tmp_path):
    arrays, metadata = archive.load(model)
    other = tmp_path / "other.postil"
    archive.save(other, {name: np.array(array) for name, array in arrays.items()}, metadata | {"unicode": "6.1.0"})
    assert main(["tag", str(other), str(corpus)]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("postil: ") and "the tables of Unicode 6.1.0" in line
