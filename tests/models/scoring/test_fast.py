"""The fast way of scoring against the plain one: every preset, every kind of feature, any number of threads."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities
from postil.models import PRESETS
from postil.models.scoring import fast as prepared
from postil.models.scoring.fast import FastScorer
from postil.objectives.crf import Posterior
from postil.objectives.crf_decoding import viterbi
from postil.text.splitting.segmenter import Segmenter

TAGGERS = [name for name in PRESETS if name != "margin"]
SMALL = {"hidden": 24, "word_dim": 12, "epochs": 2, "rate": 0.02, "batch_sentences": 8}
X_TRAIN, Y_TRAIN = named_entities(40)
SENTENCES = [*named_entities(25, seed=1)[0], [], ["Oslo"], ["unheard-of", "Wörter", "4711", "x" * 300], [], ["?"]]


def with_columns(sentences):
    return [[(form, form[:1].upper(), str(len(form) % 3)) for form in tokens] for tokens in sentences]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Vectors and lists of names."""
    folder, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(0)
    words = ["anna", "oslo", "paris", "museums", "of", "the", "wörter"]
    vectors = "".join(f"{word} {' '.join(f'{x:.3f}' for x in rng.normal(size=7))}\n" for word in words)
    (folder / "vectors.txt").write_text(vectors, encoding="utf8")
    (folder / "names.tsv").write_text("place\tNew York\nplace\tOslo\nperson\tAnna\n", encoding="utf8")
    return {"vectors": str(folder / "vectors.txt"), "gazetteers": [str(folder / "names.tsv")]}


KINDS = {
    "plain": ((), False),
    "vectors": (("vectors",), False),
    "gazetteers": (("gazetteers",), False),
    "columns": ((), True),
    "everything": (("vectors", "gazetteers"), True),
}


@cache
def _fitted(preset, options, columns, **settings):
    tagger = postil.Tagger(preset=preset, **dict(options), **{**SMALL, **settings})
    return tagger.fit(with_columns(X_TRAIN) if columns else X_TRAIN, Y_TRAIN)


def fitted(files, preset, kind, **settings):
    """A tagger, and sentences as it takes them."""
    names, columns = KINDS[kind]
    options = tuple((name, tuple(files[name]) if name == "gazetteers" else files[name]) for name in names)
    return _fitted(preset, options, columns, **settings), with_columns(SENTENCES) if columns else SENTENCES


def plain_lattice(tagger, X):
    network, inputs = tagger.parts.network, tagger.parts.features.inputs(X)
    return network.lattice_over(network.unary(inputs), inputs.offsets)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("preset", TAGGERS)
def test_scores_labels_and_probabilities_are_those_of_the_plain_path(files, preset, kind):
    tagger, X = fitted(files, preset, kind)
    expected = plain_lattice(tagger, X)
    scores, offsets = tagger.parts.scorer().scores(X)
    assert np.array_equal(offsets, expected.offsets)
    assert np.allclose(scores, expected.unary, rtol=1e-4, atol=1e-4)
    labels = viterbi(expected)
    sure = tagger.labelling.probabilities_of(labels, Posterior.of(expected).marginals())
    found, probabilities = tagger.predict_with_probabilities(X)
    cut = list(pairwise(offsets))
    assert found == tagger.predict(X) == [tagger.labelling.texts(labels[a:b]) for a, b in cut]
    assert np.allclose(np.concatenate(probabilities), sure, atol=1e-4)


@pytest.mark.parametrize("preset", TAGGERS)
def test_only_the_sentence_approach_is_left_out(files, preset):
    tagger, _ = fitted(files, preset, "plain")
    assert (not tagger.parts.scorer()._splits) == preset.startswith("sentence")


@pytest.mark.parametrize(
    "settings",
    [
        {"layers": 3},
        {"encoder": "average", "offsets": 3},
        {"encoder": "none", "offsets": 1},
        {"encoder": "convolutions", "activation": "tanh", "offsets": 3},
        {"constrained": False},
        {"character_dim": 6},
        *({"activation": name} for name in ("hardtanh", "sigmoid", "softsign", "leaky-relu")),
    ],
    ids=str,
)
def test_other_architectures(files, settings):
    tagger, X = fitted(files, "fast", "plain", **settings)
    assert np.allclose(tagger.parts.scorer().scores(X)[0], plain_lattice(tagger, X).unary, rtol=1e-4, atol=1e-4)


def test_a_detector_goes_the_same_way():
    detector = postil.Detector(label="LOC", **SMALL).fit(X_TRAIN, Y_TRAIN)
    inputs = detector.parts.features.inputs(SENTENCES)
    expected = detector.parts.network.token_scores(inputs)
    assert np.allclose(np.concatenate(detector.decision(SENTENCES)), expected, atol=1e-4)


def test_extra_columns_of_no_use_are_passed_over(files):
    tagger, X = fitted(files, "fast", "plain")
    expected = tagger.predict(X)
    assert tagger.predict(with_columns(X)) == expected
    mixed = [[token if i % 2 else (token, "x") for i, token in enumerate(tokens)] for tokens in X]
    assert tagger.predict(mixed) == expected


# ------------------------------------------------------------------------------------------------ never stale


def test_a_frozen_model_is_prepared_once_and_cannot_be_written_to(files):
    tagger, X = fitted(files, "fast", "vectors")
    before = tagger.parts.scorer()
    tagger.predict(X)
    assert tagger.parts.scorer() is before
    for parameter in tagger.parts.network.parameters().values():
        assert not parameter.value.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        tagger.parts.network.vectors[0] = 0


def test_other_parameters_are_seen_at_once(tmp_path):
    tagger = postil.Tagger(preset="fast", **SMALL).fit(X_TRAIN, Y_TRAIN)
    tagger.predict(SENTENCES)
    rng = np.random.default_rng(3)
    for parameter in tagger.parts.network.parameters().values():  # as averaging and loading do: another array
        parameter.value = rng.normal(size=parameter.shape).astype(np.float32)
    assert np.allclose(
        tagger.parts.scorer().scores(SENTENCES)[0], plain_lattice(tagger, SENTENCES).unary, rtol=1e-3, atol=1e-3
    )
    for parameter in tagger.parts.network.parameters().values():  # as an optimiser does: the same array
        parameter.value *= np.float32(0.5)
    assert np.allclose(
        tagger.parts.scorer().scores(SENTENCES)[0], plain_lattice(tagger, SENTENCES).unary, rtol=1e-3, atol=1e-3
    )
    tagger.save(tmp_path / "model.postil")
    loaded = postil.load(tmp_path / "model.postil")
    assert loaded.parts.scorer() is loaded.parts.scorer()
    assert loaded.predict(SENTENCES) == tagger.predict(SENTENCES)


def test_scores_during_training_are_those_of_the_present_parameters(monkeypatch):
    """The fast way and the plain way must choose the same epochs."""
    dev = named_entities(20, seed=5)

    def trained():
        return postil.Tagger(preset="fast", **{**SMALL, "epochs": 4}).fit(X_TRAIN, Y_TRAIN, dev)

    fast = trained()
    monkeypatch.setattr(prepared, "split_network", lambda network: None)
    plain = trained()
    assert [row["score"] for row in history(fast)] == [row["score"] for row in history(plain)]


def history(tagger):
    return tagger.parts.about["training"]["history"]


# ------------------------------------------------------------------------------------------------ any order


@pytest.mark.parametrize("character_dim", [0, 9])
@pytest.mark.parametrize("preset", ["fast", "accurate", "linear-crf"])
def test_a_words_row_does_not_depend_on_who_asked_before(files, preset, character_dim):
    tagger, X = fitted(files, preset, "vectors", character_dim=character_dim)
    forms = list(dict.fromkeys(form for tokens in X for form in tokens))
    parts = tagger.parts
    at_once, one_by_one = (FastScorer(parts.features, parts.network) for _ in range(2))
    rows, numbers = at_once._rows.look_up(forms)
    for form, number in zip(reversed(forms), reversed(numbers), strict=True):
        others, (place,) = one_by_one._rows.look_up([form])
        assert np.array_equal(others[place], rows[number])


def test_threads_get_what_one_gets(files):
    tagger, X = fitted(files, "fast", "everything")
    expected = tagger.predict_with_probabilities(X)
    fresh = postil.Tagger(**tagger.get_params())
    fresh.parts = tagger.parts
    fresh.parts._scorer = None
    with ThreadPoolExecutor(6) as pool:
        for labels, probabilities in pool.map(lambda _: fresh.predict_with_probabilities(X), range(12)):
            assert labels == expected[0]
            assert all(np.array_equal(a, b) for a, b in zip(probabilities, expected[1], strict=True))


def test_words_as_the_segmenter_cuts_them(files):
    tagger, _ = fitted(files, "fast", "vectors")
    text = "Anna saw Oslo. She likes\nthe Wörter of Paris, 1984! "
    segments = Segmenter().cells(text.encode(), lines=True)
    forms = [text.encode()[first:end].decode() for first, end in segments.cells.tolist()]
    sentences = [forms[first:end] for first, end in pairwise(segments.offsets.tolist())]
    scorer = tagger.parts.scorer()
    assert scorer.takes_cells
    rows, ids = scorer.look_up_cells(text.encode(), segments.cells)
    scores = scorer.scores_of_words(rows, ids, segments.offsets)
    again = FastScorer(tagger.parts.features, tagger.parts.network).scores(sentences)
    assert np.array_equal(scores, again[0]) and np.array_equal(segments.offsets, again[1])
