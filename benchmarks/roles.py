"""Semantic roles: F1 by the rules of CoNLL-2005, training and tagging times, size of the model, beside two peers.

    python -m benchmarks.roles FOLDER --vectors glove-50d [--tags UD] [--predicates 4000] [--part dev] [--python PATH]

FOLDER has train.conll05.txt, dev.conll05.txt and test.conll05.txt. The predicates are given, and all contestants learn
from the same part of the training data, with the same vectors: CRFsuite with rich features of words, of the predicate
and of the distance to it (it cannot use vectors), a BiLSTM-CRF in PyTorch with a mark at the predicate, and the preset
``roles``. --predicates 0 takes all of the training data. Tokens of the tagging speed count once for each predicate.

With --tags, the preset ``roles`` has predicted parts of speech as a column. UD has train.pos.txt: form, Penn tag and
universal tag of the same sentences. Each third of them is tagged by a model of the other two, so that the tags have
about as many errors as those of held-out sentences, which a model of all of them tags.

The peers run in an environment of their own, or in --python, which has torch, pytorch-crf and python-crfsuite. Times
are CPU seconds of one thread. Our training contains reading the vectors, that of the peers does not: see the first line
of the output. Our tagging is a second pass over the same sentences.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.environments import ROOT, TORCH, environment
from postil import RoleLabeller, Tagger
from postil.features.vectors import load_vectors
from postil.metrics import RoleScores, score_roles
from postil.models.sentences import tokens_of
from postil.text import Frame, Sentence, frames_of, read

PEERS = {"crfsuite": "CRFsuite, rich features", "bilstm": "BiLSTM-CRF, PyTorch"}
FOLDS = 3
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def part_of(sentences: list[Sentence], predicates: int) -> list[Sentence]:
    """The first sentences of a shuffled corpus that have this many predicates together; 0: all."""
    order = np.random.default_rng(0).permutation(len(sentences))
    chosen, count = [], 0
    for i in order:
        if predicates and count >= predicates:
            break
        chosen.append(sentences[i])
        count += len(frames_of(sentences[i]) or ())
    return chosen


def examples(sentences: list[Sentence]) -> tuple[list[Any], list[list[Frame]]]:
    return [tokens_of(one) for one in sentences], [list(frames_of(one) or ()) for one in sentences]


def add_tags(folder: Path, train: list[Sentence], held_out: list[Sentence], vectors: str | None) -> None:
    """Give all sentences a column of predicted Penn tags."""
    gold = list(read(folder / "train.pos.txt", "conll", label=1))
    folds = np.random.default_rng(0).integers(FOLDS, size=len(gold))
    fold_of = {tuple(one.tokens): fold for one, fold in zip(gold, folds, strict=True)}
    for fold in range(FOLDS + 1):  # the last one is held out from none
        learned = [one for one in gold if fold_of[tuple(one.tokens)] != fold]
        tagger = Tagger(vectors=vectors, epochs=3, seed=0)
        tagger.fit([one.tokens for one in learned], [one.labels for one in learned])
        some = held_out if fold == FOLDS else [one for one in train if fold_of[tuple(one.tokens)] == fold]
        for one, tags in zip(some, tagger.predict([one.tokens for one in some]), strict=True):
            one.columns = [(tag,) for tag in tags]


def row(name: str, scores: RoleScores, training: float, speed: float, size: float) -> str:
    counts = scores.overall
    figures = f"{100 * counts.f1:.1f} | {100 * counts.precision:.1f} | {100 * counts.recall:.1f}"
    return f"| {name} | {figures} | {training:,.0f} | {speed:,.0f} | {size / 1e6:.1f} |"


def ours(train: list[Sentence], test: list[Sentence], vectors: str | None, settings: dict[str, Any]) -> str:
    began = time.process_time()
    labeller = RoleLabeller(vectors=vectors, seed=0, **settings).fit(*examples(train))
    training = time.process_time() - began
    X, gold = examples(test)
    places = [[frame.predicate for frame in frames] for frames in gold]
    for _ in range(2):  # the second pass counts: the first one builds the engine
        began = time.process_time()
        found = labeller.predict(X, places)
        seconds = time.process_time() - began
    tokens = sum(len(one.tokens) * len(frames_of(one) or ()) for one in test)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "roles.postil")
        labeller.save(path)
        return row("Postil, roles", score_roles(gold, found), training, tokens / seconds, path.stat().st_size)


def peer(name: str, python: Path, train: list[Sentence], test: list[Sentence], vectors: str | None) -> str:
    def instances(sentences: list[Sentence]) -> list[Any]:
        return [
            [one.tokens, frame.predicate, list(frame.labels)] for one in sentences for frame in frames_of(one) or ()
        ]

    with tempfile.TemporaryDirectory() as folder:
        data: dict[str, Any] = {"train": instances(train), "test": instances(test)}
        if vectors is not None:
            loaded = load_vectors(vectors)
            data["words"] = list(loaded.words)
            np.save(Path(folder, "vectors.npy"), np.asarray(loaded.matrix, np.float32))
        Path(folder, "data.json").write_text(json.dumps(data), "utf-8")
        subprocess.run(
            [python, ROOT / "benchmarks" / "peers" / "roles.py", name, folder],
            check=True,
            env=os.environ | ONE_THREAD,
        )
        answer = json.loads(Path(folder, "answer.json").read_text("utf-8"))
    labels = iter(answer["labels"])
    gold = [list(frames_of(one) or ()) for one in test]
    found = [[Frame(frame.predicate, next(labels)) for frame in frames] for frames in gold]
    return row(PEERS[name], score_roles(gold, found), answer["training"], answer["speed"], answer["size"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--vectors")
    parser.add_argument("--tags", type=Path, metavar="UD")
    parser.add_argument("--predicates", type=int, default=4000)
    parser.add_argument("--part", choices=("dev", "test"), default="test")
    parser.add_argument("--contestants", default="crfsuite,bilstm,postil")
    parser.add_argument("--python", type=Path)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    given = parser.parse_args()
    settings = {name: json.loads(value) for name, _, value in (word.partition("=") for word in given.set)}
    train, test = (list(read(given.folder / f"{name}.conll05.txt", "conll05")) for name in ("train", given.part))
    train = part_of(train, given.predicates)
    if given.tags is not None:
        began = time.process_time()
        add_tags(given.tags, train, test, given.vectors)
        print(f"tags: {time.process_time() - began:,.0f} CPU s")
    if given.vectors is not None:
        began = time.process_time()
        load_vectors(given.vectors)
        print(f"reading the vectors: {time.process_time() - began:,.1f} CPU s")
    count = sum(len(frames_of(one) or ()) for one in train)
    print(f"{len(train):,} training sentences, {count:,} predicates\n", flush=True)
    print("| | F1 | precision | recall | training, CPU s | tagging, tokens/s | MB |\n|---|--:|--:|--:|--:|--:|--:|")
    for name in given.contestants.split(","):
        if name == "postil":
            print(ours(train, test, given.vectors, settings), flush=True)
        else:
            python = given.python or environment("roles", [*TORCH[:2], "python-crfsuite", "numpy"])
            print(peer(name, python, train, test, given.vectors), flush=True)


if __name__ == "__main__":
    main()
