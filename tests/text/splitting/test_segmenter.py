"""Cells and sentences of bytes: what ``tokenise``, ``split_sentences`` and the reader of plain text have."""

import io
import subprocess
import sys
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.texts import MADE, TEXTS
from postil.errors import DataError
from postil.kernels.plain_tokens import ChunkCache, cut_text
from postil.text import Rules, Segmenter, SentenceRules, read, split_sentences, tokenise
from postil.text.splitting.segmenter import default_segmenter, lines_of
from postil.text.splitting.token_rules import token_patterns

PATTERNS = token_patterns(Rules())


def sentences(text: bytes, segments) -> list[list[str]]:
    words = [text[first:end].decode() for first, end in segments.cells]
    return [words[first:end] for first, end in pairwise(segments.offsets.tolist())]


@settings(deadline=None)
@given(TEXTS)
def test_one_text(text):
    content = text.encode()
    tokens = tokenise(text)
    segments = default_segmenter().cells(content)
    assert sentences(content, segments) == [tokens.tokens[first:end] for first, end in split_sentences(tokens)]
    starts, ends = tokens.utf8()
    assert segments.cells[:, 0].tolist() == starts.tolist() and segments.cells[:, 1].tolist() == ends.tolist()
    assert segments.documents.tolist() == [0, len(tokens)]


@settings(deadline=None)
@given(st.lists(MADE, max_size=6), st.booleans())
def test_lines_are_read_as_plain_text_is(lines, split):
    """The reader makes line ends one kind before; here they are."""
    text = "\n".join(lines).replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    content = text.encode()
    segments = default_segmenter().cells(content, lines=True, split=split)
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
    segmenter = Segmenter(Rules(hyphens="keep"), SentenceRules(line_breaks="every"))
    text = b"a well-known\nthing"
    assert sentences(text, segmenter.cells(text)) == [["a", "well-known"], ["thing"]]


def test_lines():
    assert lines_of(b"a\n\nb").tolist() == [[0, 1], [2, 2], [3, 4]]
    assert lines_of(b"").tolist() == [[0, 0]]
    assert lines_of(b"a\n").tolist() == [[0, 1], [2, 2]]


def test_broken_utf8_is_refused():
    with pytest.raises(DataError, match="invalid UTF-8 at byte 4: expected UTF-8, got byte 0xe9"):
        Segmenter().cells(b"caf \xe9")


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=40) | MADE)
def test_tokens_of_strings_are_those_of_the_twin(text):
    """Also with lone surrogates, which UTF-8 files never hold; a long text goes to the kernel."""
    text = text + " " * 600
    assert default_segmenter().tokens(text) == cut_text(text, PATTERNS, ChunkCache(PATTERNS))


def test_threads_share_a_segmenter():
    segmenter, wrong = Segmenter(), []
    texts = [f"Mr. {word} can't pay $5. No. {i}" for i, word in enumerate("abcdefgh" * 20)]
    expected = [segmenter.tokens(text) for text in texts]

    def run():
        for _ in range(20):
            wrong.extend(1 for text, cut in zip(texts, expected, strict=True) if segmenter.tokens(text) != cut)

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
