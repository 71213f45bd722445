"""Text without spaces on the command line: the warning, ``--from characters``, models that remember it."""

import json
import sys
import warnings

import pytest

import postil
from postil.commands.main import main
from postil.errors import UnspacedTextWarning
from postil.models.model import BY_CHARACTERS as CHARACTERS
from postil.models.model import INPUT

PLACES = ("北京", "上海", "天安门广场")
WARNING = "text without spaces, such as Chinese, Japanese or Thai"


def record(person, place):
    text = f"{person}昨天和朋友去了{place}。我爱{place}！"
    first = len(person) + 7
    second = first + len(place) + 3
    spans = [(0, len(person), "PER"), (first, first + len(place), "LOC"), (second, second + len(place), "LOC")]
    assert text[second : second + len(place)] == place
    return {"text": text, "spans": [{"start": s, "end": e, "label": label} for s, e, label in spans]}


RECORDS = [record(person, place) for person in ("王小明", "李华", "张伟") for place in PLACES]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("characters")
    lines = [json.dumps(one, ensure_ascii=False) + "\n" for one in RECORDS]
    (folder / "train.jsonl").write_text("".join(lines * 4), encoding="utf8")
    (folder / "new.txt").write_text("李华昨天和朋友去了上海。我爱北京！\n", encoding="utf8")
    return folder


@pytest.fixture(scope="module")
def model(folder):
    command = ["train", folder / "train.jsonl", "--from", "characters", "--set", "epochs=8", "-o", folder / "m.postil"]
    assert main([*map(str, command), "--set", "hidden=16"]) == 0
    return folder / "m.postil"


def run(capsysbinary, *arguments, code=0):
    assert main([*map(str, arguments)]) == code
    captured = capsysbinary.readouterr()
    return captured.out.decode(), captured.err.decode()


def test_a_model_of_characters_cuts_text_by_itself(folder, model, capsysbinary):
    tagger = postil.load(model)
    document = tagger.tag("李华昨天和朋友去了上海。")
    assert [(e.text, e.label) for e in document.entities] == [("李华", "PER"), ("上海", "LOC")]
    assert document.sentences[0].tokens == list("李华昨天和朋友去了上海。")
    out, err = run(capsysbinary, "tag", model, folder / "new.txt", "--to", "jsonl")
    spans = [(s["start"], s["end"], s["label"]) for s in json.loads(out)["spans"]]
    assert spans == [(0, 2, "PER"), (9, 11, "LOC"), (14, 16, "LOC")] and WARNING not in err
    out, _ = run(capsysbinary, "tag", model, "--text", "我爱上海！")
    assert [line.split("\t")[0] for line in out.split("\n")[:5]] == list("我爱上海！")
    assert json.loads(run(capsysbinary, "evaluate", model, folder / "train.jsonl", "--json")[0])["f1"] > 90


@pytest.mark.parametrize("output", [["conll"], ["jsonl"], ["jsonl", "--probabilities"], ["conll", "--probabilities"]])
def test_saying_so_changes_nothing_for_such_a_model(folder, model, capsysbinary, output):
    plain = run(capsysbinary, "tag", model, folder / "new.txt", "--to", *output)
    assert run(capsysbinary, "tag", model, folder / "new.txt", "--from", "characters", "--to", *output) == plain
    assert run(capsysbinary, "tag", model, folder / "new.txt", "--threads", "2", "--to", *output) == plain


def test_records_and_explanations(folder, model, capsysbinary):
    out, _ = run(capsysbinary, "tag", model, folder / "train.jsonl", "--to", "jsonl")
    assert [json.loads(line)["text"] for line in out.splitlines()] == [one["text"] for one in RECORDS * 4]
    out, _ = run(capsysbinary, "explain", model, "李华昨天和朋友去了上海。", "--entity", "上海", "--json")
    (why,) = json.loads(out)["explanations"]
    assert why["tokens"][why["start"] : why["end"]] == ["上", "海"] and why["label"] == "LOC"


def test_names_of_gazetteers_are_cut_alike(folder, model, capsysbinary):
    (folder / "names.txt").write_text("朋友\n", encoding="utf8")
    option = f"PER={folder / 'names.txt'}"
    out, _ = run(capsysbinary, "tag", model, folder / "new.txt", "--to", "jsonl", "--require-names", option)
    assert {"start": 5, "end": 7, "label": "PER"} in json.loads(out)["spans"]


def test_a_model_of_words_warns_once(folder, names_model, capsysbinary):
    out, err = run(capsysbinary, "tag", names_model, folder / "new.txt", folder / "new.txt")
    assert err.count(WARNING) == 1 and "--from characters" in err
    assert out.startswith("李华昨天和朋友去了上海\t")
    out, err = run(capsysbinary, "tag", names_model, folder / "new.txt", "--from", "characters")
    assert WARNING not in err and out.startswith("李\t")
    _, err = run(capsysbinary, "explain", names_model, "李华昨天和朋友去了上海广场。", "--span", "0:1")
    assert err.count(WARNING) == 1


def test_training_warns(folder, tmp_path, capsysbinary):
    arguments = [
        "train",
        folder / "train.jsonl",
        "--misaligned",
        "drop",
        "--set",
        "epochs=1",
        "-o",
        tmp_path / "w.postil",
    ]
    _, err = run(capsysbinary, *arguments)
    assert err.count(WARNING) == 1
    assert INPUT not in postil.load(tmp_path / "w.postil").model.about


def test_columns_of_characters_make_a_model_of_characters(tmp_path):
    X, y = [list("我爱北京"), list("OK我")], [["O", "O", "B-LOC", "I-LOC"], ["O"] * 3]
    tagger = postil.Tagger(hidden=8, epochs=1).fit(X, y)
    assert tagger.model.about[INPUT] == CHARACTERS
    tagger.save(tmp_path / "m.postil")
    assert postil.load(tmp_path / "m.postil").tag("北京").sentences[0].tokens == ["北", "京"]
    with warnings.catch_warnings(), pytest.raises(UnspacedTextWarning, match="one token"):
        warnings.simplefilter("error")
        postil.Tagger(hidden=8, epochs=1).fit([["a", "bc"]], [["O", "B-X"]]).tag("李华昨天和朋友去了上海广场。")
    words = postil.Tagger(hidden=8, epochs=1).fit([["我", "爱", "北京"], ["a"]], [["O", "O", "B-LOC"], ["O"]])
    assert words.tag("北京").sentences[0].tokens == ["北京"]


def test_standard_input(model, capsysbinary, monkeypatch):
    import io

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("我爱上海！\n".encode())))
    out, _ = run(capsysbinary, "tag", model, "--from", "characters")
    assert out.startswith("我\t")
