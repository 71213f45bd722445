import numpy as np
import pytest

from postil.arrays import Ragged
from postil.errors import ConfigurationError, DtypeError, IndexRangeError, ShapeError
from postil.graph import RowGradient, gradients
from postil.network import LookupTable, LookupTables


def rng():
    return np.random.default_rng(0)


def test_repeated_words_add_up_and_absent_words_get_nothing():
    """A2, with the erratum: the gradient of word i sums the output gradients at the places t where i stands."""
    layer = LookupTable(6, 2, rng=rng(), dtype=np.float64)
    ids = np.array([4, 1, 4])
    dY = np.array([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]])
    found = gradients(layer(ids), seed=dY)[layer.table]
    assert isinstance(found, RowGradient)
    assert list(found.rows) == [1, 4]
    assert np.array_equal(found.values, [[10, 20], [101, 202]])


def test_several_tables_stand_side_by_side():
    layer = LookupTables([(6, 3), (4, 2)], rng=rng())
    words, caps = (table.value for table in layer.tables)
    ids = np.array([[5, 0], [2, 3]])
    assert np.array_equal(layer(ids).value, np.concatenate([words[[5, 2]], caps[[0, 3]]], axis=1))


def test_neighbouring_features_of_one_width_share_a_parameter():
    layer = LookupTables([(6, 3), (4, 2), (5, 2), (2, 3)], rng=rng(), dtype=np.float64)
    assert [table.shape for table in layer.tables] == [(6, 3), (9, 2), (2, 3)]
    y = layer(np.array([[5, 3, 4, 1], [0, 3, 0, 1]]))
    first, both, last = (table.value for table in layer.tables)
    assert np.array_equal(y.value[0], np.concatenate([first[5], both[3], both[4 + 4], last[1]]))
    found = gradients(y.sum())[layer.tables[1]]
    assert list(found.rows) == [3, 4, 8] and np.array_equal(found.values, [[2, 2], [1, 1], [1, 1]])


def test_a_table_has_fan_in_one_and_does_not_decay():
    table = LookupTable(6, 2, rng=rng()).table
    assert table.fan_in == 1 and not table.decays


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        (
            np.array([0, 6]),
            IndexRangeError,
            r"LookupTable: index out of range: expected 0 to 5, got 6 at position \(1,\)",
        ),
        (np.array([-1]), IndexRangeError, "got -1"),
        (np.array([0.5]), DtypeError, "LookupTable: wrong element type: expected integers, got float64"),
        (np.array([[1, 2]]), ShapeError, r"LookupTable: indices of a lookup table: expected \(N,\), got \(1, 2\)"),
    ],
)
def test_bad_indices(ids, error, message):
    with pytest.raises(error, match=message):
        LookupTable(6, 2, rng=rng())(ids)


def test_bad_indices_of_several_tables():
    layer = LookupTables([(6, 3), (4, 2)], rng=rng())
    with pytest.raises(IndexRangeError, match="LookupTables, feature 1: index out of range: expected 0 to 3, got 4"):
        layer(Ragged(np.array([[0, 4]]), [0, 1]))
    with pytest.raises(ShapeError, match=r"expected \(N, 2\), got \(3,\)"):
        layer(np.array([1, 2, 3]))
    with pytest.raises(ConfigurationError, match="lookup tables: expected at least one"):
        LookupTables([], rng=rng())


def test_a_batch_without_a_word_has_no_width():
    layer = LookupTables([(6, 3), (4, 2)], rng=rng())
    y = layer(Ragged.from_sequences([]))
    assert y.shape == (0, 5)
    assert all(len(found.rows) == 0 for found in gradients(y.sum()).values())
