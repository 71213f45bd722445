"""``postil train`` as a newcomer, an impatient one and an unlucky one call it."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

import postil
from oracles.corpora import as_conll, named_entities
from postil import archive
from postil.commands.main import main
from postil.models import Decoding

SMALL = ["--set", "epochs=3", "--set", "hidden=12", "--set", "word_dim=8", "--set", "batch_sentences=4"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "train.txt").write_text(as_conll(*named_entities(60)))
    (tmp_path / "dev.txt").write_text(as_conll(*named_entities(20, seed=1)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def tensors(path):
    return {name: array.copy() for name, array in archive.load(path)[0].items()}


def same(one, other):
    return one.keys() == other.keys() and all((one[name] == other[name]).all() for name in one)


@pytest.mark.slow
def test_train_shows_on_stderr_answers_on_stdout_and_leaves_one_file(folder, capsys):
    assert main(["train", "train.txt", "--dev", "dev.txt", "--test", "dev.txt", *SMALL, "-o", "m", "--log", "log"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0].startswith("dev   F1 ")
    assert out.splitlines()[1].startswith("test  F1 ")
    assert "epoch   3  loss" in err
    assert err.splitlines()[1] == "postil: training step: fused"
    assert files(folder) == ["dev.txt", "log", "m", "train.txt"]
    rows = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    assert [row["epoch"] for row in rows] == [1, 2, 3]
    assert postil.load("m").model.about["scores"]["dev"]["f1"] == postil.load("m").model.about["scores"]["test"]["f1"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--set", "objective=softmax"], "objective=softmax"),
        (["--preset", "margin", "--label", "PER"], "only taggers have a fused step"),
    ],
)
def test_the_first_lines_say_why_the_training_step_is_not_fused(folder, capsys, words, reason):
    assert main(["train", "train.txt", *SMALL[:2], *words, "-o", "m"]) == 0
    assert f"postil: training step: graph, not fused: {reason}" in capsys.readouterr().err.splitlines()[:3]


@pytest.mark.slow
def test_the_summary_says_where_calibration_has_moved_the_dev_score(folder, capsys, monkeypatch):
    monkeypatch.setattr(postil.Tagger, "_calibrate_after_fit", lambda tagger, X, y, held_out: None)
    assert main(["train", "train.txt", "--dev", "dev.txt", *SMALL, "-o", "m"]) == 0
    assert "calibration" not in capsys.readouterr().out  # both are the same here
    monkeypatch.setattr(
        postil.Tagger,
        "_calibrate_after_fit",
        lambda tagger, X, y, held_out: setattr(tagger, "decoding", Decoding(shift=-9, bias=0.5)),
    )
    assert main(["train", "train.txt", "--dev", "dev.txt", *SMALL, "-o", "m"]) == 0
    out = capsys.readouterr().out.splitlines()
    best = postil.load("m").model.about["training"]
    assert out[0].startswith("dev   F1 0.00")
    assert out[1].startswith(
        f"(epoch {best['best_epoch']} scored {100 * best['dev_score']:.2f} on dev: epochs are scored"
    )
    assert out[2].startswith("bias +0.50: finds more entities, for the best F1 on dev")


MISTAKES = [
    (["train.txt", "--dev", "missing.txt"], 1, "missing.txt: No such file"),
    (["missing.txt"], 1, "missing.txt: No such file"),
    (["empty.txt"], 1, "empty.txt: the file is empty"),
    (["train.txt", "--dev", "empty.txt"], 1, "empty.txt: the file is empty"),
    (["latin1.txt"], 1, "latin1.txt, line 1: invalid UTF-8"),
    (["train.txt", "--dev", "bare.txt"], 1, "bare.txt, line 1: no labels"),
    (
        ["train.txt", "--dev", "pos.txt"],
        1,
        "pos.txt, line 1: these labels have no scheme: expected spans such as B-LOC",
    ),
    (["ragged.txt"], 1, "ragged.txt, line 2: wrong number of columns"),
    (["train.txt", "-o", "nowhere/m"], 1, "nowhere/m: the output must be in an existing folder"),
    (["train.txt", "-o", "."], 1, "the output must be a file (got a folder)"),
    (["train.txt", "--log", "nowhere/log"], 1, "nowhere/log: the output must be in an existing folder"),
    (["train.txt", "--set", "hiden=3"], 1, "unknown setting 'hiden'; did you mean hidden?"),
    (["train.txt", "--set", "epoch=3"], 1, "unknown setting 'epoch'; did you mean epochs?"),
    (["train.txt", "--set", "zzz=3"], 1, "unknown setting 'zzz': expected one of "),
    (["train.txt", "--set", "epochs"], 1, "setting must be NAME=VALUE (got 'epochs')"),
    (["train.txt", "--set", "epochs=0"], 1, "epochs must be at least 1 (got 0)"),
    (["train.txt", "--minutes", "many"], 2, "argument --minutes: invalid float value: 'many'"),
    (["train.txt", "--set", "hidden=many"], 1, "setting hidden: expected a whole number, got 'many'"),
    (["train.txt", "--set", "window=4"], 1, "window must be an odd number"),
    (["train.txt", "--set", "rate=1e30"], 1, "the training has diverged"),
    (["train.txt", "--minutes", "0"], 1, "minutes must be a positive number"),
    (["train.txt", "--threads", "0"], 1, "threads must be"),
    (["train.txt", "--vectors", "missing.vec"], 1, "missing.vec: cannot read the file of word vectors"),
    (["train.txt", "--gazetteer", "missing.txt"], 1, "missing.txt: cannot read the gazetteer"),
    (["train.txt", "--resume"], 1, "m.checkpoint: nothing to resume"),
    (["train.txt", "--warm-start", "missing"], 1, "no such model"),
    (["train.txt", "--warm-start", "train.txt"], 1, "train.txt: not a Postil model file"),
    (["train.txt", "--preset", "slow"], 2, "invalid choice: 'slow'"),
]


@pytest.mark.parametrize(
    ("arguments", "code", "message"), MISTAKES, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_a_mistake_is_one_clear_line(folder, capsys, arguments, code, message):
    (folder / "empty.txt").write_text("")
    (folder / "bare.txt").write_text("Anna\nleft\n")
    (folder / "pos.txt").write_text("Anna\tNOUN\nleft\tVERB\n")
    (folder / "ragged.txt").write_text("Anna\tO\nleft\tO\tO\n")
    (folder / "latin1.txt").write_bytes("Köln\tB-LOC\n".encode("latin-1"))
    before = files(folder)
    words = ["train", *SMALL, *arguments, *([] if "-o" in arguments else ["-o", "m"])]
    if code == 2:
        with pytest.raises(SystemExit) as exit:
            main(words)
        assert exit.value.code == 2
    else:
        assert main(words) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err.splitlines()[-1]
    assert "Traceback" not in err
    assert files(folder) == before


def test_other_encodings_schemes_and_line_ends(folder, capsys):
    X, y = named_entities(40, scheme="iob1")
    text = as_conll(X, y).replace("Lima", "Köln").replace("\n", "\r\n")
    (folder / "other.txt").write_bytes(text.encode("latin-1"))
    assert main(["train", "other.txt", *SMALL, "--encoding", "latin-1", "-o", "m"]) == 0
    assert postil.load("m").model.codec.scheme == "iob1"
    assert "Köln".lower() in postil.load("m").model.features.words.vocabularies["word"]


def test_what_is_probably_not_meant_is_told(folder, capsys):
    (folder / "odd.txt").write_text("Rex\tI-DOG\nbarks\tO\n\nAnna\tB-PER\n")
    (folder / "one.txt").write_text("a\tO\nb\tO\n")
    assert main(["train", "train.txt", "--dev", "odd.txt", *SMALL, "-o", "m"]) == 0
    err = capsys.readouterr().err
    assert "odd.txt: 1 label in 1 sentence violates the BIO scheme, first on line 1: 'I-DOG'" in err
    assert "odd.txt: 1 of its labels do not occur in train.txt: DOG" in err
    assert main(["train", "one.txt", *SMALL, "-o", "m"]) == 0
    assert "every token has the label 'O'" in capsys.readouterr().err


def test_a_warm_start_takes_preset_and_settings_of_the_model(folder, capsys):
    (folder / "more.txt").write_text("Rex\tB-DOG\nbarks\tO\n\n" * 20)
    assert main(["train", "train.txt", "--preset", "window-sll", *SMALL, "-o", "old"]) == 0
    assert main(["train", "more.txt", "--warm-start", "old", "-o", "new"]) == 0
    old, new = postil.load("old"), postil.load("new")
    assert (new.preset, new.config.hidden) == ("window-sll", 12)
    assert new.model.codec.classes == (*old.model.codec.classes, "DOG")
    assert main(["train", "more.txt", "--warm-start", "old", "--preset", "accurate", "-o", "newer"]) == 1
    assert "the architectures differ" in capsys.readouterr().err


def test_long_sentences_of_the_sentence_approach_are_told(folder, capsys):
    (folder / "long.txt").write_text("a\tX\nb\tY\n" * 501)
    words = ["train", "long.txt", "--preset", "sentence-wll", "--set", "epochs=1", "--set", "hidden=2", "-o", "m"]
    assert main(words) == 0
    assert "1 sentences of more than 1,000 words are split" in capsys.readouterr().err
    assert main(["tag", "m", "long.txt"]) == 0
    out, err = capsys.readouterr()
    assert len(out.split("\n")) == 1002 + 2
    assert err.count("1 sentences of more than 1,000 words are split") == 1


# ------------------------------------------------------------------------------------------------ interruptions

LONGER = [
    "train",
    "train.txt",
    "--dev",
    "dev.txt",
    "--set",
    "epochs=40",
    "--set",
    "hidden=40",
    "--set",
    "batch_sentences=2",
]


def started(*arguments):
    command = [sys.executable, "-m", "postil", *LONGER, *arguments]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


class NeverCame(AssertionError):
    """The process ended without that line."""


def wait_for(process, text):
    for line in process.stderr:
        if text in line:
            return
    raise NeverCame(text)


@pytest.mark.slow
def test_ctrl_c_saves_and_resume_goes_on_with_the_same_bits(folder):
    assert main([*LONGER, "-o", "whole"]) == 0
    process = started("-o", "m")
    wait_for(process, "epoch   2")
    time.sleep(0.05)  # somewhere in the third epoch
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "m.checkpoint: add --resume to continue" in err
    assert "Traceback" not in err
    assert "m" not in files(folder)
    assert main([*LONGER, "--resume", "-o", "m"]) == 0
    assert same(tensors("whole"), tensors("m"))
    assert files(folder) == ["dev.txt", "m", "train.txt", "whole"]


@pytest.mark.slow
def test_after_kill_there_is_the_old_model_or_the_new_one_and_resume_works(folder):
    assert main([*LONGER, "-o", "whole"]) == 0
    expected = tensors("whole")
    (folder / "m").write_bytes((folder / "whole").read_bytes())
    rng = random.Random(0)
    for _ in range(3):
        process = started("-o", "m", *(["--resume"] if (folder / "m.checkpoint").exists() else []))
        with contextlib.suppress(NeverCame):  # a training that was complete but for its model has no more epochs
            wait_for(process, "epoch")
        time.sleep(rng.uniform(0, 0.4))
        process.kill()
        process.communicate(timeout=60)
        assert same(tensors("m"), expected)
        if (folder / "m.checkpoint").exists():
            archive.load("m.checkpoint")  # whole, never half
    resume = ["--resume"] if (folder / "m.checkpoint").exists() else []
    assert main([*LONGER, *resume, "-o", "m"]) == 0
    assert same(tensors("m"), expected)


@pytest.mark.slow
def test_files_of_different_schemes(folder, capsys):
    X, y = named_entities(60, scheme="iobes")
    (folder / "iobes.txt").write_text(as_conll(X, y))
    X2, y2 = named_entities(60, seed=3)
    (folder / "bio.txt").write_text(as_conll(X2, y2))
    for first, second in (("bio", "iobes"), ("iobes", "bio")):
        assert main(["train", f"{first}.txt", f"{second}.txt", "--dev", "dev.txt", *SMALL, "-o", "m"]) == 0
        err = capsys.readouterr().err
        assert "violate" not in err and "they are converted to" in err
        assert set(postil.load("m").model.codec.classes) == {"LOC", "PER"}


LIMITED = """
import resource, sys
from postil.commands.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no limits of this kind")
def test_a_full_disk_ends_no_training_but_the_model_is_missed(folder):
    """The checkpoint is larger than the model: it has the optimiser's averages, too."""
    words = ["train", "train.txt", *SMALL, "--log", "log", "-o", "m"]
    assert main(words) == 0
    model, size = (folder / "m").read_bytes(), (folder / "m").stat().st_size
    (folder / "log").unlink()
    for limit, code in ((size, 0), (size - 1, 1)):
        command = [sys.executable, "-c", LIMITED, str(limit), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        assert done.stderr.count("m.checkpoint: cannot write the checkpoint (File too large); the next epoch") == 3
        assert (folder / "m").read_bytes() == model
        assert files(folder) == ["dev.txt", "log", "m", "train.txt"]
    assert done.stderr.splitlines()[-1] == "postil: m: cannot write the model file (File too large)"


def test_what_a_killed_run_left_is_removed_by_the_next(folder, capsys):
    for name in (".m.0123abcd.partial", ".m.checkpoint.0123abcd.partial"):
        (folder / name).touch()
    assert main(["train", "train.txt", *SMALL, "-o", "m"]) == 0
    assert files(folder) == ["dev.txt", "m", "train.txt"]


@pytest.mark.slow
def test_equal_runs_write_equal_bytes(folder, capsys):
    """Whatever the number of threads; timings are in the log alone."""
    contents = set()
    for threads in ("1", "2", "1"):
        words = ["--dev", "dev.txt", *SMALL, "--threads", threads, "--log", "log", "-o", "m"]
        assert main(["train", "train.txt", *words]) == 0
        contents.add((folder / "m").read_bytes())
        assert "seconds" in json.loads((folder / "log").read_text().splitlines()[-1])
    assert len(contents) == 1


def columns(labels, folder, name):
    """Six sentences, each of one word; the word says nothing about its label."""
    (folder / name).write_text("".join(f"w{n}\t{label}\n\n" for n, label in enumerate(labels)))
    return name


def test_data_without_any_label_but_o_make_a_tagger_and_no_encoder(folder, capsys):
    columns(["O"] * 6, folder, "empty.txt")
    assert main(["train", "empty.txt", *SMALL, "-o", "m"]) == 0
    error = capsys.readouterr().err
    assert "empty.txt: every token has the label 'O', and so does every answer" in error
    assert "hidden words" not in error
    assert main(["tag", "m", "--text", "Anna"]) == 0
    out, error = capsys.readouterr()
    assert out == "Anna\tO\n\n" and error == ""
    assert main(["train", "train.txt", "--pretrained", "m", *SMALL, "-o", "n"]) == 1
    assert "pretrained must be a file of `postil pretrain`" in capsys.readouterr().err
    assert main(["train", "train.txt", "--warm-start", "m", *SMALL, "-o", "n"]) == 0
    assert set(postil.load("n").model.codec.classes) == {"LOC", "PER"}


@pytest.mark.slow
def test_classes_with_nearly_the_same_name_are_pointed_out(folder, capsys):
    classes = ["LOC"] * 60 + ["loc"] * 2 + ["LCO"] * 3 + ["PER"] * 30 + ["ORG"] * 5
    columns([f"B-{name}" for name in classes], folder, "typos.txt")
    assert main(["train", "typos.txt", *SMALL, "-o", "m"]) == 0
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "nearly the same name" in line]
    assert line.endswith("a spelling mistake: LOC (60 tokens) and LCO (3), LOC (60 tokens) and loc (2)")
    assert main(["train", "train.txt", *SMALL, "-o", "m"]) == 0
    assert "nearly the same name" not in capsys.readouterr().err
    columns(["NN"] * 60 + ["NNS", "nn"] * 2, folder, "words.txt")  # tags of words often differ by a letter
    assert main(["train", "words.txt", *SMALL, "-o", "m"]) == 0
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "nearly the same name" in line]
    assert line.endswith("a spelling mistake: NN (60 tokens) and nn (2)")


@pytest.mark.slow
def test_held_out_data_that_were_trained_on_are_pointed_out(folder, capsys):
    assert main(["convert", "train.txt", "copy.jsonl"]) == 0
    capsys.readouterr()
    for words, named in (
        (["train.txt", "--dev", "train.txt"], "train.txt: the same sentences as in train.txt"),
        (["train.txt", "--dev", "dev.txt", "--test", "copy.jsonl"], "copy.jsonl: the same sentences as in train.txt"),
        (["train.txt", "dev.txt", "--dev", "dev.txt"], "dev.txt: the same sentences as in dev.txt"),
    ):
        assert main(["train", *words, *SMALL, "-o", "m"]) == 0
        error = capsys.readouterr().err
        assert error.count("scores on training data are too good") == 1 and named in error
    assert main(["train", "train.txt", "--dev", "dev.txt", *SMALL, "-o", "m"]) == 0
    assert "the same sentences" not in capsys.readouterr().err


def test_classes_without_prefixes_cause_a_hint(tmp_path, capsys):
    (tmp_path / "io.txt").write_text("Anna PER\nleft O\n\n" * 3)
    assert main(["train", str(tmp_path / "io.txt"), "-o", str(tmp_path / "m.postil"), *SMALL]) == 0
    assert "use --from-scheme io" in capsys.readouterr().err
