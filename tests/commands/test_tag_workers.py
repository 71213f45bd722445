"""Processes that label sentences: the same answers, also when one of them dies."""

import io
import os
import signal
import subprocess
import sys
import time

import pytest

import postil
from oracles.corpora import as_conll, named_entities
from postil.commands import tag, tag_workers
from postil.commands.main import main
from postil.commands.tag_workers import Workers
from postil.text import Sentence

X, Y = named_entities(30)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "ner.postil"
    postil.Tagger(preset="fast", hidden=16, word_dim=12, epochs=4, rate=0.02).fit(X, Y).save(path)
    return path


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.conll"
    path.write_text(as_conll(X, Y), encoding="utf8")
    return path


def blocks():
    return [[Sentence(list(tokens)) for tokens in X[i : i + 5]] for i in range(0, len(X), 5)]


def failing(block):
    raise AssertionError("the workers should have done it")


def test_the_same_output_in_the_same_order(model, corpus, capsysbinary, monkeypatch):
    monkeypatch.setattr(tag, "BLOCK_TOKENS", 20)
    monkeypatch.setattr(tag, "BLOCKS_ALONE", 2)
    outputs = []
    for threads in ("1", "2", "3"):
        assert main(["tag", str(model), str(corpus), "--threads", threads]) == 0
        outputs.append(capsysbinary.readouterr().out)
    assert outputs[0] == outputs[1] == outputs[2]
    assert b"B-PER" in outputs[0]


def test_small_inputs_start_no_process(model, corpus, monkeypatch):
    monkeypatch.setattr(tag, "Workers", None)
    assert main(["tag", str(model), str(corpus), "--threads", "4"]) == 0


def test_workers_label_in_place(model):
    tagger = tagger_of(model)
    with Workers(str(model), 2, failing) as workers:
        for block in blocks():
            assert workers.mark(block) is block
            assert [s.labels for s in block] == tagger.predict([s.tokens for s in block])


def tagger_of(model):
    return postil.load(model)


def test_what_a_dead_worker_leaves_is_done_here(model):
    tagger = tagger_of(model)

    def mark(block):
        for sentence in block:
            (sentence.labels,) = tagger.predict([sentence.tokens])
        return block

    with Workers(str(model), 1, mark) as workers:
        first, second, *_ = blocks()
        workers.mark(first)
        workers._all[0]._process.kill()
        workers._all[0]._process.wait()
        workers.mark(second)
        assert [s.labels for s in second] == tagger.predict([s.tokens for s in second])


def test_what_a_worker_cannot_do_is_asked_again_here(model):
    done = []
    with Workers(str(model), 1, lambda block: done.append(block) or block) as workers:
        odd = [Sentence([None])]
        assert workers.mark(odd) is odd and done == [odd]
        fine = blocks()[0]
        assert workers.mark(fine) is fine and len(done) == 1  # and the worker lives on


def test_a_worker_ends_with_its_input(model):
    target = io.BytesIO()
    tag_workers.work(str(model), io.BytesIO(b""), target)
    assert target.getvalue() == b""


@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
def test_ctrl_c_ends_all_of_them_with_one_line(model, tmp_path):
    """The signal goes to the whole group, as from a terminal."""
    code = (
        "import sys; from postil.commands import tag; from postil.commands.main import main;"
        "tag.BLOCK_TOKENS = 20; tag.BLOCKS_ALONE = 1;"
        f"sys.exit(main(['tag', {str(model)!r}, '--input', 'tokens', '--threads', '2']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        process.stdin.write(b"Anna lives in Oslo\n" * 2000)
        process.stdin.flush()
        time.sleep(3)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert errors.decode().splitlines() == ["postil: interrupted"]
