"""spaCy's NER for CPUs as its defaults have it: hash embeddings, a CNN, batches that grow from 100 to 1,000 words.

Scored on dev every 200 steps; stops after 1,600 steps without a better score, or when its time is over.
"""

import random
from pathlib import Path
from typing import Any

import spacy
from protocol import Contestant, Stopwatch, serve
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.batchers import minibatch_by_words
from thinc.schedules import compounding

EVERY, PATIENCE = 200, 1600
BILUO = {"B": "B", "I": "I", "E": "L", "S": "U", "O": "O", "-": "-"}  # the last one: unknown


class SpacyNER(Contestant):
    def train(self, train: list[Any], model: str, stopwatch: Stopwatch) -> None:
        self.nlp = spacy.blank("en")
        self.nlp.add_pipe("ner")
        examples = [self._example(words, labels) for words, labels in train]
        optimiser = self.nlp.initialize(lambda: examples)
        rng, steps, sizes = random.Random(0), 0, compounding(100, 1000, 1.001)
        best, best_step = -1.0, 0
        while steps - best_step < PATIENCE and not stopwatch.is_over:
            rng.shuffle(examples)
            for batch in minibatch_by_words(examples, size=_Sizes(sizes)):
                self.nlp.update(batch, sgd=optimiser, drop=0.1)
                steps += 1
                if steps % EVERY == 0:
                    score = stopwatch.checkpoint()
                    if score > best:
                        best, best_step = score, steps
                        self.nlp.to_disk(model)
                    if steps - best_step >= PATIENCE or stopwatch.is_over:
                        break
        self.load(model)

    def _example(self, words: list[str], labels: list[str]) -> Example:
        doc = Doc(self.nlp.vocab, words=words)
        tags = [BILUO[label[0]] + label[1:] for label in labels]
        return Example.from_dict(doc, {"entities": tags})

    def load(self, model: str) -> None:
        self.nlp = spacy.load(model)

    def tag(self, sentences: list[list[str]]) -> list[list[str]]:
        docs = (Doc(self.nlp.vocab, words=words) for words in sentences)
        return [_labels(doc) for doc in self.nlp.pipe(docs, batch_size=256)]

    def tag_file(self, text: Path, output: Path, threads: int, probabilities: bool) -> int | None:
        """With its own tokeniser, on as many processes as it is told. Its NER has no probabilities."""
        if probabilities:
            return None
        tokens = 0
        with text.open(encoding="utf8") as lines, output.open("w", encoding="utf8") as target:
            paragraphs = (line.rstrip("\n") for line in lines)
            for doc in self.nlp.pipe(paragraphs, batch_size=256, n_process=threads):
                for token, label in zip(doc, _labels(doc), strict=True):
                    target.write(f"{token.text} {label}\n")
                target.write("\n")
                tokens += len(doc)
        return tokens


class _Sizes:
    """The next size of a schedule, whichever form this version of spaCy asks for."""

    def __init__(self, schedule: Any) -> None:
        self.schedule, self.step = schedule, 0

    def __iter__(self) -> "_Sizes":
        return self

    def __next__(self) -> float:
        self.step += 1
        return float(self.schedule(self.step)) if callable(self.schedule) else float(next(self.schedule))


def _labels(doc: Doc) -> list[str]:
    labels = ["O"] * len(doc)
    for entity in doc.ents:
        kind, first, last = entity.label_, entity.start, entity.end - 1
        labels[first : last + 1] = [f"I-{kind}"] * (last - first + 1)
        labels[first] = f"B-{kind}"
        labels[last] = f"E-{kind}" if last > first else f"S-{kind}"
    return labels


if __name__ == "__main__":
    serve(SpacyNER())
