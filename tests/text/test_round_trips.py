"""What is written is read again as it was, for any sentence a format can hold; and through chains of formats."""

import io
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postil.errors import DataError
from postil.text.document import Sentence
from postil.text.formats import read, write
from postil.text.labels.schemes import Span, labels_from_spans

FEW = settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
"""For tests that run several times, once per scheme or chain."""

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\0")
WORDS = st.text(CHARACTERS, min_size=1, max_size=6).filter(lambda word: word != "-DOCSTART-")
SOLID = WORDS.filter(lambda word: " " not in word)
CLASSES = st.text(CHARACTERS, min_size=1, max_size=4).filter(lambda word: word == word.strip(" ") and word.strip())
COMMENTS = st.text(CHARACTERS, max_size=8).map(lambda text: f"# {text}")


@st.composite
def labelled(draw: st.DrawFn, scheme: str, words: st.SearchStrategy[str]) -> Sentence:
    """A sentence with spans in a scheme, or with free labels."""
    tokens = draw(st.lists(words, min_size=1, max_size=8))
    if scheme == "none":
        labels = draw(
            st.lists(CLASSES.filter(lambda word: " " not in word), min_size=len(tokens), max_size=len(tokens))
        )
    else:
        edges = sorted(set(draw(st.lists(st.integers(0, len(tokens)), max_size=6))))
        spans = [Span(draw(CLASSES), a, b) for a, b in zip(edges[::2], edges[1::2], strict=False)]
        labels = labels_from_spans(spans, len(tokens), scheme)
    return Sentence(tokens, labels)


def corpora(scheme: str, words: st.SearchStrategy[str] = WORDS) -> st.SearchStrategy[list[Sentence]]:
    return st.lists(labelled(scheme, words), min_size=1, max_size=4)


def through(sentences: list[Sentence], format: str, reading: dict[str, Any], **writing: Any) -> list[Sentence]:
    stream = io.BytesIO()
    write(sentences, stream, format, **writing)
    stream.seek(0)
    return list(read(stream, format, **reading))


def content(sentences: list[Sentence]) -> list[tuple[Any, ...]]:
    return [(s.tokens, s.labels, s.columns, s.document, s.comments) for s in sentences]


@given(corpora("bio"), st.data())
def test_conll_with_tabs(sentences: list[Sentence], data: st.DataObject) -> None:
    width = data.draw(st.integers(0, 2))
    for sentence in sentences:
        cells = st.tuples(*[st.text(CHARACTERS, max_size=3)] * width)
        size = len(sentence)
        sentence.columns = data.draw(st.lists(cells, min_size=size, max_size=size)) if width else None
        sentence.comments = data.draw(st.lists(COMMENTS, max_size=2))
        sentence.document = data.draw(st.sampled_from([None, ""]))
    assert content(through(sentences, "conll", {})) == content(sentences)


@given(corpora("none", SOLID))
def test_conll_with_spaces(sentences: list[Sentence]) -> None:
    assert content(through(sentences, "conll", {"comment": None}, delimiter=" ")) == content(sentences)


@given(corpora("none", SOLID.filter(lambda word: word[0] != "#" and word.strip())))
def test_conll_without_labels(sentences: list[Sentence]) -> None:
    for sentence in sentences:
        sentence.labels = None
    assert content(through(sentences, "conll", {"label": None})) == content(sentences)


@given(corpora("none"))
def test_conllu(sentences: list[Sentence]) -> None:
    once = through(sentences, "conllu", {})
    assert content(once) == content(sentences)
    assert content(through(once, "conllu", {})) == content(sentences)


@pytest.mark.parametrize("scheme", ["bio", "iob1", "iobes", "bilou", "bmewo"])
@FEW
@given(st.data())
def test_jsonl_spans(scheme: str, data: st.DataObject) -> None:
    sentences = data.draw(corpora(scheme))
    assert content(through(sentences, "jsonl", {"scheme": scheme}, scheme=scheme)) == content(sentences)


@given(corpora("none"))
def test_jsonl_labels(sentences: list[Sentence]) -> None:
    assert content(through(sentences, "jsonl", {}, scheme="none")) == content(sentences)


@pytest.mark.filterwarnings("ignore::postil.errors.RepairWarning")
@FEW
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60), st.data())
def test_jsonl_of_raw_text(text: str, data: st.DataObject) -> None:
    """Records come back with their texts and spans once the spans fit; a second time nothing changes at all."""
    spans = []
    for _ in range(data.draw(st.integers(0, 3))):
        start = data.draw(st.integers(0, len(text) - 1))
        spans.append({"start": start, "end": data.draw(st.integers(start + 1, len(text))), "label": "X"})
    lines = write_records({"text": text, "spans": spans, "id": 1}, {"text": "Oslo", "spans": []})
    options = {"misaligned": "snap", "overlaps": "longest"}
    once = raw_bytes(list(read(io.BytesIO(lines), "jsonl", **options)))
    reading = read(io.BytesIO(once), "jsonl")
    again = raw_bytes(list(reading))
    assert again == once
    assert not reading.report.problems
    assert not +reading.report.changed


def write_records(*records: dict[str, Any]) -> bytes:
    return "\n".join(map(json.dumps, records)).encode()


def raw_bytes(sentences: list[Sentence]) -> bytes:
    stream = io.BytesIO()
    write(sentences, stream, "jsonl", scheme="bio")
    return stream.getvalue()


CHAINS: list[tuple[str, ...]] = [
    ("conll", "jsonl", "conll"),
    ("jsonl", "conll", "jsonl"),
    ("conll", "conllu", "jsonl", "conll"),
]


@pytest.mark.parametrize("chain", CHAINS)
@FEW
@given(st.data())
def test_chains_of_formats(chain: tuple[str, ...], data: st.DataObject) -> None:
    """Tokens and labels pass through every format."""
    sentences = data.draw(corpora("bio", SOLID.filter(lambda word: word.strip() == word)))
    found = sentences
    for format in chain:
        found = through(found, format, {"label": "xpos"} if format == "conllu" else {}, **CONLLU.get(format, {}))
    assert [(s.tokens, s.labels) for s in found] == [(s.tokens, s.labels) for s in sentences]


CONLLU: dict[str, dict[str, Any]] = {"conllu": {"label": "xpos"}, "jsonl": {"scheme": "bio"}}


@given(st.lists(st.lists(SOLID, min_size=1, max_size=5), min_size=1, max_size=4))
def test_pretokenised_lines(sentences: list[list[str]]) -> None:
    data = "\n".join(" ".join(tokens) for tokens in sentences).encode()
    assert [s.tokens for s in read(io.BytesIO(data), "tokens")] == sentences


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_plain_text_loses_nothing_but_blanks(text: str) -> None:
    try:
        found = list(read(io.BytesIO(text.encode()), "text", encoding="utf-8"))
    except DataError:
        assert not text.strip()
        return
    assert "".join("".join(s.tokens) for s in found) == "".join(text.split())
