"""Everything differentiable, checked from one list of which no row can go without being missed."""

from collections import Counter
from types import ModuleType

import numpy as np
import pytest

import postil.models.networks.network as scoring
import postil.objectives.crf as crf
from oracles.observed import PACKAGE, Line, calls, is_pullback, pullback_lines
from oracles.requirements import gaps, networks_of_estimators, required, requirements_of
from postil import gradcheck, kernels, network
from postil.errors import ConfigurationError
from postil.features.inputs import InputFeatures
from postil.gradcheck import examination
from postil.graph import Node, Result, ancestors, operations
from postil.models import PRESETS, Detector, Tagger, TaggerConfig, TreeConfig, config
from postil.models import config as tree_config
from postil.models.config import configured
from postil.models.fitting import fitting
from postil.models.gradients import (
    BY_DEFAULT,
    PARTIAL_LABELS,
    SENTENCE_INPUTS,
    first_sentence_loss,
    gradient_checks,
    inputs_of,
    sentence_estimators,
    sentence_inputs,
    tree_inputs,
    tree_loss,
    unused_settings,
)
from postil.models.networks.network import DetectorNetwork, EnsembleNetwork, TaggerNetwork, TaskNetwork
from postil.models.networks.tree_network import TreeNetwork
from postil.models.settings import rules
from postil.network import COMPOSITIONS, Layer, layer, lookup, tree, window
from postil.objectives import losses
from postil.optimisation.loop import GraphStep

CHECKS = gradient_checks()
REQUIRED = required()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_gradient(check):
    report = check.run()
    assert report.passed, report.failures
    assert report.checked > 0
    assert report.worst_error <= 1e-6


def test_everything_differentiable_is_checked():
    assert not gaps(CHECKS)


def test_every_requirement_is_covered_by_one_row():
    rows = Counter(name for check in CHECKS for name in check.covers)
    assert rows == Counter(list(REQUIRED))
    assert all(check.covers for check in CHECKS)


def test_a_row_that_is_removed_leaves_exactly_its_gap():
    for i, check in enumerate(CHECKS):
        others = CHECKS[:i] + CHECKS[i + 1 :]
        assert gaps(others, REQUIRED) == [name for name in REQUIRED if name in check.covers], check.name


def test_names_are_distinct_and_equations_are_named():
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    assert all(check.equations for check in CHECKS)


# ----- What must be checked is read from the code: whatever is added to it becomes a gap, and rows call what they cover


def placed(thing, module: ModuleType, monkeypatch, name: str):
    """As if ``thing`` were written in that module."""
    thing.__module__, thing.__name__, thing.__qualname__ = module.__name__, name, name
    monkeypatch.setattr(module, name, thing, raising=False)


# ------------------------------------------------------------------------------------------------ what is found


def test_a_new_operation_is_a_gap(monkeypatch):
    def sine(x: Node) -> Result: ...

    placed(sine, operations, monkeypatch, "sine")
    assert gaps(CHECKS) == ["graph.operations.sine"]


def test_a_new_layer_is_a_gap_in_each_of_its_modes(monkeypatch):
    class Scale(Layer):
        def __init__(self, D: int, *, bias: bool = True, activation: str = "tanh", mask: np.ndarray | None = None): ...
        def forward(self, X, run): ...

    placed(Scale, layer, monkeypatch, "Scale")
    others = [f"activation={name}" for name in network.ACTIVATIONS if name != "tanh"]
    modes = ["", ": bias=False", *(f": {other}" for other in others), ": mask"]
    assert gaps(CHECKS) == [f"network.layer.Scale{mode}" for mode in modes]


def test_a_new_objective_is_a_gap(monkeypatch):
    class Ranking:
        def loss(self, scores: Node) -> Result: ...

    placed(Ranking, losses, monkeypatch, "Ranking")
    assert gaps(CHECKS) == ["objectives.losses.Ranking"]


def test_a_new_choice_of_a_table_is_a_gap(monkeypatch):
    monkeypatch.setattr(losses, "NORMALISATIONS", ("mean", "sum", "root"))
    assert gaps(CHECKS) == ["objectives.losses.max_margin: normalise=root"]


def test_a_new_activation_is_a_gap_wherever_it_can_be_chosen(monkeypatch):
    monkeypatch.setitem(network.ACTIVATIONS, "gelu", network.ACTIVATIONS["tanh"])
    assert set(gaps(CHECKS)) == {
        "network.layer.Activation: function=gelu",
        *(f"network.tree.{kind}Composition: activation=gelu" for kind in ("Sum", "Affine", "Tensor")),
        *(f"{config}: activation=gelu" for config in ("TaggerConfig", "TreeConfig")),
    }


def test_a_new_mode_that_a_module_declares_is_a_gap(monkeypatch):
    monkeypatch.setattr(layer, "MODES", {**layer.MODES, "Residual": ("scaled",)})
    assert gaps(CHECKS) == ["network.layer.Residual: scaled"]


def test_a_new_preset_is_a_gap_with_every_kind_of_input(monkeypatch):
    monkeypatch.setitem(config.PRESETS, "tiny", {**config.PRESETS["fast"], "hidden": 8})
    inputs = ("forms", "vectors", "lexicons", "gazetteer", "use_columns", "named", "partial labels")
    others = {"Detector tiny: forms", "MultiTaskTagger tiny: forms"}
    assert set(gaps(CHECKS)) == {*(f"Tagger tiny: {kind}" for kind in inputs), *others}


def test_a_new_kind_of_input_is_a_gap_of_every_preset(monkeypatch):
    def build(cls, config, sentences, *, vectors=None, gazetteer=None, use_columns=True, clusters=None): ...

    monkeypatch.setattr(InputFeatures, "build", classmethod(build))
    taggers = [name for name, row in config.PRESETS.items() if row.get("objective") != "margin"]
    assert set(gaps(CHECKS)) == {*(f"Tagger {name}: clusters" for name in taggers), "Detector margin: clusters"}


def test_a_new_composition_is_a_gap(monkeypatch):
    monkeypatch.setitem(network.COMPOSITIONS._names, "mean", "SumComposition")
    monkeypatch.setitem(tree_config.DEFAULTS, "mean", {})
    assert gaps(CHECKS) == [f"TreeClassifier mean: {inputs}" for inputs in tree_inputs()]


@pytest.mark.parametrize("field", ["encoder", "objective", "activation", "offsets"])
def test_a_new_choice_of_a_setting_is_a_gap(field, monkeypatch):
    declared = rules(config.TaggerConfig)
    monkeypatch.setitem(declared, field, declared[field]._replace(choices=(*declared[field].choices, "new")))
    assert gaps(CHECKS) == [f"TaggerConfig: {field}=new"]


def test_an_argument_whose_choices_are_nowhere_listed_is_refused(monkeypatch):
    def smooth(x: Node, kernel: str = "box") -> Result: ...

    placed(smooth, operations, monkeypatch, "smooth")
    with pytest.raises(ConfigurationError, match="choices of an argument"):
        list(requirements_of(smooth))


# ------------------------------------------------------------------------------------------------ what rows really do


def observed() -> tuple[dict[str, set[str]], set[Line]]:
    """Every row with the requirements that its calls fulfil, and all lines of pullbacks that any row runs.

    Slopes are not measured here: the two forward passes and the reverse pass of each row are enough.
    """
    lines: set[Line] = set()
    fulfilled: dict[str, set[str]] = {check.name: set() for check in CHECKS}
    wanted = {call.__code__: [] for requirement in required().values() for call in requirement.calls}
    for requirement in required().values():
        for call in requirement.calls:
            wanted[call.__code__].append(requirement)

    def on_call(frame):
        for requirement in wanted.get(frame.f_code, ()):
            if is_in_mode(frame.f_locals, requirement.mode):
                fulfilled[check.name].add(requirement.name)
        return is_pullback(frame.f_code) and frame.f_code.co_filename.startswith(str(PACKAGE))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(examination, "_examined", passed_entry)
        for check in CHECKS:
            with calls(on_call, lines):
                assert check.run().passed
    return fulfilled, lines


def is_in_mode(arguments, mode):
    return mode.argument is None or (mode.argument in arguments and mode.accepts(arguments[mode.argument]))


def passed_entry(name, value, *_):
    return gradcheck.Entry(
        name=name, shape=value.shape, checked=1, left_out=0, worst_error=0.0, worst=None, largest=1.0
    )


@pytest.mark.slow
def test_rows_call_what_they_cover_and_run_every_line_of_every_pullback():
    """One test: observing takes a few seconds."""
    fulfilled, lines = observed()
    with_calls = {name for name, requirement in required().items() if requirement.calls}
    claimed = {check.name: set(check.covers) & with_calls - fulfilled[check.name] for check in CHECKS}
    assert not {name: missing for name, missing in claimed.items() if missing}
    missed = pullback_lines("graph/operations.py", "network", "objectives") - lines
    assert not missed, sorted(missed)


def test_pullbacks_are_found_by_their_first_argument():
    found = {line.function.partition(" ")[0] for line in pullback_lines("network/tree.py", "objectives/losses.py")}
    assert {
        "TensorComposition._map.<locals>.weights",
        "_SameWidth.upward.<locals>.downward",
        "max_margin.<locals>.<lambda>",
    } <= found


def test_a_line_that_no_row_runs_is_missed():
    rows = {check.name: check for check in CHECKS}
    lines: set[Line] = set()
    with calls(lambda frame: is_pullback(frame.f_code) and str(PACKAGE) in frame.f_code.co_filename, lines):
        rows["max-margin, mean over pairs"].run()
    of_margin = {line for line in pullback_lines("objectives/losses.py") if line.function.startswith("max_margin")}
    assert of_margin and not of_margin - lines
    assert pullback_lines("network/tree.py") - lines == pullback_lines("network/tree.py")


# ---------------------------------- A pullback that is broken on purpose: the rows that cover it fail, whole models too


ROWS = {check.name: check for check in CHECKS}


def spoilt(function, part: int, factor: float = 1.001):
    """``function`` gives a value and its pullback: one of the gradients is wrong by a small factor."""

    def wrong(*given, **options):
        Y, back = function(*given, **options)

        def pullback(dY):
            found = back(dY)
            if not isinstance(found, tuple):
                return found * factor
            return tuple(gradient * factor if i == part else gradient for i, gradient in enumerate(found))

        return Y, pullback

    return wrong


def spoilt_crf(field: str):
    def wrong(*given, right=crf.loss_and_gradient):
        losses, gradient = right(*given)
        return losses, gradient._replace(**{field: getattr(gradient, field) * 1.001})

    return wrong


def fails(*names: str) -> None:
    for name in names:
        assert not ROWS[name].run().passed, f"{name} should have failed"


@pytest.mark.slow
@pytest.mark.parametrize("field", ["unary", "transitions", "start", "end"])
def test_the_gradient_of_a_crf(field, monkeypatch):
    monkeypatch.setattr(crf, "loss_and_gradient", spoilt_crf(field))
    fails("CRF", "CRF, forbidden transitions", "CRF, partial labels", "CRF, long sentences")
    fails("tagger fast, forms", "tagger linear-crf, vectors", "tagger sentence-sll, gazetteers")
    assert ROWS["tagger window-wll, forms"].run().passed  # has no CRF


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_the_gradient_of_shared_windows(part, monkeypatch):
    """Of the rows, of the padding, of the weights, of the bias."""
    monkeypatch.setattr(window, "linear_of_windows", spoilt(window.linear_of_windows, part))
    fails("shared windows", "shared windows with fused relu", "tagger fast, forms", "tagger accurate, vectors")
    fails("tagger window-wll, partial labels", "detector margin, forms", "tagger fast, extra columns")
    assert ROWS["tagger sentence-sll, forms"].run().passed  # takes the general path


@pytest.mark.parametrize("part", range(3))
def test_the_gradient_of_a_linear_layer(part, monkeypatch):
    monkeypatch.setattr(layer, "linear", spoilt(layer.linear, part))
    fails("linear", "fused hidden layer, relu", "tagger fast, forms", "tagger fast, extra columns")


PULLBACKS = {
    "sum": (tree.SumComposition, 2),
    "concatenation": (tree.AffineComposition, 3),
    "tensor": (tree.TensorComposition, 4),
    "tree-lstm": (tree.TreeLSTM, 5),
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "part"), [(name, part) for name, (_, n) in PULLBACKS.items() for part in range(n)])
def test_the_gradient_of_a_composition(name, part, monkeypatch):
    composition, _ = PULLBACKS[name]
    monkeypatch.setattr(composition, "upward", spoilt(composition.upward, part))
    fails(f"tree composition {name}", f"tree classifier {name}, trees", f"tree classifier {name}, loss=root")


def test_what_is_dropped_on_the_way_back(monkeypatch):
    monkeypatch.setattr(layer, "noise_of", lambda rate, rng: kernels.Noise(5, 2**31))
    assert ROWS["fused hidden layer, relu"].run().passed  # other noise, the same on both ways
    monkeypatch.setattr(layer, "dropout", spoilt(layer.dropout, 0))
    fails("dropout of elements", "dropout of rows", "tagger linear-crf, forms")


def test_a_gradient_that_forgets_repeated_words(monkeypatch):
    def forgetful(W, ids, right=lookup.lookup):
        Y, _ = right(W, ids)
        seen = np.unique(ids, return_index=True)[1]

        def pullback(dY):
            return right(W, ids[seen])[1](dY[seen])

        return Y, pullback

    monkeypatch.setattr(lookup, "lookup", forgetful)
    fails("lookup table", "lookup tables, concatenated", "tree classifier sum, trees", "tagger fast, extra columns")


@pytest.mark.slow
def test_a_loss_that_a_parameter_moves_unseen(monkeypatch):
    right = scoring.ScoringNetwork.loss

    def skewed(self, example, *, rng):
        loss = right(self, example, rng=rng)
        extra = 1e-3 * float((self.outputs[0].W.value ** 2).sum())
        return Result(loss.value + extra, (loss,), lambda dY: [dY], "skewed")

    monkeypatch.setattr(scoring.ScoringNetwork, "loss", skewed)
    for name in ("tagger average-softmax, forms", "tagger accurate, gazetteers", "detector margin, vectors"):
        report = ROWS[name].run()
        failed = [entry.name for entry in report.entries if entry.failure(report.tolerance)]
        assert failed and {name.split(".", 1)[1] if name.startswith("member") else name for name in failed} == {
            "output0.W"
        }


# ---------- The rows of models run what users train: the same features, network, batch and path through the first layer


SHARED = "Linear of windows"
WITH_WINDOWS = ("window", "convolutions", "dilated")
"""Encoders whose first layer is a linear layer of windows."""


def nodes_of(loss) -> list[str]:
    return [node.name for node in ancestors(loss.node()) if isinstance(node, Result)]


def sentence_nodes(kind, preset, inputs, **settings):
    return nodes_of(first_sentence_loss(kind, preset, inputs, settings, np.random.default_rng(7)))


def tree_nodes(composition, inputs):
    return nodes_of(tree_loss(composition, inputs, {}, np.random.default_rng(7)))


CASES = [(kind, preset) for kind in (Tagger, Detector) for preset in kind._rows()]


@pytest.mark.parametrize(("kind", "preset"), CASES)
def test_the_shared_window_path_runs_as_in_training(kind, preset):
    shares = configured(preset, {}).encoder in WITH_WINDOWS
    for inputs in (BY_DEFAULT, "vectors", PARTIAL_LABELS, "use_columns", "gazetteer"):
        assert (SHARED in sentence_nodes(kind, preset, inputs)) is shares, inputs


def test_most_presets_share_windows():
    assert {configured(preset, {}).encoder for preset in Tagger._rows()} >= set(WITH_WINDOWS)


@pytest.mark.parametrize("preset", ["fast", "accurate", "window-wll"])
def test_fit_itself_takes_that_path(preset, monkeypatch):
    calls = []
    right = scoring.shared_windows
    monkeypatch.setattr(scoring, "shared_windows", lambda *given: calls.append(given) or right(*given))
    monkeypatch.setattr(fitting, "training_step", GraphStep)  # which computes the same in a kernel
    X, y = [["Anna", "lives", "here"]] * 3, [["B-PER", "O", "O"]] * 3
    Tagger(preset=preset, hidden=4, epochs=1).fit(X, y)
    assert calls
    finish = calls[0][-1]
    assert finish is not None and finish.activation == configured(preset, {}).activation


def test_every_kind_of_input_has_data():
    assert set(SENTENCE_INPUTS) == set(sentence_inputs())


def parameters_of(inputs):
    return first_sentence_loss(Tagger, "fast", inputs, {}, np.random.default_rng(7)).parameters


def test_inputs_reach_the_network():
    width = parameters_of(BY_DEFAULT)["encoder.layers.0.padding"].shape[0]
    assert parameters_of("vectors")["encoder.layers.0.padding"].shape[0] == width + 2
    assert "extra.tables.0" in parameters_of("use_columns") and "extra.tables.0" in parameters_of("gazetteer")
    assert "extra.tables.0" not in parameters_of(BY_DEFAULT)


@pytest.mark.slow
def test_sizes_are_all_that_differs_from_the_preset():
    names = set(Tagger(preset="fast").fit([["a", "b"]] * 2, [["O", "B-X"]] * 2).model.network.parameters())
    assert set(parameters_of(BY_DEFAULT)) == names


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_tree_inputs_change_the_graph_as_they_should(composition):
    by_default, *others = tree_inputs()
    plain = tree_nodes(composition, by_default)
    assert "take rows" not in plain
    assert "take rows" in tree_nodes(composition, "loss=root")
    assert "LookupTable" not in tree_nodes(composition, "learn_vectors=False")
    assert {"vectors", "learn_vectors=False", "loss=root", "class_weights=balanced"} == set(others)
    # Vectors of another width than phrases need a map, which the Tree-LSTM has in itself.
    maps = [tree_nodes(composition, inputs).count("Linear") for inputs in (by_default, "vectors")]
    assert maps == ([1, 1] if composition == "tree-lstm" else [1, 2])


# ---------------------------------------------------------------------------- Which models and settings must be checked


def test_every_kind_of_model_and_its_network_are_found():
    assert set(sentence_estimators()) == {Tagger, Detector}
    assert set(networks_of_estimators()) == {TaggerNetwork, EnsembleNetwork, TaskNetwork, DetectorNetwork, TreeNetwork}


def test_presets_of_each_kind():
    assert set(Detector._rows()) == set(PRESETS)
    assert set(PRESETS) - set(Tagger._rows()) == {"margin"}


def test_a_kind_that_replaces_the_objective_is_checked_on_forms():
    assert inputs_of(Tagger, "fast") == inputs_of(Detector, "margin") == sentence_inputs()
    assert inputs_of(Detector, "fast") == ["forms"]


def test_settings_that_no_preset_has():
    of_taggers, of_trees = dict(unused_settings(TaggerConfig)), dict(unused_settings(TreeConfig))
    assert of_taggers["l2"] == 0.01 and of_taggers["input_dropout"] == 0 and of_taggers["constrained"] is False
    assert ("activation", "sigmoid") in unused_settings(TaggerConfig)
    assert "encoder" not in of_taggers and "optimiser" not in of_taggers  # all used; nothing to differentiate
    assert of_trees["l2"] == 0.01 and "loss" not in of_trees  # checked with every composition
