"""``postil tag`` and ``postil evaluate``: every format in, order kept, mistakes told."""

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import postil
from oracles.corpora import as_conll, named_entities
from oracles.examples import examples
from oracles.installed import uninstall_models
from postil import archive
from postil.commands.main import main
from postil.tagging import general_path
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
    monkeypatch.setattr(general_path, "BLOCK_TOKENS", 10)
    expected = as_conll(X, postil.load(model).predict(X))
    assert tagged(capsys, model, corpus, corpus, "--threads", threads) == expected * 2


def test_standard_input_and_every_format(model, corpus, capsys, monkeypatch, tmp_path):
    for words, kind in ((["--from", "tokens"], "Anna left Oslo\n\n\nBoris slept\n"), ([], "Anna left Oslo")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(kind.encode())))
        assert tagged(capsys, model, *words).startswith("Anna\tB-PER\nleft\tO\nOslo\tB-LOC\n\n")
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "Anna left New York.", "id": 7}) + "\n")
    row = json.loads(tagged(capsys, model, str(tmp_path / "a.jsonl"), "--to", "jsonl", "--probabilities"))
    assert row["id"] == 7
    assert [(s["text"], s["label"]) for s in row["spans"]] == [("Anna", "PER"), ("New York", "LOC")]
    assert all(0 < s["probability"] <= 1 for s in row["spans"])
    (tmp_path / "a.conllu").write_text("1\tAnna\t_\tX\t_\t_\t0\troot\t_\t_\n2\tleft\t_\tX\t_\t_\t1\tx\t_\t_\n\n")
    assert tagged(capsys, model, str(tmp_path / "a.conllu")) == "Anna\tB-PER\nleft\tO\n\n"
    (tmp_path / "bare.txt").write_text("Anna\nleft\n")
    assert (
        tagged(capsys, model, str(tmp_path / "bare.txt"), "--from", "conll", "--label-column", "none")
        == "Anna\tB-PER\nleft\tO\n\n"
    )


def test_probabilities_and_nbest(model, capsys):
    lines = tagged(capsys, model, "--text", "Anna left Oslo", "--probabilities").splitlines()
    marginals = postil.load(model).marginals(["Anna", "left", "Oslo"])
    for line, marginal in zip(lines[:3], marginals, strict=True):
        _, probability, label = line.split("\t")
        assert float(probability) == pytest.approx(marginal[label], abs=1e-4)
    row = json.loads(tagged(capsys, model, "--text", "Anna left Oslo", "--to", "jsonl", "--nbest", "3"))
    assert [path["probability"] for path in row["nbest"][0]] == pytest.approx(
        [p for _, p in postil.load(model).nbest(["Anna", "left", "Oslo"], 3)], abs=1e-5
    )


def test_a_reader_that_goes_away_is_no_error(model, tmp_path):
    (tmp_path / "long.txt").write_text("Anna left Oslo .\n" * 20_000)
    command = [sys.executable, "-m", "postil", "tag", model, str(tmp_path / "long.txt"), "--from", "tokens"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"Anna\tB-PER\n"
        process.stdout.close()
        assert process.stderr.read() == b""


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
    (["text.postil", "dev"], "not a Postil model file"),
    (["cut", "dev"], "the model file is truncated"),
    (["newer", "dev"], "written by a newer Postil"),
    (["model", "missing.txt"], "missing.txt: No such file"),
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
    (tmp_path / "text.postil").write_text("Anna\tO\n")
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
        (["--nbest", "2"], "--nbest needs --to jsonl (got conll)"),
        (["--nbest", "0", "--to", "jsonl"], "--nbest must be at least 1 (got 0)"),
        (["--threads", "0"], "--threads must be at least 1 (got 0)"),
    ):
        assert main(["tag", model, "--text", "x", *words]) == 1
        assert capsys.readouterr().err == f"postil: {message}\n"


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("block", [1, 20_000])
@pytest.mark.parametrize("extra", [[], ["--probabilities", "--nbest", "2", "--all-above", "0.5"]])
def test_every_record_has_a_line_in_its_place(model, tmp_path, capsys, monkeypatch, threads, block, extra):
    monkeypatch.setattr(general_path, "BLOCK_TOKENS", block)
    texts = ["", "Anna left Oslo.", "   ", "Boris slept. Anna left.", "\u200b", ""]
    records = [{"text": text, "id": number} for number, text in enumerate(texts)]
    records += [{"tokens": [], "id": 6}, {"text": "Anna left.", "answer": "reject", "id": 7}, {"text": "", "id": 8}]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    rows = tagged(capsys, model, str(tmp_path / "r.jsonl"), "--to", "jsonl", "--threads", threads, *extra)
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
    assert tagged(capsys, model, str(tmp_path / "r.jsonl"), "--to", "jsonl") == expected
    assert tagged(capsys, model, str(tmp_path / "r.jsonl")) == ""


def test_labels_of_words_come_with_their_places(speech_model, tmp_path, capsys):
    text = "Time flies.  Fruit flies too."
    words = [str(speech_model), "--text", text, "--to", "jsonl"]
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
    out = tagged(capsys, str(speech_model), str(tmp_path / "r.jsonl"), "--to", "jsonl", "--probabilities")
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
    assert "--keep-gold needs labels in the input (got none)" in capsys.readouterr().err
    assert main(["tag", model, "--text", "Anna left.", "--keep-gold", "--to", "jsonl"]) == 1
    assert "--keep-gold needs --to conll (got jsonl)" in capsys.readouterr().err


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
            for line in tagged(capsys, str(speech_model), str(path), "--to", "conllu", *extra).split("\n")
        ]
        given = [line.split("\t") for line in CONLLU.split("\n")]
        words = [number for number, row in enumerate(given) if row[0].isdecimal()]
        labels = [label for labels in postil.load(speech_model).predict(sentences) for label in labels]
        assert [rows[number][column] for number in words] == labels
        for number in words:
            given[number][column] = rows[number][column]
        assert rows == given
    out = tagged(capsys, model, str(path), "--to", "conllu")
    assert "1\tAnna\tanna\tX\tNNP\tCase=Nom\t0\troot\t0:root\tSpaceAfter=No|Id=7|NER=B-PER\n" in out
    assert main(["tag", model, str(path), "--to", "conllu", "--probabilities"]) == 1
    assert "probabilities needs --to conll or jsonl" in capsys.readouterr().err


def test_a_line_of_too_many_tokens_on_both_paths(model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(plain, "MOST_TOKENS", 3)
    (tmp_path / "a.txt").write_text("Anna left Oslo\nAnna left for Oslo\n")
    for extra in ([], ["--probabilities"]):
        assert main(["tag", model, str(tmp_path / "a.txt"), "--from", "tokens", *extra]) == 1
        assert "a.txt, line 2: a line of too many tokens" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("output", ["conll", "jsonl"])
def test_every_record_before_a_mistake_is_written(model, capsys, tmp_path, threads, output):
    path = tmp_path / "a.jsonl"
    good = "".join(json.dumps({"text": f"Anna left Oslo. Boris slept {i}."}) + "\n" for i in range(3))
    path.write_text(good)
    expected = tagged(capsys, model, str(path), "--to", output, "--threads", threads)
    path.write_text(good + '{"text": \n' + good)
    assert main(["tag", model, str(path), "--to", output, "--threads", threads]) == 1
    out, err = capsys.readouterr()
    assert out == expected and "line 4: not valid JSON" in err


def test_a_model_of_another_unicode_is_warned_of_in_one_line(model, corpus, capsys, tmp_path):
    arrays, metadata = archive.load(model)
    other = tmp_path / "other.postil"
    archive.save(other, {name: np.array(array) for name, array in arrays.items()}, metadata | {"unicode": "6.1.0"})
    assert main(["tag", str(other), str(corpus)]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("postil: ") and "the tables of Unicode 6.1.0" in line


# ------------------------------------------------------------------------------------------------ the name of -o


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.jsonl", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.jsonl.gz", "jsonl"),
        ("a.conll", "conll"),
        ("a.conll.gz", "conll"),
        ("a.txt", "conll"),
        ("a.out", "conll"),
        ("a", "conll"),
        ("a.conllu", "conllu"),
    ],
)
def test_the_name_of_the_output_decides_its_format(model, corpus, tmp_path, capsysbinary, name, format):
    assert main(["tag", model, corpus, "--to", format]) == 0
    expected = capsysbinary.readouterr().out
    assert main(["tag", model, corpus, "-o", str(tmp_path / name)]) == 0
    content = (tmp_path / name).read_bytes()
    assert (gzip.decompress(content) if name.endswith(".gz") else content) == expected
    assert main(["tag", model, corpus, "--to", "conll", "-o", str(tmp_path / "explicit.jsonl")]) == 0
    assert (tmp_path / "explicit.jsonl").read_bytes() == tagged_columns(model, corpus, capsysbinary)


def tagged_columns(model, corpus, capsysbinary):
    capsysbinary.readouterr()
    assert main(["tag", model, corpus]) == 0
    return capsysbinary.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["corpus", "-o", "a.spacy"],
            "-o must end in .conll, .conllu, .conll05, .jsonl, .csv, .trees, .parquet or .html",
        ),
        (["corpus", "-o", "a.parquet"], "Parquet output needs tables"),
        (["corpus", "--column", "text", "-o", "a.parquet"], "--column needs tables"),
        (["--text", "Anna", "--column", "text"], "--column needs tables"),
        (["table.csv", "--column", "text", "-o", "a.jsonl"], "a table of texts must be written as Parquet or CSV"),
        (["table.csv", "--column", "text"], "a table of texts needs -o FOLDER, -o FILE.parquet or -o FILE.csv"),
        (["corpus", "--parts", "labels"], "--parts needs tables"),
        (["corpus", "--offsets", "utf16"], "--offsets needs --to jsonl"),
        (["corpus", "--offsets", "utf16", "-o", "a.conllu"], "--offsets needs --to jsonl"),
        (["corpus", "--keep-gold", "-o", "a.jsonl"], "--keep-gold needs --to conll (got jsonl)"),
        (["corpus", "--all-above", "0.5"], "--all-above needs --to jsonl (got conll)"),
    ],
)
def test_what_cannot_be_written_is_told(model, corpus, tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("text,id\nAnna left Oslo.,1\n")
    assert main(["tag", model, *(corpus if word == "corpus" else word for word in words)]) == 1
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not list(tmp_path.glob("a.*"))


def test_a_csv_file_is_read_as_texts_or_as_words(model, tmp_path, capsys):
    (tmp_path / "texts.csv").write_text('id,text\n7,"Anna, left Oslo."\n8,\n')
    rows = [json.loads(row) for row in tagged(capsys, model, str(tmp_path / "texts.csv"), "--to", "jsonl").splitlines()]
    assert [(row["id"], row["text"]) for row in rows] == [("7", "Anna, left Oslo."), ("8", "")]
    assert [(span["start"], span["end"]) for span in rows[0]["spans"]] == [(0, 4), (11, 15)]
    (tmp_path / "words.csv").write_text("Sentence #,Word,Tag\n1,Anna,O\n1,left,O\n")
    assert tagged(capsys, model, str(tmp_path / "words.csv"), "--label-column", "none") == "Anna\tB-PER\nleft\tO\n\n"
    assert main(["tag", model, str(tmp_path / "words.csv"), "-o", str(tmp_path / "out.conll")]) == 0


# ------------------------------------------------------------------------------------------------ offsets


LENGTHS = {"utf16": lambda text: len(text.encode("utf-16-le")) // 2, "bytes": lambda text: len(text.encode())}


def places(value):
    """Every start and end in an answer, in its order."""
    if isinstance(value, list):
        return [place for item in value for place in places(item)]
    if not isinstance(value, dict):
        return []
    own = [value["start"], value["end"]] if "start" in value else []
    return own + [place for item in value.values() for place in places(item)]


@pytest.mark.parametrize("units", list(LENGTHS))
@pytest.mark.parametrize("kind", ["names", "words"])
@pytest.mark.parametrize("input", ["text", "tokens", "jsonl"])
@pytest.mark.parametrize(
    "extra", [[], ["--probabilities"], ["--nbest", "2"]], ids=["labels", "probabilities", "general"]
)
@examples(0.2)
@given(texts=st.lists(st.text(st.sampled_from("aé中😀\u2028 .,Anna"), max_size=20), min_size=1, max_size=3))
def test_offsets_count_what_is_asked_for(names_model, speech_model, tmp_path_factory, units, kind, input, extra, texts):
    """All offsets of JSON Lines, on the fast and on the general path, are the lengths of the texts before them."""
    texts = [f"Anna 😀 {' '.join(text.split())} left Oslo." for text in texts]
    folder = tmp_path_factory.mktemp("offsets")
    lines = [json.dumps({"text": text}) for text in texts] if input == "jsonl" else texts
    (folder / "a").write_text("\n".join(lines) + "\n", encoding="utf8")
    words = ["tag", str(names_model if kind == "names" else speech_model), str(folder / "a"), "--from", input, *extra]
    assert main([*words, "-o", str(folder / "characters.jsonl")]) == 0
    assert main([*words, "--offsets", units, "-o", str(folder / "units.jsonl")]) == 0
    rows, counted = (
        [json.loads(row) for row in (folder / f"{name}.jsonl").read_text("utf8").split("\n") if row]
        for name in ("characters", "units")
    )
    assert any(map(places, rows))
    for row, other in zip(rows, counted, strict=True):
        assert places(other) == [LENGTHS[units](row["text"][:place]) for place in places(row)]


def test_offsets_of_layers_and_probable_spans(model, tmp_path, capsys):
    X_two, y_two = (
        {"names": X, "again": X},
        {"names": Y, "again": [["A" if w[0].isupper() else "O" for w in x] for x in X]},
    )
    two = tmp_path / "two.postil"
    postil.MultiTaskTagger(hidden=4, epochs=1).fit(X_two, y_two).save(two)
    text = "😀 Anna left Oslo."
    for words in ([str(two)], [model, "--all-above", "0.01"]):
        row, other = (
            json.loads(tagged(capsys, *words, "--text", text, "--to", "jsonl", "--offsets", units))
            for units in ("characters", "utf16")
        )
        assert len(places(row)) > 8
        assert places(other) == [LENGTHS["utf16"](text[:place]) for place in places(row)]


# ------------------------------------------------------------------------------------------------ folders and pages


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "a.txt").write_text("Anna left Oslo.\nBoris slept.\n")
    (tmp_path / "in" / "deep" / "b.txt").write_text("Anna slept.\n")
    (tmp_path / "in" / ".hidden").write_text("not text")
    return tmp_path / "in"


def test_a_folder_into_one_file_with_the_source_of_each_line(model, folder, tmp_path, capsys):
    assert main(["tag", model, str(folder), "-o", str(tmp_path / "all.jsonl")]) == 0
    rows = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    a, b = str(folder / "a.txt"), str(folder / "deep" / "b.txt")
    assert [(row["source"], row["text"]) for row in rows] == [
        (a, "Anna left Oslo."),
        (a, "Boris slept."),
        (b, "Anna slept."),
    ]
    alone = [json.loads(line) for line in tagged(capsys, model, a, "--to", "jsonl").splitlines()]
    assert all("source" not in row for row in alone)
    assert [row | {"source": a} for row in alone] == rows[:2]
    assert main(["tag", model, a, b, "-o", str(tmp_path / "files.jsonl")]) == 0
    assert (tmp_path / "files.jsonl").read_text() == (tmp_path / "all.jsonl").read_text()


def test_a_folder_into_a_folder(model, folder, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["tag", model, str(folder), "-o", str(out)]) == 0
    assert sorted(path.relative_to(out).as_posix() for path in out.rglob("*.*")) == ["a.jsonl", "deep/b.jsonl"]
    assert json.loads((out / "deep" / "b.jsonl").read_text())["source"] == str(folder / "deep" / "b.txt")
    assert main(["tag", model, str(folder), "-o", f"{tmp_path / 'columns'}/", "--to", "conll"]) == 0
    assert (tmp_path / "columns" / "a.conll").read_text() == tagged(capsys, model, str(folder / "a.txt"))
    (folder / "a.md").write_text("Anna.")
    assert main(["tag", model, str(folder), "-o", str(out)]) == 1
    assert "must have different names up to the ending" in capsys.readouterr().err


def test_a_record_keeps_its_own_source(model, tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text('{"text": "Anna left.", "source": "mine"}\n{"text": "Boris slept."}\n')
    (tmp_path / "b.txt").write_text("Anna slept.\n")
    out = tagged(capsys, model, str(tmp_path / "a.jsonl"), str(tmp_path / "b.txt"), "--to", "jsonl")
    names = [json.loads(line)["source"] for line in out.splitlines()]
    assert names == ["mine", str(tmp_path / "a.jsonl"), str(tmp_path / "b.txt")]


def test_files_of_a_folder_without_text_are_left_out(model, folder, tmp_path, capsys):
    assert main(["tag", model, str(folder), "-o", str(tmp_path / "all.jsonl")]) == 0
    answers = (tmp_path / "all.jsonl").read_text()
    (folder / "empty.txt").touch()
    (folder / "blank.txt").write_text(" \n\n")
    capsys.readouterr()
    assert main(["tag", model, str(folder), "-o", str(tmp_path / "others.jsonl")]) == 0
    assert (tmp_path / "others.jsonl").read_text() == answers
    assert f"{folder / 'blank.txt'} and 1 other file: no text, left out" in capsys.readouterr().err
    (tmp_path / "blank").mkdir()
    (tmp_path / "blank" / "a.txt").write_text("\n")
    assert main(["tag", model, str(tmp_path / "blank")]) == 1
    assert "no text in the folder" in capsys.readouterr().err


def test_an_empty_folder(model, tmp_path, capsys):
    assert main(["tag", model, str(tmp_path)]) == 1
    assert "no text in the folder" in capsys.readouterr().err


def test_a_page(model, corpus, tmp_path, capsys):
    assert main(["tag", model, "--text", "Anna left Oslo.", "-o", str(tmp_path / "a.html")]) == 0
    page = (tmp_path / "a.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and "Oslo" in page and "LOC" in page
    assert main(["tag", model, corpus, "-o", str(tmp_path / "b.html")]) == 0
    assert main(["tag", model, corpus, "--nbest", "2", "-o", str(tmp_path / "b.html")]) == 1


def test_a_table_of_words(model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(general_path, "BLOCK_TOKENS", 10)
    (tmp_path / "a.txt").write_text("Anna left Oslo.\n" * 20)
    (tmp_path / "b.txt").write_text("Boris slept.\n")
    assert main(["tag", model, str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), "-o", str(tmp_path / "out.csv")]) == 0
    rows = list(read(str(tmp_path / "out.csv")))
    assert len(rows) == 21 and rows[0].labels == ["B-PER", "O", "B-LOC", "O"]
    assert (tmp_path / "out.csv").read_text().count("Word") <= 1
    (tmp_path / "a.txt").write_text("Anna left Oslo.\n")
    assert main(["tag", model, str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), "-o", str(tmp_path / "two.csv")]) == 0
    assert [len(row) for row in read(str(tmp_path / "two.csv"))] == [4, 3]
    header = tagged(capsys, model, str(tmp_path / "a.txt"), "--to", "csv", "--probabilities").partition("\n")[0]
    assert header == "Sentence #,Word,Tag probability,Tag"


def test_one_word_that_is_not_a_file(model, capsys):
    assert main(["tag", model, "Washington"]) == 1
    assert capsys.readouterr().err == "postil: no such file: Washington (to use it as a text: --text Washington)\n"
