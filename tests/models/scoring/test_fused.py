"""The fused step of training: the loss and gradients of the general path, the same bits for any number of threads."""

from dataclasses import replace

import numpy as np
import pytest

import postil
from postil import kernels
from postil.graph import dense
from postil.models.scoring.fused import fused_training

pytestmark = pytest.mark.skipif(
    not kernels.IN_USE.startswith("compiled"), reason="the fused step needs the compiled kernels"
)
WORDS = ["Anna", "of", "Oslo", "went", "to", "Rome", "in", "1999", ",", "again", "Bergen", "and"]
TAGS = {"Anna": "B-PER", "Oslo": "B-LOC", "Rome": "B-LOC", "Bergen": "B-LOC"}
PRESETS = ["fast", "accurate", "window-sll"]


def corpus(sentences=40, seed=0):
    rng = np.random.default_rng(seed)
    X = [[WORDS[i] for i in rng.integers(0, len(WORDS), rng.integers(1, 40))] for _ in range(sentences)]
    return X, [[TAGS.get(word, "O") for word in tokens] for tokens in X]


def fitting(preset, **settings):
    return postil.Tagger(preset=preset, **{"epochs": 2, "seed": 3, "batch_sentences": 24} | settings).fitting(*corpus())


def both_paths(training, number=0):
    """(loss, gradients) of one batch by the fused step and by the flow graph."""
    batches = training.batches(0, np.random.default_rng(0))
    batch, ready = training._prepared(batches, number)
    with kernels.new_crew(1) as crew:
        return training.fused.begin(ready, crew=crew).result(), training._gradients(batch, map)


def assert_same(fused, general):
    """Loss and gradients are the same up to rounding."""
    (loss, gradients), (expected_loss, expected_gradients) = fused, general
    assert loss == pytest.approx(expected_loss, rel=1e-5)
    assert gradients.keys() == expected_gradients.keys()
    for node, expected in expected_gradients.items():
        largest = np.abs(dense(expected)).max()
        np.testing.assert_allclose(dense(gradients[node]), dense(expected), atol=2e-5 * largest + 1e-9, rtol=0)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"window": 7},
        {"window": 1},
        {"activation": "hardtanh"},
        {"hidden": 33, "word_dim": 17},
        {"input_dropout": 0.0, "hidden_dropout": 0.0, "word_dropout": 0.0},
        {"batch_sentences": 1},
        {"ensemble": 3},
        {"character_dim": 0},
        {"character_dim": 5},
    ],
    ids=lambda settings: ", ".join(settings) or "as it is",
)
@pytest.mark.parametrize("preset", PRESETS)
def test_loss_and_gradients_are_those_of_the_general_path(preset, settings):
    training = fitting(preset, **settings).training
    assert_same(*both_paths(training))


@pytest.mark.parametrize("character_dim", [0, 5])
def test_fixed_vectors_are_looked_up_too(tmp_path, character_dim):
    lines = [f"{word.lower()} {i} {-i} 0.5 {i % 3}" for i, word in enumerate(WORDS)]
    (tmp_path / "vectors.txt").write_text("\n".join(lines) + "\n")
    training = fitting("fast", vectors=tmp_path / "vectors.txt", character_dim=character_dim).training
    assert_same(*both_paths(training))


def result_and_batch(training, change):
    """What the fused step finds of a batch whose words are spelled otherwise, and that batch."""
    batch = training.batches(0, np.random.default_rng(0))[0]
    (example,) = batch.shards
    forms = example.inputs.forms.copy()
    change(training.model.form_columns(forms)[1])
    shard = replace(example, inputs=replace(example.inputs, forms=forms))
    ready = training.fused.prepare(shard, batch.shares[0], rng=training._rng(0, 0))
    with kernels.new_crew(2) as crew:
        return training.fused.begin(ready, crew=crew).result(), replace(batch, shards=[shard])


@pytest.mark.parametrize("shortest", [0, 1, 2])
def test_words_of_any_length_are_spelled(shortest):
    training = fitting("fast", character_dim=6).training

    def cut(characters):
        for i, word in enumerate(characters):
            word[shortest + i % 4 :] = 0

    fused, batch = result_and_batch(training, cut)
    assert_same(fused, training._gradients(batch, map))


def test_characters_outside_the_alphabet_are_left_to_the_general_path():
    training = fitting("fast", character_dim=6).training

    def spoil(characters):
        characters[3, 0] = training.model.alphabet + 1

    fused, batch = result_and_batch(training, spoil)
    assert fused is None
    with pytest.raises(postil.errors.IndexRangeError):
        training._gradients(batch, map)


def test_characters_that_are_not_numbers_are_left_to_the_general_path():
    training = fitting("fast", character_dim=6).training
    training.model.characters.table.value[2, 0] = np.nan
    fused, _ = result_and_batch(training, lambda characters: None)
    assert fused is None


@pytest.mark.parametrize("preset", PRESETS)
def test_bits_do_not_depend_on_the_number_of_threads(preset):
    models = [postil.Tagger(preset=preset, epochs=2, seed=1, threads=n).fit(*corpus(60)) for n in (1, 2, 3, 5)]
    first, *others = [model.fitted_parts().network.parameters() for model in models]
    for other in others:
        for name, parameter in first.items():
            assert parameter.value.tobytes() == other[name].value.tobytes(), name


@pytest.mark.parametrize(
    ("preset", "settings"),
    [
        ("window-wll", {}),
        ("sentence-sll", {}),
        ("neural-crf", {}),
        ("fast", {"l2": 0.1}),
        ("fast", {"layers": 2}),
        ("fast", {"activation": "tanh"}),
    ],
)
def test_other_networks_have_none(preset, settings):
    assert fitting(preset, **settings).training.fused is None


def test_without_a_known_blas_there_is_none(monkeypatch):
    monkeypatch.setattr("postil.models.scoring.fused.blas_product", lambda: None)
    assert fused_training(fitting("fast").parts.network) is None


def test_several_possible_labels_and_wide_scores_take_the_general_path():
    training = fitting("fast").training
    output = training.model.outputs[0].b
    output.value[0] = 1000.0  # further apart than scaled probabilities can tell
    fused, (loss, _) = both_paths(training)
    assert fused is None and np.isfinite(loss)
    X, y = corpus()
    y[0] = ["?"] * len(y[0][:1]) + y[0][1:]
    partial = postil.Tagger(epochs=1, batch_sentences=len(X)).fitting(X, y, partial=True)
    batches = partial.training.batches(0, np.random.default_rng(0))
    assert partial.training._prepared(batches, 0)[1] is None


def test_a_diverging_training_says_so():
    with pytest.raises(postil.errors.NumericalError, match="the training has diverged"):
        postil.Tagger(epochs=3, rate=1e30, warm_up=0.0).fit(*corpus())


@pytest.mark.parametrize("ensemble", [1, 2])
@pytest.mark.parametrize("preset", PRESETS)
def test_a_teacher_is_learnt_as_by_the_general_path(preset, ensemble):
    X, y = corpus()
    teacher = postil.Tagger(preset="fast", hidden=8, epochs=1, seed=1).fit(X, y)
    student = postil.Tagger(preset=preset, epochs=2, seed=3, batch_sentences=24, ensemble=ensemble)
    training = student.fitting(X[:10], y[:10], unlabelled=X[10:], teachers=[teacher]).training
    assert_same(*both_paths(training))


@pytest.mark.parametrize("preset", PRESETS)
def test_gradients_and_adam_in_one_call_are_those_of_two(preset):
    in_one, in_two = (fitting(preset, threads=2) for _ in range(2))
    fused_step = in_two.training.optimiser.fused_step
    calls = []

    def alone(gradients, rate, *, clip, run):
        """Refuse what is still coming: the loop then asks for the gradients and offers them again."""
        calls.append(any(isinstance(gradient, kernels.ComingRows) for gradient in gradients.values()))
        return not calls[-1] and fused_step(gradients, rate, clip=clip, run=run)

    in_two.training.optimiser.fused_step = alone
    list(in_one), list(in_two)
    assert calls == [True, False] * (len(calls) // 2) and calls
    parameters = in_two.parts.network.parameters()
    for name, parameter in in_one.parts.network.parameters().items():
        assert parameter.value.tobytes() == parameters[name].value.tobytes(), name


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_an_error_while_helpers_are_at_work_ends_the_training(threads, monkeypatch):
    training = fitting("fast", threads=threads).training
    prepare, calls = training.fused.prepare, []

    def failing(*arguments, **named):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return prepare(*arguments, **named)

    monkeypatch.setattr(training.fused, "prepare", failing)
    before = {name: parameter.value.copy() for name, parameter in training.model.parameters().items()}
    with pytest.raises(KeyboardInterrupt):
        list(training.run())
    for name, parameter in training.model.parameters().items():
        assert (parameter.value == before[name]).all(), name
