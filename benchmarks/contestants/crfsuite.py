"""python-crfsuite: L-BFGS, c1 = c2 = 0.1, 100 iterations.    usage: crfsuite.py tutorial|rich"""

import sys
from pathlib import Path
from typing import Any

import pycrfsuite
from crfsuite_features import FEATURES
from nltk.tokenize import NLTKWordTokenizer
from nltk.tokenize.punkt import PunktSentenceTokenizer
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

    def tag_file(self, text: Path, output: Path, threads: int, probabilities: bool) -> int | None:
        """Behind NLTK's tokenisers, in one process: it has no way to use several."""
        sentences, words = PunktSentenceTokenizer(), NLTKWordTokenizer()
        tokens = 0
        with text.open(encoding="utf8") as lines, output.open("w", encoding="utf8") as target:
            for line in lines:
                for sentence in sentences.tokenize(line):
                    tokens += self._write(words.tokenize(sentence), target, probabilities)
        return tokens

    def _write(self, words: list[str], target: Any, probabilities: bool) -> int:
        self.tagger.set(self.features(words))
        labels = self.tagger.tag()
        for t, (word, label) in enumerate(zip(words, labels, strict=True)):
            figure = f" {self.tagger.marginal(label, t):.6f}" if probabilities else ""
            target.write(f"{word} {label}{figure}\n")
        target.write("\n")
        return len(words)


if __name__ == "__main__":
    serve(CRFsuite(sys.argv[1]))
