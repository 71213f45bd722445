"""``postil annotate``: its words, its mistakes, a kill. The page is tested in tests/server/test_annotate_page.py."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from oracles import corpora
from postil.commands.main import main

pytestmark = pytest.mark.extra("uvicorn")
X, Y = corpora.named_entities(40)


@pytest.fixture
def pool(tmp_path):
    path = tmp_path / "pool.txt"
    path.write_text("".join(" ".join(tokens) + "\n" for tokens in X), encoding="utf8")
    return path


class Running:
    """The command as a process, and its API."""

    def __init__(self, *words, **environment):
        command = [sys.executable, "-m", "postil", "annotate", *map(str, words), "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
        self.lines = []
        while not (found := re.search(r"(http://[^/\s]+)(?:/#token=(\S+))?", "".join(self.lines[-1:]))):
            self.lines.append(self.process.stderr.readline())
            assert self.lines[-1], "".join(self.lines)
        self.address, self.token = found.groups()
        self.token = self.token or environment.get("POSTIL_TOKEN")

    def ask(self, path="", body=None):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}/api/annotation{path}", data, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        rest = self.process.communicate(timeout=60)[1]
        return self.process.returncode, "".join(self.lines) + rest


@pytest.fixture
def started():
    running = []

    def start(*words, **environment):
        running.append(Running(*words, **environment))
        return running[-1]

    yield start
    for one in running:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def test_answers_survive_kills_and_can_be_trained_on(started, pool, tmp_path, capfd):
    answers, confirmed = tmp_path / "answers.jsonl", []
    for _ in range(4):
        run = started(pool, "--labels", "PER,LOC", "-o", answers, "--every", "0")
        state = run.ask()
        assert state["progress"]["answered"] == len(confirmed)
        for _ in range(4):
            key = state["record"]["key"]
            assert key not in confirmed
            spans = [{"start": 0, "end": 1, "label": "PER"}]
            state = run.ask("/answer", {"key": key, "spans": spans})
            confirmed.append(key)
        assert run.end(signal.SIGKILL)[0] == -signal.SIGKILL
        with answers.open("ab") as file:
            file.write(b'{"text": "half of a li')
    run = started(pool, "-o", answers)
    assert run.ask()["progress"]["answered"] == 16 and run.ask()["classes"] == ["PER"]
    code, told = run.end()
    assert code == 0
    assert "line 17: an unfinished line is dropped; its record will be asked again" in told
    assert f"{answers}: 16 answered, 0 skipped, 16 spans" in told
    assert main(["train", str(answers), "--set", "epochs=1", "-o", str(tmp_path / "m.postil")]) == 0
    assert "16 sentences" in capfd.readouterr().err


def test_the_token_may_come_from_the_environment(started, pool, tmp_path):
    run = started(pool, "-o", tmp_path / "a.jsonl", POSTIL_TOKEN="0123456789abcdef")
    assert run.ask()["progress"]["answered"] == 0
    assert "0123456789abcdef" not in "".join(run.lines)


def test_a_second_process_is_refused_in_one_line(started, pool, tmp_path, capfd):
    started(pool, "-o", tmp_path / "a.jsonl")
    assert main(["annotate", str(pool), "-o", str(tmp_path / "a.jsonl"), "--port", "0"]) == 1
    error = capfd.readouterr().err
    assert "the file of answers must not be in use by another process" in error and error.count("\n") == 1


@pytest.mark.parametrize("kind", ["text", "conll", "jsonl", "gzip"])
def test_pools_of_many_formats(started, pool, tmp_path, kind):
    import gzip

    if kind == "conll":
        pool.write_text(corpora.as_conll(X, Y))
    elif kind == "jsonl":
        pool.write_text("".join(json.dumps({"text": " ".join(tokens), "id": 5}) + "\n" for tokens in X))
    elif kind == "gzip":
        pool.write_bytes(gzip.compress(pool.read_bytes()))
    run = started(pool, "-o", tmp_path / "a.jsonl")
    state = run.ask()
    assert "".join(state["record"]["words"]) == "".join(X[0])
    run.ask("/answer", {"key": state["record"]["key"], "spans": []})
    record = json.loads((tmp_path / "a.jsonl").read_text())
    assert record["answer"] == "accept" and record.get("id") == (5 if kind == "jsonl" else None)
    assert bool(state["record"]["spans"]) == (kind == "conll"), "labels of the pool are proposals"


def test_a_model_and_other_data(started, pool, tmp_path, names_model):
    gold = tmp_path / "gold.conll"
    gold.write_text(corpora.as_conll(X[:10], Y[:10]))
    run = started(pool, "--model", names_model, "--train", gold, "-o", tmp_path / "a.jsonl", "--every", "1")
    state = run.ask()
    known = {tuple(tokens) for tokens in X[:10]}
    assert state["classes"] == ["LOC", "PER"] and state["progress"]["round"] == 0
    assert state["progress"]["waiting"] == len({tuple(tokens) for tokens in X} - known), "known sentences are left out"
    state = run.ask("/answer", {"key": state["record"]["key"], "spans": []})
    assert state["learning"]["run"] == 1


def test_names_of_a_list_are_proposed_without_a_model(started, pool, tmp_path):
    (tmp_path / "places.txt").write_text("Oslo\nLima\nNew York\nRio de Janeiro\nPER\tAnna\n")
    pool.write_text("Anna left Rio de Janeiro\n")
    run = started(pool, "-o", tmp_path / "a.jsonl", "--gazetteer", tmp_path / "places.txt", "--every", "0")
    assert [(one["label"], one["start"], one["end"]) for one in run.ask()["record"]["spans"]] == [
        ("PER", 0, 1),
        ("places", 2, 5),
    ]
    run.end()
    run = started(pool, "-o", tmp_path / "b.jsonl", "--gazetteer", f"LOC={tmp_path / 'places.txt'}", "--every", "0")
    assert run.ask()["classes"] == ["LOC"]


def test_a_model_is_trained_on_rules(started, pool, tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text('[[rule]]\nlabel = "LOC"\nlist = ["Oslo", "Lima"]\n')
    run = started(pool, "--rules", path, "-o", tmp_path / "a.jsonl", "--set", "epochs=2", "--set", "hidden=8")
    while (state := run.ask())["learning"]["state"] == "running":
        pass
    assert state["learning"]["state"] == "finished" and state["rules"] and state["classes"] == ["LOC"]
    assert run.ask("/rules")["report"]["rows"][0]["votes"] > 0
    assert run.end()[0] == 0


def test_a_review_is_walked_and_applied(started, tmp_path, capfd):
    data, review, answers = (tmp_path / name for name in ("data.conll", "review.jsonl", "answers.jsonl"))
    data.write_text("Anna\tO\nleft\tO\n\nin\tO\nOslo\tB-LOC\n")
    tokens = [{"text": "Anna", "start": 0, "end": 4, "id": 0}, {"text": "left", "start": 5, "end": 9, "id": 1}]
    record = {"text": "Anna left", "tokens": tokens, "spans": [{"start": 0, "end": 4, "label": "PER"}]}
    doubts = [{"in the data": "nothing", "models": "Anna PER"}]
    review.write_text(json.dumps({**record, "sentence": 0, "where": "data, line 1", "answer": None, "doubts": doubts}))
    run = started("--review", review, "-o", answers)
    state = run.ask()
    assert state["review"] and state["record"]["doubts"] == [{"data": "nothing", "models": "Anna PER"}]
    spans = [{name: span[name] for name in ("start", "end", "label")} for span in state["record"]["spans"]]
    assert run.ask("/answer", {"key": state["record"]["key"], "spans": spans})["record"] is None
    assert run.end()[0] == 0
    assert main(["doctor", "--apply", str(answers), str(data), "-o", str(tmp_path / "better.conll")]) == 0
    assert (tmp_path / "better.conll").read_text().startswith("Anna\tB-PER\nleft\tO\n")


@pytest.mark.parametrize(
    "words, message",
    [
        (["nothing.txt", "-o", "OUT"], "nothing.txt: No such file"),
        (["POOL", "-o", "POOL"], "the output must not be one of the inputs"),
        (["POOL", "-o", "FOLDER"], "the output must be a file (got a folder)"),
        (["POOL", "-o", "FOLDER/no/a.jsonl"], "must be in an existing folder"),
        (["POOL", "-o", "OUT", "--every", "-1"], "every must be at least 0 (got -1)"),
        (["POOL", "-o", "OUT", "--buffer", "0"], "buffer must be at least 1 (got 0)"),
        (["POOL", "-o", "OUT", "--sure", "1.5"], "sure must be above 0 and at most 1 (got 1.5)"),
        (["POOL", "-o", "OUT", "--labels", "PER,a b"], "a class must be a name without spaces"),
        (["POOL", "-o", "OUT", "--model", "no.postil"], "no such model file ('no.postil')"),
        (["POOL", "-o", "OUT", "--model", "SPEECH"], "--model must be a tagger of spans (got a tagger)"),
        (["POOL", "-o", "OUT", "--train", "WORDS"], "--train must have labels of spans"),
        (["POOL", "-o", "OTHER"], "line 1: not an answer"),
        (["POOL", "-o", "OUT", "--port", "99999"], "port must be 0 to 65535 (got 99999)"),
        (["--review", "OTHER", "-o", "OUT", "--model", "SPEECH"], "--model cannot be used here: --review"),
        (["EMPTY", "-o", "OUT"], "the file is empty"),
        (["POOL", "-o", "OUT", "--rules", "no.toml"], "cannot read the rules"),
        (["POOL", "-o", "OUT", "--rules", "WRONG"], "rule 1: a rule with list: expected ignore_case"),
        (["POOL", "-o", "OUT", "--rules", "BROKEN"], "the rules cannot be read as TOML"),
        (["POOL", "-o", "WRONG", "--rules", "WRONG"], "the output must not be one of the inputs"),
        (
            ["POOL", "-o", "OUT", "--rules", "WRONG", "--model", "SPEECH"],
            "--model cannot be used here: a model or a list",
        ),
        (["POOL", "-o", "OUT", "--rules", "WRONG", "--every", "0"], "--every must be at least 1 with --rules"),
        (["POOL", "-o", "OUT", "--gazetteer", "no.txt"], "cannot read the gazetteer"),
        (["POOL", "-o", "OUT", "--gazetteer", "EMPTY"], "the gazetteer is empty"),
        (["POOL", "-o", "OUT", "--gazetteer", "a b=POOL"], "a class must be a name without spaces"),
        (["POOL", "-o", "OUT", "--gazetteer", "X=no.txt"], "no.txt"),
        (["POOL", "-o", "OUT", "--gazetteer", "POOL", "--model", "SPEECH"], "--gazetteer cannot be used here"),
        (["--review", "OTHER", "-o", "OUT", "--rules", "WRONG"], "--rules cannot be used here"),
    ],
)
def test_mistakes_are_one_line(capfd, pool, tmp_path, speech_model, words, message):
    (tmp_path / "words.conll").write_text("a\tNN\nb\tVB\n")
    (tmp_path / "other.jsonl").write_text('{"text": "a", "spans": []}\n')
    (tmp_path / "empty.txt").touch()
    (tmp_path / "wrong.toml").write_text("[[rule]]\nlable = 'X'\nlist = ['a']\n")
    (tmp_path / "broken.toml").write_text("[[rule]\n")
    names = {"POOL": pool, "FOLDER": tmp_path, "OUT": tmp_path / "a.jsonl", "SPEECH": speech_model}
    names |= {"WORDS": tmp_path / "words.conll", "OTHER": tmp_path / "other.jsonl", "EMPTY": tmp_path / "empty.txt"}
    names |= {"WRONG": tmp_path / "wrong.toml", "BROKEN": tmp_path / "broken.toml", "a b=POOL": f"a b={pool}"}
    names["FOLDER/no/a.jsonl"] = tmp_path / "no" / "a.jsonl"
    assert main(["annotate", *(str(names.get(word, word)) for word in words)]) == 1
    error = capfd.readouterr().err
    assert message in error and error.count("\n") == 1, error


@pytest.mark.parametrize("words", [["-o", "a"], ["POOL"], ["POOL", "--review", "x", "-o", "a"]])
def test_wrong_command_lines(capfd, pool, words):
    with pytest.raises(SystemExit) as error:
        main(["annotate", *(str(pool) if word == "POOL" else word for word in words)])
    assert error.value.code == 2 and capfd.readouterr().err.count("\n") == 1
