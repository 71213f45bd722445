"""Activations of arrays with their derivatives (A6, B6, E10). Each takes z and returns f(z) with its pullback.

| name       | f(z)                 | f'(z)                                             |
|------------|----------------------|---------------------------------------------------|
| hardtanh   | clip(z, -1, 1)       | 1 on the closed interval [-1, 1], else 0 (A6)      |
| sigmoid    | 1 / (1 + exp(-z))    | f (1 - f)                                         |
| tanh       | tanh z               | 1 - f²                                            |
| softsign   | z / (1 + abs z)      | 1 / (1 + abs z)²  (the printed sgn(z) is wrong)    |
| relu       | max(0, z)            | 1 for z > 0, else 0                               |
| leaky-relu | z or 0.01 z          | 1 for z > 0, else 0.01                            |
| prelu      | z or a z, a learned  | 1 for z > 0, else a; ∂f/∂a = z for z <= 0          |
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from postil.arrays import Array
from postil.graph.node import listening, note_branches

Activated: TypeAlias = tuple[Array, Callable[[Array], Array]]


def hardtanh(Z: Array) -> Activated:
    Y = np.clip(Z, -1, 1)
    inside = Y == Z  # closed at both ends
    if listening():
        note_branches(np.sign(Y - Z))
    return Y, lambda dY: dY * inside


def sigmoid(Z: Array) -> Activated:
    # With exp(-|z|) nothing overflows and both tails keep their digits; 1 + tanh(z/2) would round them away.
    power = np.exp(-np.abs(Z))
    share = 1 / (1 + power)
    return np.where(Z >= 0, share, power * share), lambda dY: dY * power * share * share


def tanh(Z: Array) -> Activated:
    Y = np.tanh(Z)
    return Y, lambda dY: dY * (1 - Y * Y)


def softsign(Z: Array) -> Activated:
    share = 1 / (1 + np.abs(Z))
    return Z * share, lambda dY: dY * share * share


def relu(Z: Array) -> Activated:
    positive = Z > 0
    note_branches(positive)
    return np.maximum(Z, 0), lambda dY: dY * positive


def leaky_relu(Z: Array, slope: float = 0.01) -> Activated:
    positive = Z > 0
    note_branches(positive)
    slopes = np.where(positive, Z.dtype.type(1), Z.dtype.type(slope))
    return Z * slopes, lambda dY: dY * slopes


def parametric_relu(Z: Array, a: Array) -> tuple[Array, Callable[[Array], tuple[Array, Array]]]:
    """Z (N, D), a (D,) slopes of the negative side."""
    positive = Z > 0
    note_branches(positive)
    slopes = np.where(positive, Z.dtype.type(1), a)

    def pullback(dY: Array) -> tuple[Array, Array]:
        return dY * slopes, (dY * Z * ~positive).sum(axis=0)

    return Z * slopes, pullback
