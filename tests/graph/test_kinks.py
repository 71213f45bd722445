"""Notes of branches: heard only inside a listening block, in order, as they were."""

import threading

import numpy as np

from postil.graph.node import listening, note_branches, recorded_branches


def test_notes_are_heard_inside_the_block_only():
    note_branches(np.array([True]))
    assert not listening()
    with recorded_branches() as notes:
        assert listening()
        note_branches(np.array([1, 0]))
        note_branches(np.array([2]))
    note_branches(np.array([True]))
    assert [note.tolist() for note in notes] == [[1, 0], [2]]


def test_a_note_is_a_copy():
    branches = np.array([1, 0])
    with recorded_branches() as notes:
        note_branches(branches)
        branches[:] = 7
    assert notes[0].tolist() == [1, 0]


def test_blocks_inside_blocks_and_other_threads_do_not_mix():
    with recorded_branches() as outer:
        with recorded_branches() as inner:
            note_branches(np.array([1]))
        thread = threading.Thread(target=note_branches, args=(np.array([2]),))
        thread.start()
        thread.join()
        note_branches(np.array([3]))
    assert [note.tolist() for note in inner] == [[1]]
    assert [note.tolist() for note in outer] == [[3]]
