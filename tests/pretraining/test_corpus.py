"""Text to numbers of words."""

import gzip

import numpy as np
import pytest

from postil.errors import DataError
from postil.pretraining import CorpusConfig
from postil.pretraining import corpus as module
from postil.pretraining.corpus import SENTENCE_END, UNKNOWN_WORD, read_corpus

ALL = CorpusConfig(min_count=1)


def words_of(corpus):
    names = {SENTENCE_END: "|", UNKNOWN_WORD: "?"}
    return " ".join(names.get(int(i)) or corpus.words[int(i)] for i in corpus.ids)


def test_sentences_in_lower_case_with_folded_digits():
    with read_corpus("Anna came in 1984. She left.\nOslo", ALL) as corpus:
        assert words_of(corpus) == "anna came in 0000 . | she left . | oslo |"
        assert corpus.tokens == 9
        assert corpus.counts.sum() == 9


def test_as_written():
    with read_corpus("Anna came in 1984.", CorpusConfig(min_count=1, cased=True, fold_digits=False)) as corpus:
        assert words_of(corpus) == "Anna came in 1984 . |"
    with read_corpus("In 1984.", CorpusConfig(min_count=1, cased=True)) as corpus:
        assert words_of(corpus) == "In 0000 . |"
    with read_corpus("In 1984.", CorpusConfig(min_count=1, fold_digits=False)) as corpus:
        assert words_of(corpus) == "in 1984 . |"


def test_rare_words_are_unknown_but_keep_their_place():
    with read_corpus(["a b a", "a c a b"], CorpusConfig(min_count=2)) as corpus:
        assert words_of(corpus) == "a b a | a ? a b |"
        assert (corpus.words, corpus.tokens) == (["a", "b"], 7)


def test_files_and_strings_in_pieces_are_one_text(tmp_path, monkeypatch):
    lines = [f"word{i} follows word{i + 1} here ." for i in range(50)]
    plain, packed = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    plain.write_text("\n".join(lines[:30]) + "\n")
    packed.write_bytes(gzip.compress("\n".join(lines[30:]).encode()))
    with read_corpus("\n".join(lines), ALL) as corpus:
        expected, fingerprint = words_of(corpus), corpus.fingerprint
    monkeypatch.setattr(module, "BLOCK", 70)
    for texts in ([plain, packed], lines, ["\n".join(lines)]):
        told = []
        with read_corpus(texts, ALL, report=told.append) as corpus:
            assert words_of(corpus) == expected
            assert corpus.fingerprint == fingerprint
            assert sum(told) == corpus.tokens


def test_blocks_are_cut_after_a_sentence():
    with read_corpus(["a b c d", "a b", "a b c d e f"], ALL) as corpus:
        blocks = list(corpus.blocks(3))
        assert [block.tolist()[-1] for block in blocks] == [SENTENCE_END] * 3
        np.testing.assert_array_equal(np.concatenate(blocks), corpus.ids)


def test_a_long_sentence_is_cut_inside(monkeypatch):
    monkeypatch.setattr(module, "_LONGEST", 4)
    with read_corpus(["a b c d e f g h i j k l"], ALL) as corpus:
        blocks = list(corpus.blocks(3))
        assert len(blocks) > 1
        np.testing.assert_array_equal(np.concatenate(blocks), corpus.ids)


def test_a_text_without_words_is_refused():
    with pytest.raises(
        DataError, match=r"the text must have at least 2 words that occur 5 times or more .* \(got 0 of 3"
    ):
        read_corpus("one two three", CorpusConfig())
