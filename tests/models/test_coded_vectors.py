"""Vectors of many words are quantised: a small file, the same answers from memory, file, engine, graph and C."""

import numpy as np
import pytest

import postil
from oracles import corpora, forgeries
from oracles.c_runtime import Runtime, needs_compiler
from postil import archive
from postil.errors import ModelFileError
from postil.export.flat import exported
from postil.features.vectors import FEWEST_CODED, CodedVectors
from postil.features.vocabulary import PACKED
from postil.models import Ensemble, storage

SMALL = {"hidden": 8, "word_dim": 4, "epochs": 2, "vector_clusters": (4, 30)}
X, Y = corpora.named_entities(40)
OTHERS = [["ANNA", "other5", "other69999", "2024"], *X[:10]]
WORDS, TABLE = "features/words/vector/", "features/words/vector/table"


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    """More words than are packed, with so many numbers that there are two parts of codes."""
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    known = sorted({token.lower() for tokens in X for token in tokens})
    words = [*known[::2], *(f"other{i}" for i in range(70_000))]
    rows = np.random.default_rng(0).normal(size=(len(words), 7)).round(3).tolist()
    path.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in zip(words, rows, strict=True)))
    return str(path)


@pytest.fixture(scope="module")
def tagger(vectors):
    return postil.Tagger(vectors=vectors, **SMALL).fit(X, Y)


@pytest.fixture(scope="module")
def content(tagger):
    return storage.to_bytes(tagger)


@pytest.mark.slow
def test_the_file_has_codes_and_the_same_answers(tagger, content):
    arrays, metadata = archive.from_bytes(content)
    assert metadata["needs"] == ["packed"]
    assert arrays[WORDS + "coded/first/codes"].shape[1] > arrays[WORDS + "coded/rest/codes"].shape[1]
    assert arrays["features/words/lexicon vector clusters/distinct"].shape[1] == 2
    assert not {TABLE, WORDS + "slots", WORDS + "offsets"} & set(arrays)
    assert arrays["network/forms.tables.0"].dtype == np.float16
    again = storage.from_bytes(content)
    assert again.predict(OTHERS) == tagger.predict(OTHERS)
    assert storage.to_bytes(again) == content
    words = again.model.features.words.vocabularies["vector"]
    assert len(words) > PACKED and words[words.id("other69999")] == "other69999" and words.id("other70000") == -1


def test_engine_and_graph_agree(content):
    engine = storage.from_bytes(content).model.engine()
    scores, _ = engine.scores(OTHERS, ["main"])
    np.testing.assert_allclose(scores["main"], engine._by_graph(OTHERS, ["main"])["main"], atol=1e-5)


@needs_compiler
def test_exports_have_the_codes_too(tagger, vectors):
    exact = postil.Tagger(vectors=vectors, exact_vectors=True, **SMALL).fit(X, Y)
    assert TABLE in archive.from_bytes(storage.to_bytes(exact))[0]
    binary = exported(tagger)
    assert len(binary) < len(exported(exact)) - 70_000 * 7 * 3
    runtime = Runtime(binary)
    assert [runtime.tag_tokens(tokens).layers["main"].labels for tokens in OTHERS] == tagger.predict(OTHERS)
    runtime.close()


@pytest.mark.slow
def test_training_goes_on_and_taggers_are_joined(tagger, vectors):
    warm = postil.Tagger(**SMALL).fit(X, Y, warm_start=tagger)
    assert warm.model.network.vectors is tagger.model.network.vectors
    anew = postil.Tagger(vectors=vectors, **SMALL).fit(X, Y, warm_start=tagger)  # the file once more
    old, new = (np.asarray(one.model.network.vectors) for one in (tagger, anew))
    assert 0.95 < (old * new).sum() / np.square(old).sum() < 1.05
    other = postil.Tagger(vectors=vectors, seed=1, **SMALL).fit(X, Y)
    joined = Ensemble([tagger, other])
    assert storage.from_bytes(storage.to_bytes(joined)).predict(OTHERS) == joined.predict(OTHERS)


def test_few_vectors_stay_as_they_are(tmp_path):
    words = sorted({token.lower() for tokens in X for token in tokens})
    (tmp_path / "v.txt").write_text("".join(f"{word} {i} 1 2\n" for i, word in enumerate(words)))
    assert len(words) < FEWEST_CODED
    few = postil.Tagger(vectors=str(tmp_path / "v.txt"), **SMALL).fit(X, Y)
    assert not isinstance(few.model.network.vectors, CodedVectors)


def test_the_unknown_word_is_zeros_and_others_are_near():
    matrix = np.random.default_rng(1).normal(size=(FEWEST_CODED, 6)).astype(np.float32)
    matrix[0] = 0
    coded = CodedVectors.of(matrix)
    whole, ids = np.asarray(coded), np.array([[0, 5], [-1, 7]])
    assert coded.shape == matrix.shape and not whole[0].any()
    np.testing.assert_array_equal(coded[ids], whole[ids])
    assert np.square(whole - matrix).sum() < 0.05 * np.square(matrix).sum()
    with pytest.raises(IndexError, match="no such row"):
        coded[np.array([FEWEST_CODED])]


def changed(name, dtype, shape, data):
    def change(draft):
        draft.arrays[name] = (dtype, shape, data)

    return change


CODED = WORDS + "coded/"
NAN = np.full((7, 7), np.nan, np.float32).tobytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed(CODED + "basis", "F32", [7, 7], NAN), r"basis of word vectors: expected finite float32 \(7, 7\)"),
        (changed(CODED + "basis", "F32", [7, 2], bytes(56)), "basis of word vectors"),
        (changed(CODED + "first/centres", "F32", [7, 256], bytes(7168)), "first/centres of word vectors"),
        (changed(CODED + "rest/centres", "F32", [256, 6], bytes(6144)), "rest/centres of word vectors"),
        (
            changed(CODED + "rest/codes", "U8", [2, 8], bytes(16)),
            r"rest/codes .* uint8 \(n, 1 to 7\)",
        ),
        (changed(CODED + "rest/codes", "U8", [2, 1], bytes(2)), "word vectors: expected .* rows, one for each word"),
        (lambda draft: draft.arrays.pop(CODED + "first/codes"), "first/codes of word vectors: .* got none"),
        (changed(CODED + "second/codes", "U8", [2, 1], bytes(2)), "unknown arrays"),
        (changed(WORDS + "lengths", "U8", [3], bytes(3)), "text of a vocabulary: expected 0 bytes"),
        (changed(WORDS + "lengths", "I32", [3], bytes(12)), "arrays of a packed vocabulary"),
        (changed("features/words/lexicon vector clusters/distinct", "U16", [1, 2], bytes(4)), "rows of a lexicon"),
        (lambda draft: draft.metadata["needs"].append("magic"), "it needs 'magic'"),
    ],
)
def test_forged_codes_are_refused(content, change, message):
    draft = forgeries.Draft.of(content)
    change(draft)
    with pytest.raises(ModelFileError, match=message):
        storage.from_bytes(draft.packed())
