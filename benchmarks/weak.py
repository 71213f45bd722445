"""Taggers trained on the votes of other people's rules, without gold labels: F1 on valid, and on test once.

    python -m benchmarks.weak FOLDER [--seeds 3] [--test]
    python -m benchmarks.weak FOLDER --distant [--seeds 3] [--test]

FOLDER holds {train,valid,test}.json and meta.json of a weak-supervision benchmark: for every text the tokens, the gold
spans, and the spans that each rule votes for. Gold labels of train are never read; those of valid choose the epoch and
the bias, as the benchmark's protocol allows. Printed: the majority of the votes, the tagger alone, the tagger with the
votes of the rules at tag time, and the seconds of CPU.

With --distant, FOLDER holds {train,dev,test}.txt in CoNLL columns, and the only rule is a file in which every name that
a list does not have is O. The list is made up: half of the distinct names of the corpus, every fifth of them with a
class at random. A tagger that takes the file for gold is trained for comparison.
"""

import argparse
import json
import random
import statistics
import time
from collections import Counter
from pathlib import Path

import postil
from postil.rules import ColumnRule, ListRule, Rules, learn
from postil.text import read
from postil.text.labels.schemes import Span, labels_from_spans, spans_from_labels


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--preset", default="accurate")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--vectors", default="glove-50d")
    parser.add_argument("--all-rules", action="store_true", help="not only those that the benchmark recommends")
    parser.add_argument("--distant", action="store_true", help="one incomplete list instead of rules")
    parser.add_argument("--test", action="store_true", help="score on test as well")
    arguments = parser.parse_args()
    scored = ("valid", "test") if arguments.test else ("valid",)
    rules, X, gold = (_distant if arguments.distant else _weak)(arguments.folder, arguments.all_rules)
    for part in scored:
        print(f"{part:6} majority of votes  F1 {_f1(_majority(rules, X[part]), gold[part]):.2f}")
    found: dict[tuple[str, str], list[float]] = {}
    settings = {"preset": arguments.preset, "epochs": arguments.epochs, "vectors": arguments.vectors or None}
    for seed in range(arguments.seeds):
        start = time.process_time()
        tagger = postil.Tagger(**settings, seed=seed)
        learned = learn(tagger, X["train"], rules, dev=(X["valid"], gold["valid"]))
        seconds = time.process_time() - start
        models = {"tagger": tagger.predict, "with votes": learned.predict}
        if arguments.distant:
            taken = _majority(rules, X["train"])
            plain = postil.Tagger(**settings, seed=seed)
            models["taken for gold"] = plain.fit(X["train"], taken, dev=(X["valid"], gold["valid"])).predict
        for part in scored:
            for kind, predict in models.items():
                found.setdefault((part, kind), []).append(_f1(predict(X[part]), gold[part]))
        shown = ", ".join(f"{part} {kind} {values[-1]:.2f}" for (part, kind), values in found.items())
        print(f"seed {seed}: {shown}; {seconds:.0f} s", flush=True)
    for (part, kind), values in found.items():
        print(f"{part:6} {kind:18} F1 {statistics.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})")


Parts = dict[str, list[list[str]]]


def _weak(folder: Path, has_all_rules: bool) -> tuple[Rules, Parts, Parts]:
    """The rules, the tokens and the gold labels of each part."""
    meta = json.loads((folder / "meta.json").read_text("utf-8"))
    parts = {name: _read(folder / f"{name}.json") for name in ("train", "valid", "test")}
    names = meta["lf"] if has_all_rules else meta["lf_rec"]
    rules = _rules(names, meta, [record for records in parts.values() for record in records])
    X = {name: [record["data"]["text"] for record in records] for name, records in parts.items()}
    gold = {name: [_labels(r["label"], len(r["data"]["text"])) for r in records] for name, records in parts.items()}
    return rules, X, gold


def _distant(folder: Path, has_all_rules: bool) -> tuple[Rules, Parts, Parts]:
    """The same, with one list that is made from half of the names of the corpus."""
    X: Parts = {}
    gold: Parts = {}
    for name, file in (("train", "train"), ("valid", "dev"), ("test", "test")):
        with read(folder / f"{file}.txt") as sentences:
            pairs = [(list(sentence.tokens), list(sentence.labels or ())) for sentence in sentences]
        X[name], gold[name] = [tokens for tokens, _ in pairs], [labels for _, labels in pairs]
    named = {
        " ".join(tokens[span.start : span.end]): span.label
        for part in X
        for tokens, labels in zip(X[part], gold[part], strict=True)
        for span in spans_from_labels(labels)
    }
    rng, classes = random.Random(0), sorted(set(named.values()))
    listed = {
        phrase: rng.choice(classes) if rng.random() < 0.2 else label
        for phrase, label in sorted(named.items())
        if rng.random() < 0.5
    }
    lists = [
        ListRule(name=label, label=label, phrases=[phrase for phrase, of in listed.items() if of == label])
        for label in classes
    ]
    return Rules(lists), X, gold


def _read(path: Path) -> list[dict]:
    content = json.loads(path.read_text("utf-8"))
    return [content[key] for key in sorted(content, key=int)]


def _rules(names: list[str], meta: dict, records: list[dict]) -> Rules:
    rules = []
    for name in names:
        number = meta["lf"].index(name)
        spans = {tuple(r["data"]["text"]): _separate(r["weak_labels"][number]) for r in records}
        if any(spans.values()):
            rules.append(ColumnRule(name=name, spans=spans, labels=meta["entity_types"]))
    return Rules(rules)


def _separate(spans: list) -> list[tuple[int, int, str]]:
    """The spans without those that overlap one further left."""
    kept: list[tuple[int, int, str]] = []
    for start, end, label in sorted(map(tuple, spans)):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end, label))
    return kept


def _labels(spans: list, length: int) -> list[str]:
    return labels_from_spans([Span(label, start, end) for start, end, label in _separate(spans)], length)


def _majority(rules: Rules, X: list[list[str]]) -> list[list[str]]:
    """For every token the label with the most votes, if any rule votes for it."""
    answers = []
    for tokens, votes in zip(X, rules.votes(X), strict=True):
        counts: list[Counter[str]] = [Counter() for _ in tokens]
        for vote in votes:
            labels = labels_from_spans([Span(vote.label, vote.start, vote.end)], len(tokens))
            for place in range(vote.start, vote.end):
                counts[place][labels[place]] += 1
        answers.append([count.most_common(1)[0][0] if count else "O" for count in counts])
    return answers


def _f1(predicted: list[list[str]], gold: list[list[str]]) -> float:
    pairs = [(set(spans_from_labels(p)), set(spans_from_labels(g))) for p, g in zip(predicted, gold, strict=True)]
    right = sum(len(one & other) for one, other in pairs)
    return 200 * right / max(1, sum(len(one) + len(other) for one, other in pairs))


if __name__ == "__main__":
    main()
