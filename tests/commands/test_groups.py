"""``train``, ``tag``, ``evaluate`` and ``info`` with classes that overlap: --group, or groups found from the data."""

import json
from pathlib import Path

import pytest

import postil
from postil.commands.main import main
from postil.text import read

CITIES, STREETS = ("Ashford", "Milltown", "Oakdale"), ("Mill", "Hill", "Lake", "Park")
SETTINGS = ["--segmenter", "rules", "--set", "hidden=20", "--set", "epochs=8"]
QUESTION = "Send it to 7 Hill Lane, Oakdale. It is in Ashford."


def records(number: int) -> str:
    """Addresses with their parts, and cities alone, as JSON Lines."""
    lines = []
    for n in range(number):
        city, street = CITIES[n % 3], f"{n} {STREETS[n % 4]} Lane"
        if n % 4 == 3:
            line = {"text": f"It is in {city}.", "spans": [[9, 9 + len(city), "CITY"]]}
        else:
            end = 11 + len(street)
            spans = [[11, end + 2 + len(city), "ADDRESS"], [11, end, "STREET"], [end + 2, end + 2 + len(city), "CITY"]]
            line = {"text": f"Send it to {street}, {city}.", "spans": spans}
        lines.append(json.dumps(line) + "\n")
    return "".join(lines)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("groups")
    (folder / "train.jsonl").write_text(records(36))
    (folder / "test.jsonl").write_text(records(12))
    assert main(["train", str(folder / "train.jsonl"), *SETTINGS, "-o", str(folder / "found.postil")]) == 0
    return folder


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def complaint(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The last line on standard error of a command that fails."""
    assert main(list(words)) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.splitlines()[-1]


def tagged(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["tag", "found.postil", *words]) == 0
    return capsys.readouterr().out


def test_train_says_which_groups_it_has_found(here, capsys):
    assert main(["train", "train.jsonl", *SETTINGS, "--test", "test.jsonl", "-o", "other.postil"]) == 0
    captured = capsys.readouterr()
    groups = "address (ADDRESS); city (CITY, STREET)"
    assert f"classes in groups, as spans of different groups may overlap: {groups}" in captured.err
    headline = next(line for line in captured.out.splitlines() if line.startswith("test"))
    assert headline.count("F1") == 3 and "address: F1" in headline


def test_groups_by_hand(here, capsys):
    words = ["--group", "whole=ADDRESS", "--group", "parts=STREET, CITY"]
    assert main(["train", "train.jsonl", *SETTINGS, *words, "-o", "by-hand.postil"]) == 0
    assert postil.load("by-hand.postil").groups_ == {"whole": ["ADDRESS"], "parts": ["CITY", "STREET"]}
    capsys.readouterr()
    assert main(["info", "by-hand.postil"]) == 0
    assert "classes of group parts" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words, message",
    [
        (["--group", "a"], "--group must be NAME=CLASS,CLASS, each NAME once (got 'a')"),
        (["--group", "a=ADDRESS"], "groups must be at least two, each with a class (got a=ADDRESS)"),
        (["--group", "a=ADDRESS", "--group", "b=CITY"], "a class that is in no group"),
        (["--group", "a=ADDRESS,STREET", "--group", "b=CITY"], "STREET '0 Mill Lane' overlaps ADDRESS"),
        (
            ["--group", "a=ADDRESS", "--group", "b=STREET,CITY", "--group", "c=X,Y"],
            "--group c: expected a class of the training data, got none of X, Y",
        ),
        (["--warm-start", "found.postil"], "groups of classes always start from scratch"),
    ],
)
def test_mistakes(here, capsys, words, message):
    error = complaint(capsys, "train", "train.jsonl", *SETTINGS, *words, "-o", "wrong.postil")
    assert message in error
    assert not Path("wrong.postil").exists()


def test_spans_of_one_class_that_overlap(here, capsys):
    Path("same.jsonl").write_text('{"text": "Red Cross Club", "spans": [[0, 14, "ORG"], [0, 9, "ORG"]]}\n')
    error = complaint(capsys, "train", "same.jsonl", "-o", "wrong.postil")
    assert "ORG 0:9 'Red Cross' overlaps ORG 0:14 'Red Cross Club'" in error and "--group" not in error


def test_commands_that_need_one_label_per_token_name_the_spans(here, capsys):
    for words in (["convert", "train.jsonl", "a.conll"], ["doctor", "train.jsonl", "--quick"]):
        error = complaint(capsys, *words)
        assert "STREET 11:22 '0 Mill Lane' overlaps ADDRESS 11:31 '0 Mill Lane, Ashford'" in error
        assert "postil train --group" in error


def test_json_lines_have_one_list_of_spans(here, capsys, monkeypatch):
    (record,) = map(json.loads, tagged(capsys, "--text", QUESTION, "--to", "jsonl", "--probabilities").splitlines())
    spans = record["spans"]
    assert [(one["text"], one["label"], one["group"]) for one in spans] == [
        ("7 Hill Lane, Oakdale", "ADDRESS", "address"),
        ("7 Hill Lane", "STREET", "city"),
        ("Oakdale", "CITY", "city"),
        ("Ashford", "CITY", "city"),
    ]
    assert all(QUESTION[one["start"] : one["end"]] == one["text"] for one in spans) and "layers" not in record
    inputs = (["--text", "Ü é 𝄞 to 7 Hill Lane, Oakdale."], ["--text", QUESTION, "--offsets", "bytes"], ["test.jsonl"])
    forms = [[*words, "--to", "jsonl", *more] for words in inputs for more in ([], ["--probabilities"])]
    fast = [tagged(capsys, *words) for words in forms]
    monkeypatch.setattr("postil.tagging.fast_path.FastPath.of", lambda model, options: None)
    assert [tagged(capsys, *words) for words in forms] == fast, "by the general path"


def test_a_column_for_each_group(here, capsys):
    lines = tagged(capsys, "--text", QUESTION).splitlines()
    assert lines[3] == "7\tB-ADDRESS\tB-STREET"


def test_what_tag_writes_is_read_again(here, capsys):
    assert main(["tag", "found.postil", "test.jsonl", "--to", "jsonl", "-o", "again.jsonl", "--overwrite"]) == 0
    assert main(["evaluate", "again.jsonl", "test.jsonl", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert main(["evaluate", "found.postil", "test.jsonl", "--json"]) == 0
    of_model = json.loads(capsys.readouterr().out)
    for name in ("precision", "recall", "f1", "labels", "accuracy", "sentences", "tokens"):
        assert scores[name] == of_model[name]
        assert scores["groups"]["city"][name] == of_model["groups"]["city"][name]
    gold = [sentence.spans for sentence in read("test.jsonl", overlaps="group")]
    assert scores["counts"]["support"] == sum(map(len, filter(None, gold))) + sum(spans is None for spans in gold)
    assert scores["counts"]["support"] == sum(group["counts"]["support"] for group in scores["groups"].values())
    assert main(["train", "again.jsonl", *SETTINGS, "-o", "third.postil", "--overwrite"]) == 0


def test_one_group_alone_and_a_model_without_groups(here, capsys):
    assert main(["evaluate", "found.postil", "test.jsonl", "--task", "city", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["city"]["labels"].keys() == {"CITY", "STREET"}
    postil.load("found.postil")["city"].save("city.postil")
    error = complaint(capsys, "evaluate", "city.postil", "test.jsonl")
    assert "overlaps ADDRESS" in error and "--group" in error


def test_layers_on_a_terminal_and_on_a_page(here, capsys):
    from rich.console import Console

    from postil.commands.console import show_tagged

    model = postil.load("found.postil")
    console = Console(width=200)
    show_tagged(console, model.by_task(), model.tag(QUESTION).sentences)
    show_tagged(console, model.by_task(), model.tag("It is in Ashford.").sentences)
    first, second, third, fourth = capsys.readouterr().out.splitlines()
    assert first.startswith("address ") and "7 Hill Lane, Oakdale ADDRESS" in first and "STREET" not in first
    assert second.startswith("city ") and "7 Hill Lane STREET" in second
    assert third == "address  It is in Ashford." and fourth.startswith("city     It is in  Ashford CITY")
    page = tagged(capsys, "--text", QUESTION, "--to", "html")
    assert page.count("box-shadow:0 3px var(--label-") == 2, "under the street and the city of the address"


def test_columns_of_arrow_have_the_group(here):
    pa = pytest.importorskip("pyarrow")
    model = postil.load("found.postil")
    column = postil.arrow.tag(pa.array([QUESTION, None, ""]), model)
    entities, missing, nothing = column.to_pylist()
    assert missing is None and nothing == []
    document = model.tag(QUESTION)
    assert [(one["start"], one["end"], one["label"], one["group"]) for one in entities] == [
        (one.start, one.end, one.label, one.group) for one in document.entities
    ]
    assert [one["probability"] for one in entities] == pytest.approx([one.probability for one in document.entities])
    highest = {"CITY": 1.0}
    kept = postil.arrow.tag(pa.array([QUESTION]), model, threshold=highest).to_pylist()[0]
    assert [one["label"] for one in kept] == ["ADDRESS", "STREET"]
    table = postil.arrow.tag_table(pa.table({"text": [QUESTION]}), model)
    assert table.column_names == ["text", "entities"]
    by_task = postil.arrow.tag(pa.array([QUESTION]), model, parts="tokens").to_pylist()[0]
    assert by_task.keys() == {"address", "city"}


def test_a_group_is_tuned_on_data_that_overlap(here, capsys):
    assert main(["tune", "found.postil", "test.jsonl", "--task", "city", "--f1", "-o", "tuned.postil"]) == 0
    tuned = postil.load("tuned.postil")
    assert tuned.groups_ == postil.load("found.postil").groups_
    assert tuned.decoding["address"] == postil.load("found.postil").decoding["address"]


def test_two_models_are_compared_on_a_group(here, capsys):
    assert main(["tune", "found.postil", "test.jsonl", "--task", "city", "--f1", "-o", "other.postil"]) == 0
    capsys.readouterr()
    words = ["compare", "found.postil", "other.postil", "test.jsonl", "--task", "city", "--resamples", "50", "--json"]
    assert main(words) == 0
    assert {"CITY", "STREET"} == set(json.loads(capsys.readouterr().out)["first"]["labels"])
