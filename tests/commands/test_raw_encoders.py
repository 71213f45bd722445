"""``postil train --unlabelled``: words and encoder read the raw text first."""

import argparse
import itertools
import signal

import numpy as np
import pytest

import postil
from oracles.corpora import as_conll, named_entities
from postil.commands import teaching
from postil.commands import teaching as raw_encoders
from postil.commands.fitting import Display
from postil.commands.main import main
from postil.models import config
from postil.models.fitting import masked_words

SMALL = ["--set", "hidden=8", "--set", "word_dim=4", "--set", "epochs=2"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    X, y = named_entities(40)
    (tmp_path / "train.txt").write_text(as_conll(X, y))
    (tmp_path / "dev.txt").write_text(as_conll(*named_entities(20, seed=1)))
    raw, _ = named_entities(300, seed=2)
    (tmp_path / "raw.txt").write_text("".join(f"{' '.join(words)}\n" for words in raw))
    monkeypatch.setattr(teaching, "MEMBERS", 2)
    monkeypatch.setattr(teaching, "PRESET", "fast")
    monkeypatch.setattr(config, "FEWEST_STEPS", 40)  # of the teacher
    monkeypatch.setattr(masked_words, "MOST_PASSES", 2)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def train(*arguments, output="m.postil"):
    dev = ["--dev", "dev.txt", "--unlabelled", "raw.txt"]
    return main(["train", "train.txt", *dev, *SMALL, *arguments, "-o", output])


def test_student_and_teacher_start_from_encoders(folder, monkeypatch, capsys):
    started = []
    fitting = postil.Tagger.fitting

    def noted(self, *data, **options):
        started.append((self.preset, self.config.ensemble, options.get("warm_start")))
        return fitting(self, *data, **options)

    monkeypatch.setattr(postil.Tagger, "fitting", noted)
    assert train() == 0
    (_, members, of_teacher), (_, _, of_student) = started
    assert members == 2
    assert of_student.config.hidden == 8 and of_teacher.config.hidden == 128  # the teacher has the preset's network
    assert of_student.classes_ == of_teacher.classes_ == ["O"]
    assert capsys.readouterr().err.count("learning words and encoder from the raw text: 1 × fast") == 2
    assert sorted(path.name for path in folder.iterdir()) == ["dev.txt", "m.postil", "raw.txt", "train.txt"]


def test_networks_alike_share_an_encoder(folder, capsys):
    arguments = ["train", "train.txt", "--dev", "dev.txt", "--unlabelled", "raw.txt", "--set", "epochs=1"]
    assert main([*arguments, "-o", "m.postil"]) == 0
    assert capsys.readouterr().err.count("learning words and encoder") == 1


@pytest.mark.slow
def test_not_where_there_is_another_start(folder, capsys):
    assert train("--no-pretrain", output="known.postil") == 0
    assert train("--warm-start", "known.postil") == 0
    assert main(["pretrain", "raw.txt", "--encoder", "fast", *SMALL[:4], "-o", "x.pretrained"]) == 0
    assert train("--pretrained", "x.pretrained") == 0
    assert "learning words and encoder from the raw text" not in capsys.readouterr().err
    for start in (["--warm-start", "known.postil"], ["--pretrained", "x.pretrained"]):
        assert train("--pretrain", *start) == 1
        told = capsys.readouterr().err
        assert f"--pretrain must not be given with {start[0]}" in told
        assert "sentences of raw text" not in told  # a mistake is told before minutes of reading
    tasks = ["--task", "one=train.txt", "--task", "two=train.txt"]
    assert main(["train", *tasks, "--unlabelled", "raw.txt", "--pretrain", "-o", "n.postil"]) == 1
    assert "--pretrain cannot be used with several tasks" in capsys.readouterr().err
    assert main(["train", "train.txt", "--pretrain", "-o", "n.postil"]) == 1
    assert "--pretrain needs raw text to learn from: add --unlabelled TEXT" in capsys.readouterr().err


def test_data_with_columns_have_no_encoder():
    X = [[("Anna", "NNP")], ["Anna"]]
    arguments = argparse.Namespace(pretrain=None, warm_start=None)
    assert not raw_encoders.are_wanted(arguments, None, X[:1])
    assert raw_encoders.are_wanted(arguments, None, X[1:])


@pytest.mark.slow
def test_an_interrupted_encoder_goes_on_with_the_same_bits(folder):
    assert train(output="whole.postil") == 0
    steps, show = itertools.count(), Display.show

    def interrupting(self, event):
        show(self, event)
        if next(steps) == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Display, "show", interrupting)
        with pytest.raises(SystemExit) as stopped:
            train()
    assert stopped.value.code == 128 + signal.SIGINT
    assert (folder / "m.postil.encoder0.checkpoint").exists()
    assert train("--resume") == 0
    one, two = (postil.load(name).model.network.parameters() for name in ("whole.postil", "m.postil"))
    assert all(np.array_equal(one[name].value, two[name].value) for name in one)


def test_an_encoder_has_the_features_of_its_tagger():
    tagger = postil.Tagger(preset="accurate", hidden=9, vector_clusters=(), ensemble=5, epochs=7, seed=3)
    encoder = raw_encoders.new_encoder(tagger)
    assert (encoder.config.hidden, encoder.config.vector_clusters, encoder.seed) == (9, (), 3)
    assert (encoder.config.ensemble, encoder.config.epochs) == (3, None)  # the preset's, and its own
