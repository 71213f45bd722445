"""python-crfsuite: L-BFGS, c1 = c2 = 0.1, 100 iterations.    usage: crfsuite.py tutorial|rich"""

import sys
from typing import Any

import pycrfsuite
from crfsuite_features import FEATURES
from protocol import Contestant, Stopwatch, serve


class CRFsuite(Contestant):
    def __init__(self, features: str) -> None:
        self.features = FEATURES[features]
        self.tagger = pycrfsuite.Tagger()

    def train(self, train: list[Any], model: str, stopwatch: Stopwatch) -> None:
        trainer = pycrfsuite.Trainer(verbose=False)
        trainer.set_params({"c1": 0.1, "c2": 0.1, "max_iterations": 100, "feature.possible_transitions": True})
        for words, labels in train:
            trainer.append(self.features(words), labels)
        trainer.train(model)
        self.load(model)
        stopwatch.checkpoint()

    def load(self, model: str) -> None:
        self.tagger.open(model)

    def tag(self, sentences: list[list[str]]) -> list[list[str]]:
        return [self.tagger.tag(self.features(words)) for words in sentences]


if __name__ == "__main__":
    serve(CRFsuite(sys.argv[1]))
