"""The training algorithms: each a generator of steps over a problem, with the weights after every iteration.

L-BFGS sees all sentences at once. The others change the weights after every sentence, in an order drawn anew for every
iteration with a fixed seed: a linear chain w is scored by its best path ŷ against the gold path y, with

    Δ = F(x, y) - F(x, ŷ)    what both paths count of every feature

    averaged-perceptron   w += Δ
    passive-aggressive    w += τ Δ,   τ = cost / |Δ|² (type 0), at most c (I), with |Δ|² + 1 / 2c below (II)
    arow                  w += α Σ Δ, Σ⁻¹ += Δ² / γ,   α = cost / (γ + Δ Σ Δ), Σ diagonal
    l2sgd                 w -= η (∂(-log p(y)) + λ w),   η = 1 / (λ (t0 + t)), λ = 2 c2 / B

(Collins 2002; Crammer et al. 2006; Mejer and Crammer 2010; Shalev-Shwartz et al. 2007.)
"""

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import ConfigurationError, NumericalError, similar
from postil.integrations.crfsuite.problem import TrainingProblem
from postil.objectives import ChainScores, Lattice, Posterior
from postil.optimisation.lbfgs import LBFGSSettings, minimise

# ------------------------------------------------------------------------------------------------ parameters


ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}
UNLIMITED = 2**31 - 1


class _Parameter(NamedTuple):
    """One parameter of a CRFsuite algorithm."""

    default: Any
    kind: Callable[[Any], Any]
    help: str


def _switch(value: Any) -> bool:
    return bool(int(value))


_FEATURES = {
    "feature.minfreq": _Parameter(0.0, float, "The minimum frequency of features."),
    "feature.possible_states": _Parameter(False, _switch, "Force to generate possible state features."),
    "feature.possible_transitions": _Parameter(False, _switch, "Force to generate possible transition features."),
}
_C2 = _Parameter(1.0, float, "Coefficient for L2 regularization.")
_PERIOD = _Parameter(10, int, "The number of iterations over which the stopping criterion is tested.")
_EPOCHS = _Parameter(100, int, "The maximum number of iterations.")
_MEAN_LOSS = _Parameter(0.0, float, "The stopping criterion (the mean loss).")
_DELTA = "The stopping criterion: the least relative improvement of the objective over a period."

ALGORITHMS: dict[str, dict[str, _Parameter]] = {
    "lbfgs": {
        **_FEATURES,
        "c1": _Parameter(0.0, float, "Coefficient for L1 regularization."),
        "c2": _C2,
        "max_iterations": _Parameter(UNLIMITED, int, "The maximum number of iterations for L-BFGS optimization."),
        "num_memories": _Parameter(6, int, "The number of past gradients that approximate the inverse Hessian."),
        "epsilon": _Parameter(1e-5, float, "Epsilon for testing the convergence of the objective."),
        "period": _PERIOD,
        "delta": _Parameter(1e-5, float, _DELTA),
        "linesearch": _Parameter("MoreThuente", str, "MoreThuente, Backtracking or StrongBacktracking."),
        "max_linesearch": _Parameter(20, int, "The maximum number of trials for the line search algorithm."),
    },
    "l2sgd": {
        **_FEATURES,
        "c2": _C2,
        "max_iterations": _Parameter(1000, int, "The maximum number of iterations (epochs) for SGD optimization."),
        "period": _PERIOD,
        "delta": _Parameter(1e-6, float, _DELTA),
        "calibration.eta": _Parameter(0.1, float, "The initial learning rate (eta) used for calibration."),
        "calibration.rate": _Parameter(2.0, float, "The rate of increase or decrease of eta for calibration."),
        "calibration.samples": _Parameter(1000.0, float, "The number of instances used for calibration."),
        "calibration.candidates": _Parameter(10, int, "The number of candidates of learning rate."),
        "calibration.max_trials": _Parameter(20, int, "The maximum number of trials of learning rates."),
    },
    "averaged-perceptron": {
        **_FEATURES,
        "max_iterations": _EPOCHS,
        "epsilon": _Parameter(0.0, float, "The stopping criterion (the ratio of incorrect label predictions)."),
    },
    "passive-aggressive": {
        **_FEATURES,
        "type": _Parameter(1, int, "The strategy of updates: 0 without slack variables, 1 type I, 2 type II."),
        "c": _Parameter(1.0, float, "The aggressiveness parameter."),
        "error_sensitive": _Parameter(True, _switch, "Consider the number of incorrect labels in the cost function."),
        "averaging": _Parameter(True, _switch, "Compute the average of feature weights."),
        "max_iterations": _EPOCHS,
        "epsilon": _MEAN_LOSS,
    },
    "arow": {
        **_FEATURES,
        "variance": _Parameter(1.0, float, "The initial variance of every feature weight."),
        "gamma": _Parameter(1.0, float, "Tradeoff parameter."),
        "max_iterations": _EPOCHS,
        "epsilon": _MEAN_LOSS,
    },
}


def algorithm_named(name: str) -> str:
    """The full name of an algorithm."""
    full, known = ALIASES.get(name.lower(), name.lower()), [*ALGORITHMS, *ALIASES]
    if full not in ALGORITHMS:
        raise ConfigurationError(
            "algorithm", expected=" or ".join(known), got=f"{name!r}{similar(name.lower(), known)}"
        )
    return full


def parameter_named(algorithm: str, name: str) -> _Parameter:
    """A parameter of an algorithm; an error if it has none of this name."""
    known = ALGORITHMS[algorithm]
    if name not in known:
        got = f"{name!r}{similar(name, known)}"
        raise ConfigurationError(f"parameter of {algorithm}", expected=" or ".join(known), got=got)
    return known[name]


def cast(algorithm: str, name: str, value: Any) -> Any:
    """The value of a parameter as what it must be."""
    parameter = parameter_named(algorithm, name)
    try:
        return parameter.kind(value)
    except (TypeError, ValueError):
        raise ConfigurationError(name, expected=f"like {parameter.default!r}", got=repr(value)) from None


Parameters = Mapping[str, Any]


class TrainingStep(NamedTuple):
    """The weights after an iteration, and what the log says about it. ``ending`` None: there may be another one."""

    weights: Array
    info: dict[str, Any]
    ending: str | None = None


def lbfgs(problem: TrainingProblem, parameters: Parameters) -> Iterator[TrainingStep]:
    """All sentences at once, to the minimum of the regularised loss."""
    most = parameters["max_iterations"]
    settings = LBFGSSettings(
        c1=parameters["c1"],
        memories=parameters["num_memories"],
        epsilon=parameters["epsilon"],
        period=parameters["period"],
        delta=parameters["delta"],
        linesearch=parameters["linesearch"],
        max_linesearch=parameters["max_linesearch"],
        max_iterations=None if most in (0, UNLIMITED) else most,
    )
    if not problem.features:
        return
    for iteration in minimise(problem.objective(parameters["c2"]), np.zeros(problem.features), settings):
        weights = iteration.point.x
        info = {
            "loss": iteration.point.value,
            "feature_norm": float(np.linalg.norm(iteration.point.x)),
            "error_norm": float(np.linalg.norm(iteration.point.slope)),
            "active_features": int(np.count_nonzero(weights)),
            "linesearch_trials": iteration.trials,
            "linesearch_step": iteration.step,
        }
        yield TrainingStep(weights, info, iteration.ending)


# ------------------------------------------------------------------------------------------------ paths of a sentence

_IN_PYTHON = kernels.IN_USE.startswith("plain")  # else online.c does what is defined here
_PERCEPTRON, _PASSIVE_AGGRESSIVE, _AROW = range(3)  # as in online.c


class _Difference(NamedTuple):
    """Δ of a sentence as its distinct features and their counts, the number of wrong labels and s(ŷ) - s(y)."""

    features: Array
    counts: Array
    wrong: int
    margin: float


@final
class _Sentences:
    """The sentences of a problem one by one."""

    def __init__(self, problem: TrainingProblem) -> None:
        self.problem, self.K = problem, len(problem.pairs.targets)
        owners = np.repeat(np.arange(len(problem.corpus.names)), np.diff(problem.pairs.firsts))
        self.keys = owners * problem.L + problem.pairs.targets  # ascending: features are in order of these
        self.rng = np.random.default_rng(0)
        corpus = problem.corpus
        self.labelled = problem.attributes, problem.pairs, problem.steps, corpus.gold, corpus.offsets
        """Arguments of the kernels that pass over the sentences."""

    def __len__(self) -> int:
        return self.problem.corpus.sentences

    def shuffled(self) -> list[int]:
        return [int(b) for b in self.rng.permutation(len(self))]

    def gold(self, b: int) -> Array:
        return self.problem.corpus.gold[self.problem.instances[b].tokens]

    def unary(self, b: int, weights: Array) -> Array:
        problem, w = self.problem, weights[: self.K]
        unary: Array = kernels.attribute_scores(problem.instances[b].attributes, problem.pairs, w, problem.L)
        return unary

    def difference(self, b: int, weights: Array) -> _Difference | None:
        """Where the best path under the weights and the gold path part; None: nowhere."""
        chain, unary, gold = self.problem.chain(weights), self.unary(b, weights), self.gold(b)
        offsets = self.problem.instances[b].offsets
        path, _ = kernels.viterbi(unary, offsets, chain.transitions, chain.start, chain.end)
        wrong = int(np.count_nonzero(path != gold))
        if not wrong:
            return None
        signed = [(self._on_path(b, gold), 1.0), (self._on_path(b, path), -1.0)]
        features = np.concatenate([features for on_path, _ in signed for features, _ in on_path])
        counts = np.concatenate([sign * counts for on_path, sign in signed for _, counts in on_path])
        distinct, inverse = np.unique(features, return_inverse=True)
        totals = np.bincount(inverse, counts, minlength=len(distinct))
        return _Difference(distinct, totals, wrong, -float(weights[distinct] @ totals))

    def _on_path(self, b: int, labels: Array) -> list[tuple[Array, Array]]:
        """The features of a path and how often each is counted: those of attributes, then those of steps."""
        problem, attributes = self.problem, self.problem.instances[b].attributes
        cells = attributes.ids * np.int64(problem.L) + np.repeat(labels, np.diff(attributes.offsets))
        values = np.ones(len(cells)) if attributes.values is None else attributes.values
        states, are_states = _found(self.keys, cells)
        steps, are_steps = _found(problem.steps, labels[:-1] * problem.L + labels[1:])
        return [(states, values[are_states]), (steps + self.K, np.ones(int(are_steps.sum())))]


def _found(keys: Array, wanted: Array) -> tuple[Array, Array]:
    """The places of those of ``wanted`` that are among the ascending keys, and which those are."""
    if not len(keys):
        return np.zeros(0, np.int64), np.zeros(len(wanted), bool)
    places = np.searchsorted(keys, wanted)
    known = keys[np.minimum(places, len(keys) - 1)] == wanted
    return places[known], known


# ------------------------------------------------------------------------------------------------ one by one


def averaged_perceptron(problem: TrainingProblem, parameters: Parameters) -> Iterator[TrainingStep]:
    """w += Δ; the answer is the average of w over all sentences seen."""
    w, weighted = np.zeros(problem.features), np.zeros(problem.features)

    def update(found: _Difference, T: int, seen: int) -> float:
        w[found.features] += found.counts
        weighted[found.features] += seen * found.counts
        return found.wrong / T

    def averaged(seen: int) -> tuple[Array, Array]:
        return (average := w - weighted / seen), average

    return _online(problem, parameters, w, update, averaged, (_PERCEPTRON, 0, False, 0.0, weighted))


def passive_aggressive(problem: TrainingProblem, parameters: Parameters) -> Iterator[TrainingStep]:
    """The least change of w that gives the gold path a margin of the cost."""
    w, weighted = np.zeros(problem.features), np.zeros(problem.features)
    kind, c = parameters["type"], parameters["c"]

    def update(found: _Difference, T: int, seen: int) -> float:
        cost = found.margin + (math.sqrt(found.wrong) if parameters["error_sensitive"] else 1.0)
        if square := float(found.counts @ found.counts):
            tau = cost / (square + 0.5 / c) if kind == 2 else cost / square
            tau = min(c, tau) if kind == 1 else tau
            w[found.features] += tau * found.counts
            weighted[found.features] += tau * seen * found.counts
        return cost

    def averaged(seen: int) -> tuple[Array, Array]:
        return w - weighted / seen if parameters["averaging"] else w.copy(), w

    in_c = _PASSIVE_AGGRESSIVE, kind, parameters["error_sensitive"], c, weighted
    return _online(problem, parameters, w, update, averaged, in_c)


def arow(problem: TrainingProblem, parameters: Parameters) -> Iterator[TrainingStep]:
    """A mean and a variance for every weight: what was seen often changes little."""
    mean, variance = np.zeros(problem.features), np.full(problem.features, parameters["variance"])
    gamma = parameters["gamma"]

    def update(found: _Difference, T: int, seen: int) -> float:
        cost, k, square = found.margin + found.wrong, found.features, found.counts**2
        mean[k] += cost / (gamma + float(square @ variance[k])) * variance[k] * found.counts
        variance[k] = 1.0 / (1.0 / variance[k] + square / gamma)
        return cost

    in_c = _AROW, 0, False, gamma, variance
    return _online(problem, parameters, mean, update, lambda seen: (mean.copy(), mean), in_c, is_done=operator.le)


def _online(
    problem: TrainingProblem,
    parameters: Parameters,
    weights: Array,
    update: Callable[[_Difference, int, int], float],
    answer: Callable[[int], tuple[Array, Array]],
    in_c: tuple[int, int, bool, float, Array],
    is_done: Callable[[float, float], bool] = operator.lt,
) -> Iterator[TrainingStep]:
    """Iterations of an algorithm that changes ``weights`` after each sentence with a mistake.

    ``update`` is called with Δ, the number of tokens and the number of sentences seen, and returns the loss; ``answer``
    returns the weights after an iteration and those whose norm is reported. The kernel updates in the same way. Its
    arguments ``in_c``: the algorithm, its type, whether the cost grows with the mistakes, c, and the array next to w.
    """
    sentences, seen, most = _Sentences(problem), 1, parameters["max_iterations"]
    for number in range(1, most + 1):
        loss, order = 0.0, sentences.shuffled()
        if not _IN_PYTHON and problem.L:
            *settings, other = in_c
            passed = np.array(order, np.int64), problem.L, *settings, seen, weights, other
            loss, seen = float(kernels.online_pass(*sentences.labelled, *passed)[0]), seen + len(order)
            order = []
        for b in order:
            if found := sentences.difference(b, weights):
                loss += update(found, len(sentences.gold(b)), seen)
            seen += 1
        averaged, norm_of = answer(seen)
        ending = "Terminated with the maximum number of iterations" if number == most else None
        if done := is_done(loss / max(1, len(sentences)), parameters["epsilon"]):
            ending = "Terminated with the stopping criterion"
        yield TrainingStep(averaged, {"loss": loss, "feature_norm": float(np.linalg.norm(norm_of))}, ending)
        if done:
            return


# ------------------------------------------------------------------------------------------------ gradient descent


def l2sgd(problem: TrainingProblem, parameters: Parameters) -> Iterator[TrainingStep]:
    """Stochastic gradient descent on the loss with an L2 term; the best epoch is the answer."""
    sentences = _Sentences(problem)
    if not len(sentences):
        return
    penalty = 2.0 * parameters["c2"] / len(sentences)
    begin = _calibrated(sentences, penalty, parameters)
    w, best, best_loss, past, seen = np.zeros(problem.features), np.zeros(problem.features), math.inf, [], 0
    period, most = parameters["period"], parameters["max_iterations"]
    for number in range(1, most + 1):
        w, loss = _epoch(sentences, sentences.shuffled(), w, begin + seen, penalty)
        if not math.isfinite(loss):
            raise NumericalError("the loss is not finite", got=loss, where="l2sgd")
        seen += len(sentences)
        if loss < best_loss:
            best, best_loss = w.copy(), loss
        past.append(loss)
        stops = number > period and (past[number - 1 - period] - loss) / loss < parameters["delta"]
        ending = "SGD terminated with the stopping criteria" if stops else None
        if number == most:
            ending = ending or "SGD terminated with the maximum number of iterations"
        info = {"loss": loss, "feature_norm": float(np.linalg.norm(w))}
        yield TrainingStep(best if ending else w, info, ending)
        if ending:
            return


def _epoch(sentences: _Sentences, order: list[int], w: Array, t: float, penalty: float) -> tuple[Array, float]:
    """One pass from weights w with learning rates 1 / (penalty t), and the loss on the way.

    The shrinking of all weights, w (1 - η λ), is kept as one factor: only features of the sentence are touched.
    """
    w, state, done = w.copy(), np.array([1.0, 0.0]), 0  # the factor, and the sum of losses
    while done < len(order) and math.isfinite(state[1]):
        if not _IN_PYTHON:  # the kernel stops before a sentence that needs log space
            rest = np.array(order[done:], np.int64), sentences.problem.L, t + done, penalty, w, state
            done += int(kernels.descent_pass(*sentences.labelled, *rest)[0])
            if done == len(order) or not math.isfinite(state[1]):
                break
        eta = 1.0 / (penalty * (t + done))
        state[0] *= 1.0 - eta * penalty
        if abs(state[0]) < 1e-200:  # far too high a learning rate
            return w, math.inf
        state[1] += _descend(sentences, order[done], w, float(state[0]), eta / float(state[0]))
        done += 1
    w *= state[0]
    return w, float(state[1]) + 0.5 * penalty * float(w @ w) * len(order)


def _descend(sentences: _Sentences, b: int, w: Array, decay: float, gain: float) -> float:
    """Change w by the gradient of one sentence under weights ``decay * w``; returns -log p(y)."""
    problem, instance = sentences.problem, sentences.problem.instances[b]
    gold, chain = sentences.gold(b), problem.chain(w)
    steps = ChainScores(transitions=chain.transitions * decay, start=chain.start, end=chain.end)
    unary = sentences.unary(b, w) * decay
    posterior = Posterior.of(Lattice(unary=unary, offsets=instance.offsets, chain=steps))
    score = float(unary[np.arange(len(gold)), gold].sum() + steps.transitions[gold[:-1], gold[1:]].sum())
    rest = -posterior.marginals()
    rest[np.arange(len(gold)), gold] += 1.0
    attributes, firsts = instance.attributes, problem.pairs.firsts[instance.attributes.ids]
    sizes = problem.pairs.firsts[attributes.ids + 1] - firsts
    sources = np.repeat(np.arange(len(sizes)), sizes)  # the attribute of each of its features
    places = np.arange(len(sources)) - (np.cumsum(sizes) - sizes)[sources] + firsts[sources]
    tokens = np.repeat(np.arange(len(gold)), np.diff(attributes.offsets))[sources]
    pull = rest[tokens, problem.pairs.targets[places]]
    np.add.at(w, places, gain * (pull if attributes.values is None else pull * attributes.values[sources]))
    counts = np.bincount(gold[:-1] * problem.L + gold[1:], minlength=problem.L**2)
    w[sentences.K :] += gain * (counts - posterior.transition_counts().ravel())[problem.steps]
    return float(posterior.log_partition[0]) - score


def _calibrated(sentences: _Sentences, penalty: float, parameters: Parameters) -> float:
    """t0 = 1 / (λ η) of the learning rate η that lowers the loss of some sentences most in one pass from 0."""
    order = sentences.shuffled()[: int(parameters["calibration.samples"])]
    zeros = np.zeros(sentences.problem.features)
    initial = sum(len(sentences.gold(b)) for b in order) * math.log(sentences.problem.L)
    eta, rate = parameters["calibration.eta"], parameters["calibration.rate"]
    left, falling, best, best_loss = parameters["calibration.candidates"], False, eta, math.inf
    for _ in range(1, max(2, parameters["calibration.max_trials"])):
        with np.errstate(over="ignore", invalid="ignore"):
            _, loss = _epoch(sentences, order, zeros, 1.0 / (penalty * eta), penalty)
        better = math.isfinite(loss) and loss < initial
        left -= better
        if math.isfinite(loss) and loss < best_loss:
            best, best_loss = eta, loss
        if not falling and better and left > 0:
            eta *= rate
        elif not falling:
            falling, left, eta = True, parameters["calibration.candidates"], parameters["calibration.eta"] / rate
        else:
            eta /= rate
        if falling and left <= 0:
            break
    return 1.0 / (penalty * float(best))


RUN: dict[str, Callable[[TrainingProblem, Parameters], Iterator[TrainingStep]]] = {
    "lbfgs": lbfgs,
    "l2sgd": l2sgd,
    "averaged-perceptron": averaged_perceptron,
    "passive-aggressive": passive_aggressive,
    "arow": arow,
}
"""Algorithm by name."""
