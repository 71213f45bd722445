"""Passages read apart give what the whole source gives: sentences, lines, and the same first mistake."""

import io
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import DataError
from postil.text import Report, lines, read
from postil.text.columns import conll as blocks
from postil.text.formats import read_passage
from postil.text.options import ReadOptions

ROWS = ["a\tO", "bb\tB-X", "\tO", "#\tO", "-\tO", "-DOCSTART-", "-DOCSTART-\tO", "# text", "# annotates: X", "#x"]
ROWS += [
    "#begin document",
    "-DOCSTART-x\tO",
    "  a\tO",
    "\ufeffa\tO",
    "%PDF\tO",
    "PK\x03\x04\tO",
    "a b\tO",
    "a\u2028b\tO",
]
SPACED = ["a O", "bb  B-X", "# O", "# some words", "-DOCSTART- O", "#x O", "a\tO", "- O", "# a O"]
BROKEN = ["a", "a\tO\tO", "a\t", "\t", "a\t-DOCSTART-", "-DOCSTART-\tO\tO"]
BLANK = ["", "", "", " ", "\t", " \t "]
PLAIN = ["Anna left Oslo .", "Yes . No .", "-DOCSTART-", "\ufeff", "a\u00a0b", "a\tb", "\u2028"]
ENDS = ["\n", "\r\n", "\r"]


def sources(rows):
    kinds = st.one_of(st.sampled_from(rows), st.sampled_from(rows[:3]), st.sampled_from(BLANK))
    return st.builds(
        lambda found, end, last: "\ufeff" * (end == "\r\n") + end.join(found) + (end if last else ""),
        st.lists(kinds, max_size=40),
        st.sampled_from(ENDS),
        st.booleans(),
    )


def outcome(sentences):
    """The sentences up to a mistake, and its text."""
    found = []
    try:
        for sentence in sentences:
            found.append(sentence)
    except DataError as error:
        return found, str(error)
    return found, None


def at_once(data, format, **options):
    yield from read(io.BytesIO(data), format, **options)


def in_passages(data, format, size, **options):
    with read(io.BytesIO(data), format, **options) as reading:
        for passage in reading.passages(size):
            yield from read_passage(pickle.loads(pickle.dumps(passage)), Report(format), ReadOptions(**options))


def check(data, format, size, **options):
    expected = outcome(at_once(data, format, **options))
    assert outcome(in_passages(data, format, size, **options)) == expected


@given(st.one_of(sources(ROWS), sources(SPACED), sources(ROWS + BROKEN)), st.integers(0, 30))
def test_conll(text, size):
    check(text.encode(), "conll", size)


@given(sources(["a\tx\tO", "b\t\tB-X", "# c", "\tx\tO", "a\tx"]), st.integers(0, 30))
def test_conll_with_features(text, size):
    check(text.encode("utf-16"), "conll", size, features=(1,), encoding="utf-16")


CONLLU = [f"{i}\tx\t_\t_\t_\t_\t_\t_\t_\t_" for i in ("1", "2", "1-2", "1.1", "3", "x")]


@given(sources([*CONLLU[:2], "# text = x", "#\tx", "#", *CONLLU[2:]]), st.integers(0, 60))
def test_conllu(text, size):
    check(text.encode(), "conllu", size)


@given(sources(PLAIN), st.integers(0, 30), st.sampled_from(["text", "tokens"]))
def test_one_sentence_or_paragraph_a_line(text, size, format):
    check(text.encode(), format, size)


@pytest.mark.parametrize("bad", [b"\xff", b"\0", b"\xc3"])
@given(source=sources(ROWS[:3]), place=st.integers(0, 200), size=st.integers(0, 30))
def test_a_mistake_in_the_bytes_comes_after_the_sentences_before_it(bad, source, place, size):
    data = source.encode()
    data = data[:place] + bad + data[place:]
    check(data, "conll", size)
    check(data, "tokens", size)


@pytest.mark.slow
@given(sources(ROWS).filter(lambda text: not text.startswith(("%", "P"))), st.integers(1, 30), st.integers(8, 20))
def test_the_cuts_do_not_depend_on_how_the_source_arrives(text, size, piece):
    def passages():
        with read(io.BytesIO(text.encode()), "conll") as reading:
            return list(reading.passages(size))

    expected = passages()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "PIECE", piece)
        assert passages() == expected
    assert "".join(passage.text for passage in expected) == re.sub("\r\n?", "\n", text.removeprefix("\ufeff"))


def test_passages_have_about_the_size_that_was_asked_for():
    with read(io.BytesIO(b"a\tO\nb\tO\n\n" * 1000), "conll") as reading:
        sizes = [len(passage.text) for passage in reading.passages(100)]
    assert set(sizes[:-1]) == {108} and 0 < sizes[-1] <= 108


def test_an_endless_sentence_is_refused_before_all_of_it_is_held(monkeypatch):
    monkeypatch.setattr(blocks, "SENTENCE_LIMIT", 1000)
    monkeypatch.setattr(lines, "PIECE", 100)
    source = io.BytesIO(b"a\tO\n\n" + b"b\tO\n" * 100_000)
    with read(source, "conll") as reading, pytest.raises(DataError, match="line 3: no end of the sentence"):
        for passage in reading.passages(50):
            list(read_passage(passage, Report("conll"), ReadOptions()))
    assert source.tell() < 20_000


def test_sources_that_are_read_to_their_end():
    assert not read(io.BytesIO(b"(S (A a))\n"), "trees").has_passages
    for first in (
        '{"text": "a", "spans": []}',
        '{"text": "a", "tags": ["O"]}',
        '{"text": "a", "answer": "reject"}',
        "{",
    ):
        assert not read(io.BytesIO(f"\n{first}\n".encode()), "jsonl").has_passages
    assert read(io.BytesIO(b'\n{"text": "a", "id": 3}\n'), "jsonl").has_passages


def test_what_stops_the_look_at_the_first_record_stops_the_reading(monkeypatch):
    for data in (b'{"text": "a"}\n\xff', b"a" * 300 + b"\n{}"):
        reading = read(io.BytesIO(data), "jsonl")
        monkeypatch.setattr(reading._lines, "_line_limit", 100)
        assert reading.has_passages == (data[:1] == b"{")
        with pytest.raises(DataError, match=r"invalid UTF-8|line too long"):
            list(reading)
