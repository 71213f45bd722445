"""The training algorithms of CRFsuite by name, and the parameters of each: default, kind and help."""

from collections.abc import Callable
from typing import Any, NamedTuple

from postil.errors import ConfigurationError, similar

ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}
UNLIMITED = 2**31 - 1


class Parameter(NamedTuple):
    """One setting of a training algorithm."""

    default: Any
    kind: Callable[[Any], Any]
    help: str


def _switch(value: Any) -> bool:
    return bool(int(value))


_FEATURES = {
    "feature.minfreq": Parameter(0.0, float, "The minimum frequency of features."),
    "feature.possible_states": Parameter(False, _switch, "Force to generate possible state features."),
    "feature.possible_transitions": Parameter(False, _switch, "Force to generate possible transition features."),
}
_C2 = Parameter(1.0, float, "Coefficient for L2 regularization.")
_PERIOD = Parameter(10, int, "The number of iterations over which the stopping criterion is tested.")
_EPOCHS = Parameter(100, int, "The maximum number of iterations.")
_MEAN_LOSS = Parameter(0.0, float, "The stopping criterion (the mean loss).")
_DELTA = "The stopping criterion: the least relative improvement of the objective over a period."

ALGORITHMS: dict[str, dict[str, Parameter]] = {
    "lbfgs": {
        **_FEATURES,
        "c1": Parameter(0.0, float, "Coefficient for L1 regularization."),
        "c2": _C2,
        "max_iterations": Parameter(UNLIMITED, int, "The maximum number of iterations for L-BFGS optimization."),
        "num_memories": Parameter(6, int, "The number of past gradients that approximate the inverse Hessian."),
        "epsilon": Parameter(1e-5, float, "Epsilon for testing the convergence of the objective."),
        "period": _PERIOD,
        "delta": Parameter(1e-5, float, _DELTA),
        "linesearch": Parameter("MoreThuente", str, "MoreThuente, Backtracking or StrongBacktracking."),
        "max_linesearch": Parameter(20, int, "The maximum number of trials for the line search algorithm."),
    },
    "l2sgd": {
        **_FEATURES,
        "c2": _C2,
        "max_iterations": Parameter(1000, int, "The maximum number of iterations (epochs) for SGD optimization."),
        "period": _PERIOD,
        "delta": Parameter(1e-6, float, _DELTA),
        "calibration.eta": Parameter(0.1, float, "The initial learning rate (eta) used for calibration."),
        "calibration.rate": Parameter(2.0, float, "The rate of increase or decrease of eta for calibration."),
        "calibration.samples": Parameter(1000.0, float, "The number of instances used for calibration."),
        "calibration.candidates": Parameter(10, int, "The number of candidates of learning rate."),
        "calibration.max_trials": Parameter(20, int, "The maximum number of trials of learning rates."),
    },
    "averaged-perceptron": {
        **_FEATURES,
        "max_iterations": _EPOCHS,
        "epsilon": Parameter(0.0, float, "The stopping criterion (the ratio of incorrect label predictions)."),
    },
    "passive-aggressive": {
        **_FEATURES,
        "type": Parameter(1, int, "The strategy of updates: 0 without slack variables, 1 type I, 2 type II."),
        "c": Parameter(1.0, float, "The aggressiveness parameter."),
        "error_sensitive": Parameter(True, _switch, "Consider the number of incorrect labels in the cost function."),
        "averaging": Parameter(True, _switch, "Compute the average of feature weights."),
        "max_iterations": _EPOCHS,
        "epsilon": _MEAN_LOSS,
    },
    "arow": {
        **_FEATURES,
        "variance": Parameter(1.0, float, "The initial variance of every feature weight."),
        "gamma": Parameter(1.0, float, "Tradeoff parameter."),
        "max_iterations": _EPOCHS,
        "epsilon": _MEAN_LOSS,
    },
}


def algorithm_named(name: str) -> str:
    """The full name of an algorithm."""
    full = ALIASES.get(name.lower(), name.lower())
    if full not in ALGORITHMS:
        known = [*ALGORITHMS, *ALIASES]
        raise ConfigurationError(
            "algorithm", expected=" or ".join(known), got=f"{name!r}{similar(name.lower(), known)}"
        )
    return full


def parameter_named(algorithm: str, name: str) -> Parameter:
    """A parameter of an algorithm; an error where it has none of this name."""
    known = ALGORITHMS[algorithm]
    if name not in known:
        told = f"{name!r}{similar(name, known)}"
        raise ConfigurationError(f"parameter of {algorithm}", expected=" or ".join(known), got=told)
    return known[name]


def cast(algorithm: str, name: str, value: Any) -> Any:
    """The value of a parameter as what it must be."""
    parameter = parameter_named(algorithm, name)
    try:
        return parameter.kind(value)
    except (TypeError, ValueError):
        raise ConfigurationError(name, expected=f"like {parameter.default!r}", got=repr(value)) from None
