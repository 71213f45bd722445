"""Made-up sentiment trees in which "not" turns its phrase around: a bag of words cannot learn them."""

import numpy as np

_GOOD, _BAD = ("good", "fine", "lovely"), ("bad", "dull", "awful")
_THINGS = ("film", "plot", "cast", "score")


def sentiment_trees(count, seed=0):
    """Nested tuples, "1" good and "0" bad at every phrase that has an opinion, else no label."""
    rng = np.random.default_rng(seed)
    trees = []
    for _ in range(count):
        label = str(rng.integers(2))
        phrase = (label, str(rng.choice(_GOOD if label == "1" else _BAD)))
        for _ in range(int(rng.integers(3))):
            if rng.random() < 0.6:
                label = "10"[int(label)]
                phrase = (label, (None, "not"), phrase)
            else:
                phrase = (label, (None, "very"), phrase)
        thing = (None, (None, "the"), (None, str(rng.choice(_THINGS))))
        trees.append((label, thing, (label, (None, "is"), phrase)))
    return trees
