"""What must be checked is read from the code: whatever is added to it becomes a gap, and rows call what they cover."""

import dataclasses
from types import ModuleType

import numpy as np
import pytest

import postil.models.config as config
from oracles.observed import PACKAGE, Line, calls, is_pullback, pullback_lines
from postil import gradcheck, network
from postil.features.inputs import InputFeatures
from postil.gradients.checks import gradient_checks
from postil.gradients.requirements import gaps, required, requirements_of
from postil.graph import Node, Result, operations
from postil.network import Layer, composition, linear
from postil.objectives import margin, softmax

CHECKS = gradient_checks()


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

    placed(Scale, linear, monkeypatch, "Scale")
    others = [f"activation={name}" for name in network.ACTIVATIONS if name != "tanh"]
    modes = ["", ": bias=False", *(f": {other}" for other in others), ": mask"]
    assert gaps(CHECKS) == [f"network.linear.Scale{mode}" for mode in modes]


def test_a_new_objective_is_a_gap(monkeypatch):
    class Ranking:
        def loss(self, scores: Node) -> Result: ...

    placed(Ranking, softmax, monkeypatch, "Ranking")
    assert gaps(CHECKS) == ["objectives.softmax.Ranking"]


def test_a_new_choice_of_a_table_is_a_gap(monkeypatch):
    monkeypatch.setattr(margin, "NORMALISATIONS", ("mean", "sum", "root"))
    assert gaps(CHECKS) == ["objectives.margin.max_margin: normalise=root"]


def test_a_new_activation_is_a_gap_wherever_it_can_be_chosen(monkeypatch):
    monkeypatch.setitem(network.ACTIVATIONS, "gelu", network.ACTIVATIONS["tanh"])
    assert set(gaps(CHECKS)) == {
        "network.activations.Activation: function=gelu",
        *(f"network.tree.{kind}Composition: activation=gelu" for kind in ("Sum", "Affine", "Tensor")),
    }


def test_a_new_mode_that_a_module_declares_is_a_gap(monkeypatch):
    monkeypatch.setattr(composition, "MODES", {**composition.MODES, "Residual": ("scaled",)})
    assert gaps(CHECKS) == ["network.composition.Residual: scaled"]


def test_a_new_preset_is_a_gap_with_every_kind_of_input(monkeypatch):
    monkeypatch.setitem(config.PRESETS, "tiny", {**config.PRESETS["fast"], "hidden": 8})
    inputs = ("forms", "vectors", "gazetteer", "use_columns", "partial labels")
    assert gaps(CHECKS) == [*(f"Tagger tiny: {kind}" for kind in inputs), "Detector tiny: forms"]


def test_a_new_kind_of_input_is_a_gap_of_every_preset(monkeypatch):
    def build(cls, config, sentences, *, vectors=None, gazetteer=None, use_columns=True, clusters=None): ...

    monkeypatch.setattr(InputFeatures, "build", classmethod(build))
    taggers = [name for name, row in config.PRESETS.items() if row.get("objective") != "margin"]
    assert gaps(CHECKS) == [*(f"Tagger {name}: clusters" for name in taggers), "Detector margin: clusters"]


def test_a_new_composition_is_a_gap(monkeypatch):
    monkeypatch.setitem(network.COMPOSITIONS, "mean", network.SumComposition)
    monkeypatch.setitem(postil_defaults(), "mean", {})
    found = gaps(CHECKS)
    assert "TreeClassifier mean: trees" in found and "TreeClassifier mean: loss=root" in found
    assert all(name.startswith("TreeClassifier mean: ") for name in found)


def postil_defaults():
    from postil.models.tree_config import DEFAULTS

    return DEFAULTS


@pytest.mark.parametrize("field", ["encoder", "objective", "activation", "offsets"])
def test_a_new_choice_of_a_setting_is_a_gap(field, monkeypatch):
    monkeypatch.setitem(config.CHOICES, field, (*config.CHOICES[field], "new"))
    assert gaps(CHECKS) == [f"TaggerConfig: {field}=new"]


def test_an_argument_whose_choices_are_nowhere_listed_is_refused(monkeypatch):
    def smooth(x: Node, kernel: str = "box") -> Result: ...

    placed(smooth, operations, monkeypatch, "smooth")
    with pytest.raises(postil_error(), match="choices of an argument"):
        list(requirements_of(smooth))


def postil_error():
    from postil.errors import ConfigurationError

    return ConfigurationError


# ------------------------------------------------------------------------------------------------ what rows really do


@pytest.fixture(scope="module")
def observed():
    """Every row with the requirements that its calls fulfil, and all lines of pullbacks that any row runs."""
    requirements, lines, fulfilled = required().values(), set[Line](), {}
    wanted: dict[object, list] = {}
    for requirement in requirements:
        for call in requirement.calls:
            wanted.setdefault(call.__code__, []).append(requirement)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gradcheck, "_examined", lambda name, value, *_: passed_entry(name, value))
        for check in CHECKS:
            seen: set[str] = set()

            def on_call(frame, seen=seen):
                for requirement in wanted.get(frame.f_code, ()):
                    argument = requirement.mode.argument
                    if argument is None or (
                        argument in frame.f_locals and requirement.mode.accepts(frame.f_locals[argument])
                    ):
                        seen.add(requirement.name)
                return is_pullback(frame.f_code) and frame.f_code.co_filename.startswith(str(PACKAGE))

            with calls(on_call, lines):
                assert check.run().passed
            fulfilled[check.name] = seen
    return fulfilled, lines


def passed_entry(name, value):
    entry = gradcheck.Entry(name=name, shape=value.shape, checked=1, left_out=0, worst_error=0.0, worst=None)
    return dataclasses.replace(entry)


def test_every_row_calls_what_it_covers(observed):
    fulfilled, _ = observed
    with_calls = {name for name, requirement in required().items() if requirement.calls}
    for check in CHECKS:
        assert not (set(check.covers) & with_calls) - fulfilled[check.name], check.name


def test_every_line_of_every_pullback_is_run_by_some_row(observed):
    _, lines = observed
    missed = pullback_lines("graph/operations.py", "network", "objectives") - lines
    assert not missed, sorted(missed)
