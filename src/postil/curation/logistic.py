"""Logistic regression of a few numbers, by Newton's method."""

from typing import NamedTuple, Self

import numpy as np

from postil.arrays import Array

_STEPS = 30
_PENALTY = 1e-3


class Logistic(NamedTuple):
    """log-odds = weights · (x - mean) / scale + bias."""

    mean: Array  # (D,)
    scale: Array  # (D,)
    weights: Array  # (D,)
    bias: float

    @classmethod
    def between(cls, ordinary: Array, others: Array) -> Self:
        """Fitted to tell the rows of ``others`` (M, D) from ``ordinary`` ones (N, D); both count as much in sum."""
        X = np.concatenate([ordinary, others])
        mean, scale = X.mean(axis=0), X.std(axis=0) + 1e-9
        A = np.concatenate([(X - mean) / scale, np.ones((len(X), 1))], axis=1)
        target = np.repeat([0.0, 1.0], [len(ordinary), len(others)])
        share = np.repeat([0.5 / len(ordinary), 0.5 / len(others)], [len(ordinary), len(others)])
        penalty = np.append(np.full(A.shape[1] - 1, _PENALTY), 1e-9)
        weights = np.zeros(A.shape[1])
        for _ in range(_STEPS):
            p = 1 / (1 + np.exp(-np.clip(A @ weights, -30, 30)))
            gradient = A.T @ (share * (p - target)) + penalty * weights
            hessian = (A * (share * p * (1 - p))[:, None]).T @ A + np.diag(penalty)
            step = np.linalg.solve(hessian, gradient)
            weights = weights - step
            if np.abs(step).max() < 1e-8:
                break
        return cls(mean, scale, weights[:-1], float(weights[-1]))

    def log_odds(self, X: Array) -> Array:
        """(N,) of the rows of X (N, D)."""
        return np.asarray((X - self.mean) / self.scale @ self.weights + self.bias)
