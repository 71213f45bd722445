"""``postil suggest`` as a user meets it."""

import io
import json

import pytest

import postil
from oracles import corpora
from postil.commands.main import main
from postil.text.formats import read

POOL = corpora.named_entities(60, seed=3)[0]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "ner.postil"
    postil.Tagger(hidden=8, epochs=3, rate=0.02).fit(*corpora.named_entities(60)).save(path)
    return str(path)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pool.txt").write_text("Anna left Gotham. Boris slept.\nZorg lives in Oslo.\nAnna left Gotham.\n")
    return tmp_path


def suggested(words, capsys):
    assert main(["suggest", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_file_to_annotate_and_what_is_shown(model, folder, capsys):
    assert main(["suggest", model, "pool.txt", "-n", "2", "-o", "next.jsonl", "--sure", "0.999"]) == 0
    printed = capsys.readouterr().out
    assert "2 of 4 sentences" in printed and "pool.txt, line" in printed and "next.jsonl" in printed
    records = [json.loads(line) for line in (folder / "next.jsonl").read_text().splitlines()]
    assert len(records) == 2 and all(record["unsure"] and record["answer"] is None for record in records)
    with read("next.jsonl") as reading:
        sentences = list(reading)
    tagger = postil.load(model)
    assert [one.labels for one in sentences] == tagger.predict([one.tokens for one in sentences])


@pytest.mark.parametrize("kind", ["tokens", "conll", "labelled conll", "jsonl", "stdin"])
def test_pools_in_every_format(model, folder, capsys, kind, monkeypatch):
    labels = {"conll": [""] * 9, "labelled conll": ["\tO"] * 9}.get(kind, [])
    texts = {
        "tokens": "".join(" ".join(tokens) + "\n" for tokens in POOL),
        "jsonl": "".join(json.dumps({"tokens": tokens, "id": i}) + "\n" for i, tokens in enumerate(POOL)),
        "stdin": "".join(" ".join(tokens) + "\n" for tokens in POOL),
    }
    conll = "".join("".join(f"{token}{labels[0]}\n" for token in tokens) + "\n" for tokens in POOL) if labels else ""
    text = texts.get(kind, conll)
    (folder / "pool").write_text(text)
    words = [model, "pool", "--from", kind.split()[-1]]
    if kind == "stdin":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        words = [model, "--from", "tokens"]
    found = suggested([*words, "-n", "500"], capsys)
    assert found["pool"] == len(POOL)
    tokens = [tuple(token["text"] for token in record["tokens"]) for record in found["suggestions"]]
    assert len(tokens) == len(set(tokens)) and set(tokens) == set(map(tuple, POOL))
    if kind == "jsonl":
        assert all(record["id"] == record["sentence"] for record in found["suggestions"])


def test_several_files_are_named(model, folder, capsys):
    (folder / "more.txt").write_text("\nQux met Anna.\n")
    places = {
        record["text"]: record["where"] for record in suggested([model, "pool.txt", "more.txt"], capsys)["suggestions"]
    }
    assert places["Qux met Anna."] == "more.txt, line 2"
    assert places["Zorg lives in Oslo."] == "pool.txt, line 2"


def test_what_is_labelled_already_is_not_suggested(model, folder, capsys):
    (folder / "train.conll").write_text(corpora.as_conll([["Zorg", "lives", "in", "Oslo", "."]], [["O"] * 5]))
    found = suggested([model, "pool.txt", "--labelled", "train.conll"], capsys)
    assert sorted(record["text"] for record in found["suggestions"]) == ["Anna left Gotham.", "Boris slept."]


def test_random_repeats_for_a_seed(model, folder, capsys):
    (folder / "pool.jsonl").write_text("".join(json.dumps({"tokens": tokens}) + "\n" for tokens in POOL))
    words = [model, "pool.jsonl", "--by", "random", "-n", "8", "--seed"]
    one, again, other = (suggested([*words, seed], capsys) for seed in ("1", "1", "2"))
    assert one == again != other


def test_a_pool_without_anything_new(model, folder, capsys):
    (folder / "train.jsonl").write_text(json.dumps({"text": "Qux left.", "spans": []}) + "\n")
    (folder / "old.txt").write_text("Qux left.\n")
    assert main(["suggest", model, "old.txt", "--labelled", "train.jsonl", "-o", "next.jsonl"]) == 0
    assert "Nothing to suggest" in capsys.readouterr().out
    assert (folder / "next.jsonl").read_text() == ""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["pool.txt", "-n", "0"], "n must be at least 1"),
        (["pool.txt", "-o", "pool.txt"], "one of the inputs"),
        (["pool.txt", "--sure", "3"], "sure must be a number from 0 to 1"),
        (["pool.txt", "--diversity", "-1"], "diversity must be from 0"),
        (["none.txt"], "none.txt"),
        (["empty.txt"], "no sentence"),
        (["pool.txt", "--task", "pos"], "one task"),
    ],
)
def test_mistakes_are_one_line_and_nothing_is_written(model, folder, capsys, words, told):
    (folder / "empty.txt").write_text("\n")
    before = (folder / "pool.txt").read_bytes()
    assert main(["suggest", model, *words]) == 1
    captured = capsys.readouterr()
    assert told in captured.err and len(captured.err.splitlines()) == 1 and not captured.out
    assert (folder / "pool.txt").read_bytes() == before


def test_other_kinds_of_model_are_refused(folder, capsys):
    X, y = corpora.named_entities(20)
    detector = postil.Detector(label="PER", hidden=4, epochs=1)
    detector.fit(X, [["PER" if "PER" in label else "O" for label in labels] for labels in y]).save("per.postil")
    assert main(["suggest", "per.postil", "pool.txt"]) == 1
    assert "needs a tagger" in capsys.readouterr().err
