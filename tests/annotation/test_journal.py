"""The file of answers: never loses one, can undo to any depth, survives a kill, is read by ``train``."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from postil import files
from postil.annotation import Answer, Journal
from postil.errors import ConfigurationError, DataError
from postil.text import Span, read


def answer(key, *spans, text="Anna lives in Oslo", **others):
    places, at = [], 0
    for word in text.split(" "):
        places.append((at, at + len(word)))
        at += len(word) + 1
    return Answer(key=key, text=text, tokens=tuple(places), spans=tuple(Span(*span) for span in spans), **others)


FIRST = answer("a", ("PER", 0, 1), round=2, predicted=(Span("LOC", 3, 4),), fields={"id": 7, "meta": {"x": [1]}})
SECOND = answer("b", ("LOC", 3, 4), ("PER", 0, 2))
CHANGED = answer("a", ("ORG", 0, 1))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.jsonl"


def reopened(path):
    with Journal(path) as journal:
        return list(journal)


def test_answers_come_back_as_they_were(path):
    with Journal(path) as journal:
        assert path.read_bytes() == b"" and len(journal) == 0
        journal.add(FIRST)
        journal.add(answer("c", is_skipped=True))
    assert reopened(path) == [FIRST, answer("c", is_skipped=True)]


def test_the_file_is_data_to_train_on(path):
    with Journal(path) as journal:
        journal.add(FIRST)
        journal.add(answer("skipped", ("PER", 0, 1), is_skipped=True))
        journal.add(SECOND)
        journal.add(answer("nothing"))
        journal.add(CHANGED)
        journal.add(answer("wrong", ("PER", 2, 3)))
        journal.undo()
    with read(str(path)) as reading:
        sentences = list(reading)
    assert [sentence.labels for sentence in sentences] == [
        ["B-PER", "I-PER", "O", "B-LOC"],
        ["O", "O", "O", "O"],
        ["B-ORG", "O", "O", "O"],
    ]
    assert +reading.report.dropped == {"records whose answer is 'ignore'": 3}
    assert sentences[0].tokens == ["Anna", "lives", "in", "Oslo"]


def test_undo_goes_back_to_the_beginning_and_loses_nothing(path):
    with Journal(path) as journal:
        for one in (FIRST, SECOND, CHANGED):
            journal.add(one)
    with Journal(path) as journal:  # another process goes on
        assert list(journal) == [SECOND, CHANGED]
        assert journal.undo() == CHANGED
        assert list(journal) == [FIRST, SECOND] and journal.get("a") == FIRST
        assert journal.undo() == SECOND and "b" not in journal
        assert journal.undo() == FIRST and journal.undo() is None
        assert len(journal) == 0
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["annotation"]["state"] for line in lines] == ["undone"] * 3
    assert [line["annotation"]["given"] for line in lines] == ["accept"] * 3
    assert [span["label"] for line in lines for span in line["spans"]] == ["PER", "LOC", "PER", "ORG"]


def test_an_answer_that_is_not_on_the_disk_does_not_count(path, monkeypatch):
    with Journal(path) as journal:
        journal.add(FIRST)

        def full(*_, **__):
            raise OSError(28, "No space left on device")

        for name in ("fsync", "replace"):
            with monkeypatch.context() as context:
                context.setattr(os if name == "fsync" else Path, name, full)
                with pytest.raises(OSError, match="No space"):
                    journal.add(SECOND if name == "fsync" else CHANGED)
                assert list(journal) == [FIRST]
                if name == "replace":
                    with pytest.raises(OSError, match="No space"):
                        journal.undo()
                    assert list(journal) == [FIRST]
        journal.add(SECOND)
    assert reopened(path) == [FIRST, SECOND]


@pytest.mark.slow
def test_a_torn_last_line_is_dropped_wherever_it_was_cut(path):
    with Journal(path) as journal:
        journal.add(FIRST)
        whole = path.read_bytes()
        journal.add(SECOND)
        both = path.read_bytes()
    for size in range(len(whole), len(both) + 1):
        path.write_bytes(both[:size])
        with Journal(path) as journal:
            is_whole = size in (len(both) - 1, len(both))
            assert list(journal) == ([FIRST, SECOND] if is_whole else [FIRST])
            if is_whole or size == len(whole):
                assert journal.torn is None
            else:
                assert journal.torn == f"{path}, line 2: an unfinished line is dropped; its record will be asked again"
                assert path.read_bytes() == whole
            journal.add(answer("c"))
        assert len(reopened(path)) == 2 + is_whole


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *[(("spans", 0, "token_end"), value) for value in ({}, "1", None, 4, -1, 10**30, True, 1.0)],
        *[(("spans", 0, "token_start"), value) for value in ([], 3, -1)],
        *[(("spans", 0, "label"), value) for value in (None, 5, "")],
        *[(("spans",), value) for value in ("x", {}, 5, [[]])],
        *[(("tokens", 1, "start"), value) for value in (2, "5", None, -1, 99)],
        *[(("tokens",), value) for value in (5, None, [5])],
        *[(("annotation", "round"), value) for value in ("x", -1, 10**30, [])],
        *[(("annotation", "predicted"), value) for value in (5, "x", [{}])],
        *[(("annotation", "state"), value) for value in (5, "x", {})],
        *[(("annotation", "key"), value) for value in (5, None, {})],
        *[(("annotation",), value) for value in (5, None, [])],
        (("text",), 5),
    ],
)
def test_an_answer_with_an_impossible_value_is_told_and_stays(path, place, value):
    record = answer("a", ("PER", 0, 1), round=2, predicted=(Span("LOC", 3, 4),)).record()
    inner = record
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    content = (json.dumps(record) + "\n").encode()
    path.write_bytes(content)
    with pytest.raises(DataError, match="line 1: not an answer"):
        reopened(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a": ' * 300 + "1" + "}" * 300])
def test_an_answer_that_is_nested_too_deeply_is_told_and_stays(path, deep):
    path.write_text(deep)
    with pytest.raises(DataError, match="line 1: "):
        reopened(path)
    assert path.read_text() == deep


def test_zeros_after_a_power_failure_are_dropped(path):
    with Journal(path) as journal:
        journal.add(FIRST)
    with path.open("ab") as file:
        file.write(bytes(100))
    assert reopened(path) == [FIRST]


@pytest.mark.parametrize(
    "content, message",
    [
        (b'{"text": "a", "spans": []}\n', "line 1: not an answer: expected a line that postil annotate has written"),
        (b'{"text": "a", "spans": []}', "line 1: not an answer"),
        (b"[1]\n", "line 1: not a JSON object"),
        (b"Anna B-PER\nlives O\n", "line 1: not valid JSON"),
        (b"Anna B-PER", "line 1: not valid JSON"),
        (b'{"text": \n{"text": "a"}\n', "line 1: not valid JSON"),
        (b"\xff\xfe\n", "line 1: not UTF-8"),
    ],
)
def test_a_file_of_something_else_is_refused_and_kept(path, content, message):
    path.write_bytes(content)
    with pytest.raises(DataError, match=message), Journal(path):
        pass
    assert path.read_bytes() == content
    with files.held_alone(path):
        pass


def test_two_processes_do_not_share_a_file(path):
    with Journal(path):
        expected = "the file of answers must not be in use by another process"
        with pytest.raises(ConfigurationError, match=expected), Journal(path):
            pass
        assert path.exists()
    assert reopened(path) == []


KILLED = """
import sys
from postil.annotation import Journal
sys.path.insert(0, sys.argv[2])
from test_journal import answer
with Journal(sys.argv[1]) as journal:
    for number in range(10**6):
        journal.add(answer(str(number % 7 if number % 3 == 2 else number), ("PER", 0, 1)))
        print("added", flush=True)
        if number % 5 == 4:
            journal.undo()
            print("undone", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("wait", [1, 8, 23, 40])
def test_no_answer_is_lost_by_a_kill(path, wait):
    """Whatever was reported to be done before the kill is there; at most one thing more."""
    command = [sys.executable, "-c", KILLED, str(path), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for _ in range(wait):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        done = wait + len(process.stdout.read().splitlines())
    with Journal(path) as journal:
        actual = list(journal)
    expected = []
    with Journal(path.with_name("expected.jsonl")) as journal:
        number = steps = 0
        while steps <= done + 1:
            journal.add(answer(str(number % 7 if number % 3 == 2 else number), ("PER", 0, 1)))
            steps += 1
            expected.append((steps, list(journal)))
            if number % 5 == 4:
                journal.undo()
                steps += 1
                expected.append((steps, list(journal)))
            number += 1
    assert actual in [state for count, state in expected if count in (done, done + 1)]


class Journals(RuleBasedStateMachine):
    """A journal beside a plain list of [answer, is undone], closed, killed and reopened at any moment."""

    @initialize()
    def begin(self):
        self.folder = Path(tempfile.mkdtemp())
        self.journal = Journal(self.folder / "answers.jsonl").__enter__()
        self.model = []

    def current(self):
        last = {one.key: number for number, (one, undone) in enumerate(self.model) if not undone}
        return [self.model[number][0] for number in sorted(last.values())]

    @rule(
        key=st.sampled_from("abcd"),
        label=st.text(min_size=1, max_size=5),
        size=st.integers(1, 4),
        skipped=st.booleans(),
        text=st.sampled_from(["a b c d", "é 😀 \u2028 \x85", 'a" {"b" \\ c\\n']),
    )
    def add(self, key, label, size, skipped, text):
        one = answer(key, (label, 0, size), text=text, is_skipped=skipped)
        self.journal.add(one)
        self.model.append([one, False])

    @rule()
    def undo(self):
        undone = self.journal.undo()
        places = [number for number, (_, gone) in enumerate(self.model) if not gone]
        if places:
            self.model[places[-1]][1] = True
        assert undone == (self.model[places[-1]][0] if places else None)

    @rule()
    def close_and_open(self):
        self.journal.__exit__()
        self.journal = Journal(self.folder / "answers.jsonl").__enter__()
        assert self.journal.torn is None

    @precondition(lambda self: self.model)
    @rule(share=st.floats(0.01, 0.99))
    def tear(self, share):
        self.journal.__exit__()
        line = (json.dumps(self.model[-1][0].record(), ensure_ascii=False)).encode()
        with (self.folder / "answers.jsonl").open("ab") as file:
            file.write(line[: max(1, int(len(line) * share))])
        self.journal = Journal(self.folder / "answers.jsonl").__enter__()
        assert self.journal.torn is not None

    @invariant()
    def the_same_answers_count(self):
        if hasattr(self, "journal"):
            assert list(self.journal) == self.current()
            assert len(self.journal) == len(self.current())

    @invariant()
    def the_file_has_them_all(self):
        if hasattr(self, "journal"):
            lines = [json.loads(line) for line in self.journal.path.read_bytes().split(b"\n") if line]
            assert len(lines) == len(self.model)
            counted = [line for line in lines if "state" not in line["annotation"]]
            assert [line["annotation"]["key"] for line in counted] == [one.key for one in self.current()]

    def teardown(self):
        if hasattr(self, "journal"):
            self.journal.__exit__()
            shutil.rmtree(self.folder)


Journals.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestJournals = Journals.TestCase
