"""The convolution over characters, against the definition filter by filter; its gradient is in the gradient list."""

import numpy as np
import pytest

from postil.errors import IndexRangeError, ShapeError
from postil.network import CharacterConvolution
from postil.network.layer import Run

WORDS = np.array([[1, 4, 2, 6], [3, 0, 0, 0], [0, 0, 0, 0], [5, 5, 1, 0]])


def layer(dtype=np.float64, **options):
    made = CharacterConvolution(6, 5, D=3, rng=np.random.default_rng(0), dtype=dtype, **options)
    made.window.padding.value = np.random.default_rng(1).normal(size=3).astype(dtype)
    return made


@pytest.mark.parametrize("size", [1, 3, 5])
def test_each_filter_has_its_largest_value_over_the_word(size):
    made = layer(size=size)
    Y, _ = made.forward(WORDS, Run())
    half, padding = size // 2, [made.window.padding.value]
    for word, row in zip(WORDS, Y, strict=True):
        characters = [made.table.value[i - 1] for i in word if i]
        if not characters:
            assert not row.any()
            continue
        padded = padding * half + characters + padding * half
        windows = [np.concatenate(padded[t : t + size]) for t in range(len(characters))]
        values = [made.linear.W.value @ window + made.linear.b.value for window in windows]
        np.testing.assert_allclose(row, np.tanh(np.max(values, axis=0)), rtol=1e-12)


def test_the_bits_of_a_word_do_not_depend_on_the_others():
    made = CharacterConvolution(90, 32, rng=np.random.default_rng(0))
    words = np.random.default_rng(1).integers(1, 91, (300, 24), np.int32)
    words[np.arange(24) >= np.random.default_rng(2).integers(1, 25, 300)[:, None]] = 0
    together, _ = made.forward(words, Run())
    for i in (0, 7, 299):
        assert made.forward(words[i : i + 1], Run())[0].tobytes() == together[i].tobytes()


def test_no_words_at_all():
    Y, back = layer().forward(np.zeros((0, 4), np.int32), Run())
    assert Y.shape == (0, 5)
    assert not any(np.any(gradient) for gradient in back(Y)[1].values())


def test_wrong_ids_are_refused():
    with pytest.raises(IndexRangeError, match="characters of words: expected 0 to 6, got 7"):
        layer().forward(np.array([[7, 0]]), Run())
    with pytest.raises(ShapeError, match="integers"):
        layer().forward(np.zeros(3, np.int64), Run())
