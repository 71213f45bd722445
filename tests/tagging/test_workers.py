"""Processes that label passages: the same answers, also when one of them dies or a mistake comes."""

import io
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import postil
from oracles.corpora import as_conll, named_entities
from postil.commands.main import main
from postil.errors import PostilError, WorkerWarning
from postil.tagging import Labeller, TaggingOptions, bulk, general_path, workers
from postil.tagging.workers import WorkerPool
from postil.text import read, write

X, Y = named_entities(30)
CONLL = as_conll(X, Y).encode()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "ner.postil"
    postil.Tagger(preset="fast", hidden=16, word_dim=12, epochs=4, rate=0.02).fit(X, Y).save(path)
    return path


@pytest.fixture(scope="module")
def tagger(model):
    return postil.load(model)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(bulk, "PASSAGE", 150)
    monkeypatch.setattr(bulk, "ALONE", 1)
    monkeypatch.setattr(general_path, "BLOCK_TOKENS", 20)


@pytest.fixture(scope="module")
def labeller(model, tagger):
    return Labeller(tagger, TaggingOptions(), str(model))


@pytest.fixture(scope="module")
def pool(labeller):
    with WorkerPool(labeller, 2) as pool:
        yield pool


def plainly(tagger, data, format):
    """Read, label and write a whole source at once: what stands before the first mistake, and the mistake."""
    sentences, mistake, target = [], None, io.BytesIO()
    try:
        for sentence in read(io.BytesIO(data), format, features=()):
            sentences.append(sentence)
    except PostilError as error:
        mistake = str(error)
    for sentence in sentences:
        (sentence.labels,) = tagger.predict([sentence.tokens])
    try:
        write(sentences, target, "conll")
    except PostilError as error:
        mistake = str(error)
    return target.getvalue(), mistake


def by_passages(labeller, pool, data, format):
    content = b""
    try:
        with read(io.BytesIO(data), format, features=()) as reading:
            # All of them: the workers are killed where somebody stops asking.
            for answer in list(bulk.by_workers(reading.passages(bulk.PASSAGE), labeller, pool)):
                content += answer.content
                if answer.mistake is not None:
                    return content, str(answer.mistake)
    except PostilError as error:
        return content, str(error)
    return content, None


rows = st.sampled_from([*"Anna\tO,lives\tO,Oslo\tB-LOC,#\tO,# said,-DOCSTART-\tO,- \tO".split(","), "", "", " \t"])
mistakes = st.sampled_from(["one", "a\tb\tc", "a\t", "a\0\tO", "Anna\t-DOCSTART-", "# Anna O"])


@pytest.mark.slow
@given(st.lists(rows, max_size=150), st.none() | mistakes, st.integers(0, 150), st.sampled_from(["\n", "\r\n"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_one_process_would_write_and_say(tagger, labeller, pool, found, mistake, place, end):
    if mistake is not None:
        found.insert(place, mistake)
    data = end.join(found).encode()
    for format in ("conll", "tokens"):
        assert by_passages(labeller, pool, data, format) == plainly(tagger, data, format)
    assert all(worker.process.poll() is None for worker in pool._all), "they have answered"


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--probabilities"], ["--to", "jsonl"]])
def test_the_same_output_for_any_number_of_processes(model, tmp_path, capsysbinary, words):
    (tmp_path / "a.conll").write_bytes(CONLL)
    (tmp_path / "b.tokens").write_text("".join(" ".join(tokens) + "\n" for tokens in X))
    (tmp_path / "c.jsonl").write_text('{"text": "Anna lives in Oslo."}\n')
    # Passages, then sentences, then passages again, which start new processes: once is enough.
    names = ("a.conll", "b.tokens", "c.jsonl", *(["a.conll"] if not words else []))
    files = [str(tmp_path / name) for name in names]
    outputs = []
    for threads in ("1", "2"):
        assert main(["tag", str(model), *files, *words, "--threads", threads]) == 0
        outputs.append(capsysbinary.readouterr().out)
    assert outputs[0] == outputs[1]
    assert outputs[0].count(b"PER") > 2 * len(X) // 3


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_mistake_comes_after_all_that_is_before_it(model, tagger, tmp_path, capsysbinary, threads):
    data = CONLL + b"# kept\nAnna\tO\n\nOslo\n\n" + CONLL
    (tmp_path / "broken.conll").write_bytes(data)
    expected, _ = plainly(tagger, data, "conll")
    assert main(["tag", str(model), str(tmp_path / "broken.conll"), "--threads", threads]) == 1
    found = capsysbinary.readouterr()
    assert found.out == expected and expected.endswith(b"# kept\nAnna\tB-PER\n\n")
    line = CONLL.count(b"\n") + 4
    assert f"broken.conll, line {line}: the label is missing".encode() in found.err
    assert b"2 columns as on line 1" in found.err and found.err.count(b"\n") == 1


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_missing_file_comes_after_the_files_before_it(model, tmp_path, capsysbinary, threads):
    (tmp_path / "a.conll").write_bytes(CONLL)
    assert main(["tag", str(model), str(tmp_path / "a.conll"), str(tmp_path / "b"), "--threads", threads]) == 1
    found = capsysbinary.readouterr()
    assert found.out.count(b"\n\n") == len(X) and b"b: No such file" in found.err


def test_small_inputs_start_no_process(model, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "WorkerPool", None)
    monkeypatch.setattr(bulk, "PASSAGE", 1 << 20)
    (tmp_path / "a.conll").write_bytes(CONLL)
    assert main(["tag", str(model), str(tmp_path / "a.conll"), "--threads", "4"]) == 0


def passages_of(data):
    with read(io.BytesIO(data), "conll", features=()) as reading:
        return list(reading.passages(150))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_what_a_dead_or_stopped_worker_leaves_is_done_elsewhere(labeller, tagger, monkeypatch, number):
    passages, answers, pids = passages_of(CONLL), [], set()
    with WorkerPool(labeller, 2) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkerWarning)
        for i, answer in enumerate(bulk.by_workers(passages, labeller, pool)):
            if i == 1:
                monkeypatch.setattr(workers, "LOST_AFTER", 2.0)  # not before: starting takes a while
                pool._all[0].process.send_signal(number)
            answers.append(answer.content)
            pids |= {worker.process.pid for worker in pool._all}
    assert (b"".join(answers), None) == plainly(tagger, CONLL, "conll")
    assert not any(map(is_running, pids))


def test_everybody_gets_the_answer_to_their_own_question(labeller):
    passages = passages_of(CONLL)
    with WorkerPool(labeller, 1) as pool, ThreadPoolExecutor(4) as threads:
        assert pool.questions == workers.QUESTIONS > 1
        answers = list(threads.map(pool.ask, passages))
        assert answers == [labeller.label(passage) for passage in passages]
        (worker,) = pool._all
        assert not worker._questions


@pytest.mark.slow
def test_a_dead_worker_is_started_again_but_not_for_ever(labeller):
    (passage, *_) = passages_of(CONLL)
    with WorkerPool(labeller, 1) as pool:
        (worker,) = pool._all
        for _ in range(1 + workers.RESTARTS):
            assert pool.ask(passage) == labeller.label(passage)
            worker.process.kill()
            worker.process.wait()
        assert pool.ask(passage) is None


@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
def test_a_silent_worker_is_reported_once(labeller, monkeypatch):
    monkeypatch.setattr(workers, "REPORTED_AFTER", 0.0)
    (passage, *_) = passages_of(CONLL)
    with WorkerPool(labeller, 1) as pool, ThreadPoolExecutor(1) as thread:
        (worker,) = pool._all
        os.kill(worker.process.pid, signal.SIGSTOP)
        answer = thread.submit(pool.ask, passage)
        while not worker._questions:
            time.sleep(0.001)
        with pytest.warns(WorkerWarning, match=f"stream, line 1: worker process {worker.process.pid} has not answered"):
            pool.watch()
        pool.watch()  # a second warning would be an error
        os.kill(worker.process.pid, signal.SIGCONT)
        assert answer.result() == labeller.label(passage)


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")


def test_the_far_end_answers_until_its_input_ends(model):
    with read(io.BytesIO(CONLL), "conll", features=()) as reading:
        passages = list(reading.passages(150))
    options, target = TaggingOptions(), io.BytesIO()
    workers.work(io.BytesIO(b"".join(map(pickle.dumps, [(str(model), options), *passages]))), target)
    target.seek(0)
    here = Labeller(postil.load(model), options)
    assert [pickle.load(target) for _ in passages] == [here.label(passage) for passage in passages]
    assert target.read() == b""


COMMAND = (
    "import sys; from postil.tagging import bulk; from postil.commands.main import main;"
    "bulk.PASSAGE = 500; bulk.ALONE = 1; sys.exit(main(sys.argv[1:]))"
)


@contextmanager
def tagging(model):
    """``postil tag --threads 2`` with both workers at work, and their process ids."""
    words = ["tag", str(model), "--from", "tokens", "--threads", "2"]
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen([sys.executable, "-c", COMMAND, *words], **streams, start_new_session=True)
    try:
        process.stdin.write(b"Anna lives in Oslo\n" * 2000)
        process.stdin.flush()
        assert len(process.stdout.read(5_000)) == 5_000  # more than one passage: the workers are labelling
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        yield process, list(map(int, children.read_text().split())) if children.exists() else []
    finally:
        process.kill()
        process.communicate()


def await_end(pids, seconds=5.0):
    ends = time.monotonic() + seconds
    while any(map(is_running, pids)) and time.monotonic() < ends:
        time.sleep(0.02)
    return not any(map(is_running, pids))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize(
    ("number", "code", "line"),
    [(signal.SIGINT, 130, "postil: interrupted"), (signal.SIGTERM, 143, "postil: terminated")],
)
def test_signals_end_all_of_them_with_one_line(model, number, code, line, stopped):
    """The signal goes to the whole group, as from a terminal; also where a worker is stopped and cannot answer."""
    with tagging(model) as (process, pids):
        assert len(pids) == 2 or sys.platform != "linux"
        for pid in pids if stopped else ():
            os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        os.killpg(process.pid, number)
        _, errors = process.communicate(timeout=60)
        assert time.monotonic() - began < 10  # two seconds on a machine that does nothing else
        assert process.returncode == code
        assert errors.decode().splitlines() == [line]
        assert await_end(pids)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("stopped", [False, True])
def test_workers_end_with_a_process_that_is_killed(model, stopped):
    with tagging(model) as (process, pids):
        for pid in pids if stopped else ():
            os.kill(pid, signal.SIGSTOP)
        process.kill()
        process.communicate()
        assert len(pids) == 2 and await_end(pids)


@pytest.mark.slow
def test_a_reader_that_goes_away_ends_all_of_them_quietly(model, tmp_path):
    (tmp_path / "long.txt").write_text("Anna lives in Oslo\n" * 6_000)
    words = ["tag", str(model), str(tmp_path / "long.txt"), "--from", "tokens", "--threads", "2"]
    command = [sys.executable, "-c", COMMAND, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"Anna\tB-PER\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0
