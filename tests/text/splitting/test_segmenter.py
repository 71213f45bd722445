"""Cells and sentences of bytes: what ``tokenise``, ``split_sentences`` and the reader of plain text have."""

import copy
import io
import json
import pickle
import subprocess
import sys
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.texts import MADE, TEXTS
from postil.errors import ConfigurationError, DataError
from postil.kernels.plain_segmentation import ChunkCache, cut_text
from postil.text import Segmenter, SentenceRules, TokenRules, Tokens, read, split_sentences, tokenise
from postil.text.splitting.rules import token_patterns
from postil.text.splitting.segmenter import CHARACTERS, ENGLISH, lines_of

PATTERNS = token_patterns(TokenRules())


def sentences(text: bytes, segments) -> list[list[str]]:
    words = [text[first:end].decode() for first, end in segments.cells]
    return [words[first:end] for first, end in pairwise(segments.offsets.tolist())]


@settings(deadline=None)
@given(TEXTS)
def test_one_text(text):
    content = text.encode()
    tokens = tokenise(text)
    segments = ENGLISH.cells(content)
    assert sentences(content, segments) == [tokens.tokens[first:end] for first, end in split_sentences(tokens)]
    starts, ends = tokens.utf8()
    assert segments.cells[:, 0].tolist() == starts.tolist() and segments.cells[:, 1].tolist() == ends.tolist()
    assert segments.documents.tolist() == [0, len(tokens)]


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(MADE, max_size=6), st.booleans())
def test_lines_are_read_as_plain_text_is(lines, split):
    """The reader makes line ends one kind before; here they are."""
    text = "\n".join(lines).replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    content = text.encode()
    segments = ENGLISH.cells(content, lines=True, split=split)
    try:
        expected = [sentence.tokens for sentence in read(io.BytesIO(content), "text", split=split)]
    except DataError:  # no sentence at all
        expected = []
    assert sentences(content, segments) == expected
    assert len(segments.documents) == text.count("\n") + 2


def test_documents_anywhere():
    text = b"One. Two xx Threes. four"
    segments = Segmenter().cells(text, documents=np.array([[0, 8], [12, 24], [5, 8]]))
    assert sentences(text, segments) == [["One", "."], ["Two"], ["Threes", ".", "four"], ["Two"]]
    assert segments.documents.tolist() == [0, 3, 6, 7]


def test_rules_of_ones_own():
    segmenter = Segmenter(TokenRules(hyphens="keep"), SentenceRules(line_breaks="every"))
    text = b"a well-known\nthing"
    assert sentences(text, segmenter.cells(text)) == [["a", "well-known"], ["thing"]]


def test_lines():
    assert lines_of(b"a\n\nb").tolist() == [[0, 1], [2, 2], [3, 4]]
    assert lines_of(b"").tolist() == [[0, 0]]
    assert lines_of(b"a\n").tolist() == [[0, 1], [2, 2]]


def test_broken_utf8_is_refused():
    with pytest.raises(DataError, match="invalid UTF-8 at byte 4: expected UTF-8, got byte 0xe9"):
        Segmenter().cells(b"caf \xe9")


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=40) | MADE)
def test_tokens_of_strings_are_those_of_the_twin(text):
    """Also with lone surrogates, which UTF-8 files never hold; a long text goes to the kernel."""
    text = text + " " * 600
    assert ENGLISH.tokenise(text) == Tokens(text, *cut_text(text, PATTERNS, ChunkCache(PATTERNS)))


def test_threads_share_a_segmenter():
    segmenter, wrong = Segmenter(), []
    texts = [f"Mr. {word} can't pay $5. No. {i}" for i, word in enumerate("abcdefgh" * 20)]
    expected = [segmenter.tokenise(text) for text in texts]

    def run():
        for _ in range(20):
            wrong.extend(1 for text, cut in zip(texts, expected, strict=True) if segmenter.tokenise(text) != cut)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_without_a_compiler():
    code = (
        "from postil.text import Segmenter, tokenise; from postil import kernels; print(kernels.IN_USE);"
        "print(Segmenter().cells('Mr. Poe left. É fini'.encode()).offsets.tolist(), tokenise('É fini').ends)"
    )
    environment = {"POSTIL_KERNELS": "plain", "PYTHONPATH": ":".join(sys.path)}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout == "plain (NumPy)\n[0, 4, 6] [1, 6]\n"


KEPT = Segmenter(TokenRules(hyphens="keep", units=("psi",)), SentenceRules(line_breaks="every"))


@pytest.mark.parametrize("segmenter", [ENGLISH, CHARACTERS, KEPT], ids=str)
def test_a_segmenter_is_a_value(segmenter):
    settings = json.loads(json.dumps(segmenter.to_dict()))
    for other in (Segmenter.from_dict(settings), pickle.loads(pickle.dumps(segmenter)), copy.deepcopy(segmenter)):
        assert other == segmenter and hash(other) == hash(segmenter)
        assert other.tokenise("a well-known 5psi\nthing") == segmenter.tokenise("a well-known 5psi\nthing")
    assert [segmenter == other for other in (ENGLISH, CHARACTERS, KEPT)].count(True) == 1


def test_settings_are_short():
    assert ENGLISH.to_dict() == {"rules": "english"} and CHARACTERS.to_dict() == {"rules": "characters"}
    assert KEPT.to_dict() == {"rules": "english", "hyphens": "keep", "units": ["psi"], "line_breaks": "every"}
    assert [str(s) for s in (ENGLISH, CHARACTERS, KEPT)] == [
        "english", "characters", "english (hyphens, units, line_breaks)"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "unknown rules of a segmenter: expected rules 'english', 'neutral' or 'characters', got None"),
        (
            {"rules": "klingon"},
            "unknown rules of a segmenter: expected rules 'english', 'neutral' or 'characters', got 'klingon'",
        ),
        (
            {"rules": "english", "hyphen": "keep"},
            "unknown option of the rules 'english': expected abbreviations and others; did you mean hyphens?, "
            "got 'hyphen'",
        ),
        ({"rules": "english", "hyphens": 3}, "rule 'hyphens' is unknown: expected split or keep, got 3"),
        ({"rules": "english", "urls": "no"}, "rule 'urls' is a switch: expected True or False, got 'no'"),
        ({"rules": "characters", "urls": True}, "unknown option of the rules 'characters': expected none, got 'urls'"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ConfigurationError) as error:
        Segmenter.from_dict(settings)
    assert str(error.value) == message


def test_fields_are_checked():
    with pytest.raises(ConfigurationError, match="rules of a segmenter: expected a TokenRules, got 'english'"):
        Segmenter("english")
    with pytest.raises(ConfigurationError, match="a segmenter of characters has no rules: expected none, got hyphens"):
        Segmenter(TokenRules(hyphens="keep"), characters=True)


@settings(deadline=None)
@given(st.lists(MADE | st.text("日本語。！ é\u0301\n", max_size=12), max_size=4), st.booleans())
def test_cells_of_characters(texts, split):
    """Bytes and strings are cut alike."""
    pieces = [text.encode() for text in texts]
    ends = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
    documents = np.stack([ends - [len(piece) for piece in pieces], ends], axis=1)
    segments = CHARACTERS.cells(b"".join(pieces), documents=documents, split=split)
    tokens = [CHARACTERS.tokenise(text) for text in texts]
    cuts = [CHARACTERS.split(cut) if split else [(0, len(cut))] * bool(len(cut)) for cut in tokens]
    expected = [cut.tokens[first:end] for cut, ranges in zip(tokens, cuts, strict=True) for first, end in ranges]
    assert sentences(b"".join(pieces), segments) == expected
    assert segments.documents.tolist() == [0, *np.cumsum([len(cut) for cut in tokens]).tolist()]


def test_sentences_of_a_text():
    one, two = ENGLISH.sentences("Mr. Poe left. It rains.")
    assert (one.tokens, two.starts) == (["Mr.", "Poe", "left", "."], [14, 17, 22])
    assert [sentence.tokens for sentence in CHARACTERS.sentences("你好。再见")] == [["你", "好", "。"], ["再", "见"]]
