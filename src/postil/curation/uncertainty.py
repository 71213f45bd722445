"""How unsure a tagger is of whole sentences, read exactly from the posterior over their labellings.

All measures are 0 where the model is certain and grow with the length of a sentence; dividing them by the number of
tokens is left to the caller.
"""

from collections.abc import Callable

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.models.answers.distribution import Distribution
from postil.objectives.crf_decoding import best_paths


def entropy(posterior: Distribution) -> Array:
    """(B,) of the whole labelling, in nats."""
    return posterior.posterior.entropy()


def spans(posterior: Distribution) -> Array:
    """(B,) the expected number of mistakes in the best labelling, wrong entities and missed ones.

    With probabilities p of its M entities, M - Σ p of them are expected to be wrong. The posterior expects as many
    entities as the marginals of the labels that open one add up to; all of those but Σ p are missed. Without a
    labelling scheme, the expected number of wrong labels.
    """
    lattice, labelling = posterior.lattice, posterior.labelling
    marginals = posterior.marginals()
    if not labelling.has_spans:
        return lattice.sentence_sums(1 - marginals.max(axis=1, initial=0.0))
    errors = lattice.sentence_sums(marginals @ labelling.opens_entity.astype(float))
    for row, _, probability in posterior.spans_of(posterior.best(0.0)):
        errors[row] += 1 - 2 * probability
    return np.maximum(errors, 0.0)


def margin(posterior: Distribution) -> Array:
    """(B,) 1 minus the difference between the probabilities of the two best labellings."""
    lattice, chain = posterior.lattice, posterior.lattice.chain
    _, scores = kernels.ranked_paths(lattice.unary, lattice.offsets, chain.transitions, chain.start, chain.end, 2)
    first, second = np.exp(np.minimum(scores - posterior.posterior.log_partition[:, None], 0.0)).T
    return np.asarray(1 - first + second)


def confidence(posterior: Distribution) -> Array:
    """(B,) -log p of the best labelling: the less confident the model, the larger."""
    scores = best_paths(posterior.lattice)[1]
    return np.asarray(np.maximum(posterior.posterior.log_partition - scores, 0.0))


MEASURES: dict[str, Callable[[Distribution], Array]] = {
    "entropy": entropy,
    "spans": spans,
    "margin": margin,
    "confidence": confidence,
}
