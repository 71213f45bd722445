"""Rung 4: the same numbers from a real model.

A tagger with the preset ``window-sll`` and word features alone is exactly the network of tagger.py. Its file holds
the arrays under other names. With these parameters the 200 lines must answer what the C engine answers.
"""

import numpy as np
import tagger as plain

from postil import archive
from postil.features import Vocabulary

NAMES = {
    "E": "network/forms.tables.0",
    "padding": "network/encoder.layers.0.padding",
    "W1": "network/encoder.layers.1.W",
    "b1": "network/encoder.layers.1.b",
    "W2": "heads/main/output0.W",
    "b2": "heads/main/output0.b",
    "A": "heads/main/crf.transitions",
    "start": "heads/main/crf.start",
    "end": "heads/main/crf.end",
}


def opened(path):
    """The parameters, the vocabulary and the labels of a model file."""
    arrays, metadata = archive.load(path)
    p = {name: arrays[stored].astype(np.float64) for name, stored in NAMES.items()}
    prefix = "features/words/word/"
    parts = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    return p, Vocabulary.from_arrays(parts), metadata["heads"]["main"]["labels"]["classes"]


def labels_and_marginals(path, sentences):
    """For each sentence its labels and the probability of each label at each token."""
    p, vocabulary, labels = opened(path)
    for tokens in sentences:
        ids = np.array([vocabulary.id(token.lower(), 0) for token in tokens])
        U, _ = plain.scores(p, ids)
        alpha, beta, log_Z = plain.forward_backward(U, p["A"], p["start"], p["end"])
        best = plain.viterbi(U, p["A"], p["start"], p["end"])
        yield [labels[number] for number in best], np.exp(alpha + beta - log_Z)
