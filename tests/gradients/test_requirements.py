"""What must be checked is read from the code: whatever is added to it becomes a gap, and rows call what they cover."""

from types import ModuleType

import numpy as np
import pytest

from oracles.observed import PACKAGE, Line, calls, is_pullback, pullback_lines
from postil import gradcheck, network
from postil.errors import ConfigurationError
from postil.features.inputs import InputFeatures
from postil.gradients.checks import gradient_checks
from postil.gradients.model_requirements import tree_inputs
from postil.gradients.requirements import gaps, required, requirements_of
from postil.graph import Node, Result, operations
from postil.models import config, tree_config
from postil.models.settings import rules
from postil.network import Layer, containers, linear
from postil.objectives import margin

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

    placed(Ranking, margin, monkeypatch, "Ranking")
    assert gaps(CHECKS) == ["objectives.margin.Ranking"]


def test_a_new_choice_of_a_table_is_a_gap(monkeypatch):
    monkeypatch.setattr(margin, "NORMALISATIONS", ("mean", "sum", "root"))
    assert gaps(CHECKS) == ["objectives.margin.max_margin: normalise=root"]


def test_a_new_activation_is_a_gap_wherever_it_can_be_chosen(monkeypatch):
    monkeypatch.setitem(network.ACTIVATIONS, "gelu", network.ACTIVATIONS["tanh"])
    assert set(gaps(CHECKS)) == {
        "network.activations.Activation: function=gelu",
        *(f"network.tree.{kind}Composition: activation=gelu" for kind in ("Sum", "Affine", "Tensor")),
        *(f"{config}: activation=gelu" for config in ("TaggerConfig", "TreeConfig")),
    }


def test_a_new_mode_that_a_module_declares_is_a_gap(monkeypatch):
    monkeypatch.setattr(containers, "MODES", {**containers.MODES, "Residual": ("scaled",)})
    assert gaps(CHECKS) == ["network.containers.Residual: scaled"]


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
    monkeypatch.setitem(network.COMPOSITIONS, "mean", network.SumComposition)
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
        patch.setattr(gradcheck, "_examined", passed_entry)
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


def test_rows_call_what_they_cover_and_run_every_line_of_every_pullback():
    """One test: observing takes a few seconds."""
    fulfilled, lines = observed()
    with_calls = {name for name, requirement in required().items() if requirement.calls}
    claimed = {check.name: set(check.covers) & with_calls - fulfilled[check.name] for check in CHECKS}
    assert not {name: missing for name, missing in claimed.items() if missing}
    missed = pullback_lines("graph/operations.py", "network", "objectives") - lines
    assert not missed, sorted(missed)


def test_pullbacks_are_found_by_their_first_argument():
    found = {line.function.partition(" ")[0] for line in pullback_lines("network/tree.py", "objectives/margin.py")}
    assert {"tensor_composition.<locals>.downward", "descended", "max_margin.<locals>.<lambda>"} <= found


def test_a_line_that_no_row_runs_is_missed():
    rows = {check.name: check for check in CHECKS}
    lines: set[Line] = set()
    with calls(lambda frame: is_pullback(frame.f_code) and str(PACKAGE) in frame.f_code.co_filename, lines):
        rows["max-margin, mean over pairs"].run()
    assert not pullback_lines("objectives/margin.py") - lines
    assert pullback_lines("network/tree.py") - lines == pullback_lines("network/tree.py")
