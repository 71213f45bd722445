"""``postil pretrain``: files of text in, vectors or clusters out; interruptions; nothing is overwritten."""

import json
import re
import signal
from contextlib import nullcontext

import numpy as np
import pytest

import postil
from postil.commands.fitting import follow
from postil.commands.main import main
from postil.features import load_vectors
from postil.features.lexicon import load_clusters
from postil.pretraining import training as module

NAMES, CITIES = ["Anna", "Peter", "Maria", "Omar"], ["Oslo", "Lima", "Cairo", "Quito"]


@pytest.fixture
def text(tmp_path):
    rng = np.random.default_rng(0)
    pairs = zip(rng.choice(NAMES, 400), rng.choice(CITIES, 400), strict=True)
    path = tmp_path / "raw.txt"
    path.write_text("".join(f"{name} visited {city} in {rng.integers(1900, 1999)}.\n" for name, city in pairs))
    return path


def options(text, name, *more):
    small = ["--dimensions", "6", "--epochs", "2", "--hidden", "16", "--negatives", "3"]
    return ["pretrain", str(text), "-o", str(text.parent / name), *small, *more]


@pytest.mark.parametrize("method", ["skipgram", "ranking"])
def test_vectors_for_training(text, method, capsys):
    assert main(options(text, "x.vectors", "--method", method, "--threads", "2")) == 0
    shown = capsys.readouterr()
    assert re.search(r"x\.vectors: 12 words, 6 dimensions, trained in \d+ s", shown.out)
    assert "2,400 tokens, 12 words; 100.0 % of them known" in shown.err
    assert re.search(r"epoch   2  loss \d", shown.err)
    vectors = load_vectors(text.parent / "x.vectors")
    assert vectors.matrix.shape == (13, 6) and "oslo" in vectors.words and "0000" in vectors.words
    assert sorted(path.name for path in text.parent.iterdir()) == ["raw.txt", "x.vectors"]
    labelled = text.parent / "train.txt"
    labelled.write_text("Anna B-PER\nvisited O\nOslo B-LOC\n\n" * 20)
    model = str(text.parent / "m.postil")
    assert (
        main(["train", str(labelled), "--vectors", str(text.parent / "x.vectors"), "--set", "epochs=1", "-o", model])
        == 0
    )


def test_clusters(text, capsys):
    place = text.parent / "x.paths"
    assert main(["pretrain", str(text), "--brown", "5", "-o", str(place)]) == 0
    assert "words in 5 clusters" in capsys.readouterr().out
    rows = [line.split("\t") for line in place.read_text().splitlines()]
    assert {row[0] for row in rows} and all(re.fullmatch("[01]+", row[0]) for row in rows)
    assert {"Oslo", "visited"} <= {row[1] for row in rows}  # as written
    assert len({row[0] for row in rows}) == 5


def test_both_in_one_file_for_training(text, capsys):
    place = str(text.parent / "x.pretrained")
    assert main(options(text, "x.pretrained", "--with-brown", "5")) == 0
    assert sorted(path.name for path in text.parent.iterdir()) == ["raw.txt", "x.pretrained"]
    assert load_vectors(place).matrix.shape == (13, 6) and load_clusters(place).of(["Oslo"]).all()
    labelled = text.parent / "train.txt"
    labelled.write_text("Anna B-PER\nvisited O\nOslo B-LOC\n\n" * 20)
    model = str(text.parent / "m.postil")
    assert main(["train", str(labelled), "--pretrained", place, "--set", "epochs=1", "-o", model]) == 0
    assert postil.load(model).model.features.words.lexicons.keys() == {"clusters"}
    capsys.readouterr()
    for wrong, message in (
        (["--pretrained", str(text)], "must be a file that `postil pretrain --with-brown` or `--encoder` wrote"),
        (["--pretrained", model], "must be a file of `postil pretrain`; to go on from a model, use a warm start"),
        (["--pretrained", place, "--clusters", place], "must not be given with a pretrained file"),
    ):
        assert main(["train", str(labelled), *wrong, "-o", str(text.parent / "n.postil")]) == 1
        assert message in capsys.readouterr().err


class _Interrupted(module.Pretraining):
    """Presses Ctrl-C after the second step."""

    def __iter__(self):
        for number, step in enumerate(super().__iter__()):
            if number == 1:
                signal.raise_signal(signal.SIGINT)
            yield step


def test_interrupted_and_resumed(text, capsys, monkeypatch):
    words = options(text, "x.vectors", "--seed", "3")
    assert main(words) == 0
    expected = (text.parent / "x.vectors").read_bytes()
    (text.parent / "x.vectors").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(module, "_LEAST_SHARD_WORDS", 50)
        patch.setattr(module, "Pretraining", _Interrupted)
        assert main(words) == 130
        assert "add --resume to continue" in capsys.readouterr().err
        assert (text.parent / "x.vectors.checkpoint").exists()
        patch.undo()
        patch.setattr(module, "_LEAST_SHARD_WORDS", 50)
        assert main([*words, "--resume"]) == 0
        resumed = (text.parent / "x.vectors").read_bytes()
        assert main(words) == 0
        assert (text.parent / "x.vectors").read_bytes() == resumed != expected
    assert not (text.parent / "x.vectors.checkpoint").exists()


def test_a_second_request_stops_at_once(capsys):
    before, steps = signal.getsignal(signal.SIGINT), []

    def training():
        for _ in range(2):
            steps.append(signal.raise_signal(signal.SIGINT))
        yield

    with pytest.raises(KeyboardInterrupt):
        follow(training(), nullcontext())
    assert len(steps) == 1 and signal.getsignal(signal.SIGINT) is before
    assert "press Ctrl-C again" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-o", "{raw}"], "the output must not be one of the inputs"),
        (["-o", "{other}"], "must not replace a file that is not a file of word vectors"),
        (["-o", "{new}", "--brown", "5", "--epochs", "3"], "--epochs cannot be used here: --brown learns no vectors"),
        (["-o", "{new}", "--brown", "5", "--resume"], "--resume cannot be used here: --brown has no checkpoint"),
        (["-o", "{new}", "--min-count", "99999"], "the text must have at least 2 words"),
        (["-o", "{new}", "--resume"], "no such model file"),
        (["-o", "{new}", "--hidden", "5"], "hidden must be a multiple of 16 (got 5)"),
    ],
)
def test_mistakes(text, words, message, capsys):
    (text.parent / "other.html").write_text("<!doctype html>")
    places = {"raw": text, "other": text.parent / "other.html", "new": text.parent / "new.vectors"}
    assert main(["pretrain", str(text), *(word.format(**places) for word in words)]) == 1
    assert message in capsys.readouterr().err
    assert not places["new"].exists()


def test_a_labelled_file_is_read_as_text_with_a_warning(tmp_path, text, capsys):
    columns = tmp_path / "names.conll"
    columns.write_text("Anna\tB-PER\nleft\tO\n\n" * 20)
    for path, warned in ((columns, True), (text, False)):
        assert main(["pretrain", str(path), "--epochs", "1", "-o", str(tmp_path / "new.vectors")]) == 0
        told = f"postil: {path}: looks like CoNLL columns, but is read as raw text, labels and all\n"
        assert (told in capsys.readouterr().err) is warned


def test_vectors_and_clusters_may_replace_their_like(text):
    for name, more in (("x.vectors", []), ("x.paths", ["--brown", "4"])):
        words = ["pretrain", str(text), "-o", str(text.parent / name), *more]
        assert main(words) == main(words) == 0


@pytest.fixture
def vectors(tmp_path):
    path = tmp_path / "x.vectors"
    path.write_text("north 0 2\nnortheast 3 3\neast 5 0\nsouth 0 -1\n")
    return str(path)


def test_a_table_of_neighbours_per_word(vectors, capsys):
    assert main(["pretrain", vectors, "--neighbours", "north", "--neighbours", "East", "--count", "2"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines == [
        *[["north"], ["word", "cosine"], ["northeast", "0.71"], ["east", "0.00"]],
        *[["East"], ["word", "cosine"], ["northeast", "0.71"], ["north", "0.00"]],
    ]


def test_neighbours_as_json(vectors, capsys):
    assert main(["pretrain", vectors, "--neighbours", "north", "--count", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"north": [{"word": "northeast", "cosine": pytest.approx(0.7071, abs=1e-4)}]}


def test_neighbours_of_an_unknown_word(vectors, capsys):
    assert main(["pretrain", vectors, "--neighbours", "norht"]) == 1
    assert capsys.readouterr().err == "postil: no vector for 'norht'; words spelt alike: north\n"
