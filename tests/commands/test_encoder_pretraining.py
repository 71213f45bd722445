"""``postil pretrain --encoder``: raw text in, words and encoder of a tagger out, for ``postil train --pretrained``."""

import signal

import numpy as np
import pytest

import postil
from oracles.corpora import as_conll, named_entities
from postil.commands import pretrain as encoder_pretraining
from postil.commands import teaching
from postil.commands.main import main
from postil.models.fitting import masked_words
from postil.models.model import is_encoder
from postil.models.networks.network import members_of
from postil.pretraining import training as vector_training

SMALL = ["--set", "hidden=8", "--set", "word_dim=4", "--set", "epochs=2", "--set", "min_count=1"]
WORDS = ["--with-brown", "5", "--dimensions", "6", "--epochs", "2", "--negatives", "3"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "raw.txt").write_text("".join(" ".join(tokens) + ".\n" for tokens in named_entities(80, seed=2)[0]))
    (tmp_path / "train.txt").write_text(as_conll(*named_entities(20)))
    (tmp_path / "dev.txt").write_text(as_conll(*named_entities(10, seed=1)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pretrain(*arguments, output="x.pretrained"):
    return main(["pretrain", "raw.txt", "--encoder", "fast", *SMALL, *arguments, "-o", output])


def train(*arguments, output="m.postil"):
    return main(["train", "train.txt", "--pretrained", "x.pretrained", "--set", "epochs=1", *arguments, "-o", output])


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def values(path):
    return {name: p.value for name, p in postil.load(path).model.network.parameters().items()}


def test_an_encoder_for_training(folder, capsys):
    before = names(folder)
    assert pretrain() == 0
    told = capsys.readouterr()
    assert "x.pretrained: " in told.out and "sentences of raw text" in told.err
    assert names(folder) == sorted([*before, "x.pretrained"])
    encoder = postil.load("x.pretrained")
    assert is_encoder(encoder.model) and encoder.config.epochs == 2
    assert train() == 0
    tagger = postil.load("m.postil")
    assert (tagger.preset, tagger.config.hidden, tagger.config.word_dim) == ("fast", 8, 4)  # nobody said so again
    assert tagger.config.epochs == 1
    assert {"PER", "LOC"} == set(tagger.model.codec.classes)


def test_an_encoder_that_is_to_tag_is_warned_of(folder, capsys):
    assert pretrain() == 0
    assert train() == 0
    assert "has no labels" not in capsys.readouterr().err
    assert main(["tag", "x.pretrained", "--text", "Anna left."]) == 0
    assert "x.pretrained has no labels yet: it was pretrained on raw text only" in capsys.readouterr().err
    assert main(["tag", "m.postil", "--text", "Anna left."]) == 0
    assert "has no labels" not in capsys.readouterr().err


def test_the_preset_of_the_encoder_is_inherited(folder):
    more = ["--set", "layers=1", "--set", "ensemble=2", "--set", "character_dim=4", "--set", "epochs=1"]
    words = ["pretrain", "raw.txt", "--encoder", "accurate", *SMALL, *more, "-o", "x.pretrained"]
    assert main(words) == 0
    assert train() == 0
    tagger = postil.load("m.postil")
    assert (tagger.preset, tagger.config.layers, len(members_of(tagger.model.network))) == ("accurate", 1, 2)
    assert train("--set", "ensemble=1") == 0
    assert len(members_of(postil.load("m.postil").model.network)) == 1


def test_the_command_line_learns_what_python_learns(folder):
    assert pretrain("--seed", "3", "--threads", "2") == 0
    assert train("--seed", "4") == 0
    X, y = named_entities(20)
    settings = {"hidden": 8, "word_dim": 4, "epochs": 1}
    expected = postil.Tagger(pretrained="x.pretrained", seed=4, **settings).fit(X, y).model.network
    learnt = values("m.postil")
    assert all(np.array_equal(learnt[name], p.value) for name, p in expected.parameters().items())


def test_several_tasks_begin_with_the_encoder(folder):
    assert pretrain() == 0
    tasks = ["--task", "one=train.txt", "--task", "two=dev.txt"]
    assert main(["train", *tasks, "--pretrained", "x.pretrained", "--set", "epochs=1", "-o", "m.postil"]) == 0
    tagger = postil.load("m.postil")
    assert tagger.tasks == ["one", "two"] and tagger.config.hidden == 8


def test_the_text_is_sampled(folder, capsys):
    assert pretrain("--tokens", "40") == 0
    told = postil.load("x.pretrained").model.about["data"]
    assert 40 <= told["tokens"] < 50
    capsys.readouterr()
    assert pretrain("--tokens", "0") == 1
    assert capsys.readouterr().err == "postil: --tokens must be at least 1 (got 0)\n"


# ------------------------------------------------------------------------------------------------ with clusters


def test_everything_from_raw_text_in_one_go(folder, capsys):
    before = names(folder)
    assert pretrain(*WORDS) == 0
    assert names(folder) == sorted([*before, "x.pretrained"])
    features = postil.load("x.pretrained").model.features.words
    assert "clusters" in features.lexicons and features.config.vector_dim == 6
    assert train() == 0
    words = postil.load("m.postil").model.features.words
    assert "clusters" in words.lexicons and words.config.vector_dim == 6


def test_given_vectors_and_clusters_are_those_of_the_tagger(folder):
    (folder / "x.vectors").write_text("anna 1 2\noslo 3 4\n")
    (folder / "x.paths").write_text("0000\tAnna\t9\n1111\tOslo\t9\n")
    assert pretrain("--vectors", "x.vectors", "--clusters", "x.paths") == 0
    features = postil.load("x.pretrained").model.features.words
    assert features.lexicons.keys() == {"clusters"} and features.config.vector_dim == 2
    (folder / "x.vectors").unlink()
    (folder / "x.paths").unlink()
    assert train() == 0  # the file has them
    assert postil.load("m.postil").model.features.words.lexicons.keys() == {"clusters"}


# ------------------------------------------------------------------------------------------------ interruptions


def interrupting(kind, at, number=signal.SIGINT):
    """The ``__next__`` of a training that is asked to stop after its event number ``at``."""
    events = kind.__next__

    def stopped(self):
        event = events(self)
        self.seen = getattr(self, "seen", 0) + 1
        if self.seen == at:
            signal.raise_signal(number)
        return event

    return stopped


@pytest.mark.parametrize(("at", "number"), [(1, signal.SIGINT), (4, signal.SIGTERM)])
def test_interrupted_and_resumed(folder, capsys, monkeypatch, at, number):
    """In the middle of the first epoch, and in the second."""
    assert pretrain(output="whole.pretrained") == 0
    expected, before = (folder / "whole.pretrained").read_bytes(), names(folder)
    with monkeypatch.context() as patch:
        kind = masked_words.EncoderFitting
        patch.setattr(kind, "__next__", interrupting(kind, at, number), raising=False)
        assert pretrain() == 128 + number
    assert "add --resume to continue" in capsys.readouterr().err
    assert names(folder) == sorted([*before, "x.pretrained.checkpoint"])
    assert pretrain("--resume", "--threads", "2") == 0
    assert names(folder) == sorted([*before, "x.pretrained"])
    assert (folder / "x.pretrained").read_bytes() == expected


class _InterruptedVectors(vector_training.Pretraining):
    """Presses Ctrl-C after the first step."""

    def __iter__(self):
        for step in super().__iter__():
            signal.raise_signal(signal.SIGINT)
            yield step


def test_interrupted_in_the_vectors_and_in_the_encoder(folder, monkeypatch):
    before = names(folder)
    assert pretrain(*WORDS) == 0
    expected = (folder / "x.pretrained").read_bytes()
    (folder / "x.pretrained").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(vector_training, "Pretraining", _InterruptedVectors)
        assert pretrain(*WORDS) == 130
    assert names(folder) == sorted([*before, "x.pretrained.words.checkpoint"])
    with monkeypatch.context() as patch:
        kind = masked_words.EncoderFitting
        patch.setattr(kind, "__next__", interrupting(kind, 2), raising=False)
        assert pretrain(*WORDS, "--resume") == 130
    assert names(folder) == sorted([*before, "x.pretrained.checkpoint", "x.pretrained.words"])
    with monkeypatch.context() as patch:  # the vectors are not learnt again
        patch.setattr(vector_training, "Pretraining", None)
        assert pretrain(*WORDS, "--resume") == 0
    assert names(folder) == sorted([*before, "x.pretrained"])
    assert (folder / "x.pretrained").read_bytes() == expected


def test_nothing_to_resume(folder, capsys):
    assert pretrain("--resume") == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("postil: x.pretrained.checkpoint: nothing to resume")


# ------------------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["--vectors", "x.vectors"], "--vectors"),
        (["--clusters", "x.paths"], "--clusters"),
        (["--gazetteer", "names"], "--gazetteer"),
        (["--set", "hidden=8"], "--set"),
        (["--tokens", "9"], "--tokens"),
        (["--tokens", "9", "--brown", "5"], "--tokens"),
    ],
)
def test_options_of_the_encoder_need_one(folder, capsys, arguments, option):
    assert main(["pretrain", "raw.txt", *arguments, "-o", "x.pretrained"]) == 1
    assert capsys.readouterr().err == f"postil: {option} needs --encoder\n"
    assert "x.pretrained" not in names(folder)


@pytest.mark.parametrize(
    "option",
    [
        "method",
        "dimensions",
        "window",
        "epochs",
        "negatives",
        "sample",
        "hidden",
        "rate",
        "min-count",
        "words",
        "cased",
    ],
)
def test_options_of_vectors_need_vectors(folder, capsys, option):
    value = {"method": ["skipgram"], "cased": []}.get(option, ["5"])
    assert pretrain(f"--{option}", *value) == 1
    why = "--encoder learns vectors only with --with-brown (for the encoder: --set)"
    assert capsys.readouterr().err == f"postil: --{option} cannot be used here: {why}\n"
    assert "x.pretrained" not in names(folder)


def test_two_kinds_of_clusters(folder, capsys):
    assert pretrain(*WORDS, "--clusters", "brown") == 1
    assert capsys.readouterr().err == "postil: --clusters cannot be used here: --with-brown learns them\n"
    with pytest.raises(SystemExit) as exit:
        pretrain("--brown", "5")
    assert exit.value.code == 2
    assert "--brown and --encoder exclude each other" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        ([], "raw.txt"),
        (["--vectors", "x.vectors"], "x.vectors"),
        (["--clusters", "x.paths"], "x.paths"),
        (["--gazetteer", "PLACE.txt"], "PLACE.txt"),
    ],
)
def test_the_output_replaces_no_input(folder, capsys, arguments, output):
    for name in ("x.vectors", "x.paths", "PLACE.txt"):
        (folder / name).write_text("Oslo 1 2\n")
    before = (folder / output).read_bytes()
    assert pretrain(*arguments, "--overwrite", output=output) == 1
    assert capsys.readouterr().err == f"postil: {output}: the output must not be one of the inputs\n"
    assert (folder / output).read_bytes() == before


def test_the_checkpoint_and_the_words_replace_no_input(folder, capsys):
    for suffix in (".checkpoint", ".words"):
        text = folder / f"x.pretrained{suffix}"
        text.write_bytes((folder / "raw.txt").read_bytes())
        words = ["pretrain", text.name, "--encoder", "fast", *SMALL, *WORDS, "--overwrite", "-o", "x.pretrained"]
        assert main(words) == 1
        assert f"{text.name}: the output must not be one of the inputs" in capsys.readouterr().err
        assert text.read_bytes() == (folder / "raw.txt").read_bytes()


def test_other_files_are_not_replaced_but_encoders_are(folder, capsys):
    (folder / "other.html").write_text("<!doctype html>")
    assert pretrain(output="other.html") == 1
    assert "must not replace a file that is not a model file" in capsys.readouterr().err
    assert pretrain() == pretrain() == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "accurate"], "the architectures differ: expected word_dim=4, "),
        (["--set", "hidden=9"], "the architectures differ: expected hidden=8 of the model to start from, got hidden=9"),
        (["--clusters", "x.paths"], "clusters must not be given with a pretrained file"),
        (["--warm-start", "x.pretrained"], "warm start must not be given with a pretrained encoder"),
    ],
)
def test_what_does_not_go_with_an_encoder(folder, capsys, arguments, message):
    (folder / "x.paths").write_text("0000\tAnna\t9\n1111\tOslo\t9\n")
    assert pretrain() == 0
    capsys.readouterr()
    assert train(*arguments) == 1
    told = capsys.readouterr().err
    assert message in told and "Traceback" not in told
    assert "m.postil" not in names(folder)


def test_a_model_does_not_replace_its_encoder(folder, capsys):
    assert pretrain() == 0
    before = (folder / "x.pretrained").read_bytes()
    assert train("--overwrite", output="x.pretrained") == 1
    assert "x.pretrained: the output must not be one of the inputs" in capsys.readouterr().err
    assert (folder / "x.pretrained").read_bytes() == before


# ------------------------------------------------------------------------------------------------ with other knowledge


@pytest.mark.slow
def test_a_teacher_begins_with_the_encoder_too(folder, capsys, monkeypatch):
    taught = []
    make = teaching.new_teacher
    monkeypatch.setattr(teaching, "MEMBERS", 2)
    monkeypatch.setattr(teaching, "new_teacher", lambda student: taught.append(make(student)) or taught[-1])
    monkeypatch.setattr(postil.Tagger, "_configured", _with_one_epoch(postil.Tagger._configured))
    assert pretrain() == 0
    assert train("--unlabelled", "raw.txt") == 0
    assert "training the teacher: 2 networks fast" in capsys.readouterr().err
    (teacher,) = taught
    assert (teacher.preset, teacher.pretrained, teacher.config.hidden) == ("fast", "x.pretrained", 8)
    assert len(members_of(teacher.model.network)) == 2


def _with_one_epoch(configured):
    """Settings of trainings of one epoch where nobody says otherwise: teachers learn longer."""
    return lambda self, settings: configured(self, {"epochs": 1, **settings})


def test_the_default_amount_of_text(folder, capsys):
    with pytest.raises(SystemExit):
        main(["pretrain", "--help-all"])
    assert f"{encoder_pretraining.MOST_TOKENS:,}" in capsys.readouterr().out


def test_what_is_no_encoder_is_refused(folder, capsys):
    trees = "(3 (2 good) (2 film))\n" * 20
    (folder / "trees.txt").write_text(trees)
    assert main(["train", "trees.txt", "--set", "epochs=1", "-o", "trees.postil"]) == 0
    capsys.readouterr()
    assert main(["train", "train.txt", "--pretrained", "trees.postil", "-o", "m.postil"]) == 1
    told = capsys.readouterr().err
    assert (
        told.startswith("postil: trees.postil: --pretrained must be a file of `postil pretrain`")
        and "\n" not in told[:-1]
    )


def test_a_file_does_not_name_what_is_gone(folder):
    assert pretrain("--with-brown", "5", "--dimensions", "4", "--epochs", "1") == 0
    encoder = postil.load(folder / "x.pretrained")
    assert encoder.vectors is None and encoder.clusters is None
    assert encoder.model.network.vectors is not None
    assert "clusters" in encoder.model.features.words.lexicons
