"""Answers from one kernel: against the enumeration of all labellings, and the compiled one against its NumPy twin."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import answers
from oracles.paths import enumerate_paths
from postil.kernels import Question
from postil.objectives import ChainScores, Lattice
from postil.text import spans_from_labels, transition_mask

TWINS = {"oracle": answers.chain_answers}
try:
    from postil.kernels import compiled_chain

    TWINS["compiled"] = compiled_chain.chain_answers
except ImportError:
    pass
seeds = st.integers(0, 2**32 - 1)
SCHEMES = {"iobes": "BIES", "bio": "BI"}


def labels_of(scheme, classes):
    return ["O", *(f"{letter}-{name}" for name in "XYZ"[:classes] for letter in SCHEMES[scheme])]


def scheme_arrays(scheme, classes):
    labels = labels_of(scheme, classes)
    kinds = np.array([-1 if label == "O" else "XYZ".index(label[2]) for label in labels])
    begins = np.array([label[0] in "BS" for label in labels])
    after = (
        np.array([[label != f"I-{name}" for label in labels] for name in "XYZ"[:classes]]) if scheme == "bio" else None
    )
    return labels, kinds, begins, after


def problem(seed, scheme="iobes", classes=2, *, longest=4, thresholds=False, dtype=np.float64, scale=2.0):
    """Random scores under a scheme's mask, and a random question."""
    rng = np.random.default_rng(seed)
    labels, kinds, begins, after = scheme_arrays(scheme, classes)
    mask, L = transition_mask(labels, scheme), len(labels)
    lengths = rng.integers(0, longest + 1, rng.integers(1, 5))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    unary = rng.normal(scale=scale, size=(int(offsets[-1]), L)).astype(dtype)
    steps = [
        np.where(allowed, rng.normal(size=allowed.shape), -np.inf)
        for allowed in (mask.transitions, mask.start, mask.end)
    ]
    same = np.unique([label.replace("E-", "I-").replace("S-", "B-") for label in labels], return_inverse=True)[1]
    question = Question(
        temperature=float(rng.choice([1.0, 0.7, 1.9])),
        shift=float(rng.choice([0.0, 0.8])),
        outside=0,
        bonus=rng.choice([0.0, 1.3]) * begins.astype(float),
        classes=kinds,
        begins=begins,
        after=after,
        lowest=rng.uniform(0, 0.6, classes) if thresholds else None,
        alike=(same[:, None] == same).astype(float),
    )
    return unary, offsets, steps, question, labels


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("thresholds", [False, True])
@settings(max_examples=25)
@given(seed=seeds)
def test_answers_are_those_of_all_labellings(twin, scheme, thresholds, seed):
    unary, offsets, steps, q, labels = problem(seed, scheme, thresholds=thresholds)
    found = TWINS[twin](unary, offsets, *steps, q)
    scores = unary / q.temperature
    scores[:, 0] -= q.shift
    lattice = Lattice.over(scores, offsets, ChainScores(transitions=steps[0], start=steps[1], end=steps[2]))
    spans = []
    for b in range(len(offsets) - 1):
        everything = enumerate_paths(lattice, b)
        low, high = offsets[b : b + 2]
        by_favour = [
            s + sum(q.bonus[y] for y in path) for path, s in zip(everything.paths, everything.scores, strict=True)
        ]
        best = list(everything.paths[int(np.argmax(by_favour))])

        def is_entity(path, span):
            return span in spans_from_labels([labels[y] for y in path], scheme)

        for span in spans_from_labels([labels[y] for y in best], scheme):
            p = everything.share(lambda path, span=span: is_entity(path, span))
            kind = "XYZ".index(span.label)
            if q.lowest is not None and p < q.lowest[kind]:
                best[span.start : span.end] = [0] * (span.end - span.start)
            else:
                spans.append(((b, span.start, span.end, kind), p))
        assert found.numbers[low:high].tolist() == best
        assert found.probabilities[b] == pytest.approx(
            everything.share(lambda path, best=best: list(path) == best), rel=1e-9
        )
        for t in range(high - low):
            p = everything.share(lambda path, t=t, best=best: bool(q.alike[best[t], path[t]]))
            assert found.label_probabilities[low + t] == pytest.approx(p, rel=1e-9)
    assert [tuple(row) for row in found.spans.tolist()] == [span for span, _ in spans]
    assert found.span_probabilities == pytest.approx([p for _, p in spans], rel=1e-9)


needs_compiled = pytest.mark.skipif("compiled" not in TWINS, reason="the kernels were not compiled here")


@needs_compiled
@given(
    seeds,
    st.sampled_from(["iobes", "bio"]),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([1.0, 30.0]),
)
def test_the_compiled_answers_are_those_of_the_twin(seed, scheme, classes, thresholds, dtype, scale):
    unary, offsets, steps, q, _ = problem(
        seed, scheme, classes, longest=30, thresholds=thresholds, dtype=dtype, scale=scale
    )
    ours, theirs = (TWINS[twin](unary, offsets, *steps, q) for twin in ("compiled", "oracle"))
    assert np.array_equal(ours.numbers, theirs.numbers) and np.array_equal(ours.spans, theirs.spans)
    assert np.array_equal(ours.is_exact, theirs.is_exact)
    for one, other in (
        (ours.probabilities, theirs.probabilities),
        (ours.span_probabilities, theirs.span_probabilities),
    ):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-300)
    assert ours.label_probabilities == pytest.approx(theirs.label_probabilities, rel=1e-9)


@needs_compiled
@settings(max_examples=20)
@given(seeds)
def test_an_answer_does_not_depend_on_the_other_sentences(seed):
    unary, offsets, steps, q, _ = problem(seed, longest=12)
    together = TWINS["compiled"](unary, offsets, *steps, q)
    for b, (low, high) in enumerate(itertools.pairwise(offsets.tolist())):
        alone = TWINS["compiled"](unary[low:high], np.array([0, high - low]), *steps, q)
        assert (
            np.array_equal(alone.numbers, together.numbers[low:high])
            and alone.probabilities[0] == together.probabilities[b]
        )
        mine = together.spans[:, 0] == b
        assert np.array_equal(alone.spans[:, 1:], together.spans[mine, 1:])
        assert np.array_equal(alone.span_probabilities, together.span_probabilities[mine])


@pytest.mark.parametrize("twin", TWINS)
def test_labels_without_spans_have_no_entities(twin):
    unary, offsets, steps, *_ = problem(5)
    plain_question = Question(outside=-1)
    found = TWINS[twin](unary, offsets, *steps, plain_question)
    assert found.spans.shape == (0, 4) and found.label_probabilities is None
    assert len(found.numbers) == len(unary) and (found.probabilities <= 1 + 1e-12).all()


@pytest.mark.parametrize("twin", TWINS)
def test_numbers_far_apart_are_reported_as_not_exact(twin):
    unary, offsets, steps, q, _ = problem(3, scale=400.0, longest=8)
    assert not TWINS[twin](unary, offsets, *steps, q).is_exact.all()


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("classes", [1, 2, 3])
def test_labels_are_labels_even_where_scores_are_no_numbers(twin, classes):
    unary, offsets, steps, q, labels = problem(3, classes=classes, longest=8)
    with np.errstate(invalid="ignore"):
        found = TWINS[twin](np.full_like(unary, np.nan), offsets, *steps, q)
    assert found.numbers.min() >= 0 and found.numbers.max() < len(labels)
    assert (found.spans[:, 3] < classes).all()
