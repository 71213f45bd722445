"""Postil itself.    usage: postil_tagger.py PRESET [THREADS [VECTORS]]"""

import sys
from pathlib import Path
from typing import Any

from protocol import Contestant, Stopwatch, serve

import postil
from postil.tagging import TaggingOptions, label
from postil.text import read


class PostilTagger(Contestant):
    def __init__(self, preset: str, threads: int = 1, vectors: str | None = None) -> None:
        self.tagger = postil.Tagger(preset=preset, threads=threads, vectors=vectors)

    def train(self, train: list[Any], model: str, stopwatch: Stopwatch) -> None:
        X, y = [words for words, _ in train], [labels for _, labels in train]
        dev = (stopwatch.dev, stopwatch.dev_labels)
        _pause_while_scoring(stopwatch)
        for event in self.tagger.fitting(X, y, dev):
            if type(event).__name__ == "Epoch":
                stopwatch.checkpoint(event.score)
        self.tagger.save(model)

    def load(self, model: str) -> None:
        self.tagger, self.model = postil.load(model), model

    def tag_file(self, text: Path, output: Path, threads: int, probabilities: bool) -> int | None:
        options = TaggingOptions(output="conll", probabilities=probabilities)
        with read(text, "text") as reading, output.open("wb") as target:
            return label(self.tagger, [reading], options, target, threads=threads, path=self.model).tokens

    def tag(self, sentences: list[list[str]]) -> list[list[str]]:
        return self.tagger.predict(sentences)


def _pause_while_scoring(stopwatch: Stopwatch) -> None:
    """Postil scores dev by itself after every epoch; the clock stands meanwhile, as it does for the others."""
    score = postil.Tagger.score

    def paused(*arguments: Any) -> float:
        stopwatch.stop()
        try:
            return score(*arguments)
        finally:
            stopwatch.start()

    postil.Tagger.score = paused  # type: ignore[method-assign]


if __name__ == "__main__":
    threads = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    serve(PostilTagger(sys.argv[1], threads, sys.argv[3] if len(sys.argv) > 3 else None))
