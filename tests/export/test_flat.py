"""Exported models beside Python: the same labels, and probabilities within 1e-5."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import postil
from oracles import corpora
from oracles.c_runtime import Runtime, RuntimeFailure, needs_compiler
from postil.errors import ConfigurationError
from postil.export.flat import exported
from postil.models.config import PRESETS
from postil.models.decoding.posteriors import Posteriors
from postil.models.engine import word_sections

SMALL = {"hidden": 16, "epochs": 3, "rate": 0.02}
TEXT = (
    "Anna lives in Paris. Dr. Smith, who isn't from the U.S., met 3 people at 10:30!\n\nÉtienne saw İstanbul & Σίσυφος."
)


def answers(tagger, X):
    """Labels and their probabilities of each sentence, and the entities by sentence, place and class."""
    found = Posteriors(tagger.model).decode(X, label_probabilities=True)
    entities = [[] for _ in X]
    for (row, start, end, kind), p in zip(found.spans.tolist(), found.span_probabilities.tolist(), strict=True):
        entities[row].append((start, end, found.codec.classes[kind], p))
    return found.texts(), found.by_sentence(), found.probabilities, entities


def check_tokens(tagger, runtime, X, task="main", atol=1e-12):
    """Every sentence by itself. Python and C compute the same bits of scores, unless BLAS multiplies in Python."""
    labels, probabilities, whole, entities = answers(tagger, X)
    for i, tokens in enumerate(X):
        tagged = runtime.tag_tokens(tokens)
        layer = tagged.layers[task]
        assert layer.labels == labels[i], tokens
        np.testing.assert_allclose(layer.probabilities, probabilities[i], atol=atol)
        if tokens:
            np.testing.assert_allclose(layer.whole, [whole[i]], atol=atol)
        starts = {begin: t for t, (begin, _) in enumerate(tagged.tokens)}
        ends = {end: t + 1 for t, (_, end) in enumerate(tagged.tokens)}
        found = [(starts[begin], ends[end], label) for begin, end, label, _ in layer.entities]
        assert found == [entity[:3] for entity in entities[i]]
        np.testing.assert_allclose([e[3] for e in layer.entities], [e[3] for e in entities[i]], atol=atol)


def check_text(tagger, runtime, text, task="main"):
    document, tagged = tagger.tag(text), runtime.tag(text)
    content = text.encode()
    tokens = [content[begin:end].decode() for begin, end in tagged.tokens]
    assert tokens == [token for sentence in document.sentences for token in sentence.tokens]
    assert np.diff(tagged.sentences).tolist() == [len(sentence.tokens) for sentence in document.sentences]
    layer = tagged.layers[task]
    assert layer.labels == [label for sentence in document.sentences for label in sentence.labels]
    found = [(content[begin:end].decode(), label) for begin, end, label, _ in layer.entities]
    assert found == [(entity.text, entity.label) for entity in document.entities]
    probabilities = [entity.probability for entity in document.entities]
    np.testing.assert_allclose([entity[3] for entity in layer.entities], probabilities, atol=1e-5)


SUPPORTED = [name for name in PRESETS if not name.startswith("sentence") and name != "margin"]


@needs_compiler
@pytest.mark.parametrize("preset", SUPPORTED)
def test_presets_answer_as_in_python(preset):
    X, y = corpora.named_entities(40)
    tagger = postil.Tagger(preset=preset, **SMALL).fit(X, y)
    runtime = Runtime(exported(tagger))
    check_tokens(tagger, runtime, [*X[:20], ["Unheard", "of", "WORDS", "42", "x" * 80, "Straße"]])
    check_text(tagger, runtime, TEXT)
    runtime.close()


@needs_compiler
@pytest.mark.parametrize(
    "settings",
    [
        {"character_dim": 8},
        {"encoder": "convolutions", "layers": 3, "window": 3, "activation": "tanh"},
        {"encoder": "dilated", "layers": 4, "window": 3, "activation": "tanh"},
        {"layers": 2, "activation": "sigmoid"},
        {"activation": "softsign"},
        {"activation": "leaky-relu", "window": 7},
        {"ensemble": 2, "character_dim": 4},
        {"objective": "softmax"},
        {"offsets": 3},
    ],
    ids=str,
)
def test_settings_answer_as_in_python(settings):
    X, y = corpora.named_entities(40)
    tagger = postil.Tagger(**{**SMALL, **settings}).fit(X, y)
    runtime = Runtime(exported(tagger))
    check_tokens(tagger, runtime, [*X[:20], ["A", "pneumonoultramicroscopicsilicovolcanoconiosis", "née"]])
    runtime.close()


@needs_compiler
def test_labels_without_spans(speech_model):
    tagger = postil.load(speech_model)
    runtime = Runtime(exported(tagger))
    check_tokens(tagger, runtime, corpora.parts_of_speech(20)[0])
    assert runtime.tag("a dog").layers["main"].entities == []
    runtime.close()


@needs_compiler
@pytest.mark.parametrize("scheme", ["iob1", "bio", "iobes", "bilou"])
def test_schemes(scheme):
    from postil.text.labels.schemes import convert

    X, y = corpora.named_entities(40)
    X = X + [["Anna", "Paris", "Rome", "Berlin"]] * 3
    y = [convert(labels, "bio", scheme) for labels in [*y, *[["B-PER", "B-LOC", "B-LOC", "B-LOC"]] * 3]]
    tagger = postil.Tagger(**SMALL).fit(X, y)
    assert tagger.model.codec.scheme == scheme
    runtime = Runtime(exported(tagger))
    check_tokens(tagger, runtime, X[-10:])
    runtime.close()


@needs_compiler
def test_calibration_bias_and_thresholds(names_model):
    tagger = postil.load(names_model)
    tagger.model.decoding = postil.Decoding(temperature=1.7, shift=0.4, bias=0.8, thresholds={"PER": 0.9})
    runtime = Runtime(exported(tagger))
    check_tokens(tagger, runtime, corpora.named_entities(30)[0])
    runtime.close()


@needs_compiler
def test_scores_far_apart_take_the_general_path(names_model):
    tagger = postil.load(names_model)
    tagger.model.decoding = postil.Decoding(temperature=0.002)
    runtime = Runtime(exported(tagger))
    check_tokens(tagger, runtime, corpora.named_entities(30)[0])
    runtime.close()


@needs_compiler
def test_several_tasks():
    (X, y), (X2, y2) = corpora.named_entities(30), corpora.parts_of_speech(30)
    tagger = postil.MultiTaskTagger(**SMALL).fit({"names": X, "speech": X2}, {"names": y, "speech": y2})
    runtime = Runtime(exported(tagger))
    for task in tagger.tasks:
        check_tokens(tagger[task], runtime, X[:10], task)
    assert list(runtime.tag("Anna").layers) == ["names", "speech"]
    runtime.close()


@needs_compiler
def test_clusters_name_lists_and_vectors(tmp_path):
    X, y = corpora.named_entities(40)
    words = sorted({token for tokens in X for token in tokens})
    clusters, names, vectors = (tmp_path / name for name in ("clusters.txt", "names.tsv", "vectors.txt"))
    clusters.write_text("".join(f"{i % 8:04b}\t{word}\t5\n" for i, word in enumerate(words)), encoding="utf-8")
    names.write_text("Paris\tLOC\nNew York\tLOC\nAnna\tPER\n", encoding="utf-8")
    rng = np.random.default_rng(0)
    rows = (f"{word.lower()} {' '.join(f'{x:.3f}' for x in rng.normal(size=6))}\n" for word in dict.fromkeys(words))
    vectors.write_text("".join(dict.fromkeys(rows)), encoding="utf-8")
    tagger = postil.Tagger(vectors=str(vectors), clusters=str(clusters), **SMALL).fit(X, y)
    runtime = Runtime(exported(tagger))
    check_tokens(tagger, runtime, [*X[:20], ["ANNA", "2024", "paris"]])
    runtime.close()


@needs_compiler
def test_clusters_of_vectors_share_their_words(tmp_path):
    X, y = corpora.named_entities(40)
    words = sorted({token.lower() for tokens in X for token in tokens}) + [f"other{i}" for i in range(40)]
    rng = np.random.default_rng(0)
    rows = [f"{word} {' '.join(f'{x:.3f}' for x in rng.normal(size=6))}\n" for word in words[::2]]
    (tmp_path / "vectors.txt").write_text("".join(rows), encoding="utf-8")
    settings = {"vectors": str(tmp_path / "vectors.txt"), "preset": "accurate", **SMALL}
    tagger = postil.Tagger(vector_clusters=(2, 3), **settings).fit(X, y)
    plain = postil.Tagger(vector_clusters=(), **settings).fit(X, y)
    assert len(tagger.model.features.words.columns) == len(plain.model.features.words.columns) + 2
    counts = [flat_vocabularies(one) for one in (tagger, plain)]
    assert counts[0] == counts[1], "the words of the vectors stand there once"
    runtime = Runtime(exported(tagger))
    check_tokens(tagger, runtime, [*X[:20], ["ANNA", "2024", "paris"]])
    runtime.close()


def flat_vocabularies(tagger):
    return int(word_sections(tagger.model.features.words)["vocabularies"][0])


@needs_compiler
def test_long_texts_are_scored_in_pieces():
    X, y = corpora.named_entities(40)
    tagger = postil.Tagger(preset="accurate", **SMALL).fit(X, y)
    runtime = Runtime(exported(tagger))
    long = [token for tokens in X * 10 for token in tokens][:1100]
    check_tokens(tagger, runtime, [long])
    check_text(tagger, runtime, " ".join(long[:700]))
    runtime.close()


@needs_compiler
def test_half_precision_is_close(names_model):
    tagger = postil.load(names_model)
    half = Runtime(exported(tagger, half=True))
    assert len(exported(tagger, half=True)) < len(exported(tagger))
    X = corpora.named_entities(20)[0]
    labels, probabilities, _, _ = answers(tagger, X)
    for i, tokens in enumerate(X):
        layer = half.tag_tokens(tokens).layers["main"]
        assert layer.labels == labels[i]
        np.testing.assert_allclose(layer.probabilities, probabilities[i], atol=0.01)
    half.close()


@needs_compiler
def test_a_fixed_workspace_answers_the_same_and_refuses_longer_texts(names_model):
    content = exported(postil.load(names_model))
    fixed, growing = Runtime(content, max_bytes=200), Runtime(content)
    for text in (TEXT, "x" * 200, "a." * 100, "", " \n ", "Mr. " * 50):
        assert fixed.tag(text) == growing.tag(text)
    with pytest.raises(RuntimeFailure, match="too long"):
        fixed.tag("x" * 201)
    assert fixed.tag(TEXT) == growing.tag(TEXT)
    fixed.close()
    growing.close()


@needs_compiler
def test_what_is_no_text_is_refused(names_model):
    runtime = Runtime(exported(postil.load(names_model)))
    with pytest.raises(RuntimeFailure, match="UTF-8"):
        runtime.tag(b"caf\xe9 au lait")
    with pytest.raises(RuntimeFailure, match="tree classifier"):
        runtime.tree("(1 a)")
    assert runtime.tag("Anna").layers["main"].labels
    runtime.close()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X, y: postil.Tagger(preset="sentence-sll", **SMALL).fit(X, y), "the encoder 'sentence'"),
        (lambda X, y: postil.Tagger(constrained=False, **SMALL).fit(X, y), "constrained=False"),
        (
            lambda X, y: postil.Tagger(**SMALL).fit([[(token, "x") for token in tokens] for tokens in X], y),
            "extra columns",
        ),
        (lambda X, y: postil.Detector(label="PER", epochs=2, hidden=8).fit(X, y), "Detector"),
    ],
    ids=["sentence", "unconstrained", "columns", "detector"],
)
def test_what_the_runtime_does_not_support_is_refused(make, message):
    with pytest.raises(ConfigurationError, match=message):
        exported(make(*corpora.named_entities(20)))


@needs_compiler
def test_threads_share_a_model(names_model):
    """Each has a workspace of its own; ctypes lets them run at the same time."""
    runtime = Runtime(exported(postil.load(names_model)))
    texts = [" ".join(tokens) for tokens in corpora.named_entities(60)[0]]
    expected = [runtime.tag(text) for text in texts]
    workers = [runtime.beside() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda worker: [worker.tag(text) for text in texts * 3], workers))
    assert all(found == expected * 3 for found in answers)
    for worker in workers:
        worker.close(model=False)
    runtime.close()
