"""sklearn-crfsuite with the tutorial's features, in the form that its users write: one dict of features a token."""

import pickle
from pathlib import Path
from typing import Any

from crfsuite_features import tutorial_features
from protocol import Contestant, Stopwatch, serve
from sklearn_crfsuite import CRF


def dicts(words: list[str]) -> list[dict[str, bool]]:
    return [dict.fromkeys(row, True) for row in tutorial_features(words)]


class SklearnCRFsuite(Contestant):
    def train(self, train: list[Any], model: str, stopwatch: Stopwatch) -> None:
        self.crf = CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True)
        self.crf.fit([dicts(words) for words, _ in train], [labels for _, labels in train])
        Path(model).write_bytes(pickle.dumps(self.crf))
        stopwatch.checkpoint()

    def load(self, model: str) -> None:
        self.crf = pickle.loads(Path(model).read_bytes())

    def tag(self, sentences: list[list[str]]) -> list[list[str]]:
        return [list(labels) for labels in self.crf.predict([dicts(words) for words in sentences])]


if __name__ == "__main__":
    serve(SklearnCRFsuite())
