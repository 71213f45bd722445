"""The sentence approach compared with the words of the paper: one target at a time, every window spelt out (A12)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.arrays import Ragged, offsets_from_lengths
from postil.graph import RowGradient, dense, gradients
from postil.network import SentenceConvolution
from postil.network import window as sentence
from postil.network.window import views


def layer(D=3, H=4, size=3, longest=4, dim=2, seed=0):
    rng = np.random.default_rng(seed)
    made = SentenceConvolution(D, H, size, distance_dim=dim, longest_distance=longest, rng=rng, dtype=np.float64)
    for parameter in made.parameters().values():  # the padding begins with zeros, which would hide mistakes
        parameter.value[...] = rng.normal(size=parameter.shape)
    return made


def by_the_words_of_the_paper(made, X):
    """One sentence X (T, D) -> (T, H)."""
    T, half = len(X), made.size // 2
    padding, linear = made.convolution.layers[0].padding.value, made.convolution.layers[1]
    answers = []
    for target in range(T):
        rows = [
            np.concatenate(
                (X[p], made.distances.table.value[np.clip(p - target, -made.longest, made.longest) + made.longest])
            )
            for p in range(T)
        ]
        padded = [padding] * half + rows + [padding] * half
        windows = [np.concatenate(padded[p : p + made.size]) for p in range(T)]
        answers.append(np.max([linear.W.value @ window + linear.b.value for window in windows], axis=0))
    return np.array(answers)


@given(
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=5),
    size=st.sampled_from([1, 3, 5, 7]),
    longest=st.integers(1, 6),
    dim=st.integers(1, 3),
)
def test_it_is_one_convolution_and_maximum_per_target(lengths, size, longest, dim):
    made = layer(size=size, longest=longest, dim=dim)
    rng = np.random.default_rng(sum(lengths))
    X = Ragged(rng.normal(size=(sum(lengths), 3)), offsets_from_lengths(lengths))
    expected = [by_the_words_of_the_paper(made, rows) for rows in X if len(rows)]
    assert np.allclose(made(X).value, np.concatenate(expected) if expected else np.zeros((0, 4)), atol=1e-12)


@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_the_number_of_rows_at_once_changes_nothing(at_once, monkeypatch):
    made, lengths = layer(), [1, 5, 9, 2]
    X = Ragged(np.random.default_rng(1).normal(size=(17, 3)), offsets_from_lengths(lengths))
    expected, slopes = made(X), gradients(made(X).sum())
    monkeypatch.setattr(sentence, "_ROWS_AT_ONCE", at_once)
    found = gradients(made(X).sum())
    assert (made(X).value == expected.value).all()
    for parameter in made.parameters().values():
        one, other = slopes[parameter], found[parameter]
        one, other = map(dense, (one, other))
        assert (one == other).all()


def test_distances_that_do_not_occur_get_no_gradient():
    made = layer(longest=4)
    found = gradients(made(Ragged(np.ones((2, 3)), np.array([0, 2]))).sum())[made.distances.table]
    assert isinstance(found, RowGradient)
    assert set(found.rows) <= {3, 4, 5}  # -1, 0 and +1


def test_long_sentences_are_seen_in_equal_pieces(monkeypatch):
    assert views(np.array([0, 4, 4, 11, 13]), 4).tolist() == [0, 4, 4, 7, 11, 13]
    assert views(np.array([0, 3]), 4).tolist() == [0, 3]
    monkeypatch.setattr(sentence, "LONGEST_VIEW", 4)
    made, X = layer(), np.random.default_rng(2).normal(size=(7, 3))
    pieces = [by_the_words_of_the_paper(made, piece) for piece in (X[:3], X[3:])]
    assert np.allclose(made(Ragged(X, np.array([0, 7]))).value, np.concatenate(pieces))
