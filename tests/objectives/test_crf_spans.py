"""Probabilities of spans and constrained decoding against enumeration of all paths."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.paths import SCORES, enumerate_all, in_sentence
from postil.errors import ConfigurationError, DtypeError, IndexRangeError, ShapeError
from postil.objectives import (
    LOGARITHMIC,
    ChainScores,
    EntityLabels,
    Lattice,
    Posterior,
    Windows,
    forced_spans,
    outside_spans,
    path_scores,
    span_probabilities,
    viterbi,
    window_probabilities,
)

SCHEMES = {
    "BIO": ["O", "B-X", "I-X", "B-Y", "I-Y"],
    "IOBES": ["O", "B-X", "I-X", "E-X", "S-X", "S-Y"],
}
seeds = st.integers(0, 2**32 - 1)


def entities(scheme: str) -> list[EntityLabels]:
    names = SCHEMES[scheme]
    L, at = len(names), {name: i for i, name in enumerate(names)}
    if scheme == "BIO":
        return [EntityLabels.bio(L, begin=at[f"B-{c}"], inside=at[f"I-{c}"]) for c in "XY"]
    return [EntityLabels.iobes(L, begin=at["B-X"], inside=at["I-X"], end=at["E-X"], single=at["S-X"])]


def valid(scheme: str) -> dict[str, np.ndarray]:
    """The scheme's mask, from first principles."""
    names = SCHEMES[scheme]

    def follows(a: str, b: str) -> bool:
        inside = b[0] in "IE"
        if scheme == "BIO":
            return not inside or (a[0] in "BI" and a[2:] == b[2:])
        return inside == (a[0] in "BI") and (not inside or a[2:] == b[2:])

    return {
        "allowed_transitions": np.array([[follows(a, b) for b in names] for a in names]),
        "allowed_start": np.array([follows("O", b) for b in names]),
        "allowed_end": np.array([follows(a, "O") for a in names]),
    }


def random_sentences(seed: int, scheme: str, scores: str = "spread", masked: bool = True) -> Lattice:
    rng, L = np.random.default_rng(seed), len(SCHEMES[scheme])
    draw = SCORES[scores]
    lengths = rng.integers(1, 5, size=2)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tables = {"transitions": draw(rng, L, L), "start": draw(rng, L), "end": draw(rng, L)}
    chain = ChainScores.under_mask(L, **tables, **(valid(scheme) if masked else {}))
    return Lattice.over(draw(rng, int(offsets[-1]), L), offsets, chain)


def all_spans(lattice: Lattice) -> list[tuple[int, int, int]]:
    return [(b, *span) for b, n in enumerate(lattice.lengths) for span in combinations(range(n + 1), 2)]


def is_entity(scheme: str, path: tuple[int, ...], start: int, end: int, entity: EntityLabels) -> bool:
    """Word for word: the labels of the scheme inside, none beside that would make the entity longer."""
    names = [SCHEMES[scheme][label] for label in path]
    kind = next(SCHEMES[scheme][i][2:] for i in np.flatnonzero(entity.anywhere))
    inner = names[start:end]
    after = names[end] if end < len(names) else None
    if scheme == "BIO":
        return inner == [f"B-{kind}"] + [f"I-{kind}"] * (end - start - 1) and after != f"I-{kind}"
    if end - start == 1:
        return inner == [f"S-{kind}"]
    return inner == [f"B-{kind}", *[f"I-{kind}"] * (end - start - 2), f"E-{kind}"]


every_scheme = pytest.mark.parametrize("scheme", SCHEMES)
kinds_of_scores = pytest.mark.parametrize("scores", SCORES)


@every_scheme
@kinds_of_scores
@pytest.mark.parametrize("masked", [True, False])
def test_span_probabilities_are_sums_over_all_paths(scheme, scores, masked):
    for seed in range(3):
        lattice, kinds = random_sentences(seed, scheme, scores, masked), entities(scheme)
        posterior, sentences, spans = Posterior.of(lattice), enumerate_all(lattice), all_spans(lattice)
        for kind, entity in enumerate(kinds):
            found = span_probabilities(posterior, spans, np.full(len(spans), kind), kinds)
            expected = [
                sentences[b].share(lambda path, s=start, e=end, x=entity: is_entity(scheme, path, s, e, x))
                for b, start, end in spans
            ]
            assert np.allclose(found, expected, rtol=1e-9, atol=1e-10)


def test_a_span_probability_is_not_a_product_of_marginals():
    # Two readings of two tokens, equally likely: one long entity, or two short ones. B I O or B B O.
    names = SCHEMES["BIO"]
    allowed = np.zeros((3, 5), bool)
    allowed[0, 1] = allowed[1, 1] = allowed[1, 2] = allowed[2, 0] = True
    posterior = Posterior.of(Lattice.over(np.zeros((3, 5)), [0, 3], ChainScores.under_mask(5), allowed=allowed))
    long, short, too_long = span_probabilities(posterior, [(0, 0, 2), (0, 0, 1), (0, 0, 3)], 0, entities("BIO"))
    assert (long, short, too_long) == pytest.approx((0.5, 0.5, 0.0))
    assert posterior.marginals()[0, names.index("B-X")] == pytest.approx(1.0)


@given(seeds, st.sampled_from(sorted(SCORES)))
def test_windows_of_any_allowed_sets(seed, scores):
    lattice, rng = random_sentences(seed, "BIO", scores), np.random.default_rng(seed)
    posterior, sentences = Posterior.of(lattice), enumerate_all(lattice)
    spans = all_spans(lattice)
    lengths = [end - start for _, start, end in spans]
    tokens = np.concatenate([lattice.offsets[b] + np.arange(s, e) for b, s, e in spans])
    allowed = rng.random((len(tokens), 5)) < 0.6
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    found = window_probabilities(posterior, Windows(tokens, offsets, allowed))
    for (b, start, end), first, p in zip(spans, offsets[:-1], found, strict=True):

        def inside(path, start=start, end=end, first=first):
            return all(allowed[first + t - start, path[t]] for t in range(start, end))

        assert np.isclose(p, sentences[b].share(inside), rtol=1e-9, atol=1e-10)


@given(seeds, st.sampled_from(sorted(SCORES)))
def test_entities_that_cover_a_token_and_no_entity_share_its_probability(seed, scores):
    """Under the mask every label but O belongs to exactly one entity, so the spans over a token sum to 1 - p(O)."""
    lattice, kinds = random_sentences(seed, "BIO", scores), entities("BIO")
    posterior, spans = Posterior.of(lattice), all_spans(lattice)
    p = sum(span_probabilities(posterior, spans, kind, kinds) for kind in range(len(kinds)))
    marginals = posterior.marginals()
    for b, n in enumerate(lattice.lengths):
        for t in range(n):
            over = sum(q for (c, start, end), q in zip(spans, p, strict=True) if c == b and start <= t < end)
            assert np.isclose(over, 1 - marginals[lattice.offsets[b] + t, 0], atol=1e-9)


def test_windows_of_sentences_solved_in_either_algebra():
    rng = np.random.default_rng(0)
    unary = rng.normal(size=(6, 5))
    unary[4] = [4000.0, 3999.0, 0.0, -4000.0, 0.0]
    lattice = Lattice.over(unary, [0, 3, 6], ChainScores.under_mask(5, **valid("BIO")))
    posterior = Posterior.of(lattice)
    assert [part.messages.algebra is LOGARITHMIC for part in posterior.parts] == [False, True]
    spans = [(1, 1, 2), (0, 0, 2), (1, 0, 1), (0, 2, 3)]
    sentences = enumerate_all(lattice)
    expected = [
        sentences[b].share(lambda path, s=s, e=e: is_entity("BIO", path, s, e, entities("BIO")[0])) for b, s, e in spans
    ]
    assert np.allclose(span_probabilities(posterior, spans, 0, entities("BIO")), expected)


# ------------------------------------------------------------------------------------------------ constraints


@pytest.mark.slow
@every_scheme
@kinds_of_scores
def test_forced_spans_are_in_the_best_path_and_leave_the_best_such_path(scheme, scores):
    for seed in range(4):
        lattice, kinds = random_sentences(seed, scheme, scores), entities(scheme)
        for span in all_spans(lattice):
            b, start, end = span
            labels = viterbi(lattice.restricted(forced_spans(lattice, [span], 0, kinds)))
            sentence = enumerate_all(lattice)[b]
            best = max(
                score
                for path, score in zip(sentence.paths, sentence.scores, strict=True)
                if is_entity(scheme, path, start, end, kinds[0])
            )
            assert is_entity(scheme, tuple(labels[in_sentence(lattice, b)]), start, end, kinds[0])
            assert np.isclose(path_scores(lattice, labels)[b], best)


def test_forced_spans_that_contradict_each_other():
    lattice = random_sentences(0, "BIO")
    b = int(np.argmax(lattice.lengths))
    with pytest.raises(ConfigurationError, match=f"sentence {b}: no labelling is possible"):
        viterbi(lattice.restricted(forced_spans(lattice, [(b, 0, 2), (b, 1, 2)], [0, 1], entities("BIO"))))


def test_tokens_kept_outside_have_no_entity():
    for seed in range(10):
        lattice, kinds = random_sentences(seed, "BIO"), entities("BIO")
        outside = [(b, 0, 1) for b in range(len(lattice.lengths))]
        restricted = lattice.restricted(outside_spans(lattice, outside, kinds))
        assert (viterbi(restricted)[lattice.sentences.first] == 0).all()
        assert np.allclose(Posterior.of(restricted).marginals()[lattice.sentences.first, 0], 1)


def test_no_spans_at_all():
    lattice = random_sentences(0, "BIO")
    posterior, kinds, none = Posterior.of(lattice), entities("BIO"), np.zeros((0, 3), int)
    assert span_probabilities(posterior, none, 0, kinds).shape == (0,)
    assert forced_spans(lattice, none, 0, kinds).all()
    assert outside_spans(lattice, [(0, 0, 1)], []).all()
    assert span_probabilities(posterior, none, [], []).shape == (0,)
    empty = Posterior.of(Lattice.over(np.zeros((0, 5)), [0], ChainScores.under_mask(5)))
    assert span_probabilities(empty, none, 0, kinds).shape == (0,)
    with pytest.raises(IndexRangeError, match="span 0: a span lies outside its sentence"):
        span_probabilities(empty, [(0, 0, 1)], 0, kinds)


@pytest.mark.parametrize(
    ("spans", "kinds", "error", "message"),
    [
        ([(0, 2, 2)], 0, IndexRangeError, r"span 0: a span lies outside its sentence: expected 0 <= start < end <= 3"),
        ([(0, 0, 1), (1, 0, 4)], 0, IndexRangeError, r"span 1: .* got \(1, 0, 4\)"),
        ([(2, 0, 1)], 0, IndexRangeError, "expected a sentence of the batch"),
        ([(0, 1)], 0, ShapeError, r"spans must be integers \(M, 3\): sentence, start, end"),
        ([(0.0, 0.0, 1.0)], 0, ShapeError, "got float64"),
        ([(0, 0, 1)], 2, IndexRangeError, "kinds of spans: index out of range: expected 0 to 1"),
        ([(0, 0, 1)], [0, 1], ShapeError, r"kinds of spans: expected one number, or \(1,\), got \(2,\)"),
    ],
)
def test_spans_that_do_not_fit(spans, kinds, error, message):
    lattice = Lattice.over(np.zeros((6, 5)), [0, 3, 6], ChainScores.under_mask(5))
    with pytest.raises(error, match=message):
        span_probabilities(Posterior.of(lattice), spans, kinds, entities("BIO"))


def test_windows_that_do_not_fit():
    posterior = Posterior.of(Lattice.over(np.zeros((4, 2)), [0, 2, 4], ChainScores.under_mask(2)))

    def windows(tokens, offsets, allowed=None):
        tokens = np.array(tokens, np.int64)
        return Windows(tokens, np.array(offsets), np.ones((len(tokens), 2), bool) if allowed is None else allowed)

    assert np.allclose(window_probabilities(posterior, windows([2, 3, 0, 1, 1], [0, 2, 4, 5])), 1)
    with pytest.raises(DtypeError, match="allowed labels of windows: wrong element type: expected bool"):
        window_probabilities(posterior, windows([0], [0, 1], np.ones((1, 2))))
    with pytest.raises(IndexRangeError, match="tokens of windows: index out of range: expected 0 to 3, got 4"):
        window_probabilities(posterior, windows([4], [0, 1]))
    for tokens, offsets in (([1, 2], [0, 2]), ([0, 0], [0, 2]), ([0], [0, 0, 1]), ([1, 0], [0, 2])):
        with pytest.raises(ShapeError, match="windows must be consecutive tokens of one sentence each"):
            window_probabilities(posterior, windows(tokens, offsets))
    with pytest.raises(IndexRangeError, match="labels of an entity: index out of range"):
        EntityLabels.bio(2, begin=1, inside=2)
    with pytest.raises(ShapeError, match=r"labels of an entity: wrong shape: expected \(6, 2\), got \(6, 5\)"):
        span_probabilities(posterior, [(0, 0, 1)], 0, entities("BIO"))
