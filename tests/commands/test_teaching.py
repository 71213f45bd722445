"""``postil train --unlabelled``: self-training on raw text, with a teacher given or trained first."""

import pytest

import postil
from oracles.corpora import as_conll, named_entities, parts_of_speech
from postil.commands import teaching
from postil.commands import teaching as raw_text
from postil.commands.main import main
from postil.models import config
from postil.models.fitting import masked_words

SMALL = ["--set", "epochs=2", "--set", "hidden=12", "--set", "word_dim=8"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "train.txt").write_text(as_conll(*named_entities(30)))
    (tmp_path / "dev.txt").write_text(as_conll(*named_entities(20, seed=1)))
    X, _ = named_entities(40, seed=2)
    (tmp_path / "raw.txt").write_text("\n".join(" ".join(tokens) for tokens in X) + "\n")
    monkeypatch.setattr(masked_words, "MOST_PASSES", 1)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def train(*arguments):
    return main(["train", "train.txt", "--dev", "dev.txt", *SMALL, *arguments])


@pytest.mark.slow
def test_a_teacher_is_trained_first_and_leaves_no_file(folder, capsys, monkeypatch):
    monkeypatch.setattr(teaching, "MEMBERS", 2)
    monkeypatch.setattr(teaching, "PRESET", "fast")
    monkeypatch.setattr(config, "FEWEST_STEPS", 40)  # of the teacher
    assert train("--unlabelled", "raw.txt", "-o", "m.postil") == 0
    told = capsys.readouterr().err
    assert "training the teacher: 2 networks fast" in told
    assert "sentences of raw text" in told
    assert sorted(path.name for path in folder.iterdir()) == ["dev.txt", "m.postil", "raw.txt", "train.txt"]
    about = postil.load("m.postil").model.about
    assert about["data"]["unlabelled"]["sentences"] > 10


@pytest.mark.slow
def test_a_given_teacher_labels_the_text(folder, capsys):
    assert train("-o", "teacher.postil") == 0
    assert train("--unlabelled", "raw.txt", "--teacher", "teacher.postil", "-o", "m.postil") == 0
    assert "training the teacher" not in capsys.readouterr().err
    assert postil.load("m.postil").model.about["data"]["unlabelled"]["tokens"] > 0


def test_an_ensemble_from_the_command_line(folder):
    assert train("--set", "ensemble=2", "-o", "m.postil") == 0
    assert len(postil.load("m.postil").model.network.members) == 2
    assert main(["evaluate", "m.postil", "dev.txt"]) == 0
    assert main(["explain", "m.postil", "Anna lives in Oslo"]) == 0
    assert main(["tag", "m.postil", "raw.txt"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--teacher", "x.postil"], "--teacher needs raw text"),
        (["--unlabelled", "none.txt"], "none.txt"),
        (["--unlabelled", "raw.txt", "--unlabelled-tokens", "0"], "--unlabelled-tokens must be at least 1 (got 0)"),
        (["--unlabelled", "raw.txt", "--preset", "margin", "--label", "PER"], "only taggers learn from teachers"),
        (["--unlabelled", "raw.txt", "--teacher", "raw.txt"], "raw.txt"),
        (["--unlabelled", "m.postil"], "must not be one of the inputs"),
        (["--set", "ensemble=0"], "ensemble"),
        (["--clusters", "none.txt"], "cannot read the clusters"),
    ],
)
def test_a_mistake_is_one_line(folder, capsys, arguments, message):
    assert train(*arguments, "-o", "m.postil") == 1
    told = capsys.readouterr().err.strip()
    assert message in told
    assert "Traceback" not in told
    assert not (folder / "m.postil").exists()


def test_half_of_what_is_learnt_has_entities():
    X, y = named_entities(60)
    teacher = postil.Tagger(hidden=16, epochs=6, rate=0.02).fit(X, y)
    dull = [["it", "was", "late", f"n{i}"] for i in range(4000)]
    told = [["Anna", "lives", "in", "Oslo"] for _ in range(400)]
    assert set(teacher.predict(dull[:1])[0]) == {"O"} != set(teacher.predict(told[:1])[0])
    drawn = dull + told  # a random sample of 200 sentences would have 18 of them
    chosen = teaching.sentences_to_learn(drawn, [teacher], 800)
    assert [sentence in told for sentence in chosen].count(True) == 100 and len(chosen) == 200
    assert chosen[100:] == dull[:100]
    few = teaching.sentences_to_learn(dull + told[:3], [teacher], 800)
    assert len(few) == 200 and [sentence in told for sentence in few].count(True) == 3
    assert len(teaching.sentences_to_learn(dull[:5], [teacher], 800)) == 5


def test_teachers_without_an_outside_label_do_not_choose():
    X, y = parts_of_speech(20)
    teacher = postil.Tagger(hidden=8, epochs=1).fit(X, y)
    assert teaching.sentences_to_learn(X, [teacher], 30) == raw_text.first_sentences(X, 30)


@pytest.mark.parametrize(
    ("teacher", "message"),
    [
        ("missing.postil", "no such model file ('missing.postil')"),
        ("raw.txt", "raw.txt: not a Postil model file"),
        ("detector.postil", "--teacher must be a tagger (got a detector)"),
        ("other.postil", "labels of the teacher: expected those of the data: "),
    ],
)
def test_a_bad_teacher_is_told_before_anything_is_trained(folder, capsys, teacher, message):
    X, y = named_entities(20)
    postil.Detector(label="LOC", hidden=4, epochs=1).fit(X, y).save("detector.postil")
    other = [[label.replace("LOC", "ORG") for label in labels] for labels in y]
    postil.Tagger(hidden=4, epochs=1).fit(X, other).save("other.postil")
    words = ["--unlabelled", "raw.txt", "--pretrain", "--teacher", teacher, "-o", "m.postil"]
    assert train(*words) == 1
    error = capsys.readouterr().err
    assert message in error
    assert "epoch" not in error and "sentences of raw text" not in error
    assert not list(folder.glob("m.postil*"))
