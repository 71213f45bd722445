import pickle

import numpy as np

from postil.models.decoding.codec import Predictions


def test_lists_of_any_lengths_are_one_column():
    for labels in ([], [["O"]], [["O", "B"], ["O", "O"]], [["O"], [], ["O", "O"]]):
        answers = Predictions(labels)
        assert answers == labels and repr(answers) == repr(labels)
        assert np.asarray(answers).shape == (len(labels),)
        assert np.asarray(answers).tolist() == labels


def test_a_copy_is_the_same():
    assert pickle.loads(pickle.dumps(Predictions([["O"]]))) == [["O"]]
