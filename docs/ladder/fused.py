"""Rung 3: loss, gradients, clipping and update as one step that changes the parameters in place.

A step that returns gradients allocates them all, passes through memory once to measure their norm, once to scale them
and once to apply them, and a dense gradient of E costs as much as the whole vocabulary. Here nothing leaves the step,
clipping is a factor of the rate, and only the rows of words that occur are touched. kernels/training.c does this in
C, in phases, on several threads, with Adam.
"""

import numpy as np
from words import loss_and_sparse_gradients


def step(p, ids, offsets, gold, rate, limit=5.0):
    """One step of SGD with clipping.  Returns the loss and the norm of the gradient before clipping."""
    loss, (words, drows), dense = loss_and_sparse_gradients(p, ids, offsets, gold)
    norm = np.sqrt((drows**2).sum() + sum((gradient**2).sum() for gradient in dense.values()))
    scaled = rate * min(1.0, limit / max(norm, 1e-300))
    p["E"][words] -= scaled * drows  # words are distinct, so plain indexing is enough
    for name, gradient in dense.items():
        p[name] -= scaled * gradient
    return loss, norm
