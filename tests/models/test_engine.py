"""The engine against the flow graph: every preset, every kind of feature, any number of threads."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities
from postil import kernels
from postil.errors import ConfigurationError, DataError, NumericalError
from postil.kernels.plain_text import word_cells
from postil.models import PRESETS
from postil.models import engine as engine_module
from postil.models.engine import Engine, Words, blocks, cells_of
from postil.models.networks.network import MAIN
from postil.objectives.crf import Lattice, Posterior, viterbi
from postil.text.splitting.segmenter import Segmenter

COMPILED = not kernels.IN_USE.startswith("plain")
compiled = pytest.mark.skipif(not COMPILED, reason="without compiled kernels the flow graph does the work")
TAGGERS = [name for name in PRESETS if name != "margin"]
SMALL = {"hidden": 24, "word_dim": 12, "epochs": 2, "rate": 0.02, "batch_sentences": 8}
X_TRAIN, Y_TRAIN = named_entities(40)
SENTENCES = [
    *named_entities(25, seed=1)[0],
    *([], ["Oslo"], ["unheard-of", "Wörter", "4711", "x" * 300, "", "a\nb", "\ud83d"], [], ["?"]),
]


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
    network, inputs = tagger.model.network, tagger.model.features.inputs(X)
    return Lattice.over(network.unary(inputs), inputs.offsets, network.chain())


def scores_of(tagger, X):
    scores, offsets = tagger.model.engine().scores(X, [MAIN])
    return scores[MAIN], offsets


def same_scores(tagger, X, tolerance=1e-4):
    assert np.allclose(scores_of(tagger, X)[0], plain_lattice(tagger, X).unary, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("preset", TAGGERS)
def test_scores_labels_and_probabilities_are_those_of_the_plain_path(files, preset, kind):
    tagger, X = fitted(files, preset, kind)
    expected = plain_lattice(tagger, X)
    scores, offsets = scores_of(tagger, X)
    assert np.array_equal(offsets, expected.offsets)
    assert np.allclose(scores, expected.unary, rtol=1e-4, atol=1e-4)
    labels = viterbi(expected)
    sure = tagger.model.codec.probabilities_of(labels, offsets, Posterior.of(expected).marginals())
    found, probabilities = tagger.predict_with_probabilities(X)
    cut = list(pairwise(offsets))
    assert found == tagger.predict(X) == [tagger.model.codec.texts(labels[a:b]) for a, b in cut]
    assert np.allclose(np.concatenate(probabilities), sure, atol=1e-4)


@compiled
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("preset", TAGGERS)
def test_what_is_left_to_the_flow_graph(files, preset, kind):
    tagger, _ = fitted(files, preset, kind)
    engine, runs = tagger.model.engine(), not preset.startswith("sentence")
    assert (engine._compiled is not None) == runs
    assert engine.takes_cells == (runs and kind in ("plain", "vectors")), "else words must be strings"


@pytest.mark.parametrize(
    "settings",
    [
        {"layers": 3},
        {"encoder": "average", "offsets": 3},
        {"encoder": "none", "offsets": 1},
        {"encoder": "convolutions", "activation": "tanh", "offsets": 3},
        {"encoder": "dilated", "layers": 4, "window": 3},
        {"constrained": False},
        {"character_dim": 6},
        *({"activation": name} for name in ("hardtanh", "sigmoid", "softsign", "leaky-relu")),
    ],
    ids=str,
)
def test_other_architectures(files, settings):
    tagger, X = fitted(files, "fast", "plain", **settings)
    same_scores(tagger, X)
    assert tagger.model.engine().takes_cells == (COMPILED and settings != {"encoder": "average", "offsets": 3})


def test_an_ensemble_and_the_heads_of_several_tasks(files):
    tagger, X = fitted(files, "fast", "vectors", ensemble=2)
    same_scores(tagger, X)
    model = postil.MultiTaskTagger(**SMALL).fit({"a": X_TRAIN, "b": X_TRAIN}, {"a": Y_TRAIN, "b": Y_TRAIN})
    scores, _ = model.model.engine().scores(X, ["b", "a"])
    inputs = model.model.features.inputs(X)
    expected = {task: head.network.unary(inputs) for task, head in model.model.heads.items()}
    assert list(scores) == ["b", "a"]
    assert all(np.allclose(scores[task], expected[task], rtol=1e-4, atol=1e-4) for task in scores)
    assert model["b"].model.engine() is model.model.engine()
    assert model["b"].predict(X) == model.predict(X)["b"]


def test_a_detector_goes_the_same_way():
    detector = postil.Detector(label="LOC", **SMALL).fit(X_TRAIN, Y_TRAIN)
    inputs = detector.model.features.inputs(SENTENCES)
    expected = detector.model.network.unary(inputs)[:, 0]
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
    before = tagger.model.engine()
    tagger.predict(X)
    assert tagger.model.engine() is before
    for parameter in tagger.model.network.parameters().values():
        assert not parameter.value.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        tagger.model.network.vectors[0] = 0


def test_other_parameters_are_seen_at_once(tmp_path):
    tagger = postil.Tagger(preset="fast", **SMALL).fit(X_TRAIN, Y_TRAIN)
    tagger.predict(SENTENCES)
    rng = np.random.default_rng(3)
    for parameter in tagger.model.network.parameters().values():  # as averaging and loading do: another array
        parameter.value = rng.normal(size=parameter.shape).astype(np.float32)
    same_scores(tagger, SENTENCES, 1e-3)
    for parameter in tagger.model.network.parameters().values():  # as an optimiser does: the same array
        parameter.value *= np.float32(0.5)
    same_scores(tagger, SENTENCES, 1e-3)
    tagger.save(tmp_path / "model.postil")
    loaded = postil.load(tmp_path / "model.postil")
    assert loaded.model.engine() is loaded.model.engine()
    assert loaded.predict(SENTENCES) == tagger.predict(SENTENCES)


def test_scores_during_training_are_those_of_the_present_parameters(monkeypatch):
    """The engine and the flow graph must choose the same epochs."""
    dev = named_entities(20, seed=5)

    def trained():
        return postil.Tagger(preset="fast", **{**SMALL, "epochs": 4}).fit(X_TRAIN, Y_TRAIN, dev)

    by_engine = trained()

    def refuse(*_):
        raise engine_module.refused("everything")

    monkeypatch.setattr(engine_module, "engine_sections", refuse)
    plain = trained()
    assert [row["score"] for row in history(by_engine)] == [row["score"] for row in history(plain)]


def history(tagger):
    return tagger.model.about["training"]["history"]


# ------------------------------------------------------------------------------------------------ any order


@compiled
@pytest.mark.parametrize("character_dim", [0, 9])
@pytest.mark.parametrize("preset", ["fast", "window-sll", "linear-crf"])
def test_scores_have_the_same_bits_whatever_was_asked_before(files, preset, character_dim, monkeypatch):
    """Nor do they depend on the other sentences, or on how many rows of words are kept: the smallest cache has 64."""
    from postil.kernels import compiled_engine

    tagger, X = fitted(files, preset, "vectors", character_dim=character_dim)
    X = [tokens for tokens in X if "\ud83d" not in tokens]
    X += [[f"word{i}", "in", f"other{i}"] for i in range(200)]
    parts = tagger.model
    at_once, offsets = Engine(parts.features, {MAIN: parts.network}).scores(X, [MAIN])
    monkeypatch.setattr(compiled_engine, "CACHED_BYTES", 0)
    one_by_one = Engine(parts.features, {MAIN: parts.network})
    again = one_by_one.scores(X, [MAIN])[0]
    assert np.array_equal(again[MAIN], at_once[MAIN])
    for i in reversed(range(len(X))):
        scores, _ = one_by_one.scores([X[i]], [MAIN])
        assert np.array_equal(scores[MAIN], at_once[MAIN][offsets[i] : offsets[i + 1]])


@compiled
def test_long_sentences_are_scored_in_pieces(files):
    tagger, X = fitted(files, "accurate", "vectors")
    words = [form for tokens in X for form in tokens if form != "\ud83d"]
    long = (words * (20_000 // len(words) + 1))[:20_000]
    same_scores(tagger, [long, ["Oslo"], long[:300]])


def test_what_was_not_trained_is_said():
    tagger = postil.Tagger(preset="fast", **SMALL).fit(X_TRAIN, Y_TRAIN)
    tagger.model.network.outputs[0].b.value = np.full_like(tagger.model.network.outputs[0].b.value, np.nan)
    with pytest.raises(NumericalError, match="finite"):
        tagger.predict(SENTENCES)


@compiled
def test_sections_that_do_not_belong_together(files):
    from postil.kernels.compiled_engine import CompiledEngine

    tagger, _ = fitted(files, "fast", "plain")
    sections = engine_module.engine_sections(tagger.model.features, {MAIN: tagger.model.network})
    del sections["member0/first/b"]
    with pytest.raises(ConfigurationError, match="engine"):
        CompiledEngine(sections, [1], None)


@pytest.mark.parametrize(
    "forms", [[], ["a"], ["", ""], [""], ["é", "", "😀x"], ["a\nb", "c"], ["\ud83d", "a"], [("a", "x"), "b"]], ids=repr
)
def test_words_in_cells_of_a_text(forms):
    text, cells = cells_of(forms)
    words = [form if isinstance(form, str) else form[0] for form in forms]
    assert [text[a:b].decode("utf-8", "surrogatepass") for a, b in cells.tolist()] == words
    assert cells.shape == word_cells(words)[1].shape


@pytest.mark.parametrize("kind", ["vectors", "everything"])
def test_threads_get_what_one_gets(files, kind):
    tagger, X = fitted(files, "fast", kind)
    expected = tagger.predict_with_probabilities(X)
    fresh = postil.Tagger(**tagger.get_params())
    fresh._model = tagger.model
    fresh.model._engine = None
    with ThreadPoolExecutor(6) as pool:
        for labels, probabilities in pool.map(lambda _: fresh.predict_with_probabilities(X), range(12)):
            assert labels == expected[0]
            assert all(np.array_equal(a, b) for a, b in zip(probabilities, expected[1], strict=True))


@compiled
def test_words_as_the_segmenter_cuts_them(files):
    tagger, _ = fitted(files, "fast", "vectors")
    text = "Anna saw Oslo. She likes\nthe Wörter of Paris, 1984! ".encode()
    segments = Segmenter().cells(text, lines=True)
    forms = [text[first:end].decode() for first, end in segments.cells.tolist()]
    sentences = [forms[first:end] for first, end in pairwise(segments.offsets.tolist())]
    words = Words(text, segments.cells, segments.offsets)
    ((which, scores, _),) = tagger.model.engine().scored(words, [MAIN])
    assert list(words) == sentences and list(which) == list(range(len(sentences)))
    again, offsets = Engine(tagger.model.features, {MAIN: tagger.model.network}).scores(sentences, [MAIN])
    assert np.array_equal(scores[MAIN], again[MAIN]) and np.array_equal(segments.offsets, offsets)


def test_a_text_is_not_a_list_of_tokens():
    tagger = postil.Tagger(**SMALL).fit(X_TRAIN, Y_TRAIN)
    with pytest.raises(DataError, match=r"sentence 1: .*a list of tokens.*'Anna left'"):
        list(tagger.model.engine().scored([["a"], "Anna left"], [MAIN]))


def test_blocks_are_filled_by_length():
    assert list(blocks([4, 25, 3, 4, 0], 10)) == [[4, 2, 0], [3], [1]]
    assert list(blocks([], 10)) == []
