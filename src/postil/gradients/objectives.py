"""Checks of objectives: scores to a loss."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from postil import network, objectives
from postil.gradcheck import Report, Sampling, examine
from postil.gradients.rows import Examine, GradientCheck, Rng, of, row, sentences
from postil.graph import Input, Node
from postil.objectives import CRF, softmax_cross_entropy

_GOLD = np.array([0, 1, 2, 0, 2, 2, 1, 0, 1, 0])
_ALLOWED = np.eye(3, dtype=bool)[_GOLD] | (np.arange(30).reshape(10, 3) % 4 == 0)  # partial labels


def objective_checks() -> Iterator[GradientCheck]:
    yield from _softmax()
    yield from _margin()
    yield from _penalty()
    yield from _conditional_random_fields()
    yield from _long_and_wide_fields()
    yield row("log-odds of an entity", "C4 C5 E6", of(objectives.summed_log_odds), _log_odds)


def _softmax() -> Iterator[GradientCheck]:
    def one_label(rng: Rng) -> Report:
        return examine(softmax_cross_entropy, rng.normal(size=(7, 4)), rng.integers(0, 4, 7))

    def weighted(rng: Rng) -> Report:
        gold, weights = rng.integers(0, 4, 7), rng.uniform(0, 2, 7)
        return examine(lambda S: softmax_cross_entropy(S, gold, weights), rng.normal(size=(7, 4)))

    def allowed_labels(rng: Rng) -> Report:  # also a word of which nothing is known
        allowed = np.eye(4, dtype=bool)[rng.integers(0, 4, 7)] | (rng.random((7, 4)) < 0.3)
        allowed[2] = True
        return examine(softmax_cross_entropy, rng.normal(size=(7, 4)), allowed)

    partial = of(softmax_cross_entropy, "allowed labels")
    yield row("softmax cross-entropy", "A7 D2 E3", of(softmax_cross_entropy), one_label)
    yield row("softmax cross-entropy, weighted", "A7 D2 E3", of(softmax_cross_entropy, "weights"), weighted)
    yield row("softmax cross-entropy, partial labels", "A7 E3", partial, allowed_labels)


def _margin() -> Iterator[GradientCheck]:
    def run(normalise: str) -> Examine:
        def hinge(true: Node, corrupt: Node) -> Node:
            return objectives.max_margin(true, corrupt, margin=1.3, normalise=normalise)

        return lambda rng: examine(hinge, rng.normal(size=8), rng.normal(size=(8, 3)))

    yield row("max-margin, mean over pairs", "B2 E4", of(objectives.max_margin), run("mean"))
    yield row("max-margin, sum over pairs", "E4", of(objectives.max_margin, "normalise=sum"), run("sum"))


def _penalty() -> Iterator[GradientCheck]:
    def run(touch: bool) -> Examine:
        def check(rng: Rng) -> Report:
            layer, words = network.Linear(5, 4, rng=rng), network.LookupTable(6, 3, rng=rng)
            named = {**layer.parameters(), **words.parameters()}
            touched = {words.table: np.array([1, 4, 1])} if touch else None
            # Biases never decay, tables only at the rows that are touched.
            zero = ["b"] if touch else ["b", "table"]
            penalty = partial(objectives.l2, named.values(), 0.3, touched=touched)
            return examine(penalty, name="l2", parameters=named, expect_zero=zero)

        return check

    yield row("L2 penalty", "B5 E9 C1", of(objectives.l2), run(False))
    yield row("L2 penalty on rows of a table", "B5 E9", of(objectives.l2, "touched"), run(True))


# ------------------------------------------------------------------------------------------------ CRF


def _crf(rng: Rng, L: int = 3, **options: Any) -> CRF:
    made = CRF(L, **options)
    for parameter in made.parameters().values():
        parameter.value[...] = rng.normal(size=parameter.shape)
    return made


def _loss(gold: Any = _GOLD, **options: Any) -> Examine:
    return lambda rng: examine(_crf(rng, **options), sentences(rng, 3), gold)


def _conditional_random_fields() -> Iterator[GradientCheck]:
    steps = np.array([[True, True, False], [True, False, True], [True, True, True]])
    start, end = np.array([True, False, True]), np.array([True, True, False])
    valid = np.array([0, 1, 2, 0, 2, 2, 1, 0, 1, 0])
    begins = np.array([0, 0, 2, 1, 2, 1, 1, 0, 1, 0])

    yield row("CRF", "A8 C3 C5", of(CRF), _loss())
    yield row(
        "CRF, forbidden transitions", "A8 C5", of(CRF, "allowed_transitions"), _loss(valid, allowed_transitions=steps)
    )
    yield row("CRF, forbidden first labels", "A8 C5", of(CRF, "allowed_start"), _loss(begins, allowed_start=start))
    yield row("CRF, forbidden last labels", "A8 C5", of(CRF, "allowed_end"), _loss(begins, allowed_end=end))
    for normalise in ("tokens", "sum"):
        covers = of(CRF, f"normalise={normalise}")
        yield row(f"CRF, normalised by {normalise}", "A8", covers, _loss(normalise=normalise))
    yield row("CRF, partial labels", "C3 C5", of(CRF, "allowed labels"), _loss(_ALLOWED))
    yield row("CRF, a teacher's lattice", "C3 C5", of(CRF, "a teacher's lattice"), _teacher)
    yield row("CRF on three score tables", "C2 C5 C6", of(CRF, "three score tables"), _three_tables)
    yield row("scores of neighbouring tokens", "C2 C5", of(objectives.offset_scores), _offset_scores)


def _teacher(rng: Rng) -> Report:
    scores, steps = sentences(rng, 3), np.array([[True, True, False], [True, False, True], [True, True, True]])
    student, teacher = (_crf(rng, allowed_transitions=steps) for _ in range(2))
    return examine(student, scores, teacher.lattice(rng.normal(size=scores.data.shape), scores.offsets))


def _three_tables(rng: Rng) -> Report:
    objective, tables = _crf(rng), [sentences(rng, 3) for _ in range(3)]
    return examine(lambda *nodes: objective.loss(nodes, _GOLD), *tables, parameters=objective.parameters())


def _offset_scores(rng: Rng) -> Report:
    """Also at a sentence without a token."""
    offsets = np.array([0, 1, 1, 4, 10])
    tables = [Input(rng.normal(size=(10, 3)), name, offsets) for name in ("centre", "previous", "following")]
    return examine(objectives.offset_scores, *tables)


def _long_and_wide_fields() -> Iterator[GradientCheck]:
    few = Sampling(every_entry_up_to=0, entries=4, directions=4)

    def far_apart(gold: Any) -> Callable[[Rng], Report]:  # too far for scaled probabilities
        def run(rng: Rng) -> Report:
            scores = sentences(rng, 3)
            scores.data[5:7] = [[300, 0, -300], [0, 300, 301]]
            return examine(_crf(rng), scores, gold)

        return run

    def of_size(T: int, L: int) -> Examine:
        def run(rng: Rng) -> Report:
            scores = Input(rng.normal(size=(2 * T, L)), "scores", np.array([0, T, 2 * T]))
            return examine(_crf(rng, L), scores, rng.integers(0, L, 2 * T), sampling=few, epsilons=(1e-3, 1e-4))

        return run

    yield row("CRF, scores far apart", "A8", of(CRF, "scores far apart"), far_apart(_GOLD))
    yield row("CRF, long sentences", "A8 C5", of(CRF, "long sentences"), of_size(400, 3))
    yield row("CRF, more labels than kernels take", "A8 C5", of(CRF, "more labels than kernels take"), of_size(3, 104))


def _log_odds(rng: Rng) -> Report:
    """Of the first two tokens of every sentence, under a mask and learnt transitions."""
    chain = objectives.ChainScores.under_mask(
        3,
        transitions=rng.normal(size=(3, 3)),
        start=rng.normal(size=3),
        end=rng.normal(size=3),
        allowed_transitions=~np.eye(3, k=1, dtype=bool),
    )
    allowed = np.ones((10, 3), bool)
    allowed[[0, 1, 4]], allowed[[2, 5]] = [False, False, True], [True, False, True]
    return examine(lambda scores: objectives.summed_log_odds(scores, chain, allowed), sentences(rng, 3))
