"""The fused step of training: the loss and gradients of the general path, the same bits for any number of threads."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import postil
from postil import kernels
from postil.graph import dense
from postil.models.config import TaggerConfig
from postil.models.networks.fused import FusedStep, training_step
from postil.models.settings import rules
from postil.optimisation.loop import GraphStep, Workers
from postil.threads import Team

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


def computed(step, batch, training, threads=1):
    """(loss, gradients) of a batch."""
    with kernels.Crew(threads) as crew, Team(1) as team:
        prepared = step.prepare(batch, lambda shard: np.random.default_rng([training.seed, 0, 0, shard]))
        step.begin(prepared, Workers(team, crew))
        return step.finish(prepared, Workers(team, crew))


def left_to_the_graph(monkeypatch):
    """The batches that the graph computes from now on."""
    batches, finish = [], GraphStep.finish

    def noted(self, prepared, workers):
        batches.append(prepared.batch)
        return finish(self, prepared, workers)

    monkeypatch.setattr(GraphStep, "finish", noted)
    return batches


def both_paths(training, batch=None):
    """(loss, gradients) of one batch by the fused step and by the flow graph."""
    batch = batch or training.batches(np.random.default_rng(0))[0]
    return computed(training.gradient_step, batch, training), computed(GraphStep(training.model), batch, training)


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
        {"layers": 1},
    ],
    ids=lambda settings: ", ".join(settings) or "as it is",
)
@pytest.mark.parametrize("preset", PRESETS)
def test_loss_and_gradients_are_those_of_the_general_path(preset, settings):
    training = fitting(preset, **settings).training
    assert_same(*both_paths(training))


def other_values(name):
    """Values of a setting that differ from the one in ``fast``."""
    value, rule = getattr(fitting("fast").model.config, name), rules(TaggerConfig)[name]
    if rule.choices is not None:
        return [choice for choice in rule.choices if choice not in (value, "margin")]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, tuple):
        return [value[:-1]] if value else []
    if value is None:  # switched off, and nothing says what else it may be
        return []
    return [value + 2] if isinstance(value, int) else [value / 2 + 0.05]


@pytest.mark.filterwarnings("ignore::postil.errors.SlowTrainingWarning")
@pytest.mark.parametrize("name", [name for name, rule in rules(TaggerConfig).items() if rule.in_loss])
def test_no_setting_is_ignored_by_the_fused_step(name):
    """It computes what the setting asks for, or leaves the network to the graph."""
    steps = []
    for value in other_values(name):
        training = fitting("fast", **{name: value}).training
        steps.append(type(training.gradient_step))
        if FusedStep in steps[-1:]:
            assert_same(*both_paths(training))
    assert FusedStep in steps or not steps or name in ("encoder", "layers", "objective", "offsets", "l2", "shards")


@pytest.mark.parametrize("character_dim", [0, 5])
def test_fixed_vectors_are_looked_up_too(tmp_path, character_dim):
    lines = [f"{word.lower()} {i} {-i} 0.5 {i % 3}" for i, word in enumerate(WORDS)]
    (tmp_path / "vectors.txt").write_text("\n".join(lines) + "\n")
    training = fitting("fast", vectors=tmp_path / "vectors.txt", character_dim=character_dim).training
    assert_same(*both_paths(training))


def test_dilated_convolutions():
    assert_same(*both_paths(fitting("accurate", encoder="dilated", layers=5).training))


@pytest.mark.parametrize("preset", ["fast", "accurate"])
def test_features_of_tokens_in_their_sentences_are_looked_up_too(tmp_path, preset):
    X, y = corpus()
    X = [[(word, str(t % 3), str(t % 7 - 3)) for t, word in enumerate(tokens)] for tokens in X]
    (tmp_path / "PER.txt").write_text("Anna\n")
    tagger = postil.Tagger(preset=preset, epochs=2, seed=3, batch_sentences=24, gazetteers=[tmp_path / "PER.txt"])
    training = tagger.fitting(X, y).training
    assert training.gradient_step.choice.name == "fused"
    assert_same(*both_paths(training))


def with_characters(training, change):
    """A batch whose words are spelled otherwise."""
    batch = training.batches(np.random.default_rng(0))[0]
    (example,) = batch.shards
    forms = example.inputs.forms.copy()
    change(training.model.form_columns(forms)[1])
    return replace(batch, shards=[replace(example, inputs=replace(example.inputs, forms=forms))])


@pytest.mark.parametrize("shortest", [0, 1, 2])
def test_words_of_any_length_are_spelled(shortest, monkeypatch):
    training = fitting("fast", character_dim=6).training

    def cut(characters):
        for i, word in enumerate(characters):
            word[shortest + i % 4 :] = 0

    by_graph = left_to_the_graph(monkeypatch)
    assert_same(*both_paths(training, with_characters(training, cut)))
    assert len(by_graph) == 1


def test_characters_outside_the_alphabet_are_left_to_the_graph():
    training = fitting("fast", character_dim=6).training

    def spoil(characters):
        characters[3, 0] = training.model.alphabet + 1

    with pytest.raises(postil.errors.IndexRangeError):
        computed(training.gradient_step, with_characters(training, spoil), training, threads=2)


def test_characters_that_are_not_numbers_are_left_to_the_graph(monkeypatch):
    training = fitting("fast", character_dim=6).training
    training.model.characters.table.value[2, 0] = np.nan
    by_graph = left_to_the_graph(monkeypatch)
    with pytest.raises(postil.errors.NumericalError):
        computed(training.gradient_step, with_characters(training, lambda characters: None), training, threads=2)
    assert len(by_graph) == 1


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
def test_bits_do_not_depend_on_the_number_of_threads(preset):
    models = [postil.Tagger(preset=preset, epochs=2, seed=1, threads=n).fit(*corpus(60)) for n in (1, 2, 3, 5)]
    first, *others = [model.model.network.parameters() for model in models]
    for other in others:
        for name, parameter in first.items():
            assert parameter.value.tobytes() == other[name].value.tobytes(), name


@pytest.mark.parametrize(
    ("preset", "settings", "reason", "warns"),
    [
        ("window-wll", {}, "objective=softmax", False),
        ("sentence-sll", {}, "encoder=sentence", False),
        ("neural-crf", {"l2": 0.1}, "offsets=3, l2=0.1", False),
        ("fast", {"l2": 0.1}, "l2=0.1", True),
        ("fast", {"layers": 2}, "layers=2", True),
        ("fast", {"activation": "tanh"}, "activation=tanh", True),
        ("accurate", {"shards": 2, "offsets": 3}, "offsets=3, shards=2", True),
    ],
)
def test_other_networks_are_left_to_the_graph_and_the_reason_is_told(preset, settings, reason, warns):
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        choice = fitting(preset, **settings).training.gradient_step.choice
    assert choice.name == "graph" and choice.reason == reason
    assert [warning.category for warning in noted] == [postil.errors.SlowTrainingWarning] * warns
    assert all(reason in str(warning.message) and warning.filename == __file__ for warning in noted)


def test_a_fitted_model_knows_its_step():
    tagger = postil.Tagger(epochs=1).fit(*corpus())
    assert tagger.model.about["training"]["step"] == {"name": "fused", "reason": None}


def test_without_a_known_blas_there_is_none(monkeypatch):
    monkeypatch.setattr("postil.models.networks.fused.blas_product", lambda: None)
    choice = training_step(fitting("fast").model.network).choice
    assert choice.name == "graph" and choice.reason


def test_several_possible_labels_and_wide_scores_are_left_to_the_graph(monkeypatch):
    training = fitting("fast").training
    output = training.model.outputs[0].b
    output.value[0] = 1000.0  # further apart than scaled probabilities can tell
    by_graph = left_to_the_graph(monkeypatch)
    (loss, _), _ = both_paths(training)
    assert np.isfinite(loss) and len(by_graph) == 2
    X, y = corpus()
    y[0] = ["?"] * len(y[0][:1]) + y[0][1:]
    partial = postil.Tagger(epochs=1, batch_sentences=len(X)).fitting(X, y, partial=True).training
    assert partial.gradient_step.choice.name == "fused"
    both_paths(partial)
    assert len(by_graph) == 4


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


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_an_error_while_helpers_are_at_work_ends_the_training(threads, monkeypatch):
    training = fitting("fast", threads=threads).training
    prepare, calls = training.gradient_step.prepare, []

    def failing(*arguments, **named):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return prepare(*arguments, **named)

    monkeypatch.setattr(training.gradient_step, "prepare", failing)
    before = {name: parameter.value.copy() for name, parameter in training.model.parameters().items()}
    with pytest.raises(KeyboardInterrupt):
        list(training.run())
    for name, parameter in training.model.parameters().items():
        assert (parameter.value == before[name]).all(), name
