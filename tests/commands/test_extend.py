"""``postil extend`` as a user meets it."""

import json
import signal
import subprocess
import sys

import pytest

import postil
from oracles import corpora
from postil.commands import extend
from postil.commands.main import main


def only(y, *classes):
    return [[label if label[2:] in classes else "O" for label in labels] for labels in y]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of persons, new data with places, and what goes with them."""
    folder = tmp_path_factory.mktemp("extend")
    X, y = corpora.named_entities(120)
    X_dev, y_dev = corpora.named_entities(60, seed=7)
    files = {
        "old.txt": (X[:60], only(y[:60], "PER")),
        "new.txt": (X[60:], only(y[60:], "LOC")),
        "wrong.txt": (X[60:], [[label.replace("PER", "LOC") for label in labels] for labels in y[60:]]),
        "dev.txt": (X_dev, y_dev),
        "persons.txt": (X_dev, only(y_dev, "PER")),
        "empty.txt": (X_dev, only(y_dev)),
        "one.txt": (X[60:61], [["B-LOC"] + ["O"] * (len(X[60]) - 1)]),
        "places.txt": (X_dev, only(y_dev, "LOC")),
    }
    for name, data in files.items():
        (folder / name).write_text(corpora.as_conll(*data), encoding="utf8")
    (folder / "raw.txt").write_text("\n".join(" ".join(tokens) for tokens in corpora.named_entities(80, seed=5)[0]))
    postil.Tagger(hidden=16, epochs=12, rate=0.02, seed=0).fit(*files["old.txt"]).save(folder / "ner.postil")
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(autouse=True)
def _there(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "ner2.postil").unlink(missing_ok=True)


@pytest.mark.slow
def test_a_class_more_and_the_table(folder, capsys):
    before = (folder / "ner.postil").read_bytes()
    assert main(["extend", "ner.postil", "new.txt", "--dev", "dev.txt", "-o", "ner2.postil"]) == 0
    captured = capsys.readouterr()
    rows = [line.split() for line in captured.out.splitlines()]
    assert any(row[:1] == ["PER"] and len(row) == 5 for row in rows)
    assert any(row[:1] == ["LOC"] and row[-1] == "new" for row in rows)
    assert "new.txt: annotates LOC" in captured.err and "new: LOC" in captured.err
    assert (folder / "ner.postil").read_bytes() == before
    extended = postil.load("ner2.postil")
    assert extended.model.codec.classes == ("PER", "LOC")
    assert extended.model.about["extension"]["gate"]["passed"] is True
    assert main(["info", "ner2.postil"]) == 0


@pytest.mark.slow
def test_old_data_and_raw_text(folder, capsys):
    words = ["extend", "ner.postil", "new.txt", "--old", "old.txt", "--unlabelled", "raw.txt", "--dev", "dev.txt"]
    assert main([*words, "--tolerance", "3", "--unlabelled-tokens", "100", "-o", "ner2.postil"]) == 0
    assert "new: LOC" in capsys.readouterr().err
    about = postil.load("ner2.postil").model.about["extension"]
    assert about["old"]["sentences"] == 60 and 100 <= about["unlabelled"]["tokens"] < 120


@pytest.mark.slow
def test_the_gate_writes_nothing(folder, capsys):
    words = ["extend", "ner.postil", "wrong.txt", "--dev", "persons.txt", "-o", "ner2.postil"]
    names = contents(folder)
    assert main(words) == extend.NOT_PASSED == 3
    captured = capsys.readouterr()
    assert any(line.split()[:1] == ["PER"] and line.split()[-1] == "fell" for line in captured.out.splitlines())
    assert "nothing is written: PER by" in captured.err
    assert contents(folder) == names
    # What was there stays as it was.
    (folder / "ner2.postil").write_bytes((folder / "ner.postil").read_bytes())
    assert main(words) == 3
    assert (folder / "ner2.postil").read_bytes() == (folder / "ner.postil").read_bytes()
    assert main([*words, "--tolerance", "100"]) == 0
    assert (folder / "ner2.postil").read_bytes() != (folder / "ner.postil").read_bytes()


@pytest.mark.slow
def test_a_gate_that_is_skipped_would_be_noticed(folder, monkeypatch):
    """Broken on purpose: the test above fails if nobody scores the extended model."""
    monkeypatch.setattr(extend.Extension, "passed", True)
    assert main(["extend", "ner.postil", "wrong.txt", "--dev", "persons.txt", "-o", "ner2.postil"]) == 0
    assert (folder / "ner2.postil").exists()


@pytest.mark.slow
def test_json_alone_on_standard_output(capsys):
    assert main(["extend", "ner.postil", "wrong.txt", "--dev", "persons.txt", "--json", "-o", "ner2.postil"]) == 3
    content = json.loads(capsys.readouterr().out)
    assert content["passed"] is False and content["model"] is None and content["classes"]["LOC"]["before"] is None
    assert main(["extend", "ner.postil", "new.txt", "--json", "-o", "ner2.postil"]) == 0
    captured = capsys.readouterr()
    assert (
        json.loads(captured.out)["model"] == "ner2.postil"
        and "without --dev, the scores of the old classes" in captured.err
    )


@pytest.mark.slow
def test_the_same_bytes_again(folder):
    words = ["extend", "ner.postil", "new.txt", "--unlabelled", "raw.txt", "--seed", "3", "-o", "ner2.postil"]
    contents = []
    for threads in ("1", "2"):
        assert main([*words, "--threads", threads]) == 0
        contents.append((folder / "ner2.postil").read_bytes())
    assert contents[0] == contents[1]


@pytest.mark.slow
def test_one_sentence_and_no_entities(capsys):
    assert main(["extend", "ner.postil", "one.txt", "-o", "ner2.postil"]) == 0
    words = ["extend", "ner.postil", "empty.txt", "-o", "ner2.postil"]
    assert main([*words, "--annotates", "PER", "--dev", "dev.txt", "--tolerance", "100"]) == 0
    assert main(words) == 1
    assert "empty.txt: no entities: expected some entities, or --annotates" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.slow
def test_comments_say_what_sentences_annotate(folder, capsys):
    (folder / "both.txt").write_text(
        "# annotates = PER LOC\n" + (folder / "dev.txt").read_text() + "# annotates = LOC\nAnna\tO\nOslo\tB-LOC\n"
    )
    assert main(["extend", "ner.postil", "both.txt", "-o", "ner2.postil"]) == 0
    assert "both.txt: annotates LOC, PER" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["ner.postil", "new.txt", "-o", "ner.postil"], "the output must not be one of the inputs"),
        (["ner.postil", "new.txt", "-o", "new.txt"], "the output must not be one of the inputs"),
        (["ner.postil", "new.txt", "--old", "old.txt", "-o", "old.txt"], "the output must not be one of the inputs"),
        (["ner.postil", "new.txt", "--unlabelled", "raw.txt", "-o", "raw.txt"], "must not be one of the inputs"),
        (["ner.postil", "new.txt", "--dev", "places.txt"], "dev must have some of the classes of the model: PER"),
        (["ner.postil", "new.txt", "--tolerance", "-1"], "tolerance must be at least 0"),
        (["ner.postil", "new.txt", "--unlabelled-tokens", "0"], "--unlabelled-tokens must be at least 1"),
        (["ner.postil", "new.txt", "--task", "names"], "tasks cannot be chosen here"),
        (["ner.postil", "nowhere.txt"], "nowhere.txt"),
        (["nowhere.postil", "new.txt"], "no such model file"),
        (["ner.postil", "new.txt", "--set", "hidden=7"], "architectures differ"),
        (["ner.postil", "new.txt", "--annotates", "PER"], "a label of a class that is not annotated there"),
    ],
)
def test_mistakes_are_one_line(words, told, folder, capsys):
    names = contents(folder)
    assert main(["extend", *words, *([] if "-o" in words else ["-o", "ner2.postil"])]) == 1
    lines = [line for line in capsys.readouterr().err.splitlines() if ": annotates " not in line]
    assert len(lines) == 1 and told in lines[0]
    assert contents(folder) == names


@pytest.mark.slow
def test_other_kinds_of_models(folder, capsys):
    X, y = corpora.named_entities(40)
    postil.Detector(label="LOC", hidden=8, epochs=2).fit(X, y).save("loc.postil")
    assert main(["extend", "loc.postil", "new.txt", "-o", "ner2.postil"]) == 1
    assert capsys.readouterr().err == "postil: loc.postil: model must be a tagger (got a detector)\n"
    labels = {"names": only(y, "PER"), "words": corpora.parts_of_speech(40)[1]}
    postil.MultiTaskTagger(hidden=16, seed=0).fit(X, labels).save("both.postil")
    assert main(["extend", "both.postil", "new.txt", "-o", "ner2.postil"]) == 1
    assert "choose one with --task names or words" in capsys.readouterr().err
    assert main(["extend", "both.postil", "new.txt", "--task", "names", "-o", "ner2.postil"]) == 0
    assert postil.load("ner2.postil").model.codec.classes == ("PER", "LOC")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGTERM") or sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_killed_it_leaves_every_file_as_it_was(folder, number, code):
    (folder / "ner2.postil").write_bytes((folder / "ner.postil").read_bytes())
    names = contents(folder)
    words = ["extend", "ner.postil", "new.txt", "--old", "old.txt", "--dev", "dev.txt", "--set", "epochs=5000"]
    command = [sys.executable, "-m", "postil", *words, "-o", "ner2.postil"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        next(line for line in process.stderr if line.startswith(b"epoch"))  # it trains
        process.send_signal(number)
        process.stderr.read()
    assert process.returncode == code
    assert contents(folder) == names
