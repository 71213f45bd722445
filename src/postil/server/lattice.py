"""The lattice of a sentence with everything that forward-backward computes on it, for the page to draw (A8, C3, C4).

    α_0(j) = start(j) + u_0(j)              α_t(j) = u_t(j) + log Σ_i exp(α_t-1(i) + A(i, j))
    β_T-1(i) = end(i)                       β_t(i) = log Σ_j exp(A(i, j) + u_t+1(j) + β_t+1(j))
    log Z = log Σ_j exp(α_T-1(j) + end(j))  p(y_t = j) = exp(α_t(j) + β_t(j) - log Z)

All in logarithms, unscaled, as the equations stand: the numbers on the screen can be checked by hand.
"""

import json
from typing import Any

import numpy as np

from postil.arrays import Array
from postil.models.answers.posteriors import Posteriors
from postil.models.sentences import tokens_of
from postil.models.tagger import Tagger
from postil.objectives.crf_decoding import k_best
from postil.objectives.lattice import Lattice
from postil.server.answers import check_cost, sentences_in
from postil.server.batching import Steps
from postil.server.failures import refused
from postil.server.registry import Registry

DIGITS = 9
USUAL_NBEST = 5
MOST_STEPS = 2_000_000
"""Tokens times squared labels: terms of the recursions. A sentence counts as one token more, for its transitions."""


def lattices(registry: Registry, request: dict[str, Any], most_cells: int) -> Steps:
    """/api/lattice: one object per sentence, which is a step."""
    served = registry.find(request.get("model"), ("tagger",), "show a lattice")
    tagger = served.model
    assert isinstance(tagger, Tagger), "found by its kind"
    labels, sentences = tagger.labelling.labels, sentences_in(served, request)
    cells = sum(map(len, sentences)) * len(labels)
    if cells > most_cells:
        raise refused("tokens", f"the lattice has {cells:,} cells; at most {most_cells:,} are shown")
    steps = sum(len(sentence) + 1 for sentence in sentences) * len(labels) ** 2
    check_cost(steps, MOST_STEPS, "the lattice", "terms (tokens times squared labels)")
    answers = []
    for sentence in sentences:
        yield
        _, lattice = next(Posteriors(tagger.fitted_parts()).lattices([tokens_of(sentence)]))
        answers.append(_as_json(lattice, sentence.tokens, labels, int(request.get("nbest", USUAL_NBEST))))
    return json.dumps({"model": served.name, "sentences": answers}, ensure_ascii=False).encode()


def forward_backward(lattice: Lattice) -> tuple[Array, Array, float]:
    """Log α (T, L), log β (T, L) and log Z of the only sentence of a lattice."""
    unary, chain = lattice.unary.astype(np.float64), lattice.chain
    alphas, betas = np.empty_like(unary), np.empty_like(unary)
    alphas[0], betas[-1] = chain.start + unary[0], chain.end
    for t in range(1, len(unary)):
        alphas[t] = unary[t] + _log_sum(alphas[t - 1][:, None] + chain.transitions, axis=0)
        betas[-t - 1] = _log_sum(chain.transitions + unary[-t] + betas[-t], axis=1)
    return alphas, betas, float(_log_sum(alphas[-1] + chain.end, axis=0))


def _log_sum(values: Array, axis: int) -> Array:
    with np.errstate(divide="ignore"):  # log 0 = -inf: nothing is possible
        return np.asarray(np.logaddexp.reduce(values, axis=axis))


def _as_json(lattice: Lattice, tokens: list[str], labels: list[str], nbest: int) -> dict[str, Any]:
    alphas, betas, log_partition = forward_backward(lattice)
    chain = lattice.chain
    (paths,) = k_best(lattice, min(nbest, len(labels) ** min(len(tokens), 64)))
    return {
        "tokens": tokens,
        "labels": labels,
        "unary": _numbers(lattice.unary),
        "transitions": _numbers(chain.transitions),
        "start": _numbers(chain.start),
        "end": _numbers(chain.end),
        "alphas": _numbers(alphas),
        "betas": _numbers(betas),
        "marginals": _numbers(np.exp(alphas + betas - log_partition)),
        "log_partition": round(log_partition, DIGITS),
        "paths": [
            {"labels": path.labels.tolist(), "probability": round(float(path.probability), DIGITS)} for path in paths
        ],
    }


def _numbers(array: Array) -> Any:
    """Nested lists of an array; null for what is impossible (log 0)."""
    if array.ndim > 1:
        return [_numbers(row) for row in array]
    return [round(value, DIGITS) if np.isfinite(value) else None for value in array.astype(np.float64).tolist()]
