"""Peers for semantic roles: CRFsuite with rich features, and a BiLSTM-CRF with a mark at the predicate.

    roles.py crfsuite|bilstm FOLDER

FOLDER has data.json (instances of tokens, predicate and labels for train and test, and the words of vectors.npy);
answer.json is written there. One thread; seconds are those of the CPU.
"""

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "contestants"))

Instance = tuple[list[str], int, list[str]]


def bucket(distance: int) -> str:
    size = abs(distance)
    return str(distance) if size <= 4 else f"{'<' if distance < 0 else '>'}{min(size.bit_length(), 6)}"


# ------------------------------------------------------------------------------------------------ CRFsuite


def features(words: list[str], predicate: int) -> list[list[str]]:
    """Those of `rich_features`, and what the word is to the predicate."""
    from crfsuite_features import rich_features

    verb = words[predicate].lower()
    around = [words[predicate + step].lower() if 0 <= predicate + step < len(words) else "" for step in (-1, 1)]
    rows = rich_features(words)
    for t, row in enumerate(rows):
        place, low = bucket(t - predicate), words[t].lower()
        row += [f"place={place}", f"verb={verb}", f"verb.end={verb[-3:]}", f"before={around[0]}", f"after={around[1]}"]
        row += [f"verb+low={verb}|{low}", f"verb+place={verb}|{place}", f"low+place={low}|{place}"]
        between = words[min(t, predicate) + 1 : max(t, predicate)]
        row += [f"comma={',' in between}|{place}", f"before+place={around[0]}|{place}"]
    return rows


def crfsuite(train: list[Instance], test: list[Instance], folder: Path, clock: dict[str, Any]) -> list[list[str]]:
    import pycrfsuite

    began = time.process_time()
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.set_params({"c1": 0.1, "c2": 0.1, "max_iterations": 100, "feature.possible_transitions": True})
    for words, predicate, labels in train:
        trainer.append(features(words, predicate), labels)
    trainer.train(str(folder / "model"))
    clock["training"] = time.process_time() - began
    tagger = pycrfsuite.Tagger()
    tagger.open(str(folder / "model"))
    began = time.process_time()
    found = [tagger.tag(features(words, predicate)) for words, predicate, _ in test]
    clock["tagging"] = time.process_time() - began
    return found


# ------------------------------------------------------------------------------------------------ BiLSTM-CRF

HIDDEN, LAYERS, WORD, PLACE, EPOCHS, BATCH = 128, 2, 32, 16, 10, 32


def bilstm(train: list[Instance], test: list[Instance], folder: Path, clock: dict[str, Any]) -> list[list[str]]:
    import numpy as np
    import torch
    from torch import nn
    from torchcrf import CRF

    torch.manual_seed(0)
    torch.set_num_threads(1)
    content = json.loads((folder / "data.json").read_text("utf-8"))
    began = time.process_time()
    labels = sorted({label for _, _, of_one in train for label in of_one})
    known = {word: i + 2 for i, word in enumerate(sorted({w.lower() for words, _, _ in train for w in words}))}
    places = {name: i + 1 for i, name in enumerate(sorted({bucket(d) for d in range(-99, 100)}))}
    fixed = torch.tensor(np.load(folder / "vectors.npy")) if "words" in content else torch.zeros(1, 1)
    fixed = torch.cat([torch.zeros(2, fixed.shape[1]), fixed])
    rows = {word: i + 2 for i, word in enumerate(content.get("words", ()))}

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.vectors = nn.Embedding.from_pretrained(fixed, freeze=True)
            self.words = nn.Embedding(len(known) + 2, WORD, padding_idx=0)
            self.places = nn.Embedding(len(places) + 1, PLACE, padding_idx=0)
            self.noise = nn.Dropout(0.3)
            D = fixed.shape[1] + WORD + PLACE
            self.lstm = nn.LSTM(D, HIDDEN, LAYERS, batch_first=True, bidirectional=True, dropout=0.3)
            self.output = nn.Linear(2 * HIDDEN, len(labels))
            self.crf = CRF(len(labels), batch_first=True)

        def scores(self, batch: Any) -> Any:
            vectors, words, at, lengths = batch
            x = self.noise(torch.cat([self.vectors(vectors), self.words(words), self.places(at)], dim=2))
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            hidden, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
            return self.output(self.noise(hidden))

    def padded(some: list[Instance]) -> Any:
        pad = nn.utils.rnn.pad_sequence
        vectors = pad([torch.tensor([rows.get(w.lower(), 1) for w in words]) for words, _, _ in some], batch_first=True)
        own = pad([torch.tensor([known.get(w.lower(), 1) for w in words]) for words, _, _ in some], batch_first=True)
        at = [torch.tensor([places[bucket(t - p)] for t in range(len(words))]) for words, p, _ in some]
        return vectors, own, pad(at, batch_first=True), torch.tensor([len(words) for words, _, _ in some])

    network, number, rng = Network(), {label: i for i, label in enumerate(labels)}, random.Random(0)
    optimiser = torch.optim.Adam([p for p in network.parameters() if p.requires_grad], lr=0.002)
    for _ in range(EPOCHS):
        network.train()
        order = sorted(range(len(train)), key=lambda i: (len(train[i][0]), rng.random()))
        batches = [order[i : i + BATCH] for i in range(0, len(order), BATCH)]
        rng.shuffle(batches)
        for which in batches:
            some = [train[i] for i in which]
            batch = padded(some)
            gold = nn.utils.rnn.pad_sequence(
                [torch.tensor([number[label] for label in of_one]) for _, _, of_one in some], batch_first=True
            )
            loss = -network.crf(network.scores(batch), gold, mask=batch[1] > 0, reduction="mean")
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 5.0)
            optimiser.step()
    clock["training"] = time.process_time() - began
    torch.save(network.state_dict(), folder / "model")
    network.eval()
    found: list[list[str]] = [[] for _ in test]
    order = sorted(range(len(test)), key=lambda i: len(test[i][0]))
    began = time.process_time()
    with torch.no_grad():
        for first in range(0, len(order), 128):
            which = order[first : first + 128]
            batch = padded([test[i] for i in which])
            for i, path in zip(which, network.crf.decode(network.scores(batch), mask=batch[1] > 0), strict=True):
                found[i] = [labels[label] for label in path]
    clock["tagging"] = time.process_time() - began
    return found


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    content = json.loads((folder / "data.json").read_text("utf-8"))
    train, test = ([tuple(one) for one in content[side]] for side in ("train", "test"))
    clock: dict[str, Any] = {}
    labels = {"crfsuite": crfsuite, "bilstm": bilstm}[name](train, test, folder, clock)
    tokens = sum(len(words) for words, _, _ in test)
    size = (folder / "model").stat().st_size
    answer = {"labels": labels, "training": clock["training"], "speed": tokens / clock["tagging"], "size": size}
    (folder / "answer.json").write_text(json.dumps(answer), "utf-8")


if __name__ == "__main__":
    main()
