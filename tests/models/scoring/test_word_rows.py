"""Rows of words: made once, kept in a table of bounded size, the same for any number of threads."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import pytest

from oracles.sharing import interrupted_at_every_line
from postil.kernels.plain_words import word_cells
from postil.models.scoring.word_rows import WordRows

PADDING = np.array([-1, -1], np.float32)


def row(form):
    return [len(form), sum(map(ord, form)) % 1000]


class Maker:
    """Counts the words that it is asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, text, cells):
        forms = [text[first:end].decode("utf-8", "surrogatepass") for first, end in cells.tolist()]
        self.asked += forms
        return np.array([row(form) for form in forms], np.float32)


def table(capacity):
    make = Maker()
    return WordRows(make, PADDING, most_bytes=capacity * PADDING.nbytes), make


def check(rows, forms):
    found, numbers = rows.look_up(forms)
    assert np.array_equal(found[numbers], np.array([row(form) for form in forms], np.float32).reshape(-1, 2))
    assert np.array_equal(found[0], PADDING)
    assert (numbers > 0).all()


def test_a_word_is_made_once():
    rows, make = table(10)
    check(rows, ["a", "bb", "a"])
    check(rows, ["bb", "ccc"])
    check(rows, [])
    assert make.asked == ["a", "bb", "ccc"]


def test_a_row_that_is_completed_while_a_full_table_is_halved_is_whole():
    numbers = count()

    class Waiting:
        """Computes the rows of "late" words when told to. Rows differ each time: no memory has them by chance."""

        def __init__(self):
            self.is_asked, self.may_go_on, self.number = threading.Event(), threading.Event(), next(numbers)

        def __call__(self, text, cells):
            if text.startswith(b"late") and not self.is_asked.is_set():
                self.is_asked.set()
                self.may_go_on.wait()
            return np.array([[self.number, end - first] for first, end in cells.tolist()], np.float32)

    def scenario():
        make = Waiting()
        rows = WordRows(make, PADDING, most_bytes=8 * PADDING.nbytes)
        late = threading.Thread(target=rows.look_up, args=(["late 1", "late 2"],))
        late.start()
        make.is_asked.wait()
        rows.look_up([f"old {i}" for i in range(5)])

        def complete():
            make.may_go_on.set()
            late.join()

        def check_all():
            complete()
            found, ids = rows.look_up(["old 0", "late 1", "late 2", "new 0"])
            assert found[ids].tolist() == [[make.number, size] for size in (5, 6, 6, 5)]

        return lambda: rows.look_up([f"new {i}" for i in range(3)]), complete, check_all

    interrupted_at_every_line(scenario, within="scoring/word_rows.py")


def test_a_full_table_keeps_the_words_that_came_first():
    rows, make = table(8)
    for i in range(40):
        check(rows, ["first", "second", f"word {i}"])
    assert make.asked.count("first") == make.asked.count("second") == 1
    assert len(rows._page.numbers) <= 8
    check(rows, ["word 0"])  # long forgotten


def test_what_was_handed_out_stays_as_it_was():
    rows, _ = table(4)
    found, numbers = rows.look_up(["a", "bb", "ccc"])
    before = found[numbers].copy()
    for i in range(20):
        check(rows, [f"new {i}"])
    assert np.array_equal(found[numbers], before)


def test_more_words_at_once_than_the_table_holds():
    rows, make = table(4)
    check(rows, ["a", "bb"])
    check(rows, [f"word {i}" for i in range(30)] * 2)
    assert len(rows._page.numbers) <= 4
    make.asked.clear()
    check(rows, ["a", "bb"])
    assert make.asked == []


def test_endless_words_are_not_kept():
    rows, _ = table(10)
    check(rows, ["x" * 5000, "a"])
    assert all(len(form) <= 1000 for form in rows._page.numbers)


def test_threads_get_what_one_gets():
    rows, _ = table(60)
    words = [f"word {i}" for i in range(150)]

    def ask(seed):
        rng = random.Random(seed)
        for _ in range(60):
            check(rows, rng.choices(words, k=25))
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(8)))


def test_words_that_another_thread_is_at():
    """They have numbers, but no rows yet: whoever needs them computes them too."""
    rows, make = table(10)
    page = rows._page
    numbered = page.number(*word_cells(["a", "bb"]))
    check(rows, ["bb", "ccc"])
    check_cells(rows, ["a", "ccc", "bb"])
    page.complete(numbered, make)  # the other thread is done
    check(rows, ["a", "bb", "ccc"])
    assert make.asked == ["bb", "ccc", "a", "a", "bb"]


def test_a_failure_leaves_no_row_that_was_not_computed():
    rows, make = table(10)

    def fail(*_):
        raise MemoryError

    rows._make = fail
    for look_up in (check, check_cells):
        with pytest.raises(MemoryError):
            look_up(rows, ["a", "bb"])
    rows._make = make
    check(rows, ["bb", "ccc"])
    check_cells(rows, ["a", "bb"])
    check(rows, ["a"])


def test_halves_of_surrogate_pairs_are_words():
    rows, _ = table(10)
    check(rows, ["\ud83d", "\ude00", "😀"])
    check_cells(rows, ["\ude00", "\ud83d", "😀"])
    check(rows, ["\ud83d" * 2000])


def test_what_is_no_string():
    rows, _ = table(10)
    with pytest.raises(TypeError, match="a form is a string"):
        rows.look_up(["a", 3])


# ------------------------------------------------------------------------------------------------ words as bytes


def check_cells(rows, forms):
    encoded = [form.encode("utf-8", "surrogatepass") for form in forms]
    ends = np.cumsum([0, *map(len, encoded)])
    found, numbers = rows.look_up_cells(b"".join(encoded), np.column_stack([ends[:-1], ends[1:]]))
    assert np.array_equal(found[numbers], np.array([row(form) for form in forms], np.float32).reshape(-1, 2))
    assert np.array_equal(found[0], PADDING)
    assert (numbers > 0).all()


def test_words_as_bytes_share_the_rows_of_strings():
    rows, make = table(10)
    check(rows, ["a", "bb"])
    check_cells(rows, ["bb", "é", "é", "", "a"])
    check_cells(rows, [])
    check(rows, ["é", ""])
    assert make.asked == ["a", "bb", "é", ""]


def test_words_as_bytes_in_a_full_table():
    rows, make = table(8)
    for i in range(40):
        check_cells(rows, ["first", "second", f"word {i}"])
        check(rows, ["first", f"other {i}"])
    assert make.asked.count("first") == make.asked.count("second") == 1
    check_cells(rows, [f"word {i}" for i in range(30)] * 2)  # more than it holds
    assert len(rows._page.numbers) <= 8
    check_cells(rows, ["word 0", "x" * 5000])
    assert all(len(form) <= 1000 for form in rows._page.numbers)


def test_many_threads_look_up_bytes_and_strings():
    rows, _ = table(50)

    def work(seed):
        rng = random.Random(seed)
        for turn in range(60):
            forms = [f"w{rng.randrange(200)}" for _ in range(20)]
            (check_cells if turn % 2 else check)(rows, forms)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(8)))
